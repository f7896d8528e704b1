"""L-BFGS agrees with scikit-learn's logistic regression, and its certificate with its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dualfield import LBFGS, Progress, fields, solve
from tests.zoo import PROBLEMS, points, problem, reference

every_problem = pytest.mark.parametrize("name", PROBLEMS)


@pytest.mark.parametrize("l2", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_multiclass_is_scikit_learns_logistic_regression(labels: int, l2: float, weighted: bool) -> None:
    X, y = points(60, labels, seed=labels)
    sample_weight = np.linspace(0.2, 2.0, 60) if weighted else None
    # Two labels have one weight vector w there, and w/2 and −w/2 here: half the penalty.
    C = (2 if labels == 2 else 1) / l2
    peer = LogisticRegression(C=C, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    peer.fit(X, y, sample_weight)
    field = fields.Multiclass(X, y, l2, bias=False, sample_weight=sample_weight)
    solution = solve(field, LBFGS(), tol=1e-11, max_passes=1000)
    theirs = np.vstack([-peer.coef_ / 2, peer.coef_ / 2]) if labels == 2 else peer.coef_
    np.testing.assert_allclose(solution.weights.reshape(-1, labels).T, theirs, rtol=1e-4, atol=1e-5)
    assert solution.primal == pytest.approx(field.primal(theirs.T.ravel()), rel=1e-10)


@every_problem
@pytest.mark.parametrize("corrections", [1, 3, 50])
def test_any_number_of_corrections_reaches_the_optimum(name: str, corrections: int) -> None:
    solution = solve(problem(name), LBFGS(corrections), tol=1e-8, max_passes=5000)
    assert solution.status == "converged"
    assert abs(solution.primal - reference(name).primal) <= 1e-8 * solution.primal


@every_problem
def test_the_objective_falls_from_pass_to_pass(name: str) -> None:
    values: list[float] = []

    def look(progress: Progress) -> None:
        values.append(progress.primal())

    solve(problem(name), LBFGS(), tol=1e-9, max_passes=300, callbacks=[look])
    assert values[0] == pytest.approx(problem(name).primal(np.zeros(problem(name).dimension)))
    assert np.all(np.diff(values) <= 1e-13 * np.abs(values[1:]))


@every_problem
def test_the_certificate_is_at_least_as_good_as_the_gradient_says(name: str) -> None:
    field = problem(name)
    for passes in (1, 3, 10):
        solution = solve(field, LBFGS(), tol=0.0, max_passes=passes)
        value, gradient = field.gradient(solution.weights)
        bound = gradient @ gradient / (2 * field.l2)
        assert solution.duality_gap <= bound + 1e-12 * max(1.0, abs(value))
        assert solution.history["gradient_norm"][-1] == pytest.approx(np.linalg.norm(gradient), rel=1e-9)


@every_problem
def test_it_ends_where_floating_point_allows_no_more(name: str) -> None:
    solution = solve(problem(name), LBFGS(), tol=0.0, max_passes=300)
    # A step lost in rounding may still look like progress, so some runs use up their passes.
    assert solution.status in ("stalled", "max_passes")
    assert solution.certificate == "exact"
    assert solution.relative_gap < 1e-11
    if solution.status == "stalled":
        assert "no further progress in floating point" in solution.message
        again = solve(problem(name), LBFGS(), tol=0.0, max_passes=5, state=solution.state)
        assert (again.status, again.primal) == ("stalled", solution.primal)


def test_a_stalled_run_says_so() -> None:
    solution = solve(problem("chain-one-block"), LBFGS(), tol=0.0, max_passes=5000)
    assert solution.status == "stalled"
    assert solution.passes < 5000


@pytest.mark.parametrize("exponent", [0, 60, 90])
@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_corrections_may_be_of_any_size(exponent: int, l1: float) -> None:
    # Steps of 2^-90 and less: their last digits lie beyond what single precision holds.
    X, y = points(60)
    unit = 2.0**exponent
    plain = solve(fields.Multiclass(X, y, l1=l1, bias=False), LBFGS(), tol=1e-10, max_passes=1000)
    field = fields.Multiclass(unit * X, y, l2=unit**2, l1=unit * l1, bias=False)
    solution = solve(field, LBFGS(), tol=1e-10, max_passes=1000)
    assert solution.status == "converged"
    assert solution.primal == pytest.approx(plain.primal, rel=1e-9)
    assert solution.passes <= 2 * plain.passes + 20
    assert np.isfinite(solution.state.arrays()["corrections"]).all()
    first = solve(field, LBFGS(), tol=0.0, max_passes=6).state
    revived = LBFGS().start(field, 0).restore(first.arrays())
    again, gone_on = (solve(field, LBFGS(), tol=0.0, max_passes=9, state=state) for state in (revived, first))
    assert np.array_equal(again.weights, gone_on.weights)


@pytest.mark.parametrize("name", ["chain-words", "chain-weak-penalty", "multiclass-dense"])
def test_corrections_in_single_precision_reach_any_tolerance(name: str) -> None:
    solution = solve(problem(name), LBFGS(), tol=1e-12, max_passes=5000)
    assert solution.status == "converged"
    corrections = solution.state.arrays()["corrections"]
    assert np.array_equal(corrections, corrections.astype(np.float32))


def test_the_seed_has_no_effect() -> None:
    one, other = (solve(problem("chain-words"), LBFGS(), random_state=seed) for seed in (0, 1))
    assert np.array_equal(one.weights, other.weights)


@pytest.mark.parametrize("corrections", [0, -1, 2.5, True, "5", None])
def test_corrections_must_be_a_positive_integer(corrections: Any) -> None:
    with pytest.raises(ValueError, match="LBFGS: corrections must be an integer, at least 1"):
        LBFGS(corrections)
