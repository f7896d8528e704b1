"""Scikit-learn's scores over the positions of all sequences, and the share of sequences without an error.

Options other than the labels go to scikit-learn's function of the same name, such as ``average`` and ``labels``. For
scores of whole chunks, as in named-entity recognition, see :func:`dualfield.metrics.chunk_scores`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

from sklearn import metrics

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "flatten",
    "sequence_accuracy_score",
]

Labels = Sequence[Sequence[Any]]
Item = TypeVar("Item")


def flatten(y: Iterable[Iterable[Item]]) -> list[Item]:
    """All items of all sequences as one list.

    Examples
    --------
    >>> flatten([["a"], ["b", "c"]])
    ['a', 'b', 'c']
    """
    return list(chain.from_iterable(y))


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of positions with the right label.

    Examples
    --------
    >>> flat_accuracy_score([["A", "B"], ["A", "A"]], [["A", "A"], ["A", "A"]])
    0.75
    """
    return float(metrics.accuracy_score(flatten(y_true), flatten(y_pred)))


def flat_precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """``sklearn.metrics.precision_score`` over positions."""
    return metrics.precision_score(flatten(y_true), flatten(y_pred), **options)


def flat_recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """``sklearn.metrics.recall_score`` over positions."""
    return metrics.recall_score(flatten(y_true), flatten(y_pred), **options)


def flat_f1_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """``sklearn.metrics.f1_score`` over positions.

    Examples
    --------
    >>> round(flat_f1_score([["A", "B"], ["A", "A"]], [["A", "A"], ["A", "A"]], average="macro", labels=["A"]), 3)
    0.857
    """
    return metrics.f1_score(flatten(y_true), flatten(y_pred), **options)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **options: Any) -> Any:
    """``sklearn.metrics.fbeta_score`` over positions."""
    return metrics.fbeta_score(flatten(y_true), flatten(y_pred), beta=beta, **options)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[Any] | None = None, **options: Any
) -> Any:
    """``sklearn.metrics.classification_report`` over positions."""
    return metrics.classification_report(flatten(y_true), flatten(y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences whose labels are all right; 0 if there are none.

    Examples
    --------
    >>> sequence_accuracy_score([["A", "B"], ["A", "A"]], [["A", "A"], ["A", "A"]])
    0.5
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"there are {len(y_true)} true and {len(y_pred)} predicted sequences; expected as many.")
    right = sum(list(true) == list(predicted) for true, predicted in zip(y_true, y_pred, strict=True))
    return right / len(y_true) if len(y_true) else 0.0
