"""Sets of labels in the place of one: the labels that a position may have.

In training a position may have several candidates, or be unknown (:func:`encode_partial_labels`); in prediction some
labels may be ruled out beforehand (:func:`encode_allowed`). Either becomes a mask with a row for each position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.labels.encoded_labels import EncodedLabels, encode_labels, label_lists, label_type, sorted_classes

__all__ = ["encode_allowed", "encode_partial_labels"]

BoolArray = npt.NDArray[np.bool_]
_SETS = (set, frozenset, list, tuple)


def encode_partial_labels(
    y: Any, lengths: npt.ArrayLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32], BoolArray | None]:
    """Number the labels of all positions, some of which may be known in part.

    Parameters
    ----------
    y : iterable of label sequences
        As in :func:`~dualfield.labels.encode_labels`; a label may also be a set, frozenset, list or tuple of
        candidates, or None where it is unknown.
    lengths : array of int, shape (n_sequences,)
        How many labels each sequence must have.

    Returns
    -------
    classes : array of str or int64, shape (K,)
        All labels that occur, alone or as candidates, sorted.
    codes : array of int32, shape (n,)
        The label of every position; of several candidates the first.
    candidates : array of bool, shape (n, K), or None
        What each label may be. None where every label is known.

    Examples
    --------
    >>> classes, codes, candidates = encode_partial_labels([["A", {"A", "C"}, None, "B"]], [4])
    >>> classes.tolist(), codes.tolist()
    (['A', 'B', 'C'], [0, 0, 0, 1])
    >>> candidates.astype(int).tolist()
    [[1, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0]]
    """
    if isinstance(y, Iterable) and not isinstance(y, str | bytes | Mapping | EncodedLabels):
        y = list(y)
        listed = [sequence for sequence in y if isinstance(sequence, list | tuple | np.ndarray)]
        kinds = set(map(type, chain.from_iterable(listed))) if len(listed) == len(y) else set()
        if any(kind is type(None) or issubclass(kind, _SETS) for kind in kinds):
            return _with_candidates(label_lists(y, lengths))
    return *encode_labels(y, lengths), None


def _with_candidates(
    sequences: list[Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32], BoolArray | None]:
    options: list[tuple[Any, ...] | None] = []
    kind: type | None = None
    for number, sequence in enumerate(sequences):
        for index, label in enumerate(sequence):
            place = f"label {index} of sequence {number}"
            known = None if label is None else tuple(label) if isinstance(label, _SETS) else (label,)
            if known == ():
                raise ValueError(
                    f"{place} is an empty set; expected at least one candidate, or None where it is unknown."
                )
            for option in known or ():
                found = label_type(type(option))
                if found is None:
                    raise TypeError(
                        f"{place} has {option!r:.40} of type {type(option).__name__}; expected a string or an integer, "
                        "a set of them, or None."
                    )
                if kind is not None and found is not kind:
                    raise TypeError(
                        f"{place} has {option!r:.40} of type {found.__name__} but the labels before it are of type "
                        f"{kind.__name__}; give labels of one type."
                    )
                kind = found
            options.append(known)
    classes = sorted_classes({label for known in options for label in known or ()}, kind)
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    candidates = np.zeros((len(options), len(classes)), dtype=bool)
    for row, known in zip(candidates, options, strict=True):
        row[slice(None) if known is None else [code_of[label] for label in known]] = True
    codes = candidates.argmax(axis=1).astype(np.int32)
    return classes, codes, None if (candidates.sum(axis=1) == 1).all() else candidates


def encode_allowed(
    allowed: Any, lengths: npt.NDArray[np.int64], classes: npt.NDArray[Any], name: str = "allowed"
) -> BoolArray:
    """Which labels each position may have.

    Parameters
    ----------
    allowed : iterable
        For each sequence None, or one entry per position: None, or the labels that are allowed there. With ``name``
        "given" an entry is None or the one label.
    lengths : array of int64, shape (n_sequences,)
        The lengths of the sequences.
    classes : array, shape (K,)
        The labels of the model.

    Returns
    -------
    array of bool, shape (sum of lengths, K)

    Examples
    --------
    >>> encode_allowed([[None, {"B"}], None], np.array([2, 1]), np.array(["A", "B"])).astype(int).tolist()
    [[1, 1], [0, 1], [1, 1]]
    """
    if isinstance(allowed, str | bytes | Mapping) or not isinstance(allowed, Iterable):
        raise TypeError(f"{name} is of type {type(allowed).__name__}; expected a list with an entry for each sequence.")
    entries = list(allowed)
    if len(entries) != len(lengths):
        raise ValueError(
            f"{name} has {len(entries)} entries but X has {len(lengths)} sequences; give one for each, None where "
            "nothing is known."
        )
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    mask = np.ones((int(lengths.sum()), len(classes)), dtype=bool)
    ends = np.cumsum(lengths)
    for number, (entry, length, end) in enumerate(zip(entries, lengths.tolist(), ends.tolist(), strict=True)):
        if entry is None:
            continue
        if isinstance(entry, str | Mapping | set | frozenset) or not isinstance(entry, Iterable):
            raise TypeError(
                f"{name}[{number}] is of type {type(entry).__name__}; expected None or a list with an entry for each "
                "position."
            )
        positions = list(entry)
        if len(positions) != length:
            raise ValueError(
                f"{name}[{number}] has {len(positions)} entries but sequence {number} has {length} positions; give one "
                "for each."
            )
        for t, labels in enumerate(positions):
            if labels is not None:
                mask[end - length + t] = _row(f"{name}[{number}][{t}]", labels, code_of, name == "given")
    return mask


def _row(place: str, labels: Any, code_of: dict[Any, int], single: bool) -> BoolArray:
    row = np.zeros(len(code_of), dtype=bool)
    if not single and (isinstance(labels, str | bytes) or not isinstance(labels, Iterable)):
        raise TypeError(f"{place} is {labels!r:.40}; expected None or a set of labels; wrap a single one in a list.")
    options = [labels] if single else list(labels)
    if not options:
        raise ValueError(f"{place} is empty; expected at least one label, or None for all.")
    for label in options:
        try:
            row[code_of[label]] = True
        except (KeyError, TypeError):
            raise ValueError(
                f"{place} has the label {label!r:.40}, which the model does not know; expected one of "
                f"{list(code_of)!r:.200}."
            ) from None
    return row
