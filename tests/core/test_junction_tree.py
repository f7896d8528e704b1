"""Junction trees equal enumeration on random graphs, whatever their cliques."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualfield import oracles
from tests.core.strategies import assert_close, bounds, few_examples
from tests.enumeration import all_labellings, log_sum_exp


class GraphEnumeration:
    """``p(y) ∝ exp(Σ_v node[v, y_v] + Σ_e edge_e[y_s, y_t])``, labelling by labelling."""

    def __init__(self, node: Any, edges: Any, edge: Any) -> None:
        node = np.asarray(node, dtype=np.longdouble)
        self.nodes, self.labels = node.shape
        self.labellings = all_labellings(self.nodes, self.labels)
        self.scores = node[np.arange(self.nodes), self.labellings].sum(axis=1)
        matrices = np.broadcast_to(np.asarray(edge, dtype=np.longdouble), (len(edges), self.labels, self.labels))
        for (s, t), matrix in zip(edges, matrices, strict=True):
            self.scores = self.scores + matrix[self.labellings[:, s], self.labellings[:, t]]
        self.log_partition = log_sum_exp(self.scores)
        self.probabilities = np.exp(self.scores - self.log_partition)

    def marginal(self, members: Any) -> Any:
        """The marginal of some nodes, one axis each."""
        table = np.zeros((self.labels,) * len(members))
        np.add.at(table, tuple(self.labellings[:, v] for v in members), self.probabilities.astype(np.float64))
        return table


@st.composite
def graphs(draw: st.DrawFn, bounds: st.SearchStrategy[float] = bounds) -> tuple[Any, Any, Any]:
    """(node, edges, edge) with at most 10 nodes and 1,024 labellings; shared or separate matrices."""
    labels = draw(st.integers(1, 4))
    nodes = draw(st.integers(1, {1: 6, 2: 10, 3: 6, 4: 5}[labels]))
    pairs = [(s, t) for s in range(nodes) for t in range(s)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=len(pairs))) if pairs else []
    edges = [(t, s) if draw(st.booleans()) else (s, t) for s, t in edges]
    bound = draw(bounds)
    values = st.floats(-bound, bound, allow_subnormal=False)
    shared = draw(st.booleans())
    node = draw(hnp.arrays(np.float64, (nodes, labels), elements=values))
    shape = (labels, labels) if shared else (len(edges), labels, labels)
    return node, edges, draw(hnp.arrays(np.float64, shape, elements=values))


def tree_of(node: Any, edges: Any) -> oracles.JunctionTree:
    return oracles.JunctionTree(len(node), edges, node.shape[1])


@few_examples
@given(graphs())
def test_marginals_of_nodes_edges_cliques_and_separators_equal_enumeration(graph: tuple[Any, Any, Any]) -> None:
    node, edges, edge = graph
    truth, tree = GraphEnumeration(node, edges, edge), tree_of(node, edges)
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
@given(graphs())
def test_the_cliques_cover_the_graph_and_form_a_junction_tree(graph: tuple[Any, Any, Any]) -> None:
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
@given(graphs())
def test_the_best_labelling_equals_enumeration(graph: tuple[Any, Any, Any]) -> None:
    node, edges, edge = graph
    truth = GraphEnumeration(node, edges, edge)
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
    truth = GraphEnumeration(node, edges, edge)
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
    with pytest.raises(ValueError, match=r"treewidth is \d+ or more.*budget of 1000; use belief_propagation"):
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
