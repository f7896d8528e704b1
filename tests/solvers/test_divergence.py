"""A run whose numbers leave floating point ends with its last finite weights and says what to change."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from dualfield import ChainCRF, fields, solve
from dualfield.fields import Field
from dualfield.solvers import LBFGS, SAG, SAGA, SGD, SMD, SVRG, AdaGrad, Hybrid, Solver
from dualfield.solvers.dual import DualSolver
from tests.zoo import SOLVERS, dense_sequences, points, problem


def large_attributes(size: float, kind: str = "chain") -> Field:
    if kind == "chain":
        X, y = dense_sequences(12)
        return fields.Chain([size * x for x in X], y)
    X, y = points(20)
    return fields.Multiclass(size * X, y)


def without_warnings(field: Field, solver: Solver, **options: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        return solve(field, solver, random_state=0, **options)


def assert_diverged(solution: Any, solver: Solver) -> None:
    assert (solution.status, solution.certificate) == ("diverged", "none")
    assert np.isfinite(solution.weights).all()
    assert np.isnan([solution.primal, solution.dual, solution.duality_gap]).all()
    assert solver.if_diverged in solution.message
    assert "nan" not in solution.message


@pytest.mark.parametrize("kind", ["chain", "multiclass"])
@pytest.mark.parametrize(
    "solver",
    [
        SGD(eta=1e6),
        SGD(eta=1e6, average=True),
        SGD(eta=1e6, batch_size=3),
        SGD(eta=1e120, schedule="annealed"),
        SGD(eta=1e120, schedule="pegasos"),
        SGD(eta=1e308),
        SMD(eta=1e12),
        SMD(eta=1e308),
        SMD(eta=0.1, meta=1e308),
        AdaGrad(eta=1e300),
        AdaGrad(eta=1.0, delta=1e-300),
    ],
    ids=repr,
)
def test_a_step_that_is_far_too_long(solver: Any, kind: str) -> None:
    field = large_attributes(1e3, kind)
    solution = without_warnings(field, solver, max_passes=200)
    assert_diverged(solution, solver)
    assert "lower eta" in solution.message
    assert solution.passes < 200
    assert solution.updates < 200 * field.n_blocks


def test_weights_that_no_block_looks_at_stay_finite_too() -> None:
    # Every step multiplies all weights by −9. Those of the first attribute are the largest, and only one block in 400
    # would notice that they overflow.
    n = 400
    X = sparse.hstack([sparse.csr_matrix(([1e10], ([0], [0])), shape=(n, 1)), sparse.eye(n)])
    field = fields.Multiclass(X, np.arange(n) % 2, l2=float(n), bias=False)
    for average in (False, True):
        solver = SGD(eta=10.0, average=average)
        assert_diverged(without_warnings(field, solver, tol=0.0, max_passes=5), solver)


def test_an_exact_step_for_the_penalty_does_not_diverge() -> None:
    for eta in (1e3, 1e6, 1e9):
        solution = without_warnings(large_attributes(1e3), AdaGrad(eta=eta), max_passes=50)
        assert solution.certificate == "exact"
        assert np.isfinite(solution.weights).all()


@pytest.mark.parametrize("solver", [s for s in SOLVERS if not isinstance(s, DualSolver)], ids=repr)
@pytest.mark.parametrize("kind", ["chain", "multiclass"])
@pytest.mark.parametrize("size", [1e20, 1e80, 1e150, 1e200, 1e300])
def test_no_primal_solver_returns_weights_that_are_not_finite(solver: Solver, kind: str, size: float) -> None:
    field = large_attributes(size, kind)
    if not solver.needs <= field.offers:
        pytest.skip("one node has no cliques")
    solution = without_warnings(field, solver, max_passes=12)
    assert np.isfinite(solution.weights).all()
    if solution.certificate == "exact":
        assert np.isfinite([solution.primal, solution.duality_gap]).all()
    else:
        assert_diverged(solution, solver)


@pytest.mark.parametrize("solver", [SAG(), SAGA("nus"), SAGA("uniform"), SVRG()], ids=repr)
def test_methods_without_a_step_size_say_to_scale_the_attributes(solver: Solver) -> None:
    solution = without_warnings(large_attributes(1e200), solver)
    assert_diverged(solution, solver)
    assert "scale the attributes down or raise l2" in solution.message


@pytest.mark.parametrize("solver", [LBFGS(), Hybrid()], ids=repr)
def test_an_objective_that_is_infinite_from_the_start(solver: Solver) -> None:
    X, y = points(20)
    field = fields.Multiclass(X, y, sample_weight=np.full(20, 1e308))
    solution = without_warnings(field, solver, max_passes=20)
    assert_diverged(solution, solver)
    again = solve(field, solver, max_passes=5, state=solution.state)  # and it does not wait for ever
    assert_diverged(again, solver)
    revived = solver.start(field, 3).restore(solution.state.arrays())
    assert_diverged(solve(field, solver, max_passes=5, state=revived), solver)


@pytest.mark.parametrize("solver", [SGD(eta=1e6), SMD(eta=1e12)], ids=repr)
def test_the_last_finite_weights_are_those_before_the_step(solver: Any) -> None:
    field = large_attributes(1e3)
    run = solver.start(field, 0)
    before = run.weights()
    while not run.diverged:
        before = run.weights()
        updates = run.updates
        run.advance(3600.0, 1)
    assert np.array_equal(run.weights(), before)
    assert run.updates == updates  # the step that was not taken does not count


@pytest.mark.parametrize("tol", [1e-3, 0.0])
def test_an_estimator_warns(tol: float) -> None:
    X, y = dense_sequences(12)
    crf = ChainCRF(solver=SGD(eta=1e6), tol=tol, max_passes=100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="too large for floating point.*lower eta"):
        crf.fit(X, y)
    assert np.isfinite(crf.weights_).all()


def test_a_smaller_step_helps_as_the_message_says() -> None:
    field = problem("chain-strong-penalty")
    assert solve(field, SMD(batch_size=2), max_passes=30, random_state=0).status == "diverged"
    assert solve(field, SMD(eta=1e-3, batch_size=2), max_passes=30, random_state=0).certificate == "exact"


def test_no_certificate_is_wrong_where_rounding_makes_probabilities_doubtful() -> None:
    # Weights of 1e30 under l2 = 1e-16: scores differ by more than they are exact to.
    random = np.random.default_rng(41)
    sizes = random.integers(1, 40, size=12)
    X = [[[f"w{w}" for w in random.integers(4, size=random.integers(4))] for _ in range(n)] for n in sizes]
    y = [random.choice(["A", "B", "C", "D"], size=n).tolist() for n in sizes]
    field = fields.Chain(X, y, l2=1e-16)
    solution = solve(field, "smd", max_passes=5, tol=1e-6, random_state=0)
    assert not solution.dual > field.primal(np.zeros(field.dimension))
