"""Why a token got its label: a difference of two scores, taken apart.

Let s(k) be the score of the best labelling that has label k at the position. The model prefers label a to b there by
the margin s(a) − s(b). The two labellings differ in few places, and a score is a sum of weights. So the margin is the
sum of the differences of

* value · weight for every attribute of the position, its bias, and begin or end weight there;
* the transitions from the label before and to the label after, and value · weight of the bigram attributes there;
* the same for other positions, where the two labellings differ there too: calling *Paris* a person may pull
  *Hilton* along.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.counted import counted
from dualfield.features import Encoded, encode
from dualfield.inspection.bigrams import bigram_name
from dualfield.inspection.weights import attribute_name, attribute_rows, label_code
from dualfield.models.unwrapping import unwrapped
from dualfield.table import Row, Table

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel

__all__ = ["Explanation", "explain"]

_OUT_OF_THE_QUESTION = -1e200  # beyond all scores, and still finite
_COLUMNS = ("part", "position", "value", "weight for", "weight against", "contribution")
_SHOWN = 10  # rows that are printed; ``rows`` has all
_MEANING = (
    "A contribution is the value times the difference of the two weights: the weight for {a} here and that for {b}, or "
    "those of the transitions to which the two labellings belong."
)
_FORMATS = {"value": "g", "weight for": "+.3f", "weight against": "+.3f", "contribution": "+.3f"}


@dataclass(frozen=True, kw_only=True)
class Explanation(Table):
    """The table of contributions, and what they explain. Printed are the ten largest; ``rows`` has all.

    Parameters
    ----------
    position : int
        Where.
    label, against : labels
        The two that are compared there.
    margin : float
        ``s(label) − s(against)``, the sum of the column contribution; negative where ``against`` is preferred.
    probability, probability_against : float
        The marginals of the two labels.
    labelling, alternative : tuples of labels
        The best labellings of the whole sequence with each of them.
    """

    position: int
    label: Any
    against: Any
    margin: float
    probability: float
    probability_against: float
    labelling: tuple[Any, ...]
    alternative: tuple[Any, ...]

    def within(self, width: int | None) -> str:
        """The ten largest contributions as text; see :meth:`Table.within`."""
        return self._largest().within(width)

    def __rich__(self) -> Any:
        return self._largest().__rich__()

    def _repr_html_(self) -> str:
        return self._largest()._repr_html_()

    def _largest(self) -> Table:
        rest = self.rows[_SHOWN:]
        note = self.note
        if rest:
            total = math.fsum(row[-1] for row in rest)
            note = f"… and {counted(len(rest), 'smaller contribution')}, together {total:+.3f}; rows has all.\n{note}"
        return Table(title=self.title, columns=self.columns, rows=self.rows[:_SHOWN], note=note, formats=self.formats)


def explain(crf: Any, x: Any, position: int, label: Any = None, against: Any = None) -> Explanation:
    """Take the score apart that decides about the label of one token.

    Parameters
    ----------
    crf : ChainCRF, or what holds one
        A fitted model, or a fitted ``ChainCRFCV``, ``GridSearchCV``, ``Pipeline`` or drop-in ``CRF`` around one.
    x : sequence
        One sequence, as in ``X``.
    position : int
        Which token, counted from 0; negative from the end.
    label : label, optional
        The label to explain; by default the one that ``predict`` gives.
    against : label, optional
        The label to compare with; by default the one with the next best labelling.

    Returns
    -------
    Explanation
        One row for each attribute, bias, transition, and further position that changes; the largest contribution first.
        The column contribution adds up to ``margin``.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.inspection import explain
    >>> crf = ChainCRF(random_state=0).fit([[["the"], ["cat"]], [["a"], ["cat"]]], [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> why = explain(crf, [["the"], ["cat"]], 1)
    >>> why.label, why.against, why.margin > 0
    ('NOUN', 'DET', True)
    >>> abs(sum(row[-1] for row in why.rows) - why.margin) < 1e-12
    True
    """
    crf, prepared = unwrapped(crf, "explain")
    x = x if isinstance(x, Encoded) else _only(prepared([x]))
    _refuse_words(crf, x)
    encoded = _one_sequence(crf, x)
    length = encoded.n_positions
    if isinstance(position, bool) or not isinstance(position, int | np.integer) or not -length <= position < length:
        raise ValueError(
            f"position must be an integer from 0 to {length - 1}, the last of the sequence; got {position!r}."
        )
    t = int(position) % length
    core = crf.layout_.compile(encoded)
    node, edge = core.chain_potentials(crf.weights_, 0)
    possible = np.isfinite(_core.chain_marginals(node, edge, True)[1][t])
    chosen = _code(crf, label, lambda: int(_core.chain_viterbi(node, edge)[0][t]))
    if possible.sum() == 1 and possible[chosen] and against is None:
        raise ValueError(
            f"{crf.classes_[chosen].item()!r} is the only label possible at position {t}: nothing to compare."
        )
    best = {k: _best_with(node, edge, t, k) for k in np.flatnonzero(possible).tolist()}
    other = _code(crf, against, lambda: max((k for k in best if k != chosen), key=lambda k: best[k][1]))
    if other == chosen:
        raise ValueError(f"label and against are both {crf.classes_[chosen].item()!r}; give two different labels.")
    for code in (chosen, other):
        if code not in best:
            raise ValueError(
                f"the model's constraints rule out the label {crf.classes_[code].item()!r} at position {t}."
            )
    one, two = best[chosen][0], best[other][0]
    rows = [*_position_rows(crf, encoded, t, chosen, other), *_further_rows(crf, encoded, node, t, one, two)]
    rows.sort(key=lambda row: -abs(row[-1]))
    margin = math.fsum(row[-1] for row in rows)
    nodes = _core.chain_marginals(node, edge, False)[1]
    names = crf.classes_.tolist()
    a, b = names[chosen], names[other]
    note = (
        f"The contributions add up to {margin:+.3f}, the score of the best labelling with {a} here less that of the "
        f"best with {b}. Marginal probabilities: {a} {nodes[t, chosen]:.3f}, {b} {nodes[t, other]:.3f}."
    )
    note = f"{_MEANING.format(a=a, b=b)}\n{note}"
    unknown = _unknown_attributes(crf, x, t, encoded)
    if unknown:
        note += f" {unknown} attribute{'' if unknown == 1 else 's'} of this token did not occur in training."
    return Explanation(
        title=f"Why {a}, and not {b}, at position {t}",
        columns=_COLUMNS,
        rows=tuple(rows),
        note=note,
        formats=_FORMATS,
        position=t,
        label=a,
        against=b,
        margin=margin,
        probability=float(nodes[t, chosen]),
        probability_against=float(nodes[t, other]),
        labelling=tuple(names[k] for k in one),
        alternative=tuple(names[k] for k in two),
    )


def _only(X: Any) -> Any:
    """The one sequence that the steps of a pipeline have made of x."""
    return X if isinstance(X, Encoded) else next(iter(X))


def _refuse_words(crf: ChainModel, x: Any) -> None:
    if not isinstance(x, list | tuple) or not any(isinstance(position, str) for position in x):
        return
    made = "template" in (crf.column_features_ or {})
    more = "; the model's attributes are made by a template: features.extract_all makes those of a preset"
    raise TypeError(
        f"x is a sequence of strings; expected a dict or a list of attribute strings for each position{more * made}."
    )


def _one_sequence(crf: ChainModel, x: Any) -> Encoded:
    encoded = crf.encode(x if isinstance(x, Encoded) else [x])
    if len(encoded) != 1:
        raise ValueError(f"x holds {len(encoded)} sequences; expected one; take one of them, as in x[0].")
    return encoded


def _code(crf: ChainModel, label: Any, default: Any) -> int:
    return int(default()) if label is None else label_code(crf, label)


def _best_with(node: Any, edge: Any, t: int, k: int) -> tuple[npt.NDArray[np.int32], float]:
    """The best labelling with label k at position t, and its score."""
    forced = node.copy()
    forced[t] = _OUT_OF_THE_QUESTION
    forced[t, k] = node[t, k]
    labelling, score = _core.chain_viterbi(forced, edge)
    return labelling, float(score)


def _position_rows(crf: ChainModel, encoded: Encoded, t: int, a: int, b: int) -> list[Row]:
    """The attributes of the position, its bias, and begin or end."""
    entries = slice(encoded.indptr[t], encoded.indptr[t + 1])
    numbers = encoded.indices[entries]
    values = np.ones(len(numbers)) if encoded.values is None else encoded.values[entries]
    if encoded.dense is not None:
        dense = np.concatenate(encoded.dense.arrays)[t].astype(np.float64)
        numbers = np.concatenate([numbers, crf.layout_.n_attributes + np.arange(len(dense))])
        values = np.concatenate([values, dense])
    weights, _ = attribute_rows(crf, numbers)
    rows: list[Row] = []
    for number, value, (wa, wb) in zip(numbers.tolist(), values.tolist(), weights[:, [a, b]].tolist(), strict=True):
        rows.append((attribute_name(crf, number), t, value, wa, wb, value * (wa - wb)))
    parts = crf.layout_.split(crf.weights_)
    for name, here in (("bias", True), ("begin", t == 0), ("end", t == encoded.n_positions - 1)):
        if here and name in parts:
            wa, wb = float(parts[name][a]), float(parts[name][b])
            rows.append((f"({name})", t, 1.0, wa, wb, wa - wb))
    return rows


def _further_rows(crf: ChainModel, encoded: Encoded, node: Any, t: int, one: Any, two: Any) -> list[Row]:
    """Transitions that differ, the bigrams there, and other positions whose labels do."""
    names, rows = crf.classes_.tolist(), []
    edge = crf.layout_.split(crf.weights_)["transitions"]
    for s in range(len(one)):
        if s > 0 and (one[s - 1] != two[s - 1] or one[s] != two[s]):
            wa, wb = float(edge[one[s - 1], one[s]]), float(edge[two[s - 1], two[s]])
            shown = [f"{names[y[s - 1]]} → {names[y[s]]}" for y in (one, two)]
            rows.append((f"{shown[0]}, not {shown[1]}", s, 1.0, wa, wb, wa - wb))
            for bigram, value, matrix in _bigrams_at(crf, encoded, s):
                wa, wb = float(matrix[one[s - 1], one[s]]), float(matrix[two[s - 1], two[s]])
                rows.append((f"{bigram}: {shown[0]}, not {shown[1]}", s, value, wa, wb, value * (wa - wb)))
        if s != t and one[s] != two[s]:
            wa, wb = float(node[s, one[s]]), float(node[s, two[s]])
            rows.append((f"{names[one[s]]}, not {names[two[s]]}", s, 1.0, wa, wb, wa - wb))
    return rows


def _bigrams_at(crf: ChainModel, encoded: Encoded, s: int) -> Iterator[tuple[str, float, npt.NDArray[np.float64]]]:
    """Name, value and matrix of weights of the bigram attributes of a position."""
    bigrams, layout = encoded.bigrams, crf.layout_.bigrams
    if bigrams is None or layout is None:
        return
    weights = crf.weights_[crf.layout_.n_chain_weights :]
    for entry in range(bigrams.indptr[s], bigrams.indptr[s + 1]):
        number = int(bigrams.indices[entry])
        value = 1.0 if bigrams.values is None else float(bigrams.values[entry])
        yield bigram_name(crf, number), value, layout.matrix(weights, number)[0]


def _unknown_attributes(crf: ChainModel, x: Any, t: int, encoded: Encoded) -> int:
    if isinstance(x, Encoded):
        return 0
    given = encode([x])
    return int((given.indptr[t + 1] - given.indptr[t]) - (encoded.indptr[t + 1] - encoded.indptr[t]))
