"""Parses a trainer's messages, for ``Trainer.logparser`` and the hooks ``on_...``.

The messages come in sections: features, preparation, iterations, the end of training, storing. The parser keeps every
message, picks the numbers out, and says when a section is over, which is an *event*. The attributes have the names
that readers of ``pycrfsuite.Trainer.logparser`` use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]

_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_NUMBER = r"(\d+\.\d+)"
_SECONDS = re.compile(rf"Seconds required: {_NUMBER}")
_TOTAL_SECONDS = re.compile(rf"Total seconds required for training: {_NUMBER}")
_N_FEATURES = re.compile(r"Number of features: (\d+)")
_PROGRESS = frozenset(["."] + [str(tenth) for tenth in range(11)])

# What a line of an iteration gives: the keys, and what its numbers are.
_LINES: list[tuple[re.Pattern[str], tuple[str, ...], Callable[[str], Any]]] = [
    (re.compile(rf"Loss: {_NUMBER}"), ("loss",), float),
    (re.compile(rf"Feature norm: {_NUMBER}"), ("feature_norm",), float),
    (re.compile(r"Active features: (\d+)"), ("active_features",), int),
    (re.compile(rf"Seconds required for this iteration: {_NUMBER}"), ("time",), float),
    (
        re.compile(rf"Macro-average precision, recall, F1: \({_NUMBER}, {_NUMBER}, {_NUMBER}\)"),
        ("avg_precision", "avg_recall", "avg_f1"),
        float,
    ),
]
_SHARE = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)")
_UNKNOWN = "******"


class LabelScore(NamedTuple):
    """How one label does on the held-out sequences; precision, recall and F1 are None where it does not occur."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """Reads messages one by one.

    Attributes
    ----------
    log : list of str
        All messages.
    events : list of (str, int, int)
        The events, with the messages that belong to each: ``log[start:end]``.
    iterations : list of dict
        For each iteration ``num``, ``scores`` and, as far as the messages say so, ``loss``, ``feature_norm``,
        ``active_features``, ``time``, and with held-out sequences ``avg_precision``, ``avg_recall``, ``avg_f1``,
        ``item_accuracy``, ``instance_accuracy`` and the same with ``_float``.
    last_iteration : dict or None
        The last of them.
    featgen_percent, featgen_num_features, featgen_seconds
        How far features are made, how many there are, and how long it took.
    training_seconds, storing_seconds : float or None
        How long it took.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Take a message; the event that it brings about, or None."""
        self.log.append(line)
        if self.state is None:
            self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"
            event: str | None = "start"
            start, end = 0, 1
        else:
            event = getattr(self, f"_in_{self.state.lower()}")(line)
            start, end = self.events[-1][2], len(self.log)
            if event in ("prepared", "optimization_end"):
                end -= 1  # the message belongs to what begins with it
        if event is not None:
            self.events.append((event, start, end))
        return event

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def _in_starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def _in_featgen(self, line: str) -> str | None:
        if line in _PROGRESS:
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _N_FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds, self.state = float(found[1]), "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _in_after_featgen(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._in_after_iteration(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _in_iteration(self, line: str) -> str | None:
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        assert self.last_iteration is not None
        for pattern, keys, number in _LINES:
            if found := pattern.match(line):
                self.last_iteration.update(zip(keys, map(number, found.groups()), strict=True))
        if found := _SHARE.match(line):
            name, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), int(found[3]))
            self.last_iteration.update({name: share, f"{name}_float": float(share)})
        if found := _LABEL.match(line):
            counts = map(int, found.groups()[1:4])
            shares = (None if share == _UNKNOWN else float(share) for share in found.groups()[4:])
            self.last_iteration["scores"][found[1]] = LabelScore(*counts, *shares)
        return None

    def _in_after_iteration(self, line: str) -> str | None:
        if found := _HEAD.match(line):
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            self.state = "ITERATION"
        elif found := _TOTAL_SECONDS.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _in_storing(self, line: str) -> str | None:
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return "end" if line == "\n" else None
