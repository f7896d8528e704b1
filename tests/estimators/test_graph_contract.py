"""GraphCRF and GridCRF keep scikit-learn's contract, save and load, and refuse bad input by its place."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from dualfield import LBFGS, SDCA, ChainCRF, GraphCRF, GridCRF
from dualfield.models.model_file import read_model, write_model
from tests.test_bad_input import refuses
from tests.zoo import halved_images as images
from tests.zoo import random_graphs


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return random_graphs(30, edge_width=2, seed=1)


# Parameters and scikit-learn


SHARED = {
    "l2": 1.0, "solver": "auto", "inference": "auto", "edge_weights": "full", "bias": False, "tol": 1e-3,
    "max_passes": 500, "n_jobs": 1, "random_state": None, "verbose": 0, "edge_l2": None, "prediction": "auto",
    "table_budget": 2**24, "damping": 0.0, "max_sweeps": 200, "inference_tol": 1e-8, "warm_start": False,
    "ignore_label": None,
}  # fmt: skip


def test_the_parameters_are_those_that_other_programs_are_written_against() -> None:
    assert GraphCRF().get_params() == SHARED
    assert GridCRF().get_params() == SHARED | {"neighbours": 4, "edge_features": None}
    positional = GraphCRF(2.0, "lbfgs", "bp", "potts", True, 1e-2, 7, 2, 3, 0)
    expected = {"l2": 2.0, "solver": "lbfgs", "inference": "bp", "edge_weights": "potts", "bias": True, "tol": 1e-2}
    assert positional.get_params() == SHARED | expected | {"max_passes": 7, "n_jobs": 2, "random_state": 3}


def test_a_clone_has_the_parameters_and_nothing_learnt(data: tuple[Any, Any]) -> None:
    fitted = GraphCRF(l2=0.25, solver=LBFGS(corrections=3), edge_l2=2.0).fit(*data)
    cloned = clone(fitted)
    assert cloned.get_params() == fitted.get_params()
    for method in (cloned.predict, cloned.predict_marginals, cloned.sample):
        with pytest.raises(NotFittedError):
            method(data[0])
    with pytest.raises(AttributeError, match="not fitted"):
        _ = cloned.edge_weights_
    assert not hasattr(cloned, "node_weights_")


def test_grid_search_and_cross_validation_take_it(data: tuple[Any, Any]) -> None:
    X, y = data
    encoded = GraphCRF().encode(X)
    assert cross_val_score(GraphCRF(random_state=0), encoded, np.array(y, dtype=object), cv=3).mean() > 0.4
    search = GridSearchCV(GraphCRF(random_state=0), {"l2": [1.0, 1e6], "edge_weights": ["potts"]}, cv=3)
    assert search.fit(encoded, np.array(y, dtype=object)).best_params_["l2"] == 1.0
    found = cross_val_predict(GraphCRF(random_state=0), encoded, np.array(y, dtype=object), cv=3)
    assert [len(labels) for labels in found] == [len(labels) for labels in y]
    pictures, labels = images()
    assert cross_val_score(GridCRF(), GridCRF().encode(pictures), np.array(labels), cv=3).min() > 0.4


def test_images_of_different_sizes_are_cross_validated() -> None:
    random = np.random.default_rng(0)
    pictures = [random.normal(size=(4 + i, 5)) for i in range(6)]
    labels = [(picture > 0).astype(int) for picture in pictures]
    found = cross_val_predict(GridCRF(random_state=0), pictures, labels, cv=3)
    assert [one.shape for one in found] == [one.shape for one in labels]
    by_hand = GridCRF(random_state=0).fit(pictures[2:], labels[2:]).predict(pictures[:2])
    for one, other in zip(found, by_hand, strict=False):
        np.testing.assert_array_equal(one, other)
    assert np.array(GridCRF(random_state=0).fit(pictures, labels).predict(pictures[:1] * 3)).shape == (3, 4, 5)


def test_scikit_learn_finds_the_marginals_by_its_own_name(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = GraphCRF(random_state=0).fit(X, y)
    for one, other in zip(crf.predict_proba(X), crf.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)
    pictures, labels = images()
    assert GridCRF().fit(pictures, labels).predict_proba(pictures)[0].shape == (*labels[0].shape, 2)


@pytest.mark.parametrize("form", [lambda mask: mask, lambda mask: mask.tolist()], ids=["arrays", "lists"])
def test_boolean_masks_are_labels_of_images(form: Any) -> None:
    pictures, labels = images()
    masks = [form(one.astype(bool)) for one in labels]
    crf = GridCRF(random_state=0).fit(pictures, masks)
    assert crf.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(crf.weights_, GridCRF(random_state=0).fit(pictures, labels).weights_)
    assert crf.score(pictures, masks) == crf.score(pictures, labels)
    stacked = np.array([one.astype(bool) for one in labels])
    np.testing.assert_array_equal(GridCRF(random_state=0).fit(pictures, stacked).weights_, crf.weights_)


def test_boolean_masks_are_labels_of_graphs() -> None:
    X = [(np.array([[1.0], [-1.0], [1.0]]), [(0, 1), (1, 2)]), (np.array([[1.0], [-1.0]]), [(0, 1)])]
    y = [np.array([True, False, True]), np.array([True, False])]
    crf = GraphCRF(random_state=0).fit(X, y)
    assert crf.classes_.tolist() == [0, 1]
    assert crf.score(X, y) == 1.0


def test_a_warm_start_goes_on_where_it_stopped(data: tuple[Any, Any]) -> None:
    crf = GraphCRF(solver="lbfgs", warm_start=True, tol=1e-2).fit(*data)
    resumed = crf.set_params(tol=1e-8).fit(*data).solution_
    cold = clone(crf).fit(*data).solution_
    assert resumed.passes < cold.passes
    assert resumed.primal == pytest.approx(cold.primal, rel=2e-8)
    with pytest.warns(UserWarning, match="afresh"):
        crf.set_params(edge_l2=3.0).fit(*data)


def test_a_pickle_predicts_the_same(data: tuple[Any, Any]) -> None:
    crf = GraphCRF(warm_start=True, random_state=0).fit(*data)
    again = pickle.loads(pickle.dumps(crf))
    np.testing.assert_array_equal(np.concatenate(again.predict(data[0])), np.concatenate(crf.predict(data[0])))
    assert not hasattr(again, "_run")


def test_verbose_shows_progress(data: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    GraphCRF(verbose=1, random_state=0).fit(*data)
    captured = capsys.readouterr()
    assert captured.out + captured.err


# Model files


@pytest.mark.parametrize("solver", ["auto", SDCA(sampling="uniform")])
def test_a_saved_model_predicts_the_same(data: tuple[Any, Any], tmp_path: Path, solver: Any) -> None:
    crf = GraphCRF(solver=solver, edge_l2=2.0, bias=True, edge_weights="symmetric", random_state=0).fit(*data)
    crf.save(tmp_path / "model.safetensors")
    again = GraphCRF.load(tmp_path / "model.safetensors")
    assert again.get_params() == crf.get_params()
    assert again.layout_ == crf.layout_
    np.testing.assert_array_equal(again.edge_weights_, crf.edge_weights_)
    np.testing.assert_array_equal(np.concatenate(again.predict(data[0])), np.concatenate(crf.predict(data[0])))
    assert again.solution_.duality_gap == crf.solution_.duality_gap
    match = "cannot be used as a GridCRF: it holds a model of another kind, 'GraphCRF'"
    refuses(ValueError, match, lambda: GridCRF.load(tmp_path / "model.safetensors"))
    refuses(ValueError, "cannot be used as a ChainCRF", lambda: ChainCRF.load(tmp_path / "model.safetensors"))


def test_a_saved_grid_keeps_its_encoding(tmp_path: Path) -> None:
    X, y = images()
    crf = GridCRF(edge_features="contrast", neighbours=8, random_state=0).fit(X, [np.array(["a", "b"])[v] for v in y])
    crf.save(tmp_path / "model.safetensors", np.float32)
    again = GridCRF.load(tmp_path / "model.safetensors")
    assert again.encoding_ == crf.encoding_
    np.testing.assert_array_equal(again.predict(X)[0], crf.predict(X)[0])
    np.testing.assert_allclose(again.weights_, crf.weights_, rtol=1e-6)
    with pytest.raises(NotFittedError):
        GridCRF().save(tmp_path / "other.safetensors")


DAMAGES: list[tuple[str, Any]] = [
    ("layout", {"n_labels": 7}),
    ("layout", {"n_labels": 3.0}),
    ("layout", {"bias": 1}),
    ("layout", {"edge_scale": True}),
    ("classes", ["b", "a"]),
    ("classes", ["a\0", "b", "c"]),
    ("classes", [1, 2, 2**70]),
    ("encoding", {"mean_difference": -1.0}),
    ("encoding", {"neighbours": 4.0}),
    ("parameters", {"l2": -1.0}),
    ("parameters", {"inference": "loopy"}),
    ("parameters", {"prediction": 7}),
    ("parameters", {"table_budget": 10**30}),
    ("solution", {"message": 7}),
    ("solution", {"passes": "many"}),
]


@pytest.mark.parametrize(("part", "change"), DAMAGES)
def test_a_damaged_model_is_refused(part: str, change: Any, tmp_path: Path) -> None:
    X, y = images()
    path = tmp_path / "model.safetensors"
    GridCRF(edge_features="contrast", random_state=0).fit(X, y).save(path)
    arrays, description = read_model(path)
    description[part] = description[part] | change if isinstance(change, dict) else change
    write_model(path, arrays, description)
    refuses(ValueError, "cannot be used as a GridCRF", lambda: GridCRF.load(path))


# Bad input


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"l2": 0}, "l2 must be a positive finite number"),
        ({"edge_l2": -1}, "edge_l2 must be None or a positive finite number"),
        ({"tol": -1}, "tol must be"),
        ({"max_passes": 0}, "max_passes must be"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"inference": "loopy"}, "inference must be 'auto', .* or 'pseudo_likelihood'; got 'loopy'"),
        ({"inference": None}, "inference must be"),
        ({"edge_weights": "some"}, "edge_weights must be"),
        ({"edge_weights": "ising"}, "edge_weights='ising' needs exactly two labels; y has 3"),
        ({"prediction": "best"}, "prediction must be 'auto', 'map' or 'max-marginals'; got 'best'"),
        ({"damping": 2}, "damping must be"),
        ({"table_budget": 10**30}, "table_budget must be a positive integer, below"),
        ({"inference": "pseudo_likelihood", "damping": 2}, "damping must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_parameters_are_refused(data: tuple[Any, Any], parameters: dict[str, Any], match: str) -> None:
    crf = GraphCRF(**parameters)
    refuses(ValueError, match, lambda: crf.fit(*data))
    assert not hasattr(crf, "weights_")


def test_bad_graphs_are_refused_in_training_and_prediction(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = GraphCRF(random_state=0)
    bad = [*X[:4], (np.ones((2, 3)), [(0, 2)], np.ones((1, 2)))]
    labels = [*y[:4], [0, 1]]
    refuses(ValueError, r"edge 0 of graph 4 is \(0, 2\)", lambda: crf.fit(bad, labels))
    refuses(ValueError, "y has 3 graphs but X has 30", lambda: crf.fit(X, y[:3]))
    crf.fit(X, y)
    without = [(nodes, edges) for nodes, edges, _ in X if len(edges)]
    for act in (crf.predict, crf.predict_marginals, crf.sample, crf.encode, lambda Z: crf.score(Z, labels)):
        refuses(ValueError, r"edge 0 of graph 4 is \(0, 2\)", lambda a=act: a(bad))
        refuses(
            ValueError,
            "graph 0 has 2 node features but .* 3",
            lambda a=act: a([(np.ones((2, 2)), [])] * 5),
        )
        refuses(ValueError, "graph 0 has 0 edge features but the model was trained on 2", lambda a=act: a(without))
    refuses(ValueError, "sample_weight", lambda: crf.fit(X, y, sample_weight=[1.0]))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"neighbours": 6}, "neighbours must be 4 or 8; got 6"), ({"edge_features": "colour"}, "edge_features must be")],
)
def test_bad_grid_parameters_are_refused(parameters: dict[str, Any], match: str) -> None:
    refuses(ValueError, match, lambda: GridCRF(**parameters).fit(*images()))
    refuses(ValueError, match, lambda: GridCRF(**parameters).encode(images()[0]))


def test_bad_images_are_refused_in_training_and_prediction() -> None:
    X, y = images()
    bad = [X[0], np.full((2, 2, 2), np.nan)]
    refuses(ValueError, r"feature 0 of pixel \(0, 0\) of image 1 is nan", lambda: GridCRF().fit(bad, y[:2]))
    refuses(ValueError, r"image 0 has labels of shape \(2, 2\)", lambda: GridCRF().fit(X[:1], [np.eye(2, dtype=int)]))
    crf = GridCRF(random_state=0).fit(X, y)
    refuses(ValueError, r"feature 0 of pixel \(0, 0\) of image 1 is nan", lambda: crf.predict(bad))
    refuses(ValueError, "1 features a pixel but the model was trained on 2", lambda: crf.predict([np.ones((2, 2))]))
    wide = GridCRF(inference="junction_tree", table_budget=100).set_params(max_passes=3)
    match = "image 0 .*budget of 100; choose inference='trw'"
    refuses(ValueError, match, lambda: wide.fit(*images(2, (9, 9))))


def test_an_image_model_without_its_encoding_is_refused(tmp_path: Path) -> None:
    image = np.array([[0.0, 1.0], [1.0, 0.0]])
    GridCRF(random_state=0).fit([image], [image.astype(int)]).save(tmp_path / "model")
    arrays, description = read_model(tmp_path / "model")
    write_model(tmp_path / "bare", arrays, {**description, "encoding": None})
    with pytest.raises(ValueError, match="its encoding of images is damaged"):
        GridCRF.load(tmp_path / "bare")
