"""SoftmaxRegression: scikit-learn's contract, and the same optimum as its LogisticRegression."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualfield import LBFGS, SDCA, ChainCRF, SoftmaxRegression
from tests.zoo import points

TIGHT: dict[str, Any] = {"tol": 1e-12, "max_passes": 20_000, "random_state": 0}


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X - X.mean(axis=0), y


# Some checks have points around 100 and two opposite labels: a dual solver would need more than its 500 passes.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SoftmaxRegression(), SoftmaxRegression(solver="sdca")])
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


# The optimum


def objective(model: Any, X: Any, y: Any, l2: float, weight: Any = 1.0) -> float:
    """The objective of the class docstring, in NumPy."""
    scores = X @ model.coef_.T + model.intercept_
    highest = scores.max(axis=1)
    log_partition = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    truth = scores[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    penalty = l2 / 2 * ((model.coef_**2).sum() + (model.intercept_**2).sum())
    return float(penalty + (weight * (log_partition - truth)).sum())


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
@pytest.mark.parametrize("l2", [0.1, 1.0, 10.0])
def test_three_classes_match_logistic_regression_with_c_one_over_l2(solver: str, l2: float, iris: Any) -> None:
    X, y = iris
    ours = SoftmaxRegression(l2=l2, solver=solver, bias=False, **TIGHT).fit(X, y)
    theirs = LogisticRegression(fit_intercept=False, C=1 / l2, tol=1e-10, max_iter=10_000).fit(X, y)
    assert ours.solution_.primal == pytest.approx(objective(ours, X, y, l2), rel=1e-11)
    assert ours.solution_.primal == pytest.approx(objective(theirs, X, y, l2), rel=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_two_classes_match_logistic_regression_with_c_two_over_l2(solver: str, iris: Any) -> None:
    # With two classes scikit-learn has one weight vector w = w_1 − w_0 and the optimum has w_1 = −w_0, so
    # l2/2 (‖w_0‖² + ‖w_1‖²) = l2/4 ‖w‖².
    X, y = iris[0][50:], iris[1][50:]
    l2 = 0.5
    ours = SoftmaxRegression(l2=l2, solver=solver, bias=False, **TIGHT).fit(X, y)
    theirs = LogisticRegression(fit_intercept=False, C=2 / l2, tol=1e-10, max_iter=10_000).fit(X, y)
    margin = np.where(y == 2, 1, -1) * (X @ theirs.coef_[0])
    value = l2 / 4 * (theirs.coef_**2).sum() + np.logaddexp(0, -margin).sum()
    assert ours.solution_.primal == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(ours.coef_[1] - ours.coef_[0], theirs.coef_[0], atol=1e-3)
    np.testing.assert_allclose(ours.coef_[1], -ours.coef_[0], atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_the_bias_is_penalised_like_a_column_of_ones(iris: Any) -> None:
    X, y = iris
    with_bias = SoftmaxRegression(**TIGHT).fit(X, y)
    with_column = SoftmaxRegression(bias=False, **TIGHT).fit(np.hstack([X, np.ones((len(X), 1))]), y)
    assert with_bias.solution_.primal == pytest.approx(with_column.solution_.primal, rel=1e-11)
    np.testing.assert_allclose(with_bias.intercept_, with_column.coef_[:, -1], atol=1e-5)
    assert with_bias.solution_.primal == pytest.approx(objective(with_bias, X, y, 1.0), rel=1e-11)


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_sparse_points_are_dense_points(solver: str, iris: Any) -> None:
    X, y = np.where(np.abs(iris[0]) > 0.5, iris[0], 0.0), iris[1]
    dense = SoftmaxRegression(solver=solver, random_state=0).fit(X, y)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array):
        other = SoftmaxRegression(solver=solver, random_state=0).fit(form(X), y)
        np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-9)
        np.testing.assert_allclose(other.predict_proba(form(X)), dense.predict_proba(X), rtol=1e-9)
        np.testing.assert_allclose(other.decision_function(form(X)), dense.decision_function(X), rtol=1e-9)


def test_explicit_zeros_and_unsorted_columns_change_nothing(iris: Any) -> None:
    X, y = iris
    zeros = sparse.csr_array(X)
    zeros.data[::3] = 0.0
    backwards = sparse.csr_array(zeros)
    backwards.indices = zeros.indices.reshape(-1, 4)[:, ::-1].ravel().copy()
    backwards.data = zeros.data.reshape(-1, 4)[:, ::-1].ravel().copy()
    backwards.has_sorted_indices = False
    a, b, c = (SoftmaxRegression(random_state=0).fit(m, y).coef_ for m in (zeros.toarray(), zeros, backwards))
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_array_equal(b, c)


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_the_order_of_the_points_changes_no_bit(solver: str, iris: Any) -> None:
    X, y = iris
    order = np.random.default_rng(0).permutation(len(X))
    weight = np.arange(len(X)) % 4 + 0.5
    for w in (None, weight):
        first = SoftmaxRegression(solver=solver, random_state=0).fit(X, y, w)
        moved = SoftmaxRegression(solver=solver, random_state=0).fit(
            X[order], y[order], None if w is None else w[order]
        )
        np.testing.assert_array_equal(first.coef_, moved.coef_)
        np.testing.assert_array_equal(first.intercept_, moved.intercept_)


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_a_weight_is_that_many_copies_bit_for_bit(solver: str, iris: Any) -> None:
    X, y = iris
    weight = np.arange(len(X)) % 4
    rows = np.repeat(np.arange(len(X)), weight)
    weighted = SoftmaxRegression(solver=solver, random_state=0).fit(X, y, sample_weight=weight)
    written_out = SoftmaxRegression(solver=solver, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.coef_, written_out.coef_)
    assert weighted.solution_.primal == pytest.approx(objective(weighted, X, y, 1.0, weight), rel=1e-11)


def test_equal_points_with_different_labels_stay_apart() -> None:
    X, y = np.ones((4, 1)), np.array(["a", "a", "a", "b"])
    model = SoftmaxRegression(l2=1e-3, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.75, 0.25]], atol=1e-3)


@pytest.mark.parametrize("solver", ["sdca", "lbfgs", SDCA(sampling="uniform"), LBFGS(corrections=2)], ids=repr)
def test_the_tolerance_is_proven(solver: Any, iris: Any) -> None:
    for tol in (1e-2, 1e-7):
        solution = SoftmaxRegression(solver=solver, tol=tol, max_passes=5000, random_state=0).fit(*iris).solution_
        assert solution.status == "converged"
        assert solution.relative_gap <= tol


# Attributes and predictions


@pytest.mark.parametrize("bias", [True, False])
def test_coefficients_have_a_row_per_class_even_for_two(bias: bool, iris: Any) -> None:
    X, y = iris
    three = SoftmaxRegression(bias=bias, random_state=0).fit(X, y)
    two = SoftmaxRegression(bias=bias, random_state=0).fit(X[:100], y[:100])
    assert three.coef_.shape == (3, 4)
    assert three.intercept_.shape == (3,)
    assert two.coef_.shape == (2, 4)
    assert two.intercept_.shape == (2,)
    assert three.intercept_.any() == bias
    assert len(three.solution_.weights) == 3 * (4 + bias)
    assert three.decision_function(X).shape == (150, 3)
    assert two.decision_function(X).shape == (150,)


def test_probabilities_scores_and_predictions_agree(iris: Any) -> None:
    X, y = iris
    model = SoftmaxRegression(l2=0.1, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    scores = np.exp(model.decision_function(X))
    np.testing.assert_allclose(probabilities, scores / scores.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities), atol=1e-12)
    assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.9


def test_labels_may_be_strings(iris: Any) -> None:
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    named = SoftmaxRegression(random_state=0).fit(X, names[y])
    assert named.classes_.tolist() == names.tolist()
    assert named.predict(X).tolist() == names[SoftmaxRegression(random_state=0).fit(X, y).predict(X)].tolist()


@pytest.mark.parametrize("n_jobs", [2, -1, None])
def test_the_number_of_threads_changes_no_prediction(n_jobs: int | None, iris: Any) -> None:
    alone = SoftmaxRegression(random_state=0).fit(*iris)
    threaded = SoftmaxRegression(random_state=0).fit(*iris).set_params(n_jobs=n_jobs)
    np.testing.assert_array_equal(threaded.predict_proba(iris[0]), alone.predict_proba(iris[0]))
    np.testing.assert_array_equal(threaded.predict(iris[0]), alone.predict(iris[0]))


def test_far_points_have_probabilities_too(iris: Any) -> None:
    model = SoftmaxRegression(random_state=0).fit(*iris)
    far = model.predict_proba(1e6 * iris[0])
    np.testing.assert_allclose(far.sum(axis=1), 1.0, atol=1e-12)
    assert np.isfinite(far).all()


# Training


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_a_warm_start_goes_on_where_it_stopped(solver: str, iris: Any) -> None:
    model = SoftmaxRegression(solver=solver, tol=1e-3, warm_start=True, random_state=0).fit(*iris)
    resumed = model.set_params(tol=1e-8).fit(*iris).solution_
    cold = clone(model).fit(*iris).solution_
    assert resumed.passes < cold.passes
    assert resumed.relative_gap <= 1e-8
    assert resumed.primal == pytest.approx(cold.primal, rel=2e-8)


def test_a_changed_problem_starts_afresh_with_a_warning(iris: Any) -> None:
    X, y = iris
    for change in ({"X": X[1:], "y": y[1:]}, {"y": y[::-1]}, {"X": 2 * X}, {"sample_weight": 1.0 + y}):
        model = SoftmaxRegression(warm_start=True, random_state=0).fit(X, y)
        arguments = {"X": X, "y": y} | change
        with pytest.warns(UserWarning, match="afresh"):
            model.fit(**arguments)
        fresh = SoftmaxRegression(random_state=0).fit(**arguments)
        np.testing.assert_array_equal(model.coef_, fresh.coef_)
    for parameters in ({"l2": 2.0}, {"bias": False}, {"solver": "sdca"}):
        model = SoftmaxRegression(warm_start=True, random_state=0).fit(X, y).set_params(**parameters)
        with pytest.warns(UserWarning, match="afresh"):
            model.fit(X, y)


def test_a_pickle_predicts_the_same_and_holds_no_solver_state(iris: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 2)), rng.integers(5, size=20_000)
    model = SoftmaxRegression(warm_start=True, tol=0.1, random_state=0).fit(X, y)
    content = pickle.dumps(model)
    assert len(content) < 20_000
    np.testing.assert_array_equal(pickle.loads(content).predict_proba(X), model.predict_proba(X))


def test_a_seed_decides_every_bit(iris: Any) -> None:
    first, same, other = (SoftmaxRegression(solver="sdca", random_state=seed).fit(*iris).coef_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_too_few_passes_warn(iris: Any) -> None:
    model = SoftmaxRegression(max_passes=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_passes=1") as caught:
        model.fit(*iris)
    assert caught[0].filename == __file__


def test_grid_search_takes_it(iris: Any) -> None:
    search = GridSearchCV(SoftmaxRegression(random_state=0), {"l2": [0.1, 1e5]}, cv=3).fit(*iris)
    assert search.best_params_ == {"l2": 0.1}


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"l2": 0}, "l2 must be"),
        ({"tol": -1}, "tol must be"),
        ({"max_passes": 0}, "max_passes must be"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], match: str, iris: Any) -> None:
    with pytest.raises(ValueError, match=match):
        SoftmaxRegression(**parameters).fit(*iris)


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.ones(3), "one entry per row, 150"),
        (np.zeros(150), "Every sample_weight is zero"),
        (np.r_[1.0, -1.0, np.ones(148)], r"sample_weight\[1\] is -1"),
        (np.r_[1.0, 1.0, np.nan, np.ones(147)], r"sample_weight\[2\] is nan"),
    ],
)
def test_bad_sample_weights_are_refused(weight: Any, match: str, iris: Any) -> None:
    with pytest.raises(ValueError, match=match):
        SoftmaxRegression().fit(*iris, sample_weight=weight)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("names", [["a", "b", "c"], [3, 5, 7]])
def test_a_saved_model_answers_as_before(tmp_path: Path, names: list[Any], bias: bool) -> None:
    X, y = points(30, seed=1)
    model = SoftmaxRegression(bias=bias, random_state=0).fit(X, np.array(names)[y])
    model.save(tmp_path / "model.safetensors")
    loaded = SoftmaxRegression.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.get_params() == model.get_params()
    assert loaded.solution_.message == model.solution_.message


def test_what_is_no_such_model_is_refused(tmp_path: Path) -> None:
    X, y = points(30, seed=1)
    SoftmaxRegression(random_state=0).fit(X, y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="cannot be used as a ChainCRF: it holds a model of another kind"):
        ChainCRF.load(tmp_path / "model")
    ChainCRF(random_state=0).fit([[["a"], ["b"]]], [["X", "Y"]]).save(tmp_path / "chain")
    with pytest.raises(ValueError, match="cannot be used as a SoftmaxRegression: it holds a model of another kind"):
        SoftmaxRegression.load(tmp_path / "chain")
    broken = SoftmaxRegression(random_state=0).fit(X, y)
    broken.coef_[0, 0] = np.inf
    with pytest.raises(ValueError, match="some weights are not finite"):
        broken.save(tmp_path / "broken")
    assert not (tmp_path / "broken").exists()


def test_class_weights_multiply_those_of_points(tmp_path: Path) -> None:
    X, y = points(30)
    given = np.linspace(0.5, 2.0, 30)
    weighted = SoftmaxRegression(class_weight={0: 3.0}, tol=1e-6, random_state=0).fit(X, y, given)
    by_hand = SoftmaxRegression(tol=1e-6, random_state=0).fit(X, y, given * np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(weighted.coef_, by_hand.coef_)
    balanced = SoftmaxRegression(class_weight="balanced", tol=1e-6, random_state=0).fit(X, y)
    by_hand = SoftmaxRegression(tol=1e-6, random_state=0).fit(X, y, (30 / (3 * np.bincount(y)))[y])
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_)
    weighted.save(tmp_path / "model")
    assert SoftmaxRegression.load(tmp_path / "model").class_weight == {0: 3.0}
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
        SoftmaxRegression(class_weight=[1, 2]).fit(X, y)  # type: ignore[arg-type]
