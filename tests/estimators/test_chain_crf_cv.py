"""``ChainCRFCV`` chooses the penalty that does best on held-out parts, and then is that model."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from dualfield import ChainCRF, ChainCRFCV, fields, l2_path, penalty_path, solvers
from dualfield.metrics import entity_f1_scorer, token_accuracy
from tests.zoo import dense_sequences

X, Y = dense_sequences(40, labels=3, columns=5, seed=5)
L2S = [100.0, 1.0, 0.01]


@pytest.fixture(scope="module")
def crf() -> ChainCRFCV:
    return ChainCRFCV(l2s=L2S, cv=KFold(3), tol=1e-4, random_state=0).fit(X, Y)


def test_scores_are_those_of_models_trained_apart(crf: ChainCRFCV) -> None:
    for fold, (train, held_out) in enumerate(KFold(3).split(X)):
        for column, l2 in enumerate(L2S):
            alone = ChainCRF(l2, tol=1e-6, max_passes=5000, random_state=0)
            alone.fit([X[i] for i in train], [Y[i] for i in train])
            truth = [Y[i] for i in held_out]
            expected = token_accuracy(truth, alone.predict([X[i] for i in held_out]))
            assert crf.scores_[fold, column] == pytest.approx(expected, abs=0.03)


def test_the_best_penalty_is_taken_and_trained_on_everything(crf: ChainCRFCV) -> None:
    assert crf.l2_ == L2S[int(crf.scores_.mean(axis=0).argmax())]
    assert crf.best_estimator_.l2 == crf.l2_
    alone = ChainCRF(crf.l2_, tol=1e-8, max_passes=5000, random_state=0).fit(X, Y)
    assert crf.solution_.primal - alone.solution_.primal <= crf.solution_.duality_gap
    assert crf.solution_.relative_gap <= 1e-4
    assert crf.path_[-1] is crf.solution_
    assert len(crf.path_) == sum(l2 >= crf.l2_ for l2 in L2S)


def test_it_predicts_like_its_best_model_and_saves_it(crf: ChainCRFCV, tmp_path: Path) -> None:
    assert crf.predict(X) == crf.best_estimator_.predict(X)
    assert crf.score(X, Y) == pytest.approx(crf.best_estimator_.score(X, Y))
    np.testing.assert_array_equal(crf.predict_marginals(X)[0], crf.best_estimator_.predict_marginals(X)[0])
    assert crf.predict_kbest(X[:1], 2) == crf.best_estimator_.predict_kbest(X[:1], 2)
    crf.save(tmp_path / "model")
    assert ChainCRF.load(tmp_path / "model").predict(X) == crf.predict(X)


def test_a_clone_with_the_same_seed_gives_the_same_model() -> None:
    one = ChainCRFCV(l2s=[1.0, 0.1], cv=2, random_state=3)
    a, b = one.fit(X, Y), clone(one).fit(X, Y)
    np.testing.assert_array_equal(a.scores_, b.scores_)
    np.testing.assert_array_equal(a.best_estimator_.weights_, b.best_estimator_.weights_)


def test_scoring_may_be_any_function_of_labels() -> None:
    chosen = ChainCRFCV(l2s=[1.0, 1e6], cv=2, scoring=lambda true, predicted: -len(predicted), random_state=0).fit(X, Y)
    assert chosen.l2_ == 1.0  # the first of equals
    tags = [["B-X" if label else "O" for label in labels] for labels in Y]
    by_name = ChainCRFCV(l2s=[1.0], cv=2, scoring="f1", random_state=0).fit(X, tags)
    assert by_name.score(X, tags) > 0.5
    by_scorer = ChainCRFCV(l2s=[1.0], cv=2, scoring=entity_f1_scorer, random_state=0).fit(X, tags)
    assert by_scorer.scores_.tolist() == by_name.scores_.tolist()
    assert by_scorer.score(X, tags) == by_name.score(X, tags)


def test_sample_weights_and_other_solvers_reach_training() -> None:
    weights = np.linspace(0.5, 2.0, len(X))
    crf = ChainCRFCV(l2s=[1.0], cv=2, solver=solvers.LBFGS(), tol=1e-6, random_state=0).fit(X, Y, weights)
    alone = ChainCRF(1.0, tol=1e-6, random_state=0).fit(X, Y, weights)
    assert crf.solution_.primal == pytest.approx(alone.solution_.primal, rel=1e-5)
    assert crf.solution_.message.startswith("LBFGS")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"l2s": []}, "l2s is empty"), ({"l2s": [-1.0]}, "l2 must be"), ({"scoring": "recall"}, "scoring must be")],
)
def test_bad_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChainCRFCV(**options).fit(X, Y)


def test_it_must_be_fitted_first() -> None:
    with pytest.raises(NotFittedError):
        ChainCRFCV().predict(X)


def test_n_jobs_trains_on_as_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []

    def path_of(*arguments: Any, **options: Any) -> Any:
        used.append(options["n_jobs"])
        return penalty_path(*arguments, **options)

    monkeypatch.setattr("dualfield.estimators.chain_crf_cv.penalty_path", path_of)
    X, y = dense_sequences(20)
    ChainCRFCV(l2s=[1.0], cv=2, n_jobs=2, random_state=0).fit(X, y)
    assert used == [2, 2, 2]
    paths = [l2_path(fields.Chain(X, y), [1.0], "oeg", tol=0.0, max_passes=3, random_state=0, n_jobs=n) for n in (1, 2)]
    assert (paths[0][0].weights != paths[1][0].weights).any()  # two threads update blocks together


def test_l1_is_chosen_with_l2() -> None:
    l1s, l2s = [3.0, 0.2], [1.0, 100.0]
    crf = ChainCRFCV(l2s=l2s, l1s=l1s, cv=KFold(3), tol=1e-4, random_state=0).fit(X, Y)
    assert crf.scores_.shape == (3, 2, 2)
    best = np.unravel_index(int(crf.scores_.mean(axis=0).argmax()), (2, 2))
    assert (crf.l1_, crf.l2_) == (l1s[best[0]], l2s[best[1]])
    for fold, (train, held_out) in enumerate(KFold(3).split(X)):
        for (row, l1), (column, l2) in product(enumerate(l1s), enumerate(l2s)):
            alone = ChainCRF(l2, l1=l1, tol=1e-6, max_passes=5000, random_state=0)
            alone.fit([X[i] for i in train], [Y[i] for i in train])
            expected = token_accuracy([Y[i] for i in held_out], alone.predict([X[i] for i in held_out]))
            assert crf.scores_[fold, row, column] == pytest.approx(expected, abs=0.03)
    alone = ChainCRF(crf.l2_, l1=crf.l1_, tol=1e-8, max_passes=5000, random_state=0).fit(X, Y)
    assert (crf.best_estimator_.l1, crf.best_estimator_.l2) == (crf.l1_, crf.l2_)
    assert -1e-9 <= crf.solution_.primal - alone.solution_.primal <= crf.solution_.duality_gap
    assert crf.best_estimator_.n_nonzero_weights_ == pytest.approx(alone.n_nonzero_weights_, abs=2)
    assert len(crf.path_) == sum(l2 >= crf.l2_ for l2 in l2s)
    assert crf.path_[-1] is crf.solution_


def test_one_l1_is_a_grid_of_one_row() -> None:
    grid = ChainCRFCV(l2s=[1.0, 0.1], l1s=[0.3], cv=2, random_state=0).fit(X, Y)
    alone = ChainCRFCV(l2s=[1.0, 0.1], l1=0.3, cv=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(grid.scores_[:, 0], alone.scores_)
    np.testing.assert_array_equal(grid.best_estimator_.weights_, alone.best_estimator_.weights_)
    assert alone.l1_ == grid.l1_ == 0.3


def test_a_grid_is_printed_by_its_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    ChainCRFCV(l2s=[1.0], l1s=[0.3, 0.0], cv=2, verbose=1, random_state=0).fit(X, Y)
    assert capsys.readouterr().out.startswith("fold 1  0.3, 1: 0.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1s": []}, "l1s is empty"),
        ({"l1s": [-1.0]}, "l1 must be"),
        ({"l1s": 3.0}, "l1s must be a list"),
        ({"l1s": [1.0], "l1": 0.5}, r"given both l1=0.5 and l1s; put all l1 penalties into l1s"),
        ({"l1s": [1.0, 0.0], "l2s": [1.0, 0.0]}, "l2 must be"),
    ],
)
def test_bad_grids_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChainCRFCV(**options).fit(X, Y)
