"""Estimators with l1: CRFsuite's objective, models without zeros, and files as small as what is left."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from sklearn.base import clone

from dualfield import ChainCRF, ChainCRFCV, SoftmaxRegression, fields, solve
from tests.sequences import NAMES, as_arrays, as_dicts, as_sparse, labelled_sequences
from tests.zoo import points, word_sequences


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return word_sequences(60)


def crfsuite_loss(X: Any, y: Any, c1: float, c2: float, everything: bool, path: Path) -> tuple[float, int]:
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    # Its convergence tests, made as strict as they can be
    trainer.set_params({"c1": c1, "c2": c2, "epsilon": 1e-9, "delta": 1e-12, "max_iterations": 3000})
    trainer.set_params({"feature.possible_states": everything, "feature.possible_transitions": everything})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    return trainer.logparser.last_iteration["loss"], len(info.state_features) + len(info.transitions)


@pytest.mark.parametrize("name", ["all", "observed"])
@pytest.mark.parametrize(("c1", "c2"), [(0.1, 0.1), (1.0, 0.05), (0.5, 1.0), (1.0, 0.0)])
def test_the_objective_at_the_optimum_is_that_of_crfsuite(
    name: str, c1: float, c2: float, data: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = data
    theirs, their_nonzeros = crfsuite_loss(X, y, c1, c2, name == "all", tmp_path / "model")
    crf = ChainCRF(
        l2=2 * c2,
        l1=c1,
        tol=1e-9,
        max_passes=5000,
        state_features=name,
        transitions=name,
        bias=False,
        begin=False,
        end=False,
    ).fit(X, y)
    assert crf.solution_.primal == pytest.approx(theirs, rel=1e-6)
    assert crf.n_nonzero_weights_ == their_nonzeros


@pytest.mark.parametrize("features", ["all", "observed"])
@pytest.mark.parametrize("form", [as_dicts, as_arrays, as_sparse])
def test_a_model_without_zeros_predicts_as_one_with_them(features: str, form: Any) -> None:
    X, y = labelled_sequences(40)
    X = form(X)
    options: dict[str, Any] = {"state_features": features, "transitions": features}
    crf = ChainCRF(l1=1.0, l2=0.5, random_state=0, **options).fit(X, y)
    field = fields.Chain(X, y, 0.5, l1=1.0, **options)
    solution = solve(field, random_state=0)
    kept = crf.n_nonzero_weights_
    assert kept == np.count_nonzero(solution.weights) < field.dimension
    assert len(crf.weights_) <= kept + 3 * len(crf.classes_)  # bias, begin and end weights stay
    stacked = field.core.marginals(solution.weights, 0, len(X))
    np.testing.assert_allclose(np.concatenate(crf.predict_marginals(X)), stacked, atol=1e-14)
    assert crf.solution_.primal == solution.primal
    np.testing.assert_array_equal(crf.solution_.weights, crf.weights_)


def test_attributes_without_a_weight_leave_the_vocabulary(data: tuple[Any, Any]) -> None:
    X, y = data
    every = ChainCRF().fit(X, y)
    crf = ChainCRF(l1=1.0).fit(X, y)
    parts = crf.layout_.split(crf.weights_)
    assert 0 < len(crf.vocabulary_) < len(every.vocabulary_)
    assert parts["state"].shape == (len(crf.vocabulary_), len(crf.classes_))
    assert np.all(np.diff(parts["state"].indptr) > 0)
    assert set(crf.vocabulary_.names) < set(every.vocabulary_.names)


def test_columns_keep_their_width() -> None:
    X, y = labelled_sequences(30)
    crf = ChainCRF(l1=3.0).fit(as_arrays(X), y)
    assert len(crf.vocabulary_) == len(NAMES)
    assert crf.layout_.n_attributes == len(NAMES)
    assert crf.n_nonzero_weights_ < len(NAMES) * 3


def test_the_file_is_small_and_gives_the_model_back(data: tuple[Any, Any], tmp_path: Path) -> None:
    X = [[[*position, f"only here {i} {t}"] for t, position in enumerate(x)] for i, x in enumerate(data[0])]
    crf, full = ChainCRF(l1=1.0, l2=0.1).fit(X, data[1]), ChainCRF(l2=0.1).fit(X, data[1])
    crf.save(tmp_path / "sparse")
    full.save(tmp_path / "full")
    assert (tmp_path / "sparse").stat().st_size < (tmp_path / "full").stat().st_size / 4
    again = ChainCRF.load(tmp_path / "sparse")
    assert again.get_params() == crf.get_params()
    assert again.n_nonzero_weights_ == crf.n_nonzero_weights_
    np.testing.assert_array_equal(again.weights_, crf.weights_)
    assert again.predict(X) == crf.predict(X)


def test_nothing_left_is_a_model_too(data: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = data
    crf = ChainCRF(l1=1e5).fit(X, y)
    assert (crf.n_nonzero_weights_, len(crf.vocabulary_)) == (0, 0)
    np.testing.assert_allclose(crf.predict_marginals(X)[0], 1 / 3)
    crf.save(tmp_path / "model")
    assert ChainCRF.load(tmp_path / "model").predict(X) == crf.predict(X)


def test_copies_of_a_sparse_model_work(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = ChainCRF(l1=0.5, l2=0.1, random_state=0).fit(X, y)
    assert pickle.loads(pickle.dumps(crf)).predict(X) == crf.predict(X)
    assert clone(crf).fit(X, y).solution_.primal == crf.solution_.primal


def test_warm_starts_go_on(data: tuple[Any, Any]) -> None:
    crf = ChainCRF(l1=0.5, l2=0.1, tol=1e-2, warm_start=True, random_state=0).fit(*data)
    first = crf.solution_.passes
    crf.set_params(tol=1e-5).fit(*data)
    fresh = ChainCRF(l1=0.5, l2=0.1, tol=1e-5, random_state=0).fit(*data)
    assert crf.solution_.status == "converged"
    assert first + crf.solution_.passes <= fresh.solution_.passes + 3  # a confirmation more changes the way a little
    assert crf.solution_.primal == pytest.approx(fresh.solution_.primal, rel=2e-5)


def test_zero_l1_changes_nothing(data: tuple[Any, Any]) -> None:
    one, other = ChainCRF(random_state=0).fit(*data), ChainCRF(l1=0.0, random_state=0).fit(*data)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert one.layout_.rows is None


@pytest.mark.parametrize("solver", ["sag", "smd", "perceptron"])
def test_other_solvers_are_refused(solver: str, data: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match=r"cannot minimise the penalty l1=0\.5; use solver='auto'"):
        ChainCRF(l1=0.5, solver=solver).fit(*data)


def test_l2_may_be_zero_with_l1(data: tuple[Any, Any]) -> None:
    solution = ChainCRF(l1=1.0, l2=0.0).fit(*data).solution_
    assert (solution.status, solution.certificate) == ("converged", "exact")


def test_softmax_regression_finds_the_weights_that_matter() -> None:
    random = np.random.default_rng(0)
    X, y = points(80, columns=4)
    noisy = np.hstack([X, random.normal(size=(80, 12))])
    model = SoftmaxRegression(l1=4.0, l2=0.1, tol=1e-6).fit(noisy, y)
    assert model.solution_.certificate == "exact"
    assert np.mean(model.coef_[:, 4:] != 0) < 0.3 < np.mean(model.coef_[:, :4] != 0)
    field = fields.Multiclass(noisy, y, 0.1, l1=4.0)
    weights = np.concatenate([model.coef_.T.ravel(), model.intercept_])
    assert model.solution_.primal == pytest.approx(field.primal(weights), rel=1e-12)


def test_cross_validation_chooses_l2_beside_a_given_l1(data: tuple[Any, Any]) -> None:
    cv = ChainCRFCV(l2s=[3.0, 0.3, 0.3], l1=0.5, cv=2, random_state=0, tol=1e-5).fit(*data)
    alone = ChainCRF(l2=cv.l2_, l1=0.5, tol=1e-5).fit(*data)
    assert cv.best_estimator_.l1 == 0.5
    assert cv.solution_.primal == pytest.approx(alone.solution_.primal, rel=2e-5)
    assert len(cv.best_estimator_.weights_) == pytest.approx(len(alone.weights_), abs=5)
