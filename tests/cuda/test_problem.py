"""A field as tables for the GPU: what the kernels would compute from them is what the CPU computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dualfield import fields
from dualfield.cuda.problem import CHUNK, Problem, check_field, problem_of
from dualfield.oracles.batch import ChainBatch


def sequences(count: int = 40, seed: int = 0) -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        labels = [str(random.choice(["B-X", "O"]))]
        for _ in range(random.integers(0, 9)):
            follows = ["O", "B-X", *(["I-X"] if labels[-1] != "O" else [])]
            labels.append(str(random.choice(follows)))
        y.append(labels)
        X.append([{f"a{random.integers(9)}": float(random.normal()), "often": 1.0} for _ in labels])
    return X, y


def by_the_tables(problem: Problem, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Losses and their gradient in NumPy, from the arrays that the kernels have."""
    K, N = problem.n_labels, problem.n_positions
    table = np.zeros(problem.table_size) if problem.table is None else problem.table.copy()
    table[problem.slots] += weights
    states, transitions = np.split(table.reshape(-1, K), [problem.n_rows])
    values = np.ones(len(problem.attribute)) if problem.value is None else problem.value
    matrix = sparse.csr_matrix((values, problem.attribute, problem.start), shape=(N, problem.n_rows))
    potentials = np.zeros((N, K))
    for p in range(N):  # -inf times a zero that is not there must stay out
        for q in range(problem.start[p], problem.start[p + 1]):
            potentials[p] += values[q] * states[problem.attribute[q]]
    if problem.dense is not None:
        potentials += problem.dense @ states[: problem.dense.shape[1]]
    offsets = np.arange(N + 1) if problem.offsets is None else problem.offsets
    batch = ChainBatch(potentials, transitions, offsets=offsets)
    chain_weights = np.ones(len(offsets) - 1) if problem.weight is None else problem.weight
    log_z, nodes, edges = batch.marginals()
    gold = potentials[np.arange(N), problem.truth]
    of_position = np.repeat(chain_weights, np.diff(offsets))
    pairs = problem.truth_pairs()
    loss = chain_weights @ log_z - of_position @ gold - (transitions[pairs > 0] * pairs[pairs > 0]).sum()
    nodes[np.arange(N), problem.truth] -= 1
    nodes *= of_position[:, np.newaxis]
    gradient = np.zeros_like(table).reshape(-1, K)
    gradient[: problem.n_rows] = gathered(problem, nodes)
    assert np.allclose(gradient[: problem.n_rows], matrix.T @ nodes)
    if problem.dense is not None:
        gradient[: problem.dense.shape[1]] += problem.dense.T @ nodes
    gradient[problem.n_rows :] = np.tensordot(chain_weights, edges, 1) - pairs
    return float(loss), gradient.ravel()[problem.slots]


def gathered(problem: Problem, nodes: np.ndarray) -> np.ndarray:
    """What ``gather`` and ``collect`` do."""
    g = problem.gathering()
    rows = np.zeros((problem.n_rows, problem.n_labels))
    parts = np.full((g.part_start[-1], problem.n_labels), np.nan)
    values = np.ones(len(g.position)) if g.value is None else g.value
    for chunk, out in enumerate(g.out):
        where = slice(g.start[chunk], g.start[chunk + 1])
        total = values[where] @ nodes[g.position[where]]
        assert where.stop - where.start <= CHUNK
        if out >= 0:
            assert not rows[out].any()  # no two chunks write to one row
            rows[out] = total
        else:
            parts[-1 - out] = total
    for number, attribute in enumerate(g.part_attribute):
        rows[attribute] = parts[g.part_start[number] : g.part_start[number + 1]].sum(axis=0)
    return rows


def points(density: float, **options: Any) -> fields.Multiclass:
    random = np.random.default_rng(0)
    X = sparse.random(400, 30, density, random_state=0, format="csr")
    return fields.Multiclass(X, random.integers(4, size=400), 1.0, **options)


CASES = {
    "all pairs": lambda: fields.Chain(*sequences(), l2=1.0),
    "observed pairs": lambda: fields.Chain(*sequences(), state_features="observed", transitions="observed"),
    "nothing but states and transitions": lambda: fields.Chain(*sequences(), bias=False, begin=False, end=False),
    "weights": lambda: fields.Chain(*sequences(), sample_weight=np.linspace(0, 2, 40)),
    "rules": lambda: fields.Chain(*sequences(), constraints="bio"),
    "rules without begin": lambda: fields.Chain(*sequences(), constraints="bio", begin=False, bias=False),
    "many positions": lambda: fields.Chain(*sequences(400), l2=0.1),  # so that attributes have several chunks
    "sparse points": lambda: points(0.1),
    "dense points": lambda: points(0.9, sample_weight=np.linspace(0, 2, 400)),
    "no bias": lambda: points(0.1, bias=False),
}


@pytest.mark.parametrize("name", CASES)
def test_losses_and_gradients_from_the_tables_are_those_of_the_field(name: str) -> None:
    field = CASES[name]()
    problem = problem_of(field)
    assert problem.dimension == field.dimension
    assert len(np.unique(problem.slots)) == field.dimension
    weights = np.random.default_rng(1).normal(size=field.dimension)
    value, gradient = field.gradient(weights)
    loss, slopes = by_the_tables(problem, weights)
    assert loss + field.penalty(weights) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slopes + field.l2 * weights, gradient, atol=1e-10)


def test_dense_points_stay_dense() -> None:
    assert problem_of(points(0.1)).dense is None
    assert problem_of(points(0.9)).dense.shape == (400, 30)


X, Y = sequences()


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (lambda: fields.Chain(X, Y, l1=0.5), "the penalty l1=0.5 yet; leave l1 out"),
        (lambda: fields.Chain(X, [[None, *y[1:]] for y in Y]), "partial labels yet; leave device out"),
        (lambda: fields.Chain(X, Y, class_weight="balanced"), "class_weight and costs yet; leave them out"),
        (lambda: fields.Chain(X, Y).about(np.zeros(fields.Chain(X, Y).dimension)), "a penalty about given weights"),
        (lambda: fields.Multiclass(np.eye(300), np.arange(300)), "300 labels; on a GPU there may be at most 256"),
    ],
)
def test_what_has_no_kernels_is_refused_by_name(field: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        check_field(field())


def test_fields_of_graphs_are_refused_by_name() -> None:
    graph = fields.Graph.__new__(fields.Graph)
    with pytest.raises(TypeError, match="cannot be trained on a GPU; only chains and points can"):
        check_field(graph)
