"""The regularisation path: the same optima as solving each penalty alone, with certificates, in fewer passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, OEG, SDCA, l2_path, solve
from dualfield.solvers import SAG, SAGA, SGD, SMD, SVRG, AdaGrad, Hybrid, Solver
from tests.zoo import problem

L2S = [0.1, 10.0, 1.0]
CONVERGENT = [OEG(), OEG(accelerate=False), SDCA(), SDCA(accelerate=True), LBFGS(), Hybrid(), SAG(), SAGA(), SVRG()]


@pytest.mark.parametrize("solver", [*CONVERGENT, SDCA(step="guaranteed")], ids=repr)
@pytest.mark.parametrize("name", ["chain-words", "chain-observed", "multiclass-weighted"])
def test_each_point_is_the_optimum_of_its_penalty(solver: Solver, name: str) -> None:
    field = problem(name)
    solutions = l2_path(field, L2S, solver, tol=1e-4, max_passes=20_000, random_state=0)
    for l2, solution in zip(L2S, solutions, strict=True):
        best = solve(field.with_l2(l2), LBFGS(), tol=1e-10, max_passes=5000)
        assert (solution.status, solution.certificate) == ("converged", "exact")
        assert solution.relative_gap <= 1e-4
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-14)
        assert solution.primal == pytest.approx(field.with_l2(l2).primal(solution.weights), rel=1e-12)
        assert solution.state is None


@pytest.mark.parametrize("solver", [SGD(eta=0.01), AdaGrad(eta=0.1), SMD(eta=0.01)], ids=repr)
def test_methods_that_converge_slowly_follow_the_path_too(solver: Solver) -> None:
    for solution in l2_path(problem("chain-dense"), [10.0, 1.0], solver, tol=1e-1, max_passes=20, random_state=0):
        assert solution.certificate == "exact"
        assert solution.duality_gap > 0


def test_a_warm_start_needs_fewer_passes_than_a_cold_one() -> None:
    field, l2s = problem("chain-words"), np.geomspace(10.0, 0.01, 13)
    warm = l2_path(field, l2s, OEG(), tol=1e-3, max_passes=2000, random_state=0)
    cold = [solve(field.with_l2(l2), OEG(), tol=1e-3, max_passes=2000, random_state=0) for l2 in l2s]
    assert sum(s.passes for s in warm) < 0.8 * sum(s.passes for s in cold)


def test_the_field_and_its_other_penalties_share_nothing_that_changes() -> None:
    field = problem("chain-words")
    w = np.linspace(-1.0, 1.0, field.dimension)
    before = field.primal(w)
    other = field.with_l2(7.0)
    assert (field.l2, other.l2) == (1.0, 7.0)
    assert field.primal(w) == before
    assert other.primal(w) == pytest.approx(before + 0.5 * 6.0 * w @ w, rel=1e-12)


def test_the_same_seed_gives_the_same_path_and_repeated_penalties_are_solved_once() -> None:
    field = problem("chain-dense")
    one, other = (l2_path(field, [1.0, 0.1, 1.0], random_state=4) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.weights, b.weights)
    assert one[0] is one[2]


def test_an_interrupted_path_says_where_it_ended() -> None:
    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match=r"The path ended before l2=0\.1: .*interrupted"):
        l2_path(problem("chain-dense"), [1.0, 0.1], callbacks=[stop])


@pytest.mark.parametrize(
    ("l2s", "message"),
    [
        ([], "l2s is empty"),
        ([1.0, 0.0], "l2 must be a positive"),
        ([1.0, "x"], "l2 must be a positive"),
        (3.0, "l2s must"),
    ],
)
def test_penalties_that_make_no_sense_are_refused(l2s: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        l2_path(problem("chain-dense"), l2s)
