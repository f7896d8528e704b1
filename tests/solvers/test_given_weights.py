"""Starting at given weights: methods on the primal go on from them, the others refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dualfield import LBFGS, solve
from dualfield.solvers import Hybrid, Perceptron, Solver
from dualfield.solvers.clique import CliqueSolver
from dualfield.solvers.dual import DualSolver
from tests.zoo import SOLVERS, problem, reference

ON_THE_PRIMAL = [solver for solver in SOLVERS if not isinstance(solver, DualSolver | CliqueSolver)]
ON_THE_DUAL = [solver for solver in SOLVERS if isinstance(solver, DualSolver | CliqueSolver)]


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-dense"])
def test_at_the_optimum_nothing_is_left_to_do(name: str) -> None:
    best = reference(name)
    found = solve(problem(name), LBFGS(), tol=1e-4, start=best.weights)
    assert found.status == "converged"
    assert found.passes == 1
    assert found.primal == pytest.approx(best.primal, rel=1e-9)


@pytest.mark.parametrize("solver", ON_THE_PRIMAL, ids=repr)
def test_methods_on_the_primal_take_them(solver: Solver) -> None:
    field, best = problem("chain-dense"), reference("chain-dense").weights
    near, far = (solve(field, solver, tol=0.0, max_passes=1, random_state=0, start=w).weights for w in (best, None))
    assert not np.array_equal(near, far)
    run = solver.start(field, 0)
    run.begin_at(best)
    assert np.array_equal(run.weights(), best) or isinstance(solver, LBFGS | Hybrid)  # theirs await the first gradient


@pytest.mark.parametrize("solver", ON_THE_DUAL, ids=repr)
def test_dual_methods_refuse(solver: Solver) -> None:
    field = problem("chain-dense")
    with pytest.raises(TypeError, match=f"{solver.name} cannot start at given weights"):
        solve(field, solver, start=np.zeros(field.dimension))


def test_the_perceptron_takes_them_too() -> None:
    field = problem("chain-dense")
    best = reference("chain-dense").weights
    assert solve(field, Perceptron(), max_passes=1, start=1e6 * best).weights == pytest.approx(1e6 * best, rel=1e-2)


def test_what_is_no_start_is_refused() -> None:
    field = problem("chain-dense")
    zeros = np.zeros(field.dimension)
    for start, sentence in [
        (zeros[1:], f"shape ({field.dimension - 1},); expected numbers of shape ({field.dimension},)"),
        (zeros.astype(str), "expected numbers"),
        (np.where(np.arange(field.dimension) == 3, np.nan, 0.0), "weight 3 of start is nan"),
    ]:
        with pytest.raises(ValueError, match=re.escape(sentence)):
            solve(field, "lbfgs", start=start)
    state = solve(field, "lbfgs", max_passes=1).state
    with pytest.raises(ValueError, match="both a state to go on from and weights to start at"):
        solve(field, "lbfgs", state=state, start=zeros)
