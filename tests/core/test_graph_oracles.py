"""Approximate inference on graphs: exact on forests, bounds and gradients everywhere, whatever the schedule."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dualfield import _core, oracles
from dualfield.oracles.graph_arrays import checked_edges, checked_potentials
from tests.core.graph_enumeration import Graph, GraphEnumeration, edge_lists, graphs
from tests.core.strategies import assert_close, few_examples

SCHEDULES = ["sequential", "parallel", "residual"]
METHODS: dict[str, Any] = {
    "belief propagation": oracles.belief_propagation,
    "tree-reweighted": oracles.tree_reweighted,
    "mean field": oracles.mean_field,
}
TRIANGLE = np.array([[0, 1], [1, 2], [2, 0]])


def grid(rows: int, columns: int) -> npt.NDArray[np.int64]:
    place = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    down = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
    return np.concatenate([across, down])


# forests


@pytest.mark.parametrize("method", ["belief propagation", "tree-reweighted"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("bound", [2.0, 1e4])
@few_examples
@given(data=st.data())
def test_propagation_is_exact_on_forests(method: str, schedule: str, bound: float, data: st.DataObject) -> None:
    graph = data.draw(graphs(bound=bound, forest=True))
    exact, found = GraphEnumeration(graph), METHODS[method](*graph, schedule=schedule)
    assert found.converged
    if schedule == "sequential":
        assert found.sweeps <= 2
    slack = 1e-8 if schedule == "residual" else 1e-9  # messages that would change by less wait for ever
    assert_close(found.log_partition, exact.log_partition, slack)
    assert_close(found.nodes, exact.nodes, slack)
    assert_close(found.edges, exact.edges, slack)
    if method == "tree-reweighted":
        assert_close(found.upper_bound, exact.log_partition, 1e-7)


@few_examples
@given(graphs(bound=30.0, forest=True))
def test_one_sweep_in_sequence_is_exact_on_a_forest(graph: Graph) -> None:
    exact, found = GraphEnumeration(graph), oracles.belief_propagation(*graph, max_sweeps=1)
    assert_close(found.log_partition, exact.log_partition)
    assert_close(found.nodes, exact.nodes)


def test_a_long_chain_agrees_with_forward_backward() -> None:
    rng = np.random.default_rng(0)
    for labels in (2, 4, 9):
        node, edge = rng.normal(size=(300, labels)), rng.normal(size=(labels, labels))
        chain = oracles.marginals(node, edge)
        ends = np.stack([np.arange(299), np.arange(1, 300)], axis=1)
        found = oracles.belief_propagation(node, ends, edge)
        assert_close(found.log_partition, chain.log_partition)
        assert_close(found.nodes, chain.nodes)
        assert_close(found.edges, chain.edges)


# bounds


@few_examples
@given(graphs())
def test_tree_reweighted_bounds_from_above_and_mean_field_from_below(graph: Graph) -> None:
    exact = GraphEnumeration(graph).log_partition
    above, below = oracles.tree_reweighted(*graph, max_sweeps=2000), oracles.mean_field(*graph)
    assert above.direction == ("upper" if above.converged else "neither")
    assert below.direction == "lower"
    if above.converged:
        assert above.log_partition >= exact - 1e-9
        assert above.upper_bound >= above.log_partition - 1e-12 * abs(exact)
        assert_close(above.upper_bound, above.log_partition, 1e-6)
    assert below.log_partition <= exact + 1e-9


@few_examples
@given(graphs(bound=5.0), st.integers(1, 5), st.sampled_from(SCHEDULES))
def test_the_proven_bound_holds_for_messages_that_have_not_converged(graph: Graph, sweeps: int, schedule: str) -> None:
    exact = GraphEnumeration(graph).log_partition
    found = oracles.tree_reweighted(*graph, max_sweeps=sweeps, schedule=schedule)
    assert found.upper_bound >= exact - 1e-11 * max(1.0, abs(exact))


@few_examples
@given(graphs(bound=5.0))
def test_every_sweep_of_mean_field_raises_the_bound(graph: Graph) -> None:
    values = [oracles.mean_field(*graph, max_sweeps=n, tol=0.0).log_partition for n in (1, 2, 3, 5, 8, 20)]
    assert np.all(np.diff(values) >= -1e-11 * max(1.0, abs(values[0])))


def test_belief_propagation_claims_no_bound() -> None:
    found = oracles.belief_propagation(np.zeros((3, 2)), TRIANGLE, np.eye(2))
    assert (found.direction, found.upper_bound) == ("neither", np.inf)


# the value, its gradient, the marginals


def bethe(graph: Graph, nodes: Any, edges: Any, rho: Any) -> float:
    """``Σ ⟨θ, μ⟩ + Σ_v H(μ_v) − Σ_e ρ_e I(μ_e)``, term by term."""
    total = np.sum(graph.node * nodes) - np.sum(nodes * np.log(nodes))
    for e, (s, t) in enumerate(graph.edges):
        information = np.sum(edges[e] * np.log(edges[e] / np.outer(nodes[s], nodes[t])))
        total += np.sum(graph.matrices[e] * edges[e]) - rho[e] * information
    return float(total)


@pytest.mark.parametrize("method", METHODS)
@few_examples
@given(graph=graphs(bound=1.0))
def test_the_value_is_the_free_energy_of_the_marginals(method: str, graph: Graph) -> None:
    found = METHODS[method](*graph, tol=1e-11, max_sweeps=1000)
    assume(found.converged)
    rho = np.ones(len(graph.edges))
    if method == "tree-reweighted":
        rho = oracles.spanning_tree_probabilities(len(graph.node), graph.edges)
    assert_close(found.log_partition, bethe(graph, found.nodes, found.edges, rho), 1e-8)


@pytest.mark.parametrize("method", METHODS)
@few_examples
@given(graph=graphs(bound=0.5, max_nodes=5), seed=st.integers(0, 2**32 - 1))
def test_marginals_are_the_gradient_of_the_value(method: str, graph: Graph, seed: int) -> None:
    def at(step: float) -> Any:
        return METHODS[method](
            graph.node + step * d_node, graph.edges, graph.matrices + step * d_edge, tol=1e-11, max_sweeps=2000
        )

    rng = np.random.default_rng(seed)
    d_node, d_edge = rng.normal(size=graph.node.shape), rng.normal(size=graph.matrices.shape)
    found, forth, back = at(0.0), at(1e-4), at(-1e-4)
    assume(found.converged and forth.converged and back.converged)
    slope = (forth.log_partition - back.log_partition) / 2e-4
    expected = np.sum(d_node * found.nodes) + np.sum(d_edge * found.edges)
    assert_close(slope, expected, 1e-5)


@pytest.mark.parametrize("method", METHODS)
@few_examples
@given(graph=graphs())
def test_converged_marginals_are_consistent(method: str, graph: Graph) -> None:
    found = METHODS[method](*graph, max_sweeps=1000)
    assume(found.converged)
    assert_close(found.nodes.sum(axis=1), 1.0)
    assert_close(found.edges.sum(axis=2), found.nodes[graph.edges[:, 0]], 1e-7)
    assert_close(found.edges.sum(axis=1), found.nodes[graph.edges[:, 1]], 1e-7)


@pytest.mark.parametrize("method", ["belief propagation", "tree-reweighted"])
@few_examples
@given(graph=graphs(bound=1.0), damping=st.sampled_from([0.0, 0.3, 0.7]))
def test_schedules_and_damping_share_their_fixed_point(method: str, graph: Graph, damping: float) -> None:
    first = METHODS[method](*graph, max_sweeps=2000)
    for schedule in SCHEDULES:
        found = METHODS[method](*graph, damping=damping, schedule=schedule, max_sweeps=2000)
        if first.converged and found.converged:
            assert_close(found.log_partition, first.log_partition, 1e-8)
            assert_close(found.nodes, first.nodes, 1e-6)
            assert_close(found.edges, first.edges, 1e-6)


@few_examples
@given(graphs(bound=1.0, labels=(3,)))
def test_two_labels_give_what_three_give_with_one_ruled_out(graph: Graph) -> None:
    """The path of log-odds against the general one, with the third label made impossible."""
    node, edge = graph.node.copy(), graph.matrices.copy()
    node[:, 2] = -400.0
    for method in ("belief propagation", "tree-reweighted"):
        three = METHODS[method](node, graph.edges, edge, max_sweeps=1000)
        two = METHODS[method](node[:, :2], graph.edges, np.ascontiguousarray(edge[:, :2, :2]), max_sweeps=1000)
        assume(three.converged and two.converged)
        assert_close(two.log_partition, three.log_partition, 1e-8)
        assert_close(two.nodes, three.nodes[:, :2], 1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bound", [700.0, 1e4, 1e100])
@few_examples
@given(data=st.data())
def test_extreme_potentials_stay_finite(method: str, bound: float, data: st.DataObject) -> None:
    graph = data.draw(graphs(bound=bound))
    options = [{"schedule": schedule} for schedule in SCHEDULES] if method != "mean field" else [{}]
    for option in options:
        found = METHODS[method](*graph, max_sweeps=20, **option)
        assert np.isfinite(found.log_partition)
        for table in (found.nodes, found.edges):
            assert np.isfinite(table).all()
            assert (table >= 0.0).all()
        assert_close(found.nodes.sum(axis=1), 1.0)
        assert_close(found.edges.sum(axis=(1, 2)), 1.0)


def test_wide_potentials_are_exact_beside_narrow_ones() -> None:
    """One edge whose exponentials underflow, in a cycle with others; the mode outweighs all else."""
    for labels in (2, 3):
        rng = np.random.default_rng(labels)
        node, edge = rng.normal(size=(4, labels)), rng.normal(size=(3, labels, labels))
        edge[1, 0, 1] = -2000.0
        edge[1, 1, 1] = 1500.0
        graph = Graph(node, np.array([[0, 1], [2, 1], [2, 3]]), edge)
        exact, found = GraphEnumeration(graph), oracles.belief_propagation(*graph)
        assert_close(found.log_partition, exact.log_partition)
        assert_close(found.edges, exact.edges)


def test_messages_of_the_last_call_are_a_start() -> None:
    rng = np.random.default_rng(0)
    for labels in (2, 3):
        arrays = checked_potentials(rng.normal(size=(100, labels)), grid(10, 10), rng.normal(size=(labels, labels)) / 2)
        rho = _core.spanning_tree_probabilities(100, arrays[1])
        oracle, field = _core.BeliefPropagation(), _core.MeanField()
        options = (0.0, "sequential", 500, 1e-9)
        cold = oracle.run(*arrays, rho, *options, False)
        warm = oracle.run(*arrays, rho, *options, True)
        assert cold[5] > 3
        assert warm[5] == 1
        assert_close(warm[0], cold[0])
        again = oracle.run(*arrays, rho, *options, False)
        assert again[5] == cold[5]
        # another graph has no use for them
        other = checked_potentials(arrays[0], grid(10, 10)[:, ::-1], arrays[2][0].T)
        assert oracle.run(*other, rho, *options, True)[5] == oracle.run(*other, rho, *options, False)[5]
        cold_field = field.run(*arrays, 500, 1e-9, False)
        assert cold_field[4] > 3
        assert field.run(*arrays, 500, 1e-9, True)[4] == 1


# decoding


@pytest.mark.parametrize("method", ["trws", "max-product"])
@few_examples
@given(graph=graphs(bound=3.0, forest=True))
@example(graph=Graph(np.zeros((4, 2)), np.array([[0, 1], [1, 2], [1, 3]]), -np.eye(2)))  # ties everywhere
def test_decoding_is_exact_on_forests(method: str, graph: Graph) -> None:
    exact, found = GraphEnumeration(graph), oracles.map_labels(*graph, method=method)
    assert found.labels.dtype == np.int32
    assert_close(found.score, exact.score(found.labels))
    assert_close(found.score, exact.scores.max())
    if method == "trws":
        assert_close(found.bound, found.score)
        assert found.sweeps == 1


@pytest.mark.parametrize("method", ["trws", "max-product", "max-marginals"])
@pytest.mark.parametrize("bound", [2.0, 1e4])
@few_examples
@given(data=st.data())
def test_the_bound_is_above_the_best_score_and_that_above_the_one_found(
    method: str, bound: float, data: st.DataObject
) -> None:
    graph = data.draw(graphs(bound=bound))
    exact, found = GraphEnumeration(graph), oracles.map_labels(*graph, method=method)
    best = float(exact.scores.max())
    margin = 1e-12 * bound * (len(graph.node) + len(graph.edges))
    assert_close(found.score, exact.score(found.labels))
    assert found.score <= best + margin
    assert found.bound >= best - margin
    assert np.isfinite(found.bound) == (method == "trws")


@few_examples
@given(graphs())
def test_the_bound_of_trws_falls_from_sweep_to_sweep(graph: Graph) -> None:
    bounds = [oracles.map_labels(*graph, max_sweeps=n, tol=0.0).bound for n in (1, 2, 3, 5, 9, 30)]
    assert np.all(np.diff(bounds) <= 1e-10)


@few_examples
@given(edge_lists(6), st.integers(0, 2**32 - 1))
def test_trws_is_tight_where_neighbours_attract(edges: Any, seed: int) -> None:
    """For two labels and submodular edges the relaxation is tight, so bound and labelling meet (Kolmogorov, 2006)."""
    rng = np.random.default_rng(seed)
    graph = Graph(rng.normal(size=(6, 2)), edges, rng.uniform(0, 1, (len(edges), 1, 1)) * np.eye(2))
    exact, found = GraphEnumeration(graph), oracles.map_labels(*graph, max_sweeps=3000, tol=1e-10)
    assert_close(found.bound, exact.scores.max(), 1e-4)
    assert_close(found.score, exact.scores.max(), 1e-6)


def test_trws_nears_the_optimum_of_a_grid_of_attracting_neighbours() -> None:
    rng = np.random.default_rng(0)
    found = oracles.map_labels(rng.normal(size=(400, 2)), grid(20, 20), 0.5 * np.eye(2), max_sweeps=500)
    assert found.converged
    assert found.score <= found.bound <= found.score * (1 + 1e-6)


def test_likeliest_labels_are_those_of_the_marginals() -> None:
    rng = np.random.default_rng(0)
    node, edge = rng.normal(size=(9, 3)), rng.normal(size=(3, 3))
    found = oracles.map_labels(node, grid(3, 3), edge, method="max-marginals")
    np.testing.assert_array_equal(found.labels, oracles.belief_propagation(node, grid(3, 3), edge).nodes.argmax(axis=1))


# edge probabilities


def components(n_nodes: int, edges: Any) -> int:
    names = list(range(n_nodes))
    for s, t in edges:
        names = [names[s] if name == names[t] else name for name in names]
    return len(set(names))


@few_examples
@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), edge_lists(n))))
def test_edge_probabilities_are_in_the_forest_polytope(graph: tuple[int, Any]) -> None:
    n_nodes, edges = graph
    rho = oracles.spanning_tree_probabilities(n_nodes, edges)
    assert rho.shape == (len(edges),)
    assert np.all((rho > 0.0) & (rho <= 1.0))
    assert_close(rho.sum(), n_nodes - components(n_nodes, edges))
    for size in range(2, n_nodes + 1):
        for subset in combinations(range(n_nodes), size):
            assert rho[np.isin(edges, subset).all(axis=1)].sum() <= size - 1 + 1e-9


def test_edge_probabilities_are_even_where_the_graph_is() -> None:
    for n in (3, 10, 30):
        rho = oracles.spanning_tree_probabilities(n, list(combinations(range(n), 2)))
        assert_close(rho.sum(), n - 1)
        assert 0.5 * 2 / n <= rho.min()
        assert rho.max() <= 1.5 * 2 / n
    rho = oracles.spanning_tree_probabilities(400, grid(20, 20))
    assert 0.4 <= rho.min()
    assert rho.max() <= 0.6


def test_bridges_are_in_every_forest() -> None:
    edges = [*TRIANGLE.tolist(), [2, 3], [4, 5]]
    rho = oracles.spanning_tree_probabilities(6, edges)
    assert_close(rho[3:], 1.0)
    assert_close(rho[:3].sum(), 2.0)
    assert np.ptp(rho[:3]) <= 1 / 8


@few_examples
@given(graphs(bound=1.0, max_nodes=5))
def test_given_edge_probabilities_are_used(graph: Graph) -> None:
    rho = oracles.spanning_tree_probabilities(len(graph.node), graph.edges)
    default = oracles.tree_reweighted(*graph)
    assert oracles.tree_reweighted(*graph, edge_probabilities=rho).log_partition == default.log_partition
    # a smaller rho in the polytope's interior loosens the bound
    looser = oracles.tree_reweighted(*graph, edge_probabilities=0.7 * rho, max_sweeps=2000)
    if looser.converged and default.converged:
        assert looser.log_partition >= default.log_partition - 1e-9


# small and odd graphs


def test_nodes_without_edges_are_independent() -> None:
    node = np.random.default_rng(0).normal(size=(5, 3))
    exact = np.log(np.exp(node).sum(axis=1)).sum()
    for method, edge in product(METHODS.values(), (np.zeros((3, 3)), np.zeros((0, 3, 3)))):
        found = method(node, [], edge)
        assert found.converged
        assert found.sweeps == 0
        assert found.edges.shape == (0, 3, 3)
        assert_close(found.log_partition, exact)
        assert_close(found.nodes, np.exp(node) / np.exp(node).sum(axis=1, keepdims=True))
    best = oracles.map_labels(node, [], np.zeros((3, 3)))
    np.testing.assert_array_equal(best.labels, node.argmax(axis=1))
    assert_close(best.bound, node.max(axis=1).sum())


def test_the_oscillation_of_a_frustrated_clique_is_reported() -> None:
    edges = list(combinations(range(6), 2))
    strong = np.array([[0.0, 5.0], [5.0, 0.0]])
    node = np.random.default_rng(0).normal(size=(6, 2)) / 10
    found = oracles.belief_propagation(node, edges, strong, schedule="parallel", max_sweeps=50)
    assert not found.converged
    assert found.sweeps == 50
    assert found.residual > 1e-8


# bad input

NODE, EDGES, EDGE = np.zeros((3, 2)), [[0, 1], [1, 2]], np.zeros((2, 2))
BAD_GRAPHS: dict[str, tuple[Any, Any, Any, str]] = {
    "node out of range": (NODE, [[0, 1], [1, 3]], EDGE, r"edges\[1\] is \(1, 3\), but nodes are numbered 0 to 2"),
    "negative node": (NODE, [[-1, 1]], EDGE, r"edges\[0\] is \(-1, 1\), but nodes are numbered 0 to 2"),
    "self-loop": (NODE, [[0, 1], [2, 2]], EDGE, r"edges\[1\] is \(2, 2\), but an edge must join two different nodes"),
    "same edge twice": (NODE, [[0, 1], [1, 2], [0, 1]], EDGE, r"edges\[2\] is \(0, 1\), but edges\[0\] already"),
    "edge and its reverse": (NODE, [[1, 2], [0, 1], [1, 0]], EDGE, r"edges\[2\] is \(1, 0\), but edges\[1\] already"),
    "three columns": (NODE, [[0, 1, 2]], EDGE, r"edges must have shape \(E, 2\); got \(1, 3\)"),
    "ragged edges": (NODE, [[0, 1], [1]], EDGE, r"edges must have shape \(E, 2\); got rows of different lengths"),
    "fractional nodes": (NODE, [[0.5, 1.0]], EDGE, r"edges must hold integers.*got float64"),
    "NaN in node": (np.array([[0.0, 0.0], [np.nan, 0.0]]), [[0, 1]], EDGE, r"node\[1, 0\] is nan"),
    "infinite edge": (NODE, EDGES, np.array([[0.0, -np.inf], [0.0, 0.0]]), r"edge\[0, 1\] is -inf"),
    "NaN in one edge": (NODE, [[0, 1]], np.full((1, 2, 2), np.nan), r"edge\[0, 0, 0\] is nan"),
    "flat node": (np.zeros(3), EDGES, EDGE, r"node must have shape \(V, K\) with V, K >= 1; got \(3,\)"),
    "no nodes": (np.zeros((0, 2)), [], EDGE, r"node must have shape \(V, K\) with V, K >= 1; got \(0, 2\)"),
    "text": ([["a", "b"]], [], EDGE, "node must be an array of numbers; got list"),
    "edge of other labels": (NODE, EDGES, np.zeros((3, 3)), r"edge must have shape \(2, 2\) or \(2, 2, 2\).*\(3, 3\)"),
    "too few matrices": (NODE, EDGES, np.zeros((1, 2, 2)), r"edge must have shape .*got \(1, 2, 2\)"),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
@pytest.mark.parametrize("function", [*METHODS.values(), oracles.map_labels])
def test_bad_graphs_are_refused_by_place(name: str, function: Any) -> None:
    node, edges, edge, match = BAD_GRAPHS[name]
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        function(node, edges, edge)
    assert str(caught.value).endswith(".")


BAD_OPTIONS: list[tuple[Any, dict[str, Any], str]] = [
    (oracles.belief_propagation, {"damping": 1.0}, r"damping must be a number in \[0, 1\); got 1.0"),
    (oracles.belief_propagation, {"damping": np.nan}, "damping must be"),
    (oracles.tree_reweighted, {"damping": -0.1}, "damping must be"),
    (oracles.belief_propagation, {"schedule": "random"}, "schedule must be one of .*'sequential'.*got 'random'"),
    (oracles.mean_field, {"max_sweeps": 0}, "max_sweeps must be a positive integer.*got 0"),
    (oracles.mean_field, {"max_sweeps": 2.5}, "max_sweeps must be a positive integer.*got 2.5"),
    (oracles.map_labels, {"tol": -1.0}, "tol must be a finite number, not negative; got -1.0"),
    (oracles.map_labels, {"tol": np.inf}, "tol must be"),
    (oracles.map_labels, {"method": "graph-cuts"}, "method must be one of .*'trws'.*got 'graph-cuts'"),
    (oracles.map_labels, {"damping": 0.5}, "method 'trws' has neither damping"),
    (oracles.map_labels, {"schedule": "parallel"}, "method 'trws' has neither damping"),
    (oracles.tree_reweighted, {"edge_probabilities": [0.5]}, r"must have shape \(2,\).*got \(1,\)"),
    (oracles.tree_reweighted, {"edge_probabilities": [0.5, 0.0]}, r"edge_probabilities\[1\] is 0.0; .*\(0, 1\]"),
    (oracles.tree_reweighted, {"edge_probabilities": [1.5, 0.5]}, r"edge_probabilities\[0\] is 1.5"),
    (oracles.tree_reweighted, {"edge_probabilities": [0.5, np.nan]}, r"edge_probabilities\[1\] is nan"),
    (
        oracles.tree_reweighted,
        {"edge_probabilities": "high"},
        "edge_probabilities must be an array of numbers; got str",
    ),
]


@pytest.mark.parametrize(("function", "options", "match"), BAD_OPTIONS)
def test_bad_options_are_refused_in_a_sentence(function: Any, options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        function(NODE, EDGES, EDGE, **options)
    assert str(caught.value).endswith(".")


def test_edge_probabilities_of_more_than_a_forest_are_refused() -> None:
    with pytest.raises(ValueError, match="add up to 3 in the component of node 1, but a forest has at most 2 edges"):
        oracles.tree_reweighted(np.zeros((4, 2)), TRIANGLE + 1, EDGE, edge_probabilities=np.ones(3))
    with pytest.raises(ValueError, match="n_nodes must be a positive integer"):
        oracles.spanning_tree_probabilities(0, [])


def test_edges_name_their_graph_where_there_are_several() -> None:
    with pytest.raises(ValueError, match=r"^edges\[0\] of graph 3 is \(0, 7\)"):
        checked_edges(4, [[0, 7]], " of graph 3")
    edges = checked_edges(4, np.array([[0, 3]], dtype=np.uint8))
    assert edges.dtype == np.int32
    assert edges.flags.c_contiguous
