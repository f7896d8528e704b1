"""Junction trees equal enumeration on random graphs, whatever their cliques."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from dualfield import oracles
from dualfield.features import grid_edges
from tests.core.graph_enumeration import Graph, GraphEnumeration, graphs
from tests.core.strategies import assert_close, bounds, few_examples


def tree_of(node: Any, edges: Any) -> oracles.JunctionTree:
    return oracles.JunctionTree(len(node), edges, node.shape[1])


@few_examples
@given(bounds.flatmap(lambda bound: graphs(bound, max_nodes=10, labels=(1, 2, 3, 4))))
def test_marginals_of_nodes_edges_cliques_and_separators_equal_enumeration(graph: Graph) -> None:
    node, edges, edge = graph
    truth, tree = GraphEnumeration(Graph(node, edges, edge)), tree_of(node, edges)
    found = tree.marginals(node, edge)
    assert_close(found.log_partition, truth.log_partition)
    assert_close(tree.log_partition(node, edge), truth.log_partition)
    assert_close(found.nodes, [truth.marginal([v]) for v in range(len(node))])
    assert found.edges.shape == (len(edges), node.shape[1], node.shape[1])
    for members, table in zip(edges, found.edges, strict=True):
        assert_close(table, truth.marginal(members))
    for members, table in zip(tree.cliques, found.cliques, strict=True):
        assert_close(table, truth.marginal(members))
    for members, table in zip(tree.separators, found.separators, strict=True):
        assert_close(table, truth.marginal(members))


@few_examples
@given(bounds.flatmap(lambda bound: graphs(bound, max_nodes=10, labels=(1, 2, 3, 4))))
def test_the_cliques_cover_the_graph_and_form_a_junction_tree(graph: Graph) -> None:
    node, edges, _ = graph
    tree = tree_of(node, edges)
    cliques = [set(clique.tolist()) for clique in tree.cliques]
    assert set().union(*cliques) == set(range(len(node)))
    assert all(any({s, t} <= clique for clique in cliques) for s, t in edges)
    assert not any(a < b for a, b in product(cliques, repeat=2))  # none is part of another
    assert tree.treewidth == max(map(len, cliques)) - 1
    # Every node is in one more clique than separator: its cliques are connected.
    for v in range(len(node)):
        shared = sum(v in separator for separator in map(set, (s.tolist() for s in tree.separators)))
        assert sum(v in clique for clique in cliques) == shared + 1


@few_examples
@given(bounds.flatmap(lambda bound: graphs(bound, max_nodes=10, labels=(1, 2, 3, 4))))
def test_the_best_labelling_equals_enumeration(graph: Graph) -> None:
    node, edges, edge = graph
    truth = GraphEnumeration(Graph(node, edges, edge))
    labels, score = tree_of(node, edges).map_labels(node, edge)
    assert_close(score, truth.scores.max())
    place = int(np.flatnonzero((truth.labellings == labels).all(axis=1))[0])
    assert_close(truth.scores[place], truth.scores.max())


def test_a_chain_is_as_the_chain_oracle_says() -> None:
    random = np.random.default_rng(0)
    node, edge = random.normal(size=(30, 5)), random.normal(size=(29, 5, 5))
    found = oracles.JunctionTree(30, np.stack([np.arange(29), np.arange(1, 30)], axis=1), 5).marginals(node, edge)
    expected = oracles.marginals(node, edge)
    assert_close(found.log_partition, expected.log_partition)
    assert_close(found.nodes, expected.nodes)
    assert_close(found.edges, expected.edges)


def test_samples_follow_the_probabilities() -> None:
    random = np.random.default_rng(1)
    edges = [(0, 1), (2, 1), (2, 0), (3, 2)]
    node, edge = random.normal(size=(5, 2)), random.normal(size=(4, 2, 2))
    truth = GraphEnumeration(Graph(node, edges, edge))
    samples = oracles.JunctionTree(5, edges, 2).sample(node, edge, 20_000, random_state=0)
    observed = np.bincount(samples @ (2 ** np.arange(4, -1, -1)), minlength=32) / len(samples)
    np.testing.assert_allclose(observed, truth.probabilities.astype(float), atol=0.015)


@pytest.mark.parametrize(("height", "width"), [(1, 9), (2, 12), (3, 20), (5, 5)])
def test_the_treewidth_of_a_lattice_is_its_shorter_side(height: int, width: int) -> None:
    place = np.arange(height * width).reshape(height, width)
    across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    down = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
    tree = oracles.JunctionTree(height * width, np.concatenate([across, down]), 2)
    assert min(height, width) <= tree.treewidth <= min(height, width) + 1


@pytest.mark.parametrize(("height", "width"), [(7, 20), (20, 7)])
def test_lattices_are_swept_along_their_longer_side(height: int, width: int) -> None:
    edges = grid_edges(height, width, 8)
    random = np.random.default_rng(0)
    node, edge = random.normal(size=(height * width, 2)), random.normal(size=(len(edges), 2, 2))
    swept = oracles.JunctionTree(height * width, edges, 2)
    assert swept.treewidth == min(height, width) + 1
    # Where nodes are numbered at random no sweep is of use.
    number = random.permutation(height * width)
    by_fill = oracles.JunctionTree(height * width, number[edges], 2)
    assert by_fill.treewidth > swept.treewidth
    shuffled = np.empty_like(node)
    shuffled[number] = node
    assert_close(swept.log_partition(node, edge), by_fill.log_partition(shuffled, edge), tolerance=1e-10)
    np.testing.assert_allclose(
        swept.marginals(node, edge).nodes, by_fill.marginals(shuffled, edge).nodes[number], rtol=1e-9
    )
    np.testing.assert_array_equal(swept.map_labels(node, edge)[0], by_fill.map_labels(shuffled, edge)[0][number])


def test_the_treewidth_of_ten_rows_of_twelve_pixels_is_ten() -> None:
    assert oracles.JunctionTree(120, grid_edges(10, 12), 4, table_budget=2**31).treewidth == 10


def test_a_star_of_many_leaves_is_cheap() -> None:
    leaves = 20_000
    edges = np.stack([np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)], axis=1)
    tree = oracles.JunctionTree(leaves + 1, edges, 2)
    assert tree.treewidth == 1
    assert_close(
        tree.log_partition(np.zeros((leaves + 1, 2)), np.zeros((2, 2))), (leaves + 1) * np.log(2.0), tolerance=1e-9
    )


def test_a_graph_beyond_the_budget_is_refused_with_its_treewidth() -> None:
    edges = [(s, t) for s in range(12) for t in range(s)]
    with pytest.raises(ValueError, match=r"a clique of \d+ nodes.*budget of 1000; use belief_propagation"):
        oracles.JunctionTree(12, edges, 3, table_budget=1000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, [], 2), "n_nodes must be an integer, at least 1; got 0"),
        ((2, [(0, 1)], 0), "n_labels must be an integer, at least 1; got 0"),
        ((2, [(0, 2)], 2), "nodes are numbered 0 to 1"),
        ((2, [(1, 1)], 2), "two different nodes"),
        ((2, [(0, 1), (1, 0)], 2), "already joins these nodes"),
    ],
)
def test_bad_graphs_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        oracles.JunctionTree(*arguments)


@pytest.mark.parametrize(
    ("node", "edge", "message"),
    [
        (np.zeros((3, 2)), np.zeros((2, 2)), r"node must have shape \(2, 2\); got \(3, 2\)"),
        (np.zeros((2, 3)), np.zeros((3, 3)), r"node must have shape \(2, 2\); got \(2, 3\)"),
        (np.zeros((2, 2)), np.zeros((3, 2, 2)), "edge must have shape"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), np.zeros((2, 2)), "must be finite"),
    ],
)
def test_bad_potentials_are_refused(node: Any, edge: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        oracles.JunctionTree(2, [(0, 1)], 2).marginals(node, edge)
