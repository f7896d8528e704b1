"""Fields written out in full: every block as the feature vectors of all its labellings, in the documented layout of the
weights. Losses, gradients and Hessians are then plain sums.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dualfield import fields
from dualfield.fields import Field
from tests.enumeration import all_labellings


class Block:
    """One training structure: ``vectors[y] = F(x, y)`` for each row y of ``labellings``."""

    def __init__(self, labellings: Any, vectors: Any, true_labels: Any, c: float) -> None:
        self.labellings, self.vectors, self.c = labellings, vectors, c
        self.truth = next(iter(vectors[(labellings == true_labels).all(axis=1)]), None)  # None: known in part only

    def probabilities(self, w: Any) -> tuple[Any, Any]:
        """(log Z, p) in extended precision."""
        scores = self.vectors.astype(np.longdouble) @ w
        top = scores.max()
        log_z = top + np.log(np.exp(scores - top).sum())
        return log_z, np.exp(scores - log_z)

    def loss(self, w: Any) -> float:
        return float(self.probabilities(w)[0] - self.truth.astype(np.longdouble) @ w)

    def gradient(self, w: Any) -> Any:
        """``c (E_w F − F_i)``."""
        return (self.c * (self.probabilities(w)[1] @ self.vectors - self.truth)).astype(float)

    def hessian_product(self, w: Any, v: Any) -> Any:
        """``c Cov_w(F) v``."""
        p = self.probabilities(w)[1]
        along = self.vectors.astype(np.longdouble) @ v
        return (self.c * ((p * (along - p @ along)) @ self.vectors)).astype(float)

    def features(self, labels: Any) -> Any:
        return self.vectors[np.flatnonzero((self.labellings == labels).all(axis=1))[0]]


class WrittenOut:
    """All blocks of a field."""

    def __init__(self, field: Field) -> None:
        self.field, self.l2, self.dimension = field, field.l2, field.dimension
        c = np.ones(field.n_blocks) if field.sample_weight is None else field.sample_weight
        if isinstance(field, fields.PseudoLikelihood) and field.sample_weight is not None:
            c = np.repeat(field.sample_weight, field.encoded.sizes)
        kinds = {fields.Chain: self._chain_block, fields.Graph: self._graph, fields.PseudoLikelihood: self._node}
        block = next((make for kind, make in kinds.items() if isinstance(field, kind)), self._point)
        self.blocks = [block(i, c[i]) for i in range(field.n_blocks)]
        self.active = np.flatnonzero(c > 0).tolist()

    @property
    def n(self) -> int:
        """How many blocks count."""
        return len(self.active)

    def primal(self, w: Any) -> float:
        return self.l2 / 2 * (w @ w) + sum(b.c * b.loss(w) for b in self.blocks)

    def gradient(self, w: Any, batch: Any = None) -> Any:
        """Of the losses of a batch, or of all; without the penalty."""
        return sum(self.blocks[i].gradient(w) for i in (self.active if batch is None else batch))

    def hessian_product(self, w: Any, v: Any, batch: Any = None) -> Any:
        return sum(self.blocks[i].hessian_product(w, v) for i in (self.active if batch is None else batch))

    @cached_property
    def _places(self) -> dict[Any, int]:
        """Where the weight of each feature of a chain is."""
        layout: Any = self.field.layout
        K = layout.n_labels
        if layout.rows is None:
            keys: list[Any] = [("state", a, k) for a in range(layout.n_attributes) for k in range(K)]
        else:
            starts, labels = layout.rows
            keys = [("state", a, k) for a in range(layout.n_attributes) for k in labels[starts[a] : starts[a + 1]]]
        keys += [("column", d, k) for d in range(layout.n_columns) for k in range(K)]
        keys += [("edge", *divmod(int(flat), K)) for flat in layout.transitions]
        for part in ("bias", "begin", "end"):
            if getattr(layout, part):
                keys += [(part, k) for k in range(K)]
        if layout.bigrams is not None:
            keys += [("bigram", b, *divmod(int(pair), K)) for b, pair in _bigram_weights(layout.bigrams)]
        return {key: place for place, key in enumerate(keys)}

    def _chain_block(self, i: int, c: float) -> Block:
        encoded, field = self.field.encoded, self.field
        first, last = encoded.offsets[i], encoded.offsets[i + 1]
        labellings = all_labellings(last - first, len(field.classes))
        labellings = labellings[allowed_rows(field, i, labellings)]
        vectors = np.zeros((len(labellings), self.dimension))
        columns = np.zeros((last - first, 0)) if encoded.dense is None else encoded.dense.arrays[i].astype(float)

        def add(row: int, key: Any, value: float) -> None:
            if key in self._places:
                vectors[row, self._places[key]] += value

        for row, labels in enumerate(labellings.tolist()):
            add(row, ("begin", labels[0]), 1.0)
            add(row, ("end", labels[-1]), 1.0)
            for t, label in enumerate(labels):
                add(row, ("bias", label), 1.0)
                if t > 0:
                    add(row, ("edge", labels[t - 1], label), 1.0)
                    for b, value in _bigrams_at(encoded, first + t):
                        add(row, ("bigram", b, labels[t - 1], label), value)
                for e in range(encoded.indptr[first + t], encoded.indptr[first + t + 1]):
                    value = 1.0 if encoded.values is None else encoded.values[e]
                    add(row, ("state", int(encoded.indices[e]), label), value)
                for d, value in enumerate(columns[t]):
                    add(row, ("column", d, label), value)
        return Block(labellings, vectors, field.codes[first:last], c)

    def _point(self, i: int, c: float) -> Block:
        field: Any = self.field
        K = len(field.classes)
        x = np.asarray(field.rows[[i]].todense()).ravel()
        if self.dimension > len(x) * K:
            x = np.append(x, 1.0)
        vectors = np.array([np.outer(x, row).ravel() for row in np.eye(K)])
        return Block(all_labellings(1, K), vectors, [field.codes[i]], c)

    def _graph(self, i: int, c: float) -> Block:
        field: Any = self.field
        first, last = field.encoded.offsets[i], field.encoded.offsets[i + 1]
        labellings = all_labellings(last - first, len(field.classes))
        vectors = np.array([graph_features(field, i, labels) for labels in labellings])
        return Block(labellings, vectors, field.codes[first:last], c)

    def _node(self, v: int, c: float) -> Block:
        """One node at each of its labels, the rest of its graph at the true ones."""
        field: Any = self.field
        offsets, K = field.encoded.offsets, len(field.classes)
        i = int(np.searchsorted(offsets, v, side="right")) - 1
        labels = np.tile(field.codes[offsets[i] : offsets[i + 1]], (K, 1))
        labels[:, v - offsets[i]] = np.arange(K)
        return Block(all_labellings(1, K), np.array([graph_features(field, i, y) for y in labels]), [field.codes[v]], c)


def _bigram_weights(layout: Any) -> list[tuple[int, int]]:
    """(attribute, pair) of each weight of bigrams."""
    if layout.starts is None:
        return [(b, pair) for b in range(layout.n_bigrams) for pair in layout.pairs.tolist()]
    return [
        (b, pair)
        for b in range(layout.n_bigrams)
        for pair in layout.pairs[layout.starts[b] : layout.starts[b + 1]].tolist()
    ]


def _bigrams_at(encoded: Any, position: int) -> list[tuple[int, float]]:
    bigrams = encoded.bigrams
    if bigrams is None:
        return []
    entries = range(bigrams.indptr[position], bigrams.indptr[position + 1])
    return [(int(bigrams.indices[e]), 1.0 if bigrams.values is None else bigrams.values[e]) for e in entries]


def allowed_rows(field: Any, i: int, labellings: Any) -> Any:
    """Which labellings of sequence i the constraints and the allowed sets of a chain leave, one truth value each."""
    rules, first = field.layout.constraints, field.encoded.offsets[i]
    kept = np.ones(len(labellings), dtype=bool)
    for row, labels in enumerate(labellings.tolist()):
        if rules is not None:
            kept[row] = rules.allows([rules.labels[k] for k in labels])
        if field.allowed is not None:
            kept[row] &= all(field.allowed[first + t, k] for t, k in enumerate(labels))
    return kept


def graph_features(field: Any, i: int, labels: Any) -> Any:
    """``F(x, y)`` of graph i in the layout [ attribute × label | edge feature × parameter | bias ]."""
    graphs, layout = field.encoded, field.layout
    K, kind, first = layout.n_labels, layout.edge_weights, graphs.offsets[i]
    node = np.zeros((layout.n_attributes, K))
    parameters = {"full": K * K, "symmetric": K * (K + 1) // 2, "potts": 1, "ising": 1}[kind]
    edge = np.zeros((max(graphs.n_edge_features, 1), parameters))
    bias = np.zeros(K)
    for v, label in enumerate(labels):
        bias[label] += 1.0
        for entry in range(graphs.indptr[first + v], graphs.indptr[first + v + 1]):
            node[graphs.indices[entry], label] += 1.0 if graphs.values is None else graphs.values[entry]
    in_order = [(a, b) for a in range(K) for b in range(a, K)]
    for e in range(graphs.edge_offsets[i], graphs.edge_offsets[i + 1]):
        a, b = (int(labels[v]) for v in graphs.ends[e])
        z = np.ones(1) if graphs.edge_features is None else graphs.edge_features[e]
        if kind == "full":
            edge[:, a * K + b] += z
        elif kind == "symmetric":
            edge[:, in_order.index((min(a, b), max(a, b)))] += z
        elif kind == "ising":
            edge[:, 0] += z if a == b else -z
        elif a == b:
            edge[:, 0] += z
    scale = 1.0 if field.edge_l2 is None else np.sqrt(field.l2 / field.edge_l2)
    return np.concatenate([node.ravel(), scale * edge.ravel(), *([bias] if layout.bias else [])])


def visited_batch(core: Any) -> list[int]:
    """Lets a method on mini-batches take one step; the blocks it looked at, read from its saved state."""
    first = int(core.save()["next_in_order"][0])
    assert core.run(1, 3600.0) == 1
    state = core.save()
    last = int(state["next_in_order"][0]) or len(state["order"])
    return state["order"][first:last].tolist()


def visited_block(core: Any) -> int:
    """Lets SAG or SAGA take one step; the block it looked at."""
    before = core.save()["visits"]
    assert core.run(1, 3600.0) == 1
    changed = np.flatnonzero(core.save()["visits"] - before)
    assert len(changed) == 1
    return int(changed[0])
