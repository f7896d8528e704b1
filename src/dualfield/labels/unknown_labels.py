"""Labels that stand for "not known": None, and the label that the user says is to be ignored, such as −100.

Other libraries mark padding and parts of words with −100, which their losses leave out. Here such a position has an
unknown label: the loss sums over all labels that it may have.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.labels.encoded_labels import EncodedLabels

__all__ = ["filled", "only_known", "warn_of_masking_label", "with_unknown"]

_MASKING_LABEL = -100  # what other libraries' losses leave out


def warn_of_masking_label(classes: npt.NDArray[Any], way_out: str = "set ignore_label=-100", calls: int = 1) -> None:
    """Tell whoever calls ``fit`` that −100, which stands for no label elsewhere, is among the labels to be learnt.

    ``calls``: how many there are from ``fit`` to this one.
    """
    if classes.dtype.kind == "i" and _MASKING_LABEL in classes:
        warnings.warn(
            f"y has the label {_MASKING_LABEL}, which is learnt like any other; where it stands for unknown labels, "
            f"{way_out}.",
            UserWarning,
            stacklevel=2 + calls,
        )


def with_unknown(y: Any, ignore_label: str | int | None) -> Any:
    """The same labels, with None in the place of the label that is to be ignored.

    What is no list of label sequences is passed on, for its reader to refuse.

    Examples
    --------
    >>> with_unknown([[1, -100], (2, 1)], -100)
    [[1, None], (2, 1)]
    """
    if ignore_label is None or isinstance(y, str | bytes | Mapping) or not isinstance(y, Iterable):
        return y
    if isinstance(y, EncodedLabels) and ignore_label not in y.names:
        return y
    return [_with_unknown(sequence, ignore_label) for sequence in y]


def _with_unknown(sequence: Any, ignore_label: str | int) -> Any:
    if isinstance(sequence, np.ndarray) and sequence.ndim == 1:
        sequence = sequence.tolist()
    if not isinstance(sequence, list | tuple) or not any(_is(label, ignore_label) for label in sequence):
        return sequence
    return [None if _is(label, ignore_label) else label for label in sequence]


def _is(label: Any, ignored: str | int) -> bool:
    kind = str if isinstance(ignored, str) else (int, np.integer)
    return isinstance(label, kind) and not isinstance(label, bool) and bool(label == ignored)


def filled(y: Any, label: Any) -> tuple[Any, npt.NDArray[np.bool_] | None]:
    """The labels with ``label`` where they are None, and for each position whether its label was known.

    The second is None where all are known.

    Examples
    --------
    >>> filled([["A", None], ["B"]], "A")
    ([['A', 'A'], ['B']], array([ True, False,  True]))
    """
    if not isinstance(y, list | tuple | np.ndarray):
        return y, None
    if not any(isinstance(labels, list | tuple) and None in labels for labels in y):
        return y, None
    known = np.array([one is not None for labels in y for one in labels], dtype=bool)
    return [[label if one is None else one for one in labels] for labels in y], known


def only_known(true: Iterable[Any], predicted: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """True and predicted labels without the positions whose true label is None.

    Examples
    --------
    >>> only_known([["A", None], ["B"]], [["A", "B"], ["A"]])
    ([['A'], ['B']], [['A'], ['A']])
    """
    true, predicted = list(true), list(predicted)
    if not any(label is None for label in chain.from_iterable(true)):
        return true, predicted
    kept = [[t for t, label in enumerate(labels) if label is not None] for labels in true]
    pairs = [list(zip(true, kept, strict=True)), list(zip(predicted, kept, strict=True))]
    shown, found = ([[labels[t] for t in places] for labels, places in side] for side in pairs)
    return shown, found
