"""GraphCRF and GridCRF: the optimum, what is proven of it, and predictions."""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dualfield import SDCA, ChainCRF, GraphCRF, GridCRF, fields, solve
from dualfield.datasets import load_snakes
from dualfield.features import encode_grids
from tests.test_bad_input import refuses
from tests.zoo import dense_sequences, random_graphs, weights_with_zeros
from tests.zoo import halved_images as images

APPROXIMATE = ["bp", "trw", "mean_field"]
TIGHT: dict[str, Any] = {"tol": 1e-10, "max_passes": 20_000, "random_state": 0}


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return random_graphs(30, edge_width=2, seed=1)


@pytest.fixture(scope="module")
def plain() -> tuple[Any, Any]:
    """Graphs without edge features."""
    return random_graphs(30, seed=2)


def as_paths(X: Any) -> Any:
    return [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]


def score_of(crf: Any, graph: Any, labels: Any) -> float:
    """The score of a labelling, by the formula of the class docstring and the natural weights."""
    nodes, edges, *rows = graph
    z = rows[0] if rows else np.ones((len(edges), 1))
    total = sum(nodes[v] @ crf.node_weights_[:, k] + crf.bias_[k] for v, k in enumerate(labels))
    for e, (u, v) in enumerate(edges):
        total += sum(z[e][f] * crf.edge_weights_[f, labels[u], labels[v]] for f in range(len(z[e])))
    return float(total)


def distribution(crf: Any, graph: Any) -> tuple[Any, Any]:
    """All labellings and their probabilities."""
    labellings = np.array(list(product(range(len(crf.classes_)), repeat=len(graph[0]))))
    scores = np.array([score_of(crf, graph, labels) for labels in labellings])
    p = np.exp(scores - scores.max())
    return labellings, p / p.sum()


# The optimum


@pytest.mark.parametrize("solver", ["oeg", "sdca", "lbfgs"])
def test_on_chains_the_optimum_is_that_of_the_chain(solver: str) -> None:
    X, y = dense_sequences(12)
    chain = ChainCRF(solver=solver, bias=False, begin=False, end=False, **TIGHT).fit(X, y)
    graph = GraphCRF(solver=solver, **TIGHT).fit(as_paths(X), y)
    assert graph.solution_.primal == pytest.approx(chain.solution_.primal, rel=1e-9)
    np.testing.assert_allclose(graph.weights_, chain.weights_, atol=1e-4)
    parts = chain.layout_.split(chain.weights_)
    np.testing.assert_allclose(graph.node_weights_, parts["state"], atol=1e-4)
    np.testing.assert_allclose(graph.edge_weights_[0], parts["transitions"], atol=1e-4)
    assert [labels.tolist() for labels in graph.predict(as_paths(X))] == chain.predict(X)
    np.testing.assert_allclose(
        np.concatenate(graph.predict_marginals(as_paths(X))), np.concatenate(chain.predict_marginals(X)), atol=1e-5
    )


@pytest.mark.parametrize("inference", ["bp", "trw"])
def test_on_trees_belief_propagation_is_exact(inference: str) -> None:
    X, y = dense_sequences(12)
    exact = GraphCRF(solver="lbfgs", **TIGHT).fit(as_paths(X), y)
    loopy = GraphCRF(inference=inference, tol=1e-8, inference_tol=1e-12).fit(as_paths(X), y)
    assert loopy.solution_.primal == pytest.approx(exact.solution_.primal, rel=1e-7)
    np.testing.assert_allclose(loopy.edge_weights_, exact.edge_weights_, atol=1e-3)


@pytest.mark.parametrize("edge_weights", ["full", "symmetric", "potts"])
def test_the_objective_is_that_of_the_docstring(data: tuple[Any, Any], edge_weights: str) -> None:
    X, y = data
    crf = GraphCRF(l2=0.7, edge_l2=2.0, edge_weights=edge_weights, bias=True, random_state=0).fit(X, y)
    W = crf.edge_weights_
    once = {"full": np.ones((3, 3)), "symmetric": np.triu(np.ones((3, 3))), "potts": np.diag([1.0, 0.0, 0.0])}
    value = 0.35 * ((crf.node_weights_**2).sum() + (crf.bias_**2).sum()) + (once[edge_weights] * W**2).sum()
    for graph, labels in zip(X, y, strict=True):
        labellings, p = distribution(crf, graph)
        value -= np.log(p[(labellings == labels).all(axis=1)][0])
    assert crf.solution_.primal == pytest.approx(value, rel=1e-10)
    assert crf.solution_.certificate == "exact"
    if edge_weights == "symmetric":
        np.testing.assert_array_equal(W, W.transpose(0, 2, 1))
    if edge_weights == "potts":
        assert not (W * (1 - np.eye(3))).any()
        assert np.ptp(W.diagonal(axis1=1, axis2=2), axis=1).max() == 0


def test_ising_weights_have_two_signs(plain: tuple[Any, Any]) -> None:
    X, y = plain[0], [labels % 2 for labels in plain[1]]
    W = GraphCRF(edge_weights="ising", random_state=0).fit(X, y).edge_weights_[0]
    assert W[0, 0] == W[1, 1] == -W[0, 1] == -W[1, 0] != 0


def test_turning_edges_round_transposes_their_matrix(plain: tuple[Any, Any]) -> None:
    X, y = plain
    there = GraphCRF(**TIGHT).fit(X, y)
    back = GraphCRF(**TIGHT).fit([(nodes, edges[:, ::-1]) for nodes, edges in X], y)
    np.testing.assert_allclose(there.edge_weights_[0], back.edge_weights_[0].T, atol=1e-4)


def test_a_sample_weight_is_that_many_copies(plain: tuple[Any, Any]) -> None:
    X, y = plain
    weight = np.arange(30) % 3
    copies = np.repeat(np.arange(30), weight)
    weighted = GraphCRF(**TIGHT).fit(X, y, sample_weight=weight)
    repeated = GraphCRF(**TIGHT).fit([X[i] for i in copies], [y[i] for i in copies])
    assert weighted.solution_.primal == pytest.approx(repeated.solution_.primal, rel=1e-9)


# What is proven


@pytest.mark.parametrize("inference", ["auto", "junction_tree", "pseudo_likelihood", "trw"])
def test_convex_objectives_are_certified(data: tuple[Any, Any], inference: str) -> None:
    crf = GraphCRF(inference=inference, tol=1e-5, random_state=0).fit(*data)
    solution = crf.solution_
    assert solution.status == "converged"
    assert solution.relative_gap <= 1e-5
    assert solution.certificate == ("relaxed" if inference == "trw" else "exact")
    assert ("of Graph with inference='trw' is proven" in solution.message) == (inference == "trw")
    best = GraphCRF(inference=inference, tol=1e-9, max_passes=5000, solver="lbfgs").fit(*data).solution_
    assert -1e-9 <= (solution.primal - best.primal) / best.primal <= 1e-5


@pytest.mark.parametrize("inference", ["bp", "mean_field"])
def test_nothing_is_proven_of_an_objective_that_is_not_convex(plain: tuple[Any, Any], inference: str) -> None:
    crf = GraphCRF(inference=inference, l2=20.0, tol=1e-4, max_passes=200).fit(*plain)
    solution = crf.solution_
    assert solution.status == "converged"
    assert solution.certificate == "none"
    assert np.isnan([solution.dual, solution.duality_gap, solution.relative_gap]).all()
    assert np.isnan(solution.history["duality_gap"]).all()
    assert "not convex, so nothing is proven" in solution.message
    field_value, gradient = gradient_of(crf, plain)
    assert solution.primal == pytest.approx(field_value, rel=1e-9)
    assert gradient @ gradient / 40.0 <= 1e-4 * abs(solution.primal)


def gradient_of(crf: GraphCRF, data: tuple[Any, Any]) -> tuple[float, Any]:
    return fields.Graph(*data, crf.l2, inference=crf.inference).gradient(crf.weights_)


def test_what_inference_leaves_open_is_part_of_the_gap(plain: tuple[Any, Any]) -> None:
    crf = GraphCRF(inference="trw", max_sweeps=1, inference_tol=1e-14, max_passes=3)
    with pytest.warns(ConvergenceWarning, match=r"max_passes=3 before tol=0.001: the objective of .* is proven"):
        crf.fit(*plain)
    settled = fields.Graph(*plain, crf.l2, inference="trw", max_sweeps=5000)
    optimum = solve(settled, "lbfgs", tol=1e-7).primal
    assert crf.solution_.certificate == "relaxed"
    assert settled.primal(crf.weights_) - optimum <= crf.solution_.duality_gap
    assert crf.solution_.dual <= optimum
    settled = crf.converged(plain[0])
    assert not settled.all()
    assert settled[[len(edges) == 0 for _, edges in plain[0]]].all()
    assert crf.set_params(inference="junction_tree").converged(plain[0]).all()


def test_bounds_on_the_partition_function_bound_the_objective(plain: tuple[Any, Any]) -> None:
    value = {i: GraphCRF(inference=i, l2=5.0, tol=1e-6, max_passes=2000).fit(*plain) for i in ("auto", "trw")}
    assert value["auto"].solution_.primal < value["trw"].solution_.primal


@pytest.mark.parametrize("solver", ["sdca", "oeg", SDCA()])
@pytest.mark.parametrize("inference", APPROXIMATE)
def test_dual_solvers_are_refused_without_exact_marginals(plain: tuple[Any, Any], solver: Any, inference: str) -> None:
    match = f"exact marginals, which Graph with inference='{inference}' does not offer; use inference='junction_tree'"
    refuses(TypeError, match, lambda: GraphCRF(solver=solver, inference=inference).fit(*plain))


@pytest.mark.parametrize("solver", ["lbfgs", "sag", "saga", "svrg", "hybrid", "adagrad", "sgd", "smd"])
@pytest.mark.parametrize("inference", ["bp", "trw"])
def test_primal_solvers_take_approximate_marginals(plain: tuple[Any, Any], solver: str, inference: str) -> None:
    options: dict[str, Any] = {"l2": 5.0, "inference": inference, "random_state": 0}
    best = GraphCRF(solver="lbfgs", tol=1e-8, **options).fit(*plain).solution_.primal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = GraphCRF(solver=solver, tol=1e-4, max_passes=60, **options).fit(*plain).solution_.primal
    assert found == pytest.approx(best, rel=0.02)


def test_too_few_passes_warn(plain: tuple[Any, Any]) -> None:
    for inference in ("auto", "bp"):
        with pytest.warns(ConvergenceWarning, match="max_passes=1") as caught:
            GraphCRF(inference=inference, max_passes=1, tol=1e-9, random_state=0).fit(*plain)
        assert caught[0].filename == __file__


# Predictions


def test_predictions_are_those_of_all_labellings(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = GraphCRF(l2=0.3, bias=True, random_state=0).fit(X, y)
    best, nodewise = crf.predict(X), clone(crf).set_params(prediction="max-marginals").fit(X, y).predict(X)
    for graph, labels, single, marginals in zip(X, best, nodewise, crf.predict_marginals(X), strict=True):
        labellings, p = distribution(crf, graph)
        assert p[(labellings == labels).all(axis=1)][0] == pytest.approx(p.max())
        expected = np.array([[p[labellings[:, v] == k].sum() for k in range(3)] for v in range(len(graph[0]))])
        np.testing.assert_allclose(marginals, expected, atol=1e-10)
        np.testing.assert_array_equal(single, expected.argmax(axis=1))
    assert crf.set_params(prediction="map").predict(X)[3].tolist() == best[3].tolist()


def test_samples_have_the_frequencies_of_the_distribution(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = GraphCRF(random_state=0).fit(X, y)
    draws = crf.sample(X, 4000, random_state=0)
    for graph, labels in list(zip(X, draws, strict=True))[:5]:
        assert labels.shape == (4000, len(graph[0]))
        labellings, p = distribution(crf, graph)
        found = np.array([(labels == row).all(axis=1).mean() for row in labellings])
        np.testing.assert_allclose(found, p, atol=5 * np.sqrt(0.25 / 4000))
    refuses(ValueError, "n must be an integer, not negative; got -1", lambda: crf.sample(X, -1))
    crf.set_params(inference="bp")
    refuses(ValueError, "sampling needs exact inference but here it is 'bp'", lambda: crf.sample(X))


@pytest.mark.parametrize("inference", APPROXIMATE)
@pytest.mark.parametrize("prediction", ["auto", "map", "max-marginals"])
def test_approximate_predictions_are_mostly_the_exact_ones(
    plain: tuple[Any, Any], inference: str, prediction: str
) -> None:
    crf = GraphCRF(l2=2.0, prediction=prediction, random_state=0).fit(*plain)
    exact = np.concatenate(crf.predict(plain[0]))
    crf.set_params(inference=inference)  # predictions follow the parameter
    assert crf.inference_for(plain[0]) == inference
    assert (np.concatenate(crf.predict(plain[0])) == exact).mean() > 0.9
    marginals = crf.predict_marginals(plain[0])
    np.testing.assert_allclose(np.concatenate(marginals).sum(axis=1), 1.0, atol=1e-8)


def test_the_score_is_the_share_of_right_nodes(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = GraphCRF(random_state=0).fit(X, y)
    right = [found == labels for found, labels in zip(crf.predict(X), y, strict=True)]
    assert crf.score(X, y) == np.concatenate(right).mean()
    weight = weights_with_zeros(30)
    sizes = [len(part) for part in right]
    expected = np.average(np.concatenate(right), weights=np.repeat(weight, sizes))
    assert crf.score(X, y, weight) == pytest.approx(expected)
    with pytest.warns(UserWarning, match="1 label of y did not occur in training"):
        crf.score(X[:1], [[7, *y[0][1:]]])


def test_labels_may_be_strings(data: tuple[Any, Any]) -> None:
    X, y = data
    names = np.array(["leaf", "root", "stem"])
    named = GraphCRF(random_state=0).fit(X, [names[labels] for labels in y])
    assert named.classes_.tolist() == names.tolist()
    for a, b in zip(named.predict(X), GraphCRF(random_state=0).fit(X, y).predict(X), strict=True):
        np.testing.assert_array_equal(a, names[b])


def test_pseudo_likelihood_predicts_by_junction_trees_within_the_budget_else_by_trw() -> None:
    X, y = images(4, (4, 4))
    crf = GridCRF(inference="pseudo_likelihood", random_state=0).fit(X, y)
    assert crf.inference_for(X) == "junction_tree"
    exact = GridCRF(random_state=0).fit(X, y)
    exact.weights_ = crf.weights_
    np.testing.assert_array_equal(crf.predict(X)[0], exact.predict(X)[0])
    crf.set_params(table_budget=10)
    assert crf.inference_for(X) == "trw"
    assert crf.predict(X)[0].shape == (4, 4)


@pytest.mark.parametrize("n_jobs", [2, -1, None])
def test_the_number_of_threads_changes_no_prediction(data: tuple[Any, Any], n_jobs: int | None) -> None:
    crf = GraphCRF(random_state=0).fit(*data)
    alone = crf.predict_marginals(data[0])
    for a, b in zip(alone, crf.set_params(n_jobs=n_jobs).predict_marginals(data[0]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("inference", ["junction_tree", "pseudo_likelihood"])
def test_named_attributes_of_nodes_give_the_model_of_their_columns(inference: str, tmp_path: Path) -> None:
    from sklearn.feature_extraction import DictVectorizer

    words, random = ["cat", "dog", "runs", "sleeps"], np.random.default_rng(0)
    X, y = [], []
    for _ in range(12):
        codes = random.integers(4, size=5)
        X.append(([{"word": words[c], "length": len(words[c]) / 5} for c in codes], [(i, i + 1) for i in range(4)]))
        y.append(["noun" if c < 2 else "verb" for c in codes])
    columns = DictVectorizer(separator=":").fit([node for graph in X for node in graph[0]])
    options: dict[str, Any] = {"inference": inference, "bias": True, "tol": 1e-8, "random_state": 0}
    expected = GraphCRF(**options).fit([(columns.transform(nodes), edges) for nodes, edges in X], y)
    crf = GraphCRF(**options).fit(X, y)
    order = [crf.vocabulary_.index[name] for name in columns.get_feature_names_out()]
    np.testing.assert_allclose(crf.node_weights_[order], expected.node_weights_, atol=1e-4)
    crf.save(tmp_path / "model")
    loaded = GraphCRF.load(tmp_path / "model")
    assert loaded.vocabulary_ == crf.vocabulary_
    new = [([{"word": "dog", "unseen": 3}, {"word": "runs"}], [(0, 1)])]
    assert [labels.tolist() for labels in loaded.predict(new)] == [["noun", "verb"]]
    assert [labels.tolist() for labels in crf.predict(crf.encode(new))] == [["noun", "verb"]]
    with pytest.raises(TypeError, match="rows of numbers but the model was trained on named attributes"):
        loaded.predict([(np.ones((1, 5)), [])])


def test_encoded_graphs_give_the_same_model(data: tuple[Any, Any]) -> None:
    X, y = data
    plain, encoded = GraphCRF(random_state=0).fit(X, y), GraphCRF(random_state=0)
    encoded.fit(encoded.encode(X), y)
    np.testing.assert_array_equal(plain.weights_, encoded.weights_)
    np.testing.assert_array_equal(plain.predict(X)[0], encoded.predict(encoded.encode(X))[0])


# Grids


@pytest.mark.parametrize("edge_features", [None, "contrast", "direction"])
@pytest.mark.parametrize("neighbours", [4, 8])
def test_a_grid_is_a_graph(edge_features: str | None, neighbours: int) -> None:
    X, y = images()
    grid = GridCRF(neighbours=neighbours, edge_features=edge_features, **TIGHT).fit(X, y)
    encoded = encode_grids(X, neighbours, edge_features).graphs
    graph = GraphCRF(**TIGHT).fit(encoded, [labels.ravel() for labels in y])
    np.testing.assert_allclose(grid.weights_, graph.weights_, atol=1e-6)
    later, _ = images(2, (2, 5), seed=9)
    found, marginals = grid.predict(later), grid.predict_marginals(later)
    assert [labels.shape for labels in found] == [(2, 5)] * 2
    assert [m.shape for m in marginals] == [(2, 5, 2)] * 2
    assert [draw.shape for draw in grid.sample(later, 3, random_state=0)] == [(3, 2, 5)] * 2
    again = graph.predict(grid.encoding_.apply(later).graphs)
    np.testing.assert_array_equal(found[1].ravel(), again[1])
    assert grid.score(X, y) == graph.score(encoded, [labels.ravel() for labels in y])


def test_given_edge_features_come_by_encode() -> None:
    X, y = images()
    crf = GridCRF(random_state=0)
    rows = [np.ones((17, 1))] * len(X)
    crf.fit(crf.encode(X, rows), y)
    assert crf.edge_weights_.shape == (1, 2, 2)
    same = GridCRF(random_state=0).fit(X, y)
    np.testing.assert_allclose(crf.weights_, same.weights_, atol=1e-9)
    np.testing.assert_array_equal(crf.predict(crf.encode(X, rows))[0], same.predict(X)[0])
    refuses(ValueError, "no edge features came with the images", lambda: crf.predict(X))
    other = GridCRF(edge_features="contrast")
    refuses(ValueError, "came with the images but edge_features='contrast'", lambda: other.encode(X, rows))


def test_neighbours_repair_noise() -> None:
    X, y = images(8, (5, 6), seed=3)
    crf = GridCRF(l2=0.5, edge_weights="potts", random_state=0).fit(X, y)
    test_X, test_y = images(8, (5, 6), seed=4)
    alone = np.mean([(x[..., 0] > 0) == labels for x, labels in zip(test_X, test_y, strict=True)])
    assert crf.score(test_X, test_y) > alone + 0.05
    assert crf.edge_weights_[0, 0, 0] > 0.5


def test_snakes_are_told_apart_by_the_pseudo_likelihood(data_folder: Path) -> None:
    snakes = load_snakes(data_folder / "snakes")
    crf = GridCRF(inference="pseudo_likelihood", random_state=0)
    crf.fit(crf.encode(snakes.X_train, snakes.edge_features_train), snakes.y_train)
    assert crf.solution_.relative_gap <= 1e-3
    assert crf.score(crf.encode(snakes.X_test, snakes.edge_features_test), snakes.y_test) > 0.98


@pytest.mark.parametrize(("n", "columns", "name"), [(10, 3, "LBFGS"), (40, 3, "LBFGS"), (40, 90, "OEG")])
def test_the_automatic_solver_is_said_with_its_reason(n: int, columns: int, name: str) -> None:
    X, y = random_graphs(n, columns=columns)
    message = GraphCRF(random_state=0).fit(X, y).solution_.message
    assert message.startswith(f"{name} converged")
    assert ("(LBFGS was chosen: " in message) == (name == "LBFGS")  # OEG is the usual choice
    assert "(LBFGS was chosen: with approximate" in GraphCRF(inference="trw").fit(X, y).solution_.message


def test_predicting_nothing_gives_nothing(data: tuple[Any, Any]) -> None:
    crf = GraphCRF(random_state=0).fit(*data)
    nothing = crf.encode(data[0])[:0]
    assert crf.predict(nothing) == crf.predict_marginals(nothing) == crf.sample(nothing) == []
    refuses(ValueError, "X has nothing to score", lambda: crf.score(nothing, []))


def test_predictions_warn_where_inference_has_not_settled() -> None:
    random = np.random.default_rng(0)
    edges = [(s, t) for s in range(6) for t in range(s)]
    X = [(random.normal(size=(6, 2)), edges), (random.normal(size=(1, 2)), [])]
    y = [random.integers(2, size=6), [0]]
    crf = GraphCRF(inference="bp", l2=0.1).fit(X, y).set_params(max_sweeps=1)
    assert crf.converged(X).tolist() == [False, True]
    for predict in (crf.predict, crf.predict_marginals):
        with pytest.warns(ConvergenceWarning, match="did not converge on 1 of 2 members of X"):
            predict(X)


def blocks_of_noise(seed: int, size: int = 100, labels: int = 4, side: int = 20) -> tuple[Any, Any]:
    """An image of square blocks, a pixel's features the indicator of its label plus normal noise."""
    random = np.random.default_rng(seed)
    truth = np.kron(random.integers(labels, size=(size // side, size // side)), np.ones((side, side), dtype=int))
    return np.eye(labels)[truth] + random.normal(size=(size, size, labels)), truth


@pytest.mark.filterwarnings("ignore:Inference did not converge")  # the labels are right long before
@pytest.mark.parametrize("options", [{"inference": "pseudo_likelihood"}, {"edge_weights": "potts"}])
def test_images_are_labelled_better_than_by_their_features(options: dict[str, Any]) -> None:
    (X, y), (X_test, y_test) = blocks_of_noise(0), blocks_of_noise(1)
    crf = GridCRF(random_state=0, **options).fit([X], [y])
    assert crf.score([X_test], [y_test]) > 0.95 > 0.3 + (X_test.argmax(axis=-1) == y_test).mean()


def test_a_model_that_smooths_too_much_is_told() -> None:
    X, y = blocks_of_noise(0)
    crf = GridCRF(inference="pseudo_likelihood", edge_weights="potts", edge_l2=1e-3, random_state=0)
    with pytest.warns(
        UserWarning, match=r"labels \d+\.\d% of the nodes .* alone give \d+\.\d%.*Raise edge_l2 \(now 0.001"
    ):
        crf.fit([X], [y])


def test_large_images_are_trained_on_the_pseudo_likelihood_and_the_message_says_so() -> None:
    X, y = blocks_of_noise(0, size=200)
    crf = GridCRF(random_state=0).fit([X], [y])
    assert crf.solution_.certificate == "exact"
    assert "so this is the pseudo-likelihood" in crf.solution_.message
