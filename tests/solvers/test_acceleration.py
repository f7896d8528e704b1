"""Acceleration: the optimum of the problem asked for, true certificates, and far fewer passes under weak penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import OEG, SDCA, fields, solve
from dualfield.solvers.dual import DualSolver
from tests.zoo import PROBLEMS, dense_sequences, finish, problem, reference

ACCELERATED: list[DualSolver] = [SDCA(), OEG()]
both = pytest.mark.parametrize("solver", ACCELERATED, ids=lambda solver: solver.name)


@both
def test_it_saves_most_passes_under_a_weak_penalty(solver: DualSolver) -> None:
    X, y = dense_sequences(200, labels=5, columns=20, longest=8, seed=1)
    field = fields.Chain(X, y, 1e-3)
    plain = type(solver)(accelerate=False)
    fast = solve(field, solver, tol=1e-3, max_passes=2000, random_state=0)
    slow = solve(field, plain, tol=1e-3, max_passes=4 * fast.passes, random_state=0)
    assert fast.status == "converged"
    assert slow.status == "max_passes"


@both
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bookkeeping_agrees_with_the_confirming_pass(solver: DualSolver, name: str) -> None:
    """D(μ) and the gap of the *original* problem, from the weights of the proximal one."""
    run = solver.start(problem(name), seed=3)
    for _ in range(4):
        finish(run.advance)
        dual = run._core.dual
        assert run.confirm(3600.0)
        primal, confirmed, gap = run.bound
        assert confirmed <= reference(name).primal * (1 + 1e-14)
        assert dual == pytest.approx(confirmed, rel=1e-9, abs=1e-9 * primal)
        assert gap >= primal - reference(name).primal
        np.testing.assert_allclose(run.certified_weights(), run.weights(), rtol=1e-8, atol=1e-10)
        run.adopt()
        assert run._core.gap_estimate == pytest.approx(gap, rel=1e-6, abs=1e-9 * primal)


@both
def test_the_strength_adapts_itself_and_is_zero_without(solver: DualSolver) -> None:
    weak = fields.Chain(*dense_sequences(60, seed=2), l2=1e-4)
    run: Any = solver.start(weak, seed=0)
    seen = set()
    for _ in range(30):
        finish(run.advance)
        seen.add(run._core.kappa)
    assert len(seen) > 1
    assert min(seen) > 0
    plain: Any = type(solver)(accelerate=False).start(weak, seed=0)
    assert plain._core.kappa == 0


@both
def test_the_name_of_a_method_stands_for_its_accelerated_form(solver: DualSolver) -> None:
    X, y = dense_sequences(200, labels=5, columns=20, longest=8, seed=1)
    field = fields.Chain(X, y, 1e-3)
    assert solver.accelerate
    named = solve(field, solver.name.lower(), tol=1e-3, max_passes=200, random_state=0)
    assert named.status == "converged"
    assert named.passes == solve(field, solver, tol=1e-3, max_passes=200, random_state=0).passes


@pytest.mark.parametrize("accelerate", [1, "yes", None, 0.0])
def test_accelerate_must_be_a_bool(accelerate: Any) -> None:
    with pytest.raises(ValueError, match="SDCA: accelerate must be True or False"):
        SDCA(accelerate=accelerate)
