"""A chain model written as CRFsuite's model file, which CRFsuite and python-crfsuite open.

The parts of the file are listed in :mod:`~dualfield.models.crfsuite_model`, its tables of strings in
:mod:`~dualfield.models.cqdb`. CRFsuite's models have weights of (attribute, label) and (label, label) pairs and nothing
else. Whatever else a model has is refused by name, unless its weights are zero.
"""

from __future__ import annotations

import gzip
import os
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.io.atomic import PathLike, atomic_write
from dualfield.io.content import CRFSUITE
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.cqdb import cqdb

__all__ = ["Exportable", "write_crfsuite_model"]

_TYPE, _VERSION, _HEADER = b"FOMC", 100, 48
_STATE, _TRANSITION = 0, 1
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("destination", "<u4"), ("weight", "<f8")])
_FIRST_AND_LAST = 2  # places of LFRF that CRFsuite keeps for labels before the first and after the last position
_LARGEST = 2**32 - 1

Numbers = npt.NDArray[np.int64]


class Exportable(Protocol):
    """What writers of other programs' formats ask of a model; a ``ChainModel`` has it."""

    classes_: npt.NDArray[Any]
    weights_: npt.NDArray[np.float64]
    vocabulary_: Vocabulary | NumberedColumns
    layout_: ChainLayout

    def _check_fitted(self) -> None: ...


def write_crfsuite_model(model: Exportable, path: PathLike) -> None:
    """Write a chain model as CRFsuite's model file.

    CRFsuite and python-crfsuite give the same labels and marginals by it, wherever they are given the same attributes.
    Only weights that are not zero are written. The file is written whole or not at all, and packed if its name ends in
    ``.gz``; CRFsuite itself reads it unpacked.

    Parameters
    ----------
    model : ChainModel or ChainCRF
        Fitted, on attributes that have names, and without what CRFsuite's models do not have: weights of bias, begin
        and end, bigram attributes, constraints.
    path : str or path
        The file to write.

    Raises
    ------
    ValueError
        If the model has something that CRFsuite's models cannot have, with what it is and what to do about it.

    Examples
    --------
    >>> import os, tempfile
    >>> from dualfield import ChainCRF
    >>> from dualfield.models import read_crfsuite_model, write_crfsuite_model
    >>> crf = ChainCRF(bias=False, begin=False, end=False, random_state=0)
    >>> crf = crf.fit([[["a"], ["b"]], [["b"], ["a"]]], [["A", "B"], ["B", "A"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_crfsuite_model(crf, os.path.join(folder, "m.crfsuite"))
    ...     read_crfsuite_model(os.path.join(folder, "m.crfsuite")).predict([[["b"], ["b"]]])
    [['B', 'B']]
    """
    model._check_fitted()
    content = _content(model)
    with atomic_write(path, "wb") as file:
        file.write(gzip.compress(content, mtime=0) if os.fspath(path).endswith(".gz") else content)


def _content(model: Exportable) -> bytes:
    names, labels = _names(model), _labels(model)
    _check_weights(model)
    layout, weights = model.layout_.without_zeros(model.weights_)
    layout, used = layout.without_empty_rows()
    assert layout.rows is not None
    n_state, n_labels = layout.n_state_weights, layout.n_labels

    features = np.empty(n_state + len(layout.transitions), _FEATURE)
    features["type"][:n_state], features["type"][n_state:] = _STATE, _TRANSITION
    features["source"][:n_state] = np.repeat(np.arange(layout.n_attributes), np.diff(layout.rows[0]))
    features["destination"][:n_state] = layout.rows[1]
    features["source"][n_state:], features["destination"][n_state:] = np.divmod(layout.transitions, n_labels)
    features["weight"] = weights[: len(features)]

    of_labels = np.searchsorted(layout.transitions, np.arange(n_labels + 1, dtype=np.int64) * n_labels)
    parts = _Parts()
    features_at = parts.add(_chunk(b"FEAT", len(features), features.tobytes()))
    labels_at = parts.add(cqdb(*_with_nul(*_packed(labels))))
    attributes_at = parts.add(cqdb(*_with_nul(*_chosen(names, used))))
    label_refs_at = parts.add(_references(b"LFRF", parts.size, n_state + of_labels, _FIRST_AND_LAST))
    attribute_refs_at = parts.add(_references(b"AFRF", parts.size, layout.rows[0]))
    places = (features_at, labels_at, attributes_at, label_refs_at, attribute_refs_at)
    if parts.size > _LARGEST:
        raise ValueError(
            f"the model would be a CRFsuite model of {parts.size:,} bytes, and such files have at most "
            f"{_LARGEST:,}; make it smaller, by state_features='observed' or l1."
        )
    # CRFsuite leaves the number of features here at 0; that of FEAT is what it reads.
    header = np.array([0, n_labels, layout.n_attributes, *places], "<u4").tobytes()
    first = CRFSUITE + _number(parts.size) + _TYPE + _number(_VERSION) + header
    return first + b"".join(parts.contents)


class _Parts:
    """The parts of the file after its header, each of which begins at a multiple of four bytes."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self.size = _HEADER

    def add(self, content: bytes) -> int:
        """Where the part begins."""
        begin = self.size
        self.contents.append(content + bytes(-len(content) % 4))
        self.size += len(self.contents[-1])
        return begin


def _number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _chunk(tag: bytes, count: int, content: bytes) -> bytes:
    size = 12 + len(content)
    return tag + min(size, _LARGEST).to_bytes(4, "little") + _number(count) + content


def _references(tag: bytes, start: int, bounds: npt.NDArray[Any], empty: int = 0) -> bytes:
    """For each owner the numbers of its features, which are ``bounds[i] .. bounds[i + 1] - 1``.

    ``start`` is where the part begins in the file; ``empty`` more owners have no list at all.
    """
    counts, owners = np.diff(bounds), len(bounds) - 1
    entries_at = start + 12 + 4 * (owners + empty)
    before = np.asarray(bounds[:-1] - bounds[0])  # features of earlier owners
    entries = np.zeros(owners + int(counts.sum()), "<u4")
    heads = np.arange(owners) + before
    entries[heads] = counts
    listed = np.ones(len(entries), dtype=bool)
    listed[heads] = False
    entries[listed] = np.arange(bounds[0], bounds[-1])
    places = np.zeros(owners + empty, "<u4")
    places[:owners] = entries_at + 4 * heads
    return _chunk(tag, owners + empty, places.tobytes() + entries.tobytes())


def _check_weights(model: Exportable) -> None:
    """Refuse weights that CRFsuite's models have no place for."""
    layout, weights = model.layout_, model.weights_
    if not np.isfinite(weights).all():
        raise ValueError("the model cannot be a CRFsuite model: some weights are not finite; train it again.")
    if layout.constraints is not None:
        raise ValueError(
            "the model has constraints, which CRFsuite's models do not have; train it without them, and expect "
            "labellings that they forbid."
        )
    if layout.n_columns:
        raise ValueError(
            "the model has dense columns beside its attributes, and CRFsuite's models have none: save it, or train "
            "without them."
        )
    if layout.bigrams is not None and weights[layout.n_chain_weights :].any():
        raise ValueError(
            "the model has bigram attributes, with weights of pairs of labels, and CRFsuite's models have none: "
            "train it without them."
        )
    at = layout.n_state_weights + len(layout.transitions)
    for name, where in (("bias", "every position"), ("begin", "the first position"), ("end", "the last position")):
        if getattr(layout, name):
            if weights[at : at + layout.n_labels].any():
                raise ValueError(
                    f"the model has {name} weights, one for each label at {where}, and CRFsuite's models have only "
                    "weights of attributes and transitions; train it with bias=False, begin=False, end=False, and give "
                    "the positions an attribute of their own where such a weight is wanted."
                )
            at += layout.n_labels


def _names(model: Exportable) -> Vocabulary:
    vocabulary = model.vocabulary_
    if isinstance(vocabulary, NumberedColumns):
        raise ValueError(
            f"the model was trained on arrays: its {len(vocabulary)} attributes are numbered columns, and those of "
            "CRFsuite's models have names; train it on dicts or lists of strings, without hashing."
        )
    return vocabulary


def _labels(model: Exportable) -> list[bytes]:
    encoded = []
    for label in model.classes_.tolist():
        if not isinstance(label, str):
            raise ValueError(
                f"the label {label!r} is of type {type(label).__name__}, and CRFsuite's labels are strings; train the "
                "model with y as strings."
            )
        if "\0" in label:
            raise ValueError(f"the label {label!r} has a NUL character, which ends a string in CRFsuite; rename it.")
        try:
            encoded.append(label.encode())
        except UnicodeEncodeError:
            raise ValueError(
                f"the label {label!r} has a lone surrogate, which UTF-8 cannot encode; rename it."
            ) from None
    return encoded


def _packed(strings: list[bytes]) -> tuple[npt.NDArray[np.uint8], Numbers]:
    bounds = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    return np.frombuffer(b"".join(strings), np.uint8), bounds


def _chosen(vocabulary: Vocabulary, used: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.uint8], Numbers]:
    """The names of the attributes that have a weight."""
    arrays = vocabulary.to_bytes_arrays()
    text, bounds = np.asarray(arrays["vocabulary_text"], np.uint8), np.asarray(arrays["vocabulary_offsets"], np.int64)
    lengths = np.diff(bounds)
    kept = text[np.repeat(used, lengths)]
    ends = np.cumsum(lengths[used])
    if not kept.all():
        number = int(np.searchsorted(ends, int(np.argmin(kept)), side="right"))
        name = vocabulary.names[int(np.flatnonzero(used)[number])]
        raise ValueError(
            f"the attribute {name!r} has a NUL character, which ends a string in CRFsuite; rename it in the data and "
            "train again."
        )
    return kept, np.concatenate(([0], ends)).astype(np.int64)


def _with_nul(text: npt.NDArray[np.uint8], bounds: Numbers) -> tuple[npt.NDArray[np.uint8], Numbers]:
    """The same strings, each with a NUL at its end."""
    count = len(bounds) - 1
    longer = np.zeros(len(text) + count, np.uint8)
    longer[np.arange(len(text)) + np.repeat(np.arange(count), np.diff(bounds))] = text
    return longer, bounds + np.arange(count + 1)
