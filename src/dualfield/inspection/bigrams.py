"""The weights of bigram attributes by name: with an attribute, from the label before to the label here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dualfield.features import Vocabulary
from dualfield.models import BigramLayout
from dualfield.models.unwrapping import chain_inside
from dualfield.table import Table

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel

__all__ = ["bigram_name", "bigram_weights", "has_bigram", "top_bigrams"]


def top_bigrams(crf: Any, n: int = 10) -> Table:
    """The bigram attributes and pairs of labels with the weights of largest magnitude.

    A weight says by how much one unit of the attribute's value raises the score of the second label at its position
    after the first at the position before, beside the weight of that transition.

    Parameters
    ----------
    crf : ChainCRF, or what holds one
        A fitted model with bigram attributes.
    n : int
        How many.

    Returns
    -------
    Table
        Columns attribute, from, to, weight; the largest first.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.inspection import top_bigrams
    >>> crf = ChainCRF(random_state=0)
    >>> X = crf.encode([[["x"], ["x"]], [["x"], ["x"]]], bigrams=[[[], ["comma"]], [[], ["none"]]])
    >>> top_bigrams(crf.fit(X, [["A", "B"], ["A", "A"]]), n=1).columns
    ('attribute', 'from', 'to', 'weight')
    """
    crf = chain_inside(crf, "top_bigrams")
    layout = _layout(crf)
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a positive integer; got {n!r}.")
    weights = crf.weights_[crf.layout_.n_chain_weights :]
    size = np.abs(weights)
    kept = np.flatnonzero(size > 0)
    if len(kept) > n:
        kept = kept[np.argpartition(-size[kept], n - 1)[:n]]
    kept = kept[np.lexsort((kept, -size[kept]))]
    if layout.starts is None:
        attributes, places = np.divmod(kept, len(layout.pairs))
        pairs = layout.pairs[places]
    else:
        attributes, pairs = np.searchsorted(layout.starts, kept, side="right") - 1, layout.pairs[kept]
    names, rows = crf.classes_.tolist(), []
    for place, attribute, pair in zip(kept.tolist(), attributes.tolist(), pairs.tolist(), strict=True):
        before, after = divmod(pair, len(names))
        rows.append((bigram_name(crf, attribute), names[before], names[after], float(weights[place])))
    return Table(
        title="Bigrams with the largest weights",
        columns=("attribute", "from", "to", "weight"),
        rows=tuple(rows),
        formats={"weight": "+.3f"},
    )


def bigram_weights(crf: Any, attribute: str | int) -> Table:
    """What one bigram attribute says of each pair of labels: from the label of a row to the label of a column.

    Parameters
    ----------
    crf : ChainCRF, or what holds one
        A fitted model with bigram attributes.
    attribute : str or int
        Its name; for attributes without names, the number of its column.

    Returns
    -------
    Table
        – where there is no weight.
    """
    crf = chain_inside(crf, "bigram_weights")
    layout = _layout(crf)
    if not has_bigram(crf, attribute):
        raise ValueError(f"the model has no bigram attribute {attribute!r:.60}.")
    vocabulary = crf.bigram_vocabulary_
    number = vocabulary.index[str(attribute)] if isinstance(vocabulary, Vocabulary) else int(attribute)
    weights, present = layout.matrix(crf.weights_[crf.layout_.n_chain_weights :], number)
    labels = [str(label) for label in crf.classes_.tolist()]
    rows: list[tuple[Any, ...]] = []
    for label, row, there in zip(labels, weights.tolist(), present.tolist(), strict=True):
        rows.append((label, *(weight if known else None for weight, known in zip(row, there, strict=True))))
    columns = ("from / to", *labels)
    return Table(
        title=f"Weights of the bigram {bigram_name(crf, number)}",
        columns=columns,
        rows=tuple(rows),
        formats=dict.fromkeys(labels, "+.2f"),
    )


def bigram_name(crf: ChainModel, number: int) -> str:
    """The name of a bigram attribute, or its column."""
    vocabulary = crf.bigram_vocabulary_
    return vocabulary.names[number] if isinstance(vocabulary, Vocabulary) else f"bigram column {number}"


def has_bigram(crf: ChainModel, attribute: str | int) -> bool:
    """Whether the model has a bigram attribute of this name or number."""
    vocabulary = crf.bigram_vocabulary_
    if isinstance(vocabulary, Vocabulary):
        return isinstance(attribute, str) and attribute in vocabulary
    number = isinstance(attribute, int | np.integer) and not isinstance(attribute, bool)
    return vocabulary is not None and number and 0 <= int(attribute) < len(vocabulary)


def _layout(crf: ChainModel) -> BigramLayout:
    if crf.layout_.bigrams is None:
        raise ValueError("the model was trained without bigram attributes.")
    return crf.layout_.bigrams
