"""The messages of a training run, in the form that readers of CRFsuite's log know."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.compat.crfsuite.appended import Group
from dualfield.driver import Progress
from dualfield.fields import Chain
from dualfield.solution import Solution

__all__ = ["HeldOut", "Messages"]

_TENTHS = [mark for tenth in range(10) for mark in (str(tenth), *"....")] + ["10"]


class HeldOut:
    """Sequences that are not trained on, and how weights do on them."""

    def __init__(self, group: Group, field: Chain, labels: list[str]) -> None:
        self._core = field.layout.compile(group.encoded)
        self._truth, self._offsets = group.codes, group.encoded.offsets
        self._labels, self._places = labels, np.searchsorted(field.classes, np.array(labels))

    def lines(self, weights: npt.NDArray[np.float64]) -> list[str]:
        """By label, and over all of them."""
        found = self._core.decode(weights, 0, len(self._offsets) - 1)
        right, n_labels = found == self._truth, len(self._labels)
        counts = [np.bincount(some, minlength=n_labels) for some in (found[right], found, self._truth)]
        matches, model, truth = (count[self._places] for count in counts)
        with np.errstate(invalid="ignore"):
            precision, recall = (np.where(of > 0, matches / np.maximum(of, 1), 0.0) for of in (model, truth))
            f1 = np.where(precision + recall > 0, 2 * precision * recall / np.maximum(precision + recall, 1e-300), 0.0)
        lines = ["Performance by label (#match, #model, #ref) (precision, recall, F1):\n"]
        for label, *numbers in zip(self._labels, matches, model, truth, precision, recall, f1, strict=True):
            shares = (
                ", ".join(f"{share:.4f}" for share in numbers[3:]) if any(numbers[1:3]) else "******, ******, ******"
            )
            lines.append(f"    {label}: ({numbers[0]}, {numbers[1]}, {numbers[2]}) ({shares})\n")
        means = ", ".join(f"{values.mean():.6f}" for values in (precision, recall, f1))
        whole = np.logical_and.reduceat(right, self._offsets[:-1])
        return [
            *lines,
            f"Macro-average precision, recall, F1: ({means})\n",
            *(
                f"{name} accuracy: {of.sum()} / {len(of)} ({of.mean():.4f})\n"
                for name, of in (("Item", right), ("Instance", whole))
            ),
        ]


class Messages:
    """Says what happens in the course of a run; as a callback of the solver, pass by pass.

    The numbers of a pass are said when the next one is over, or the run: those of the last are then the confirmed ones.
    """

    def __init__(self, say: Callable[[str], None], head: str) -> None:
        self._say, self._head = say, head
        self._held_out: HeldOut | None = None
        self._waiting: tuple[int, float, float, npt.NDArray[np.float64]] | None = None
        self._seconds = 0.0

    def start(self, holdout: int, features: Mapping[str, Any]) -> None:
        """What is trained on, and which features are made of it."""
        if holdout >= 0:
            self._lines(f"Holdout group: {holdout + 1}\n", "\n")
        self._lines("Feature generation\n", "type: CRF1d\n", *_given(features))
        self._began = time.perf_counter()

    def features(self, n_features: int) -> None:
        """The features are made."""
        self._lines(*_TENTHS, "\n", f"Number of features: {n_features}\n")
        self._lines(f"Seconds required: {time.perf_counter() - self._began:.3f}\n", "\n")

    def prepared(self, title: str, parameters: Mapping[str, Any], held_out: HeldOut | None) -> None:
        """Training begins."""
        self._held_out = held_out
        self._lines(f"{title}\n", *_given(parameters), "\n")

    def __call__(self, progress: Progress) -> None:
        """A pass is over."""
        self._iteration()
        loss = progress.run.record().get("loss", progress.dual + progress.gap_estimate)
        seconds, self._seconds = progress.seconds - self._seconds, progress.seconds
        self._waiting = progress.passes, loss, seconds, progress.weights()

    def end(self, solution: Solution) -> None:
        """Training is over."""
        if self._waiting is not None:
            number, loss, seconds, _ = self._waiting
            confirmed = solution.primal if math.isfinite(solution.primal) else loss
            self._waiting = number, confirmed, seconds, solution.weights
            self._iteration()
        self._lines(f"{solution.message}\n", f"Total seconds required for training: {solution.seconds:.3f}\n", "\n")

    def storing(self, features: tuple[int, int], attributes: tuple[int, int], n_labels: int) -> None:
        """The model is being written: how many of all features and attributes it has."""
        self._began = time.perf_counter()
        self._lines(
            "Storing the model\n",
            f"Number of active features: {features[0]} ({features[1]})\n",
            f"Number of active attributes: {attributes[0]} ({attributes[1]})\n",
            f"Number of active labels: {n_labels} ({n_labels})\n",
        )

    def stored(self) -> None:
        """The model is written."""
        self._lines(f"Seconds required: {time.perf_counter() - self._began:.3f}\n", "\n")

    def _iteration(self) -> None:
        if self._waiting is None:
            return
        number, loss, seconds, weights = self._waiting
        self._waiting = None
        self._lines(
            f"***** {self._head} #{number} *****\n",
            *([f"Loss: {loss:f}\n"] if math.isfinite(loss) else []),
            f"Feature norm: {math.sqrt(np.square(weights).sum()):f}\n",
            f"Active features: {np.count_nonzero(weights)}\n",
            f"Seconds required for this iteration: {seconds:.3f}\n",
            *([] if self._held_out is None else self._held_out.lines(weights)),
            "\n",
        )

    def _lines(self, *lines: str) -> None:
        for line in lines:
            self._say(line)


def _given(parameters: Mapping[str, Any]) -> list[str]:
    def shown(value: Any) -> str:
        return f"{value:f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)

    return [f"{name}: {shown(value)}\n" for name, value in parameters.items()]
