"""The weights of a chain by name: of a label, of an attribute, of transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from dualfield.features import Vocabulary
from dualfield.models.unwrapping import chain_inside
from dualfield.table import Table

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel

__all__ = [
    "attribute_name",
    "attribute_rows",
    "attribute_weights",
    "has_attribute",
    "label_code",
    "top_weights",
    "transitions",
]

Sign = Literal["both", "positive", "negative"]
_SIGNED = {"weight": "+.3f"}


def top_weights(crf: Any, n: int = 10, label: Any = None, sign: Sign = "both") -> Table:
    """The attributes with the largest weights for each label, or for one.

    A weight says by how much one unit of the attribute's value raises the score of the label at its position,
    so only differences between labels matter: the same weight for all labels says nothing.

    Parameters
    ----------
    crf : ChainCRF, or what holds one
        A fitted model, or a fitted ``ChainCRFCV``, ``GridSearchCV``, ``Pipeline`` or drop-in ``CRF`` around one.
    n : int
        How many for each label.
    label : label, optional
        One of ``crf.classes_``; by default all of them.
    sign : {"both", "positive", "negative"}
        "both" takes the largest magnitudes.

    Returns
    -------
    Table
        Columns label, attribute, weight; the largest first.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.inspection import top_weights
    >>> crf = ChainCRF(random_state=0).fit([[["the"], ["cat"]], [["a"], ["cat"]]], [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> top_weights(crf, n=1, label="NOUN", sign="positive").rows[0][:2]
    ('NOUN', 'cat')
    """
    crf = chain_inside(crf, "top_weights")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a positive integer; got {n!r}.")
    if sign not in ("both", "positive", "negative"):
        raise ValueError(f"sign must be 'both', 'positive' or 'negative'; got {sign!r}.")
    codes = range(len(crf.classes_)) if label is None else [label_code(crf, label)]
    parts = crf.layout_.split(crf.weights_)
    matrices = [part if isinstance(part, np.ndarray) else part.tocsc() for part in _state_parts(parts)]
    rows = []
    for code in codes:
        name = crf.classes_[code].item()
        for attribute, weight in _largest(matrices, code, int(n), sign):
            rows.append((name, attribute_name(crf, attribute), weight))
    whose = "each label" if label is None else repr(label)
    kind = {"both": "largest", "positive": "largest positive", "negative": "most negative"}[sign]
    return Table(
        title=f"Attributes with the {kind} weights for {whose}",
        columns=("label", "attribute", "weight"),
        rows=tuple(rows),
        formats=_SIGNED,
    )


def attribute_weights(crf: Any, attribute: str | int) -> Table:
    """What one attribute says for and against each label.

    Parameters
    ----------
    crf : ChainCRF, or what holds one
        A fitted model, or a fitted ``ChainCRFCV``, ``GridSearchCV``, ``Pipeline`` or drop-in ``CRF`` around one.
    attribute : str or int
        Its name; for a model of arrays, and for dense columns beside names, the number of its column.

    Returns
    -------
    Table
        Columns label and weight, the largest first; – where the pair was not observed in training and has no weight.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.inspection import attribute_weights
    >>> crf = ChainCRF(random_state=0).fit([[["the"], ["cat"]], [["a"], ["cat"]]], [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> [row[0] for row in attribute_weights(crf, "cat").rows]
    ['NOUN', 'DET']
    """
    crf = chain_inside(crf, "attribute_weights")
    number = _attribute_number(crf, attribute)
    (weights,), (present,) = attribute_rows(crf, np.array([number]))
    pairs = [
        (label, float(weight) if there else None)
        for label, weight, there in zip(crf.classes_.tolist(), weights, present, strict=True)
    ]
    pairs.sort(key=lambda pair: (pair[1] is None, -(pair[1] or 0.0)))
    return Table(
        title=f"Weights of {attribute_name(crf, number)}",
        columns=("label", "weight"),
        rows=tuple(pairs),
        formats=_SIGNED,
    )


def transitions(crf: Any) -> Table:
    """The weights between neighbouring labels: from the label of a row to the label of a column.

    The row (begin) holds the weights of the first label, the column (end) those of the last; – where there is none.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.inspection import transitions
    >>> crf = ChainCRF(random_state=0).fit([[["the"], ["cat"]], [["a"], ["cat"]]], [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> table = transitions(crf)
    >>> table.columns, [row[0] for row in table.rows]
    (('from / to', 'DET', 'NOUN', '(end)'), ['(begin)', 'DET', 'NOUN'])
    """
    crf = chain_inside(crf, "transitions")
    layout, labels = crf.layout_, [str(label) for label in crf.classes_.tolist()]
    parts = layout.split(crf.weights_)
    present = np.zeros(len(labels) ** 2, dtype=bool)
    present[layout.transitions] = True
    rows: list[tuple[Any, ...]] = []
    if "begin" in parts:
        rows.append(("(begin)", *parts["begin"].tolist(), *([None] if "end" in parts else [])))
    matrix, there = parts["transitions"].tolist(), present.reshape(len(labels), -1).tolist()
    for i, label in enumerate(labels):
        weights = [weight if known else None for weight, known in zip(matrix[i], there[i], strict=True)]
        rows.append((label, *weights, *([float(parts["end"][i])] if "end" in parts else [])))
    columns = ("from / to", *labels, *(["(end)"] if "end" in parts else []))
    return Table(
        title="Weights of transitions", columns=columns, rows=tuple(rows), formats=dict.fromkeys(columns[1:], "+.2f")
    )


def attribute_name(crf: ChainModel, number: int) -> str:
    """The name of an attribute; for a model of arrays, its column. Dense columns have the numbers after attributes."""
    vocabulary = crf.vocabulary_
    if number >= crf.layout_.n_attributes:
        return f"dense column {number - crf.layout_.n_attributes}"
    return vocabulary.names[number] if isinstance(vocabulary, Vocabulary) else f"column {number}"


def attribute_rows(
    crf: ChainModel, numbers: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The weights of attributes for all labels, shape (·, K), and which of these pairs have one."""
    layout = crf.layout_
    weights = np.zeros((len(numbers), layout.n_labels))
    if layout.rows is None:  # dense columns follow
        weights[:] = crf.weights_[: layout.n_state_weights].reshape(-1, layout.n_labels)[numbers]
        return weights, np.ones(weights.shape, dtype=bool)
    present = np.zeros(weights.shape, dtype=bool)
    starts, labels = layout.rows
    dense = crf.weights_[layout.n_attribute_weights : layout.n_state_weights].reshape(-1, layout.n_labels)
    for place, number in enumerate(numbers):
        if number >= layout.n_attributes:
            weights[place], present[place] = dense[number - layout.n_attributes], True
            continue
        row = slice(starts[number], starts[number + 1])
        weights[place, labels[row]] = crf.weights_[row]
        present[place, labels[row]] = True
    return weights, present


def label_code(crf: ChainModel, label: Any) -> int:
    """The number of a label, or a sentence that lists those that there are."""
    known = crf.classes_.tolist()
    if label not in known:
        shown = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
        raise ValueError(f"the model has no label {label!r:.60}; it has {shown}.")
    return known.index(label)


def has_attribute(crf: ChainModel, attribute: str | int) -> bool:
    """Whether the model has an attribute of this name or number."""
    try:
        _attribute_number(crf, attribute)
    except ValueError:
        return False
    return True


def _attribute_number(crf: ChainModel, attribute: str | int) -> int:
    vocabulary, layout = crf.vocabulary_, crf.layout_
    if isinstance(vocabulary, Vocabulary):
        if layout.n_columns and isinstance(attribute, int | np.integer) and not isinstance(attribute, bool):
            if 0 <= attribute < layout.n_columns:
                return layout.n_attributes + int(attribute)
            raise ValueError(f"the model's dense columns are 0 to {layout.n_columns - 1}; got {attribute}.")
        if isinstance(attribute, str) and attribute in vocabulary:
            return vocabulary.index[attribute]
        near = [name for name in vocabulary.names if str(attribute) in name][:3]
        hint = f"; among those it has: {', '.join(map(repr, near))}" if near else ""
        raise ValueError(f"the model has no attribute {attribute!r:.60}{hint}.")
    if (
        isinstance(attribute, bool)
        or not isinstance(attribute, int | np.integer)
        or not 0 <= attribute < len(vocabulary)
    ):
        raise ValueError(f"the model's attributes are columns 0 to {len(vocabulary) - 1}; got {attribute!r:.60}.")
    return int(attribute)


def _state_parts(parts: dict[str, Any]) -> list[Any]:
    """The weights of attributes, and those of dense columns where there are some."""
    return [parts["state"], *([parts["columns"]] if "columns" in parts else [])]


def _largest(matrices: list[Any], code: int, n: int, sign: Sign) -> list[tuple[int, float]]:
    """The n attributes of largest weight for a label, as (attribute, weight), of stacked matrices, without zeros."""
    columns, numbers, before = [], [], 0
    for state in matrices:
        if isinstance(state, np.ndarray):
            columns.append(state[:, code])
            numbers.append(before + np.arange(len(state)))
        else:
            part = slice(state.indptr[code], state.indptr[code + 1])
            columns.append(state.data[part])
            numbers.append(before + state.indices[part])
        before += state.shape[0]
    column, number = np.concatenate(columns), np.concatenate(numbers)
    size = np.abs(column) if sign == "both" else column if sign == "positive" else -column
    kept = np.flatnonzero(size > 0)
    if len(kept) > n:
        kept = kept[np.argpartition(-size[kept], n - 1)[:n]]
    order = kept[np.lexsort((kept, -size[kept]))]
    return [(int(number[k]), float(column[k])) for k in order]
