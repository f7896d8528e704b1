"""Methods on single cliques against formulas written out: their objective, their steps, their entropies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from dualfield import _core, fields
from dualfield.oracles import JunctionTree, spanning_tree_probabilities
from dualfield.solvers import GDMM, IDAL, SoftBCFW, SoftSDCA
from tests.cliques import PROBLEMS, every_problem, tree
from tests.zoo import random_graphs

# --- the objective, written out ---


def entropy(table: Any) -> float:
    positive = table[table > 0]
    return float(-(positive * np.log(positive)).sum())


class WrittenOut:
    """D_ρ(μ, ξ) of a saved run, from nothing but its arrays and the data."""

    def __init__(self, field: Any, rho: float) -> None:
        self.field, self.rho, self.K = field, rho, len(field.classes)
        graphs = field.encoded
        weights = np.ones(len(graphs)) if field.sample_weight is None else field.sample_weight
        self.nodes, self.edges = [], []
        for i in np.flatnonzero(weights):
            first, last = graphs.edge_offsets[i : i + 2]
            ends = graphs.ends[first:last]
            counts = self._counts(int(graphs.sizes[i]), ends)
            before = len(self.nodes)
            self.nodes += [(i, v, weights[i], counts[0][v]) for v in range(graphs.sizes[i])]
            self.edges += [
                (i, e, weights[i], counts[1][e], counts[2][e], counts[3][e], before + a, before + b)
                for e, (a, b) in enumerate(ends)
            ]

    def _counts(self, size: int, ends: Any) -> Any:
        if self.field.entropy == "trw":
            return _core.clique_counts(size, np.ascontiguousarray(ends, np.int32))
        none = np.zeros(len(ends))
        return (np.full(size, self.field.node_count), np.full(len(ends), self.field.edge_count), none, none)

    def tables(self, arrays: Any) -> tuple[Any, Any]:
        """Without the padding."""
        nodes = arrays["nodes"].reshape(len(self.nodes), -1)[:, : self.K]
        edges = arrays["edges"].reshape(max(1, len(self.edges)), -1)[: len(self.edges), : self.K * self.K]
        return nodes, edges.reshape(len(self.edges), self.K, self.K)

    def clique_entropy(self, own: float, first: float, second: float, table: Any) -> float:
        if self.field.entropy == "gini":
            return 0.5 * own * (1 - float((table**2).sum()))
        if table.ndim == 1:
            return own * entropy(table)
        return own * entropy(table) - first * entropy(table.sum(1)) - second * entropy(table.sum(0))

    def gradient_of_weights(self, nodes: Any, edges: Any) -> Any:
        """Σ c (Ψμ − Ψ truth), from potentials under unit weights."""
        total = np.zeros(self.field.dimension)
        offsets = self.field.encoded.offsets
        for k in range(self.field.dimension):
            unit = np.zeros(self.field.dimension)
            unit[k] = 1.0
            for i in {node[0] for node in self.nodes}:
                theta = self.field.core.potentials(unit, int(i))
                size = int(offsets[i + 1] - offsets[i])
                node_theta = theta[: size * self.K].reshape(size, self.K)
                edge_theta = theta[size * self.K :].reshape(-1, self.K, self.K)
                y = self.field.codes[offsets[i] : offsets[i + 1]]
                for number, (graph, v, c, _) in enumerate(self.nodes):
                    if graph == i:
                        total[k] += c * (nodes[number] @ node_theta[v] - node_theta[v, y[v]])
                for number, (graph, e, c, *_, a, b) in enumerate(self.edges):
                    if graph == i:
                        x = self._edge_features(int(i), e)
                        matrix = np.tensordot(x, edge_theta, axes=1)
                        labels = y[a - self._before(i)], y[b - self._before(i)]
                        total[k] += c * ((edges[number] * matrix).sum() - matrix[labels])
        return total

    def _before(self, i: int) -> int:
        return next(number for number, node in enumerate(self.nodes) if node[0] == i)

    def _edge_features(self, i: int, e: int) -> Any:
        features = self.field.encoded.edge_features
        if features is None:
            return np.ones(1)
        width = self.field.encoded.n_edge_features
        return np.asarray(features).reshape(-1, width)[self.field.encoded.edge_offsets[i] + e]

    def disagreement(self, nodes: Any, edges: Any) -> Any:
        return np.array(
            [
                (table.sum(1) - nodes[a], table.sum(0) - nodes[b])
                for table, (*_, a, b) in zip(edges, self.edges, strict=True)
            ]
        )

    def value(self, nodes: Any, edges: Any, multipliers: Any) -> float:
        l2 = self.field.l2
        total = -0.5 / l2 * float((self.gradient_of_weights(nodes, edges) ** 2).sum())
        for table, (_, _, c, own) in zip(nodes, self.nodes, strict=True):
            total += c * self.clique_entropy(own, 0.0, 0.0, table)
        for table, (_, _, c, own, first, second, *_) in zip(edges, self.edges, strict=True):
            total += c * self.clique_entropy(own, first, second, table)
        if len(edges):
            gaps = self.disagreement(nodes, edges)
            c = np.array([edge[2] for edge in self.edges])[:, None, None]
            total += float((c * (multipliers.reshape(gaps.shape) * gaps - gaps**2 / (2 * self.rho))).sum())
        return total


def advance(run: Any, updates: int) -> None:
    while updates > 0:
        updates -= run._core.run(updates, 3600.0)


@every_problem
def test_the_augmented_dual_is_its_formula(name: str) -> None:
    field = PROBLEMS[name]
    run = IDAL(rho=0.4, adapt=False).start(field, 3)
    written_out = WrittenOut(field, 0.4)
    for _ in range(3):
        before = run.arrays()["multipliers"]  # those that the pass works with
        advance(run, run._core.updates_per_pass)
        nodes, edges = written_out.tables(run.arrays())
        assert np.isclose(run._core.augmented_dual, written_out.value(nodes, edges, before), rtol=1e-9, atol=1e-9)
        gradient = written_out.gradient_of_weights(nodes, edges)
        np.testing.assert_allclose(run.weights(), -gradient / field.l2, atol=1e-9)
        if len(edges):
            assert np.isclose(run.violation, np.linalg.norm(written_out.disagreement(nodes, edges)), atol=1e-12)
            moved = run.arrays()["multipliers"] - before
            np.testing.assert_allclose(moved, -written_out.disagreement(nodes, edges).ravel() / 0.4, atol=1e-10)


@pytest.mark.parametrize(
    "solver",
    [IDAL(rho=0.4, adapt=False, subprecision=1e-5), SoftBCFW(rho=0.4, subprecision=1e-5), GDMM(rho=0.4)],
    ids=repr,
)
@pytest.mark.parametrize("name", ["trw", "trw-potts", "trw-weighted", "shannon", "gini"])
def test_every_step_is_the_best_on_its_segment(name: str, solver: Any) -> None:
    field = PROBLEMS[name]
    run = solver.start(field, 5)
    written_out = WrittenOut(field, 0.4)
    steps = 0
    for _ in range(25):
        old, multipliers = written_out.tables(run.arrays()), run.arrays()["multipliers"]
        before = [part.copy() for part in old]
        advance(run, 1)
        after = written_out.tables(run.arrays())
        if run._core.updates % run._core.updates_per_pass == 0:
            continue

        def along(share: float, before: Any = before, after: Any = after, multipliers: Any = multipliers) -> float:
            nodes, edges = ((1 - share) * b + share * a for b, a in zip(before, after, strict=True))
            return written_out.value(nodes, edges, multipliers)

        end = along(1.0)
        for share in (0.0, 0.5, 0.9) if not isinstance(solver, GDMM) else (0.0,):  # GDMM takes two steps at a visit
            assert end >= along(share) - 1e-9 * max(1.0, abs(end))
        if not isinstance(solver, GDMM):  # beyond is worse, or outside the simplex, or beyond the candidate
            assert max(along(0.9), along(0.999)) <= end + 1e-9 * max(1.0, abs(end))
        steps += any(not np.array_equal(b, a) for b, a in zip(before, after, strict=True))
    assert steps > 10


@pytest.mark.parametrize("name", ["trw", "shannon", "gini", "trw-weighted"])
@pytest.mark.parametrize("solver", [SoftSDCA(rho=0.7), SoftBCFW(rho=0.7)], ids=repr)
def test_without_multipliers_the_limit_is_that_of_soft_constraints(name: str, solver: Any) -> None:
    """An independent optimiser over softmax parameters finds the same maximum of D_ρ(μ, 0)."""
    X, y = random_graphs(2, largest=3, labels=2, columns=2, seed=2)
    options: Any = {"sample_weight": [1.0, 2.0]} if name == "trw-weighted" else {}
    field: Any = fields.RelaxedGraph(X, y, entropy=name.split("-")[0], **options)
    written_out = WrittenOut(field, 0.7)
    shapes = [len(written_out.nodes), len(written_out.edges)]

    def split(parameters: Any) -> tuple[Any, Any]:
        cut = shapes[0] * 2
        tables = parameters[:cut].reshape(-1, 2), parameters[cut:].reshape(-1, 4)
        softmax = [np.exp(t - t.max(1, keepdims=True)) for t in tables]
        nodes, edges = (t / t.sum(1, keepdims=True) for t in softmax)
        return nodes, edges.reshape(-1, 2, 2)

    zero = np.zeros(shapes[1] * 4)
    found = optimize.minimize(
        lambda p: -written_out.value(*split(p), zero), np.zeros(shapes[0] * 2 + shapes[1] * 4), method="BFGS", tol=1e-10
    )
    run = solver.start(field, 0)
    advance(run, 3000 * run._core.updates_per_pass)
    tolerance = 1e-3 if isinstance(solver, SoftBCFW) else 2e-5  # Frank and Wolfe take their time
    assert np.isclose(run._core.augmented_dual, -found.fun, rtol=tolerance, atol=1e-6)
    assert run._core.augmented_dual <= -found.fun + 1e-4 * abs(found.fun)


# --- the tree-reweighted entropy, clique by clique ---


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 9), extra=st.integers(0, 6))
def test_oriented_counts_are_those_of_a_mixture_of_rooted_forests(seed: int, size: int, extra: int) -> None:
    random = np.random.default_rng(seed)
    edges = {tuple(sorted(pair)) for pair in tree(size, random) if random.random() < 0.9}
    edges |= {tuple(sorted(random.choice(size, 2, replace=False))) for _ in range(extra if size > 1 else 0)}
    ends = np.array(sorted(edges), dtype=np.int32).reshape(-1, 2)
    node, edge, first, second = _core.clique_counts(size, ends)
    np.testing.assert_allclose(edge, spanning_tree_probabilities(size, ends), atol=1e-15)
    np.testing.assert_allclose(first + second, edge, atol=1e-12)
    into = np.zeros(size)
    np.add.at(into, ends[:, 1], first)
    np.add.at(into, ends[:, 0], second)
    np.testing.assert_allclose(node + into, 1.0, atol=1e-12)
    assert node.min() > 0
    assert min(first.min(initial=1), second.min(initial=1)) >= 0


@pytest.mark.parametrize("seed", range(5))
def test_on_a_tree_the_oriented_entropy_is_exact(seed: int) -> None:
    random = np.random.default_rng(seed)
    ends = np.array(tree(7, random))
    node, edge = random.normal(size=(7, 3)), random.normal(size=(6, 3, 3))
    found = JunctionTree(7, ends, 3).marginals(node, edge)
    exact = found.log_partition - float((node * found.nodes).sum()) - float((edge * found.edges).sum())
    counts = _core.clique_counts(7, np.ascontiguousarray(ends, np.int32))
    total = sum(c * entropy(mu) for c, mu in zip(counts[0], found.nodes, strict=True))
    for own, first, second, mu in zip(*counts[1:], found.edges, strict=True):
        total += own * entropy(mu) - first * entropy(mu.sum(1)) - second * entropy(mu.sum(0))
    assert np.isclose(total, exact, atol=1e-10)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), labels=st.integers(2, 5), range_of_exponents=st.sampled_from([1, 30, 200, 320]))
@example(seed=18667, labels=2, range_of_exponents=320)
def test_a_table_is_given_its_sums(seed: int, labels: int, range_of_exponents: int) -> None:
    """Whatever the sizes of its numbers, down to those that have no reciprocal."""
    random = np.random.default_rng(seed)

    def distribution(size: int) -> Any:
        values = 10.0 ** -random.uniform(0, range_of_exponents, size)
        return values / values.sum()

    table = distribution(labels * labels).reshape(labels, labels)
    first, second = distribution(labels), distribution(labels)
    if seed % 3 == 0:  # sums that all but agree already
        first, second = table.sum(1) * (1 + 1e-15 * random.normal(size=labels)), table.sum(0)
        first /= first.sum()
    found = _core.table_with_sums(table, first, second)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(1), first, atol=1e-14)
    np.testing.assert_allclose(found.sum(0), second, atol=1e-14)
