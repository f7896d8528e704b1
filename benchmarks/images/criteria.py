"""What labelled images can be trained on, and what the results predict: shared by the scripts of this folder.

==================  ======================================================  =========================================
name                trained on                                              predicted by
==================  ======================================================  =========================================
logistic            every site alone                                        its probabilities
mean_field          the likelihood, log Z by the naive mean field           max-marginals of mean field
bp                  the likelihood, log Z by loopy belief propagation       max-marginals of belief propagation
trw                 the likelihood, log Z by its tree-reweighted bound      max-marginals of the same
pseudo_likelihood   every site given the true labels of its neighbours      max-marginals of belief propagation
==================  ======================================================  =========================================
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import dualfield
from benchmarks.papers.results import environment
from dualfield import GridCRF, SoftmaxRegression
from dualfield.datasets import Images

__all__ = ["CRITERIA", "Record", "Result", "error", "measure", "print_table"]

CRITERIA = ("logistic", "mean_field", "bp", "trw", "pseudo_likelihood")


@dataclass
class Result:
    """A trained model and its labels of the test images."""

    criterion: str
    passes: int
    cpu_seconds: float
    certificate: str
    relative_gap: float
    status: str
    message: str
    predicted: list[np.ndarray] = field(repr=False)
    model: Any = field(repr=False)

    def numbers(self) -> dict[str, Any]:
        """What goes into a file."""
        left_out = ("predicted", "model")
        return {name: value for name, value in vars(self).items() if name not in left_out}


def measure(images: Images, criterion: str, l2: float, edge_l2: float | None = None, **parameters: Any) -> Result:
    """Train on one criterion and label the test images; ``parameters`` are those of ``GridCRF``."""
    print(f"  {criterion} ...", file=sys.stderr, flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table has the status
        if criterion == "logistic":
            model, predicted = _logistic(images, l2, **parameters)
        else:
            model = GridCRF(l2=l2, edge_l2=edge_l2, inference=criterion, random_state=0, **parameters)
            X = model.encode(images.X_train, images.edge_features_train)
            model.fit(X, images.y_train)
            if criterion == "pseudo_likelihood":
                model.set_params(inference="bp", prediction="max-marginals")
            predicted = model.predict(model.encode(images.X_test, images.edge_features_test))
    solution = model.solution_
    return Result(
        criterion,
        solution.passes,
        solution.cpu_seconds,
        solution.certificate,
        solution.relative_gap,
        solution.status,
        solution.message,
        predicted,
        model,
    )


def _logistic(images: Images, l2: float, **parameters: Any) -> tuple[SoftmaxRegression, list[np.ndarray]]:
    kept = {name: parameters[name] for name in ("tol", "max_passes") if name in parameters}
    sites = np.concatenate([X.reshape(-1, X.shape[2]) for X in images.X_train])
    labels = np.concatenate([y.ravel() for y in images.y_train])
    model = SoftmaxRegression(l2=l2, bias=False, random_state=0, **kept).fit(sites, labels)
    return model, [model.predict(X.reshape(-1, X.shape[2])).reshape(X.shape[:2]) for X in images.X_test]


def error(predicted: Iterable[np.ndarray], true: Iterable[np.ndarray]) -> float:
    """The share of sites with another label than the true one."""
    wrong = [(labels != right).ravel() for labels, right in zip(predicted, true, strict=True)]
    return float(np.concatenate(wrong).mean())


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Aligned text: the first column to the left, the others to the right."""
    rows = [list(heads), *map(list, rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip(), flush=True)


class Record:
    """What a script measures: printed as it goes, and kept for ``--json``."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.began, self.about = path, (time.perf_counter(), time.process_time()), environment()
        self.content: dict[str, Any] = {}
        print(
            f"dualfield {dualfield.__version__}, numpy {np.__version__}; load before: {self.about['load']}", flush=True
        )

    def keep(self, name: str, value: Any) -> None:
        self.content[name] = value
        self._write()

    def end(self) -> None:
        wall, cpu = time.perf_counter() - self.began[0], time.process_time() - self.began[1]
        self.content["seconds"] = {"wall": wall, "cpu": cpu}
        self._write()
        print(f"\n{cpu:.0f} CPU s, {wall:.0f} s in all; load after: {os.getloadavg()[0]:.2f}", flush=True)

    def _write(self) -> None:
        if self.path is not None:
            self.path.write_text(json.dumps({"environment": self.about, **self.content}, indent=1) + "\n")
