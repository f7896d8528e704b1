"""Methods on single cliques: their objective against formulas written out, their limits against independent optima."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from dualfield import LBFGS, Progress, _core, fields, solve
from dualfield.fields import Field
from dualfield.oracles import JunctionTree, spanning_tree_probabilities
from dualfield.solvers import GDMM, IDAL, SoftBCFW, SoftSDCA, Solver
from tests.zoo import random_graphs, weights_with_zeros


def path(length: int) -> list[tuple[int, int]]:
    return [(t, t + 1) for t in range(length - 1)]


def tree(size: int, random: np.random.Generator) -> list[tuple[int, int]]:
    return [
        (int(random.integers(v)), v) if random.random() < 0.5 else (v, int(random.integers(v))) for v in range(1, size)
    ]


def grid(height: int, width: int) -> list[tuple[int, int]]:
    across = [(r * width + c, r * width + c + 1) for r in range(height) for c in range(width - 1)]
    return across + [(r * width + c, (r + 1) * width + c) for r in range(height - 1) for c in range(width)]


def labelled(edges: list[Any], sizes: list[int], labels: int = 3, columns: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Graphs whose labels depend on normal node features and, somewhat, on their neighbours'."""
    random = np.random.default_rng(seed)
    to_labels = random.normal(size=(columns, labels))
    X, y = [], []
    for pairs, size in zip(edges, sizes, strict=True):
        nodes = random.normal(size=(size, columns))
        scores = nodes @ to_labels + random.gumbel(size=(size, labels))
        first = scores.argmax(axis=1)
        for a, b in pairs:
            scores[b, first[a]] += 0.7
            scores[a, first[b]] += 0.7
        X.append((nodes, np.array(pairs, dtype=int).reshape(-1, 2)))
        y.append(scores.argmax(axis=1))
    y[0][0], y[0][-1] = 0, labels - 1
    return X, y


def loops(n: int = 5, **options: Any) -> Field:
    return fields.RelaxedGraph(*random_graphs(n, largest=5), **options)


PROBLEMS: dict[str, Field] = {
    "tree": fields.Graph(*labelled([tree(12, np.random.default_rng(s)) for s in range(3)], [12] * 3), bias=True),
    "trw": fields.Graph(*random_graphs(6), inference="trw"),
    "trw-grid": fields.Graph(*labelled([grid(4, 5)] * 2, [20] * 2, labels=2), inference="trw"),
    "trw-edge-features": fields.Graph(*random_graphs(5, edge_width=2), inference="trw", edge_l2=3.0),
    "trw-potts": fields.Graph(*random_graphs(5), inference="trw", edge_weights="potts", bias=True),
    "trw-weighted": fields.Graph(*random_graphs(8), inference="trw", sample_weight=weights_with_zeros(8)),
    "shannon": loops(entropy="shannon"),
    "shannon-counts": loops(entropy="shannon", node_count=0.2, edge_count=2.0),
    "gini": loops(entropy="gini"),
    "gini-counts": loops(entropy="gini", node_count=3.0, edge_count=0.5),
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)
METHODS: list[Solver] = [IDAL(), IDAL(sampling="gap"), IDAL(sampling="uniform"), GDMM()]


def optimum(name: str) -> float:
    """By L-BFGS with converged inference, which is another program."""
    solution = solve(PROBLEMS[name], LBFGS(), tol=1e-11, max_passes=3000)
    assert solution.certificate in ("exact", "relaxed")
    return solution.primal


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


# --- limits ---


@every_problem
@pytest.mark.parametrize("solver", METHODS, ids=repr)
def test_the_limit_is_the_optimum_of_lbfgs_and_every_bound_on_the_way_is_true(name: str, solver: Any) -> None:
    field, best = PROBLEMS[name], optimum(name)
    rows: list[tuple[float, float]] = []

    def look(progress: Progress) -> None:
        if progress.passes % 7 == 0:
            rows.append((progress.primal(), progress.run._core.dual_bound(False)))  # type: ignore[attr-defined]

    solution = solve(field, solver, tol=1e-7, max_passes=5000, random_state=0, callbacks=[look])
    assert solution.status == "converged", solution.message
    assert solution.certificate == ("exact" if name == "tree" else "relaxed")
    assert abs(solution.primal - best) <= 2e-7 * best
    assert solution.primal - best <= solution.duality_gap + 1e-9 * best
    assert all(dual <= best * (1 + 1e-9) for _, dual in rows)
    assert all(primal >= best * (1 - 1e-7) for primal, _ in rows)


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


@pytest.mark.parametrize("solver", [SoftSDCA(), SoftBCFW()], ids=repr)
def test_soft_constraints_ascend_and_say_that_their_problem_is_another(solver: Any) -> None:
    solution = solve(PROBLEMS["trw-grid"], solver, tol=1e-8, max_passes=200, random_state=0)
    assert solution.status in ("max_passes", "stalled")
    assert "another objective" in solution.message
    assert "‖Aμ‖ is" in solution.message
    values = solution.history["augmented_dual"]
    assert (np.diff(values) >= -1e-12 * abs(values[-1])).all()


# --- sizes and defaults ---


@pytest.mark.parametrize("shape", ["chain", "tree"])
@pytest.mark.parametrize("length", [1, 2, 40, 100])
def test_defaults_reach_the_exact_optimum_on_long_chains_and_trees(shape: str, length: int) -> None:
    pairs = path(length) if shape == "chain" else tree(length, np.random.default_rng(1))
    field = fields.Graph(*labelled([pairs, path(3)], [length, 3], seed=length))
    best = solve(field, LBFGS(), tol=1e-11, max_passes=2000)
    solution = solve(field, "idal", tol=1e-5, random_state=0)
    assert solution.certificate == "exact"
    assert -1e-9 <= solution.primal / best.primal - 1 <= 1e-5
    assert solution.primal - best.primal <= solution.duality_gap


def test_a_chain_field_is_solved_like_the_same_graph() -> None:
    random = np.random.default_rng(0)
    X = [random.normal(size=(length, 3)) for length in (1, 5, 9)]
    y = [random.integers(3, size=len(x)) for x in X]
    y[1][:3] = 0, 1, 2
    chain = fields.Chain(X, y, begin=False, end=False, bias=False)
    graph = fields.Graph([(x, path(len(x))) for x in X], y)
    one, other = (solve(field, IDAL(), tol=1e-9, max_passes=3000, random_state=0) for field in (chain, graph))
    assert one.status == other.status == "converged"
    assert np.isclose(one.primal, other.primal, rtol=1e-8)


def test_on_a_grid_it_reaches_the_optimum_of_lbfgs_at_a_linear_rate_and_corollary_2_holds() -> None:
    field = fields.Graph(*labelled([grid(10, 10)], [100], labels=2, seed=4), inference="trw")
    best = solve(field, LBFGS(), tol=1e-12, max_passes=2000).primal
    rows: list[tuple[float, float, float, float, float]] = []
    n = 100 + 180

    def look(progress: Progress) -> None:
        run: Any = progress.run
        if progress.passes % 5 == 0:
            inner = run.measured_gap(2000)
            outer = max(0.0, run._core.augmented_dual + inner - best)
            rows.append((progress.passes, progress.primal() - best, run.violation, inner, outer))

    solution = solve(field, IDAL(adapt=False), tol=0.0, max_passes=120, random_state=0, callbacks=[look])
    assert abs(solution.primal / best - 1) < 1e-4
    passes, distance, violation, inner, outer = np.array(rows).T
    middle = (passes >= 20) & (distance > 1e-9 * best)
    for values in (distance, violation):
        fit = np.polyfit(passes[middle], np.log(values[middle]), 1)
        residual = np.log(values[middle]) - np.polyval(fit, passes[middle])
        assert fit[0] < -0.02
        assert residual.std() < 0.2 * np.ptp(np.log(values[middle]))
    # Corollary 2, with a rate per update that the inner passes certainly have: a thousandth of a pass's.
    assert (distance <= 1000 * n * inner + outer + 1e-9 * best).all()


# --- saying no, and saying what is wrong ---


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: IDAL(rho=0), "IDAL: rho must be a positive finite number; got 0."),
        (lambda: SoftSDCA(rho=-1.0), "SoftSDCA: rho must be a positive finite number; got -1.0."),
        (lambda: GDMM(rho=float("nan")), "GDMM: rho must be a positive finite number; got nan."),
        (lambda: IDAL(inner_passes=0), "IDAL: inner_passes must be an integer, at least 1; got 0."),
        (lambda: IDAL(adapt=1), "IDAL: adapt must be True or False; got 1."),
        (lambda: IDAL(sampling="residual"), "IDAL: sampling must be 'permuted', 'uniform' or 'gap'; got 'residual'."),
        (lambda: loops(entropy="bethe"), "entropy must be 'trw', 'shannon' or 'gini'; got 'bethe'."),
        (
            lambda: loops(entropy="shannon", edge_count=-1.0),
            "edge_count must be a positive finite number, or the entropy is not concave; got -1.0.",
        ),
        (
            lambda: loops(entropy="gini", tree_weights=[]),
            "tree_weights belong to entropy='trw'; with entropy='gini' leave them out.",
        ),
    ],
)
def test_bad_parameters_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        make()


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([[1.0, 0.0, 0.5]], "tree_weights of graph 0 give edge 1 the weight 0.0; every edge must be covered"),
        ([[0.5, 0.5, 1.5]], "tree_weights of graph 0 give edge 2 the weight 1.5; every edge must be covered"),
        ([[1.0, 1.0, 0.5]], "tree_weights of graph 0 add up to 2.5; a spanning forest of it has 2 edges"),
        ([[0.5, 0.5]], "tree_weights of graph 0 have shape (2,); expected one number for each of its 3 edges"),
        ([], "tree_weights has 0 entries; expected one for each of the 1 graphs"),
    ],
)
def test_weights_that_do_not_cover_the_graph_are_refused(weights: Any, sentence: str) -> None:
    triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(ValueError, match=re.escape(sentence)):
        fields.RelaxedGraph([triangle], [[0, 1, 1]], tree_weights=weights)


def test_tree_weights_too_large_for_a_part_are_refused() -> None:
    """A clique of four on which the weights are as large as its edges, beside a long path of small ones."""
    clique = [(a, b) for b in range(4) for a in range(b)]
    edges = clique + path(8)[3:]
    weights = [0.99] * 6 + [0.2] * 4
    with pytest.raises(ValueError, match="too large tree weights: the entropy is not concave"):
        fields.RelaxedGraph([(np.eye(8), edges)], [[0, 1] * 4], tree_weights=[weights])


def test_given_tree_weights_are_used() -> None:
    triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    uneven = fields.RelaxedGraph([triangle], [[0, 1, 1]], tree_weights=[[0.9, 0.9, 0.2]], l2=0.1)
    even = fields.RelaxedGraph([triangle], [[0, 1, 1]], l2=0.1)
    same = fields.RelaxedGraph([triangle], [[0, 1, 1]], tree_weights=[[2 / 3] * 3], l2=0.1)
    found = [solve(field, IDAL(), tol=1e-8, max_passes=3000, random_state=0).primal for field in (uneven, even, same)]
    by_messages = [solve(field, LBFGS(), tol=1e-10).primal for field in (uneven, even, same)]
    np.testing.assert_allclose(found, by_messages, rtol=1e-7)
    assert np.isclose(found[1], found[2], rtol=1e-7)
    assert abs(found[0] - found[1]) > 1e-4


@pytest.mark.parametrize("solver", [IDAL(), GDMM(), SoftSDCA(), SoftBCFW()], ids=repr)
def test_fields_without_cliques_to_look_at_are_refused(solver: Solver) -> None:
    loop = random_graphs(3, largest=4)
    for field, hint in [
        (fields.Graph(*loop), "graphs with loops offer it with inference='trw' alone"),
        (fields.Graph(*loop, inference="bp"), "use inference='junction_tree'"),
        (fields.Multiclass(np.eye(2), [0, 1]), ""),
    ]:
        with pytest.raises(TypeError, match=rf"{solver.name} needs per-clique access, which .* does not offer.*{hint}"):
            solve(field, solver)


def test_a_run_that_does_not_converge_says_so_with_the_violation_it_reached() -> None:
    field = fields.Graph(*labelled([grid(8, 8)], [64], labels=2), inference="trw", l2=1e-3)
    solution = solve(field, IDAL(rho=1e-4, adapt=False), tol=1e-6, max_passes=60, random_state=0)
    assert solution.status == "max_passes"
    assert "constraint violation ‖Aμ‖ is" in solution.message
    assert "has not fallen for" in solution.message
    assert "raise rho or inner_passes" in solution.message


def test_the_history_tells_of_every_outer_iteration() -> None:
    solution = solve(PROBLEMS["trw-grid"], IDAL(inner_passes=3, adapt=False), tol=0.0, max_passes=9, random_state=0)
    history = solution.history
    assert history["outer_iterations"].tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3]
    for column in ("dual", "violation", "augmented_dual", "inner_gap", "outer_gap"):
        assert np.isfinite(history[column][2:]).all(), column
    assert (history["outer_gap"][2:] > 0).all()
    assert set(history["rho"]) == {0.3}
    assert set(history["inner_passes"]) == {3.0}
    per_pass = len(PROBLEMS["trw-grid"].codes) + len(PROBLEMS["trw-grid"].encoded.ends)  # type: ignore[attr-defined]
    assert history["updates"].tolist() == [per_pass * k for k in range(1, 10)]
