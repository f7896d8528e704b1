"""ChainCRF keeps scikit-learn's contract: parameters, clones, pickles, cross-validation, pipelines."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dualfield import LBFGS, SDCA, ChainCRF, ChainCRFCV
from dualfield.features import encode
from tests.sequences import as_arrays, as_dicts, labelled_sequences

DEFAULTS = {
    "l2": 1.0,
    "solver": "auto",
    "tol": 1e-3,
    "max_passes": 500,
    "state_features": "all",
    "transitions": "all",
    "bias": True,
    "begin": True,
    "end": True,
    "min_count": 1,
    "n_jobs": 1,
    "warm_start": False,
    "random_state": None,
    "verbose": 0,
    "l1": 0.0,
    "constraints": None,
    "bigram_features": "all",
    "ignore_label": None,
    "class_weight": None,
    "costs": None,
    "device": "cpu",
    "standardize": False,
}


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return labelled_sequences(30)


# Parameters


def test_the_parameters_are_those_that_other_programs_are_written_against() -> None:
    assert ChainCRF().get_params() == DEFAULTS


def test_parameters_are_set_by_name_and_an_unknown_one_is_refused() -> None:
    crf = ChainCRF().set_params(l2=0.5, solver=SDCA(sampling="uniform"))
    assert crf.get_params() == DEFAULTS | {"l2": 0.5, "solver": SDCA(sampling="uniform")}
    with pytest.raises(ValueError, match="penalty"):
        crf.set_params(penalty=1)


def test_fit_changes_no_parameter_and_returns_self(data: tuple[Any, Any]) -> None:
    options = {"l2": 0.5, "solver": LBFGS(corrections=3), "n_jobs": 2, "warm_start": True, "random_state": 3}
    crf = ChainCRF(**options)
    assert crf.fit(*data) is crf
    assert crf.get_params() == DEFAULTS | options


def test_fit_does_not_change_the_data(data: tuple[Any, Any]) -> None:
    X, y = data
    for form in (X, as_dicts(X), as_arrays(X)):
        before = copy.deepcopy(form)
        ChainCRF(random_state=0, min_count=2).fit(form, y).predict(form)
        assert all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in zip(form, before, strict=True)
        )


def test_a_clone_has_the_parameters_and_nothing_learnt(data: tuple[Any, Any]) -> None:
    fitted = ChainCRF(l2=0.25, solver=SDCA(epsilon=0.5), warm_start=True, random_state=0).fit(*data)
    cloned = clone(fitted)
    assert cloned.get_params() == fitted.get_params()
    assert not [name for name in vars(cloned) if name.endswith("_") or name.startswith("_")]
    with pytest.raises(NotFittedError):
        cloned.predict(data[0])


def test_the_repr_shows_what_differs_from_the_defaults(data: tuple[Any, Any]) -> None:
    assert repr(ChainCRF()) == "ChainCRF()"
    assert repr(ChainCRF(l2=0.5, solver="lbfgs")) == "ChainCRF(l2=0.5, solver='lbfgs')"
    assert "uniform" in repr(ChainCRF(solver=SDCA(sampling="uniform")))
    assert repr(ChainCRF().fit(*data)) == "ChainCRF()"


def test_refitting_forgets_the_first_fit(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = ChainCRF(random_state=0).fit(X[:10], [["other", "labels"] * 4][:1] + [["other"] * len(s) for s in y[1:10]])
    crf.fit(X, y)
    fresh = ChainCRF(random_state=0).fit(X, y)
    np.testing.assert_array_equal(crf.weights_, fresh.weights_)
    assert crf.classes_.tolist() == fresh.classes_.tolist()


def test_a_failed_fit_leaves_a_fitted_model_as_it_was(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = ChainCRF(random_state=0).fit(X, y)
    before = crf.predict(X)
    with pytest.raises(ValueError, match="sequence 0"):
        crf.fit([[["a"]]], [["A", "B"]])
    assert crf.predict(X) == before


# Pickles


def test_a_pickle_predicts_the_same_and_keeps_the_record(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = ChainCRF(random_state=0, solver=SDCA(sampling="uniform"), state_features="observed").fit(X, y)
    for restored in (pickle.loads(pickle.dumps(crf)), copy.deepcopy(crf)):
        assert restored.predict(X) == crf.predict(X)
        assert restored.get_params() == crf.get_params()
        assert restored.solution_.duality_gap == crf.solution_.duality_gap
        assert restored.solution_.message == crf.solution_.message
        assert restored.solution_.history.keys() == crf.solution_.history.keys()
        for a, b in zip(restored.predict_marginals(X), crf.predict_marginals(X), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_pickle_holds_no_solver_state() -> None:
    # 8 (K² (T − 1) + K T) bytes of duals a sequence: 600 sequences of 60 positions are 3.5 MB
    rng = np.random.default_rng(0)
    X = [rng.random((60, 2)) for _ in range(600)]
    y = [rng.integers(3, size=60) for _ in X]
    crf = ChainCRF(warm_start=True, random_state=0, tol=0.1).fit(X, y)
    assert len(pickle.dumps(crf)) < 20_000
    restored = pickle.loads(pickle.dumps(crf))
    np.testing.assert_array_equal(restored.fit(X, y).weights_, clone(crf).fit(X, y).weights_)


def test_an_unfitted_model_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(ChainCRF(l2=2.0))).l2 == 2.0


# Probabilities


def test_scikit_learn_finds_the_marginals_by_its_own_name(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = ChainCRF(random_state=0).fit(X, y)
    search = GridSearchCV(ChainCRF(random_state=0), {"l2": [1.0]}, cv=KFold(2)).fit(X, y)
    path = ChainCRFCV(l2s=[1.0], cv=2, random_state=0).fit(X, y)
    for model in (crf, search, path):
        inner = getattr(model, "best_estimator_", model)
        for one, other in zip(model.predict_proba(X), inner.predict_marginals(X), strict=True):
            np.testing.assert_array_equal(one, other)
    known = [[labels[0], *[None] * (len(labels) - 1)] for labels in y]
    assert crf.predict_proba(X, given=known)[0][0].max() == 1.0


# Model selection


@pytest.mark.parametrize("form", [lambda X: X, as_dicts, encode, lambda X: encode(as_arrays(X))])
def test_grid_search_runs_over_sequences_and_encoded_data(form: Any, data: tuple[Any, Any]) -> None:
    X, y = data
    search = GridSearchCV(
        ChainCRF(random_state=0),
        {"l2": [0.1, 1e4], "solver": ["sdca", LBFGS()]},
        cv=KFold(3),
        error_score="raise",
    )
    search.fit(form(X), y)
    assert search.best_params_["l2"] == 0.1
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.predict(form(X)) == ChainCRF(random_state=0).set_params(**search.best_params_).fit(X, y).predict(X)


def test_cross_validation_scores_are_those_of_a_loop(data: tuple[Any, Any]) -> None:
    X, y = data
    folds = KFold(3)
    by_hand = []
    for train, test in folds.split(X):
        crf = ChainCRF(random_state=0).fit([X[i] for i in train], [y[i] for i in train])
        by_hand.append(crf.score([X[i] for i in test], [y[i] for i in test]))
    assert cross_val_score(ChainCRF(random_state=0), X, y, cv=folds).tolist() == by_hand
    assert cross_val_score(ChainCRF(random_state=0), encode(X), y, cv=folds).tolist() == by_hand


def test_cross_validation_takes_worker_processes(data: tuple[Any, Any]) -> None:
    X, y = data
    alone = cross_val_score(ChainCRF(random_state=0), X, y, cv=2)
    assert cross_val_score(ChainCRF(random_state=0), X, y, cv=2, n_jobs=2).tolist() == alone.tolist()


def test_a_pipeline_may_build_the_features(data: tuple[Any, Any]) -> None:
    X, y = data

    def add_length(sequences: Any) -> Any:
        return [[{**dict.fromkeys(p, 1.0), "count": len(p)} for p in sequence] for sequence in sequences]

    pipeline = make_pipeline(FunctionTransformer(add_length), ChainCRF(random_state=0)).fit(X, y)
    crf = ChainCRF(random_state=0).fit(add_length(X), y)
    assert pipeline.predict(X) == crf.predict(add_length(X))
    assert pipeline.score(X, y) == crf.score(add_length(X), y)
    assert len(cross_val_score(pipeline, X, y, cv=2)) == 2


@pytest.mark.parametrize("longest", [1, 5])
@pytest.mark.parametrize("form", [lambda X: X, encode])
def test_out_of_fold_predictions_are_an_array_with_a_list_for_each_sequence(longest: int, form: Any) -> None:
    X, y = labelled_sequences(13, longest=longest)
    folds = KFold(3, shuffle=True, random_state=0)
    found = cross_val_predict(ChainCRF(random_state=0), form(X), y, cv=folds)
    assert found.shape == (13,)
    for train, test in folds.split(X):
        crf = ChainCRF(random_state=0).fit([X[i] for i in train], [y[i] for i in train])
        assert found[test].tolist() == crf.predict([X[i] for i in test])


def test_a_subclass_may_have_other_parameters() -> None:
    class Observed(ChainCRF):
        def __init__(self, strength: float = 2.0) -> None:
            super().__init__(l2=strength, transitions="observed")
            self.strength = strength

    crf = clone(Observed(strength=3.0))
    assert (crf.get_params(), crf.l2, crf.transitions, crf.begin) == ({"strength": 3.0}, 3.0, "observed", True)
