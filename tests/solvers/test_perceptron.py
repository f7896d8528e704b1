"""The perceptron is the plain one of the textbook; it claims nothing, and says so."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, SoftmaxRegression, fields, solve
from dualfield.solvers import Perceptron
from tests.written_out import WrittenOut, visited_batch
from tests.zoo import PROBLEMS, dense_sequences, points, problem, word_sequences

every_problem = pytest.mark.parametrize("name", PROBLEMS)
both = pytest.mark.parametrize("average", [False, True])

# Of the others there are too many labellings, or written_out.py does not know their features.
SMALL = [name for name in PROBLEMS if name not in ("chain-words", "chain-duplicates", "graph-cliques")]


@pytest.mark.parametrize("name", SMALL)
@both
def test_the_perceptron_is_its_formula(name: str, average: bool) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = Perceptron(average).start(field, seed=8)._core
    w, iterates = np.zeros(field.dimension), []
    for _ in range(4):
        seen, mistakes = [], 0
        for _ in range(core.updates_per_pass):
            (i,) = visited_batch(core)
            seen.append(i)
            block = full.blocks[i]
            single = isinstance(field, fields.Multiclass | fields.PseudoLikelihood)
            position = slice(i, i + 1) if single else slice(*field.encoded.offsets[[i, i + 1]])
            best = field.core.decode(w, i, i + 1)  # which of several best labellings is a matter of taste
            scores = block.vectors @ w
            assert block.features(best) @ w >= scores.max() - 1e-9 * max(1.0, np.abs(scores).max())
            mistakes += not np.array_equal(best, field.codes[position])
            w = w + block.c * (block.truth - block.features(best))
            iterates.append(w)
            expected = np.mean(iterates, axis=0) if average else w
            np.testing.assert_allclose(core.weights(), expected, rtol=1e-10, atol=1e-10)
        assert sorted(seen) == full.active
        assert core.mistakes_of_pass == mistakes


@every_problem
@both
def test_it_claims_nothing_and_says_so(name: str, average: bool) -> None:
    solution = solve(problem(name), Perceptron(average), max_passes=3, random_state=0)
    assert solution.status in ("max_passes", "stalled")
    assert solution.certificate == "none"
    assert np.isnan([solution.primal, solution.dual, solution.duality_gap, solution.relative_gap]).all()
    assert "minimises no likelihood, so there is no certificate" in solution.message
    assert "nan" not in solution.message
    assert "optimum" not in solution.message
    assert "tol" not in solution.message
    assert np.isfinite(solution.weights).all()
    assert np.isnan(solution.history["primal"]).all()
    assert np.isnan(solution.history["duality_gap"]).all()
    assert len(solution.history["mistakes"]) == solution.passes


@both
def test_it_ends_after_a_pass_without_a_mistake(average: bool) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    field = fields.Multiclass(X, (X @ random.normal(size=(3, 3))).argmax(axis=1))  # separable
    solution = solve(field, Perceptron(average), max_passes=1000, random_state=0)
    assert solution.status == "stalled"
    assert solution.passes < 1000
    assert solution.history["mistakes"][-1] == 0
    assert np.all(solution.history["mistakes"][:-1] > 0)
    assert solution.message.startswith(f"Perceptron stopped after {solution.passes} passes, the last without a mistake")
    if not average:  # the average of all steps may still make some
        assert np.array_equal(field.core.decode(solution.weights, 0, field.n_blocks), field.codes)
    again = solve(field, Perceptron(average), max_passes=5, state=solution.state)
    assert (again.status, again.passes, again.updates) == ("stalled", 0, 0)
    assert np.array_equal(again.weights, solution.weights)


def test_it_goes_on_while_there_are_mistakes() -> None:
    field = fields.Multiclass(np.zeros((4, 1)), [0, 1, 0, 1], bias=True, sample_weight=[1, 2, 3, 4])
    solution = solve(field, Perceptron(), max_passes=30, random_state=0)
    assert (solution.status, solution.passes) == ("max_passes", 30)
    assert np.all(solution.history["mistakes"] > 0)


def test_the_tolerance_and_the_penalty_have_no_effect() -> None:
    X, y = points(30)
    solutions = [
        solve(fields.Multiclass(X, y, l2), Perceptron(), tol=tol, max_passes=7, random_state=0)
        for tol in (0.0, 1e-3, 10.0)
        for l2 in (1e-3, 1e3)
    ]
    for solution in solutions[1:]:
        assert np.array_equal(solution.weights, solutions[0].weights)
        assert solution.passes == solutions[0].passes


def test_oracle_calls_and_updates_are_visits() -> None:
    solution = solve(problem("chain-weighted"), Perceptron(), max_passes=2, random_state=0)
    visits = 2 * np.count_nonzero(problem("chain-weighted").sample_weight)
    assert (solution.updates, solution.oracle_calls) == (visits, visits)


# --- estimators ---


@both
@pytest.mark.parametrize("max_passes", [1, 30])
def test_an_estimator_fits_without_warnings(average: bool, max_passes: int) -> None:
    X, y = word_sequences(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crf = ChainCRF(solver=Perceptron(average), max_passes=max_passes, random_state=0).fit(X, y)
    assert crf.solution_.certificate == "none"
    assert [len(labels) for labels in crf.predict(X)] == [len(x) for x in X]
    if max_passes == 30:
        assert crf.score(X, y) > 0.6


def test_softmax_regression_takes_it_too() -> None:
    X, y = points(60, seed=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SoftmaxRegression(solver="perceptron", max_passes=30, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5


def test_its_model_can_be_saved_and_loaded(tmp_path: Path) -> None:
    X, y = dense_sequences(15)
    crf = ChainCRF(solver=Perceptron(average=False), max_passes=5, random_state=0).fit(X, y)
    crf.save(tmp_path / "model.safetensors")
    loaded = ChainCRF.load(tmp_path / "model.safetensors")
    assert loaded.solver == Perceptron(average=False)
    assert loaded.predict(X) == crf.predict(X)
    assert np.array_equal(loaded.weights_, crf.weights_)
    assert loaded.solution_.certificate == "none"
    assert loaded.solution_.message == crf.solution_.message
    assert np.isnan([loaded.solution_.primal, loaded.solution_.dual, loaded.solution_.duality_gap]).all()


def test_a_progress_bar_shows_no_gap(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = dense_sequences(15)
    ChainCRF(solver=Perceptron(), max_passes=3, random_state=0, verbose=True).fit(X, y)
    shown = capsys.readouterr().err
    assert "pass 3" in shown
    assert "nan" not in shown


def test_interrupting_it_is_warned_about() -> None:
    def interrupt(progress: Any) -> None:
        raise KeyboardInterrupt

    X, y = dense_sequences(15)
    with pytest.warns(UserWarning, match="Perceptron was interrupted after 1 pass"):
        ChainCRF(solver=Perceptron(), max_passes=3, random_state=0).fit(X, y, callbacks=[interrupt])
