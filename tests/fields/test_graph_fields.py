"""Fields on graphs are the sums over all labellings that their docstrings state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield import fields, l2_path, solve
from dualfield.features import encode_graphs, encode_grids
from dualfield.fields.graph import Graph
from dualfield.models.graph_layout import edge_pattern
from dualfield.solvers import LBFGS, OEG, SDCA
from tests.test_bad_input import refuses
from tests.written_out import WrittenOut
from tests.zoo import dense_sequences, random_graphs, weights_with_zeros

KINDS = ["full", "symmetric", "potts", "ising"]
FIELDS = [fields.Graph, fields.PseudoLikelihood]


@st.composite
def problems(draw: st.DrawFn) -> Any:
    """A small field of either kind, and weights."""
    kind = draw(st.sampled_from(KINDS))
    labels = 2 if kind == "ising" else draw(st.integers(2, 3))
    n, seed = draw(st.integers(1, 4)), draw(st.integers(0, 10_000))
    X, y = random_graphs(n, labels, 2, edge_width=draw(st.sampled_from([None, 1, 2])), seed=seed)
    y[0] = np.append(0 * y[0], labels - 1)  # at least two labels, the last in a node of its own
    X[0] = (np.vstack([X[0][0], np.ones(2)]), *X[0][1:])
    field = draw(st.sampled_from(FIELDS))(
        X,
        y,
        draw(st.sampled_from([0.3, 1.0, 5.0])),
        edge_l2=draw(st.sampled_from([None, 0.5, 4.0])),
        edge_weights=kind,
        bias=draw(st.booleans()),
        sample_weight=draw(st.sampled_from([None, np.linspace(0.5, 2, n)])),
    )
    return field, np.random.default_rng(seed).normal(size=field.dimension)


@given(problems())
def test_objective_gradient_and_hessian_are_sums_over_labellings(problem: Any) -> None:
    field, w = problem
    full = WrittenOut(field)
    value, gradient = field.gradient(w)
    assert value == pytest.approx(full.primal(w), rel=1e-12)
    assert field.primal(w) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(gradient, field.l2 * w + full.gradient(w), atol=1e-10)
    v = np.cos(np.arange(field.dimension))
    np.testing.assert_allclose(field.hessian_product(w, v), field.l2 * v + full.hessian_product(w, v), atol=1e-9)


@given(problems())
def test_marginals_and_best_labels_are_those_of_all_labellings(problem: Any) -> None:
    field, w = problem
    marginals = field.core.marginals(w, 0, field.n_blocks)
    found = field.core.decode(w, 0, field.n_blocks)
    start = 0
    for block in WrittenOut(field).blocks:
        p = block.probabilities(w)[1].astype(float)
        nodes = block.labellings.shape[1]
        for v in range(nodes):
            expected = [p[block.labellings[:, v] == k].sum() for k in range(len(field.classes))]
            np.testing.assert_allclose(marginals[start + v], expected, atol=1e-12)
        best = block.features(found[start : start + nodes]) @ w
        assert best == pytest.approx((block.vectors @ w).max(), abs=1e-10)
        start += nodes
    assert start == len(marginals) == len(found)


@given(problems())
def test_split_weights_are_natural(problem: Any) -> None:
    """The score by the docstring's formula is that of the flat vector, and so is the penalty."""
    field, w = problem
    parts, graphs = field.layout.split(w), field.encoded
    bias = parts.get("bias", np.zeros(len(field.classes)))
    nodes = graphs_as_dense(graphs)
    for i in range(len(graphs)):
        a, b = graphs.offsets[i], graphs.offsets[i + 1]
        y = field.codes[a:b]
        score = sum(nodes[a + v] @ parts["node"][:, label] + bias[label] for v, label in enumerate(y))
        for e in range(graphs.edge_offsets[i], graphs.edge_offsets[i + 1]):
            z = [1.0] if graphs.edge_features is None else graphs.edge_features[e]
            u, v = graphs.ends[e]
            score += sum(z[f] * parts["edge"][f, y[u], y[v]] for f in range(len(z)))
        if isinstance(field, Graph):
            assert score == pytest.approx(WrittenOut(field).blocks[i].truth @ w, abs=1e-10)
    kind, edge_l2 = field.layout.edge_weights, field.edge_l2 or field.l2
    K = len(field.classes)
    once = {"full": np.ones((K, K)), "symmetric": np.triu(np.ones((K, K))), "potts": np.zeros((K, K))}
    once["ising"] = once["potts"].copy()
    once["potts"][0, 0] = once["ising"][0, 0] = 1.0
    penalty = field.l2 / 2 * ((parts["node"] ** 2).sum() + (bias**2).sum())
    penalty += edge_l2 / 2 * (once[kind] * parts["edge"] ** 2).sum()
    assert penalty == pytest.approx(field.l2 / 2 * (w @ w), rel=1e-12)


def graphs_as_dense(graphs: Any) -> Any:
    dense = np.zeros((graphs.n_nodes, graphs.n_attributes))
    rows = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.indptr))
    dense[rows, graphs.indices] = 1.0 if graphs.values is None else graphs.values
    return dense


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_patterns_say_which_pairs_share_a_parameter(labels: int) -> None:
    pairs = [(a, b) for a in range(labels) for b in range(labels)]
    full, ones, n = edge_pattern("full", labels)
    assert sorted(full.ravel().tolist()) == list(range(n)) == list(range(labels**2))
    symmetric, _, n = edge_pattern("symmetric", labels)
    assert n == labels * (labels + 1) // 2 == len(set(symmetric.ravel().tolist()))
    assert all(symmetric[a, b] == symmetric[b, a] for a, b in pairs)
    potts, _, n = edge_pattern("potts", labels)
    assert (n, potts.tolist()) == (1, np.where(np.eye(labels, dtype=bool), 0, -1).tolist())
    assert (ones == 1).all()


# Chains are graphs


@pytest.mark.parametrize("inference", ["auto", "junction_tree"])
def test_a_chain_is_a_graph_bit_for_bit_in_its_optimum(inference: str) -> None:
    X, y = dense_sequences(12)
    chain = fields.Chain(X, y, bias=False, begin=False, end=False)
    graph = fields.Graph([as_path(x) for x in X], y, inference=inference)
    assert graph.dimension == chain.dimension
    for solver in (LBFGS(), SDCA(), OEG()):
        a, b = (solve(f, solver, tol=1e-10, max_passes=20_000, random_state=0) for f in (chain, graph))
        assert a.certificate == b.certificate == "exact"
        assert a.primal == pytest.approx(b.primal, rel=1e-9)
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-4)
    w = np.random.default_rng(0).normal(size=chain.dimension)
    assert chain.primal(w) == pytest.approx(graph.primal(w), rel=1e-13)


def as_path(x: Any) -> Any:
    return x, [(t, t + 1) for t in range(len(x) - 1)]


def test_grids_are_graphs_with_labels_of_their_shape() -> None:
    random = np.random.default_rng(0)
    images, y = [random.normal(size=(2, 3, 2)), random.normal(size=(1, 2, 2))], [np.eye(2, 3, dtype=int), [[0, 1]]]
    grids = encode_grids(images, edge_features="direction")
    field = fields.Graph(grids, y)
    graph = fields.Graph(grids.graphs, [np.ravel(labels) for labels in y])
    w = random.normal(size=field.dimension)
    assert field.primal(w) == graph.primal(w)
    refuses(ValueError, r"image 1 has labels of shape \(2,\)", lambda: fields.Graph(grids, [y[0], [0, 1]]))
    match = "sample_weight must have one entry per image, 2 in all"
    refuses(ValueError, match, lambda: fields.Graph(grids, y, sample_weight=[1.0]))


# Penalties


@pytest.mark.parametrize("kind", FIELDS)
def test_a_penalty_on_edges_alone_makes_them_vanish(kind: Any) -> None:
    X, y = random_graphs(8)
    strong = kind(X, y, edge_l2=1e8)
    parts = strong.layout.split(solve(strong, "lbfgs", tol=1e-9).weights)
    assert abs(parts["edge"]).max() < 1e-5 < 1e-2 < abs(parts["node"]).max()


@pytest.mark.parametrize("kind", FIELDS)
def test_another_penalty_keeps_the_ratio_of_edges_to_nodes(kind: Any) -> None:
    X, y = random_graphs(8, edge_width=1)
    field = kind(X, y, 1.0, edge_l2=4.0, edge_weights="symmetric")
    other, afresh = field.with_l2(3.0), kind(X, y, 3.0, edge_l2=12.0, edge_weights="symmetric")
    assert (other.l2, other.edge_l2) == (3.0, 12.0)
    assert other.same_as(afresh)
    assert not other.same_as(field)
    w = np.linspace(-1, 1, field.dimension)
    assert other.primal(w) == afresh.primal(w)
    first, second = l2_path(field, [3.0, 1.0], tol=1e-8)
    assert first.primal == pytest.approx(solve(afresh, tol=1e-8).primal, rel=1e-7)
    assert second.primal == pytest.approx(solve(field, tol=1e-8).primal, rel=1e-7)


@pytest.mark.parametrize("kind", FIELDS)
def test_the_same_problem_is_recognised(kind: Any) -> None:
    X, y = random_graphs(6, edge_width=1)
    field = kind(X, y)
    assert field.same_as(kind(encode_graphs(X), y))
    turned = [(X[0][0], X[0][1][:, ::-1], X[0][2]), *X[1:]]
    for change in (
        {"X": turned},
        {"X": [(nodes, edges, 2 * rows) for nodes, edges, rows in X]},
        {"y": [y[0] * 0 + 1, *y[1:]]},
        {"edge_weights": "potts"},
        {"bias": True},
        {"edge_l2": 2.0},
        {"sample_weight": weights_with_zeros(6)},
    ):
        assert not field.same_as(kind(**{"X": X, "y": y} | change))
    assert not fields.Graph(X, y).same_as(fields.PseudoLikelihood(X, y))


def test_a_node_given_its_neighbours_is_a_point_of_logistic_regression() -> None:
    """Without edges the pseudo-likelihood, the likelihood and softmax regression are one problem."""
    X, y = random_graphs(8)
    bare = [(nodes, []) for nodes, _ in X]
    points = fields.Multiclass(np.concatenate([nodes for nodes, _ in X]), np.concatenate(y), bias=True)
    expected = solve(points, "lbfgs", tol=1e-10).primal
    for kind in FIELDS:
        assert solve(kind(bare, y, bias=True), "lbfgs", tol=1e-10).primal == pytest.approx(expected, rel=1e-9)


# Refusals


def test_too_wide_a_graph_is_refused_with_the_choices() -> None:
    grid = encode_grids([np.zeros((12, 12)) + 1.0])
    y = [np.arange(144).reshape(12, 12) % 3]
    match = "image 0 .*a clique of .*budget of 1000; choose inference='trw'.*pseudo-likelihood, or raise table_budget"
    refuses(ValueError, match, lambda: Graph(grid, y, inference="junction_tree", table_budget=1000))


def test_where_exact_inference_does_not_fit_auto_is_tree_reweighted() -> None:
    grid = encode_grids([np.zeros((12, 12)) + 1.0])
    y = [np.arange(144).reshape(12, 12) % 3]
    narrow = Graph(encode_grids([np.ones((3, 12))]), [y[0][:3]])
    wide = Graph(grid, y, table_budget=1000)
    assert (wide.inference.method, wide.exact, wide.convex) == ("trw", False, True)
    assert wide.certifies(np.zeros(wide.dimension))[0] == "relaxed"
    assert "so inference is 'trw'" in wide.default_solver.reason
    assert (narrow.inference.method, narrow.exact) == ("junction_tree", True)
    refuses(TypeError, "OEG needs .*exact marginals", lambda: solve(wide, "oeg"))
    cliques = [(np.ones((9, 1)), [], None, [tuple(range(9))])]
    refuses(ValueError, "graph 0 .*budget of 100", lambda: Graph(cliques, [[0, 1] * 4 + [0]], table_budget=100))
    assert solve(fields.PseudoLikelihood(grid, y), "lbfgs", tol=1e-4).status == "converged"


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"l2": 0}, "l2 must be a positive finite number; got 0"),
        ({"edge_l2": 0}, "edge_l2 must be None or a positive finite number; got 0"),
        ({"edge_l2": np.nan}, "edge_l2 must be None or a positive finite number; got nan"),
        ({"edge_l2": "1"}, "edge_l2 must be None"),
        ({"edge_weights": "some"}, "edge_weights must be 'full', 'symmetric', 'potts' or 'ising'; got 'some'"),
        ({"edge_weights": None}, "edge_weights must be 'full'"),
        ({"edge_weights": "ising"}, "edge_weights='ising' needs exactly two labels; y has 3; choose 'potts'"),
        ({"sample_weight": [1.0]}, "sample_weight must have one entry per graph, 6 in all"),
    ],
)
@pytest.mark.parametrize("kind", FIELDS)
def test_bad_parameters_are_refused(kind: Any, parameters: dict[str, Any], match: str) -> None:
    refuses(ValueError, match, lambda: kind(*random_graphs(6), **parameters))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"inference": "loopy"}, "inference must be 'auto', 'junction_tree', 'bp', 'trw' or 'mean_field'; got 'loopy'"),
        ({"inference": None}, "inference must be"),
        ({"table_budget": 0}, "table_budget must be a positive integer; got 0"),
        ({"table_budget": 1e6}, "table_budget must be a positive integer"),
        ({"damping": 1.0}, r"damping must be a number in \[0, 1\); got 1.0"),
        ({"damping": -0.1}, r"damping must be a number in \[0, 1\)"),
        ({"damping": "half"}, r"damping must be a number in \[0, 1\)"),
        ({"max_sweeps": 0}, "max_sweeps must be a positive integer; got 0"),
        ({"inference_tol": 0.0}, "inference_tol must be a positive finite number; got 0.0"),
        ({"inference_tol": np.nan}, "inference_tol must be a positive finite number; got nan"),
        ({"inference_tol": 10**400}, "inference_tol must be a positive finite number"),
    ],
)
def test_bad_inference_is_refused(parameters: dict[str, Any], match: str) -> None:
    refuses(ValueError, match, lambda: Graph(*random_graphs(6), **parameters))


@pytest.mark.parametrize("kind", FIELDS)
def test_bad_graphs_and_labels_are_refused(kind: Any) -> None:
    X, y = random_graphs(6)
    refuses(ValueError, r"edge 0 of graph 1 is \(0, 9\)", lambda: kind([X[0], (np.ones((2, 3)), [(0, 9)])], y[:2]))
    refuses(ValueError, "y has 5 graphs but X has 6", lambda: kind(X, y[:5]))
    refuses(ValueError, "X has no graphs", lambda: kind(encode_graphs(X)[:0], []))
    refuses(ValueError, "graph 2 has .* labels in y but", lambda: kind(X, [*y[:2], np.zeros(9, dtype=int), *y[3:]]))


@pytest.mark.parametrize("solver", ["lbfgs", "sag", "sgd"])
@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_the_relaxed_certificate_bounds_the_distance_to_the_relaxed_optimum(solver: str, tol: float) -> None:
    random = np.random.default_rng(3)
    edges = np.array([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)])
    X = [(random.normal(size=(4, 2)), edges) for _ in range(6)]
    y = [random.integers(3, size=4) for _ in range(6)]
    field = fields.Graph(X, y, l2=0.5, inference="trw", inference_tol=1e-12, max_sweeps=2000)
    optimum = solve(field, "lbfgs", tol=1e-11).dual
    solution = solve(field, solver, tol=tol, max_passes=300, random_state=0)
    assert solution.certificate == "relaxed"
    assert optimum - 1e-8 <= solution.primal <= optimum + solution.duality_gap + 1e-8
    # It is the relaxed problem's: on loops its optimum is not that of the likelihood.
    assert solve(fields.Graph(X, y, l2=0.5), "lbfgs", tol=1e-9).primal < optimum - 1e-3
