"""The cost of predicting one label for another: weights of labels and costs of confusions, as one matrix.

In training, the cost ``C(y, k)`` of label k where y is right is added to the potential of k. Where y has the weight v,
every other label costs ``log v``: its odds against y are multiplied by v. (Weights of positions, which would multiply
the loss of one position and not of its neighbours, are another matter: a sequence has one loss, ``−log p(y | x)``, and
a sum of it in which positions count by fractions is not convex.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.given_numbers import as_float
from dualfield.labels.encoded_labels import encode_labels
from dualfield.labels.given_costs import check_costs

__all__ = ["cost_matrix", "label_weights", "sequence_weights"]


def cost_matrix(
    class_weight: Any, costs: Any, classes: npt.NDArray[Any], codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64] | None:
    """The costs, shape (K, K), true label × label, zero on the diagonal; None where there are none.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of labels, 1 for those that it lacks; "balanced" gives label k ``N / (K · n_k)``, of which N positions
        n_k have it.
    costs : dict or None
        ``{(true label, wrong label): cost}``, added to what the weights say.
    classes : array, shape (K,)
        The labels.
    codes : array, shape (N,)
        The number of each position's label.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([1, 1, 1, 0], dtype=np.int32)
    >>> np.exp(cost_matrix("balanced", None, np.array(["B", "O"]), codes)).round(3).tolist()
    [[1.0, 2.0], [0.667, 1.0]]
    >>> cost_matrix(None, {("B", "O"): 3}, np.array(["B", "O"]), codes).tolist()
    [[0.0, 3.0], [0.0, 0.0]]
    """
    check_costs(class_weight, costs)
    if class_weight is None and costs is None:
        return None
    n_labels = len(classes)
    matrix = np.repeat(np.log(label_weights(class_weight, classes, codes))[:, None], n_labels, axis=1)
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    for pair, cost in (costs or {}).items():
        _warn_of_strangers("costs", pair, numbers)
        if all(label in numbers for label in pair):
            matrix[numbers[pair[0]], numbers[pair[1]]] += as_float(cost)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def label_weights(
    class_weight: Any, classes: npt.NDArray[Any], codes: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.float64]:
    """The weight of each label, shape (K,), as :func:`cost_matrix` says; all 1 for None."""
    weights = np.ones(len(classes))
    if class_weight == "balanced":
        counts = np.bincount(codes, minlength=len(classes))
        weights[counts > 0] = len(codes) / (len(classes) * counts[counts > 0])
    elif class_weight is not None:
        numbers = {label: number for number, label in enumerate(classes.tolist())}
        _warn_of_strangers("class_weight", class_weight, numbers)
        for label in numbers.keys() & class_weight.keys():
            weights[numbers[label]] = as_float(class_weight[label])
    return weights


def sequence_weights(y: Iterable[Any], class_weight: Any = "balanced") -> npt.NDArray[np.float64]:
    """Weights of whole sequences by the labels that they have, for ``fit(X, y, sample_weight=...)``.

    The weight of a sequence is the mean weight of its labels, divided by the mean over all sequences. It is the simple
    alternative to ``class_weight`` of :class:`~dualfield.ChainCRF`: sequences with rare labels count more, and within a
    sequence nothing changes. The objective stays a sum of convex losses.

    Parameters
    ----------
    y : sequences of labels
        One label per position.
    class_weight : dict or "balanced"
        Weights of labels, 1 for those that it lacks; "balanced" gives label k ``N / (K · n_k)``, of which N positions
        n_k have it.

    Returns
    -------
    array, shape (n,)

    Examples
    --------
    >>> sequence_weights([["O", "O"], ["B", "O"]]).round(3).tolist()
    [0.667, 1.333]
    """
    if class_weight is None:
        raise ValueError("class_weight must be 'balanced' or a dict of labels and their weights; got None.")
    check_costs(class_weight, None)
    labels = [list(sequence) for sequence in y]
    lengths = np.array([len(sequence) for sequence in labels], dtype=np.int64)
    if len(lengths) == 0 or not lengths.all():
        raise ValueError("y has no sequences." if len(lengths) == 0 else f"sequence {lengths.argmin()} of y is empty.")
    classes, codes = encode_labels(labels, lengths)
    of_positions = label_weights(class_weight, classes, codes)[codes]
    weights = np.add.reduceat(of_positions, np.cumsum(lengths) - lengths) / lengths
    mean: float = weights.mean()
    return weights / mean


def _warn_of_strangers(parameter: str, named: Iterable[Any], known: Mapping[Any, int]) -> None:
    """A part of the data may lack a rare label, so this is no error."""
    stranger = next((label for label in named if label not in known), None)
    if stranger is not None:
        warnings.warn(
            f"{parameter} names the label {stranger!r}, which y does not have; it changes nothing.",
            UserWarning,
            stacklevel=2,
        )
