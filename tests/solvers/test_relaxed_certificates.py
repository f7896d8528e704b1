"""A certificate of a relaxed problem bounds the distance to every point, with errors of inference and rounding."""

from __future__ import annotations

import numpy as np
import pytest

from dualfield import fields, solve
from dualfield.fields import RelaxedGraph


def rings(seed: int, entropy: str) -> RelaxedGraph:
    random = np.random.default_rng(seed)
    size, scale = int(random.integers(3, 6)), 10.0 ** random.integers(-2, 3)
    X = [(scale * random.normal(size=(size, 2)), [(i, (i + 1) % size) for i in range(size)]) for _ in range(2)]
    y = [list(map(str, random.integers(0, 2, size=size))) for _ in range(2)]
    y[0][:2] = "0", "1"
    return fields.RelaxedGraph(X, y, l2=10.0 ** random.integers(-2, 2), entropy=entropy)


@pytest.mark.parametrize("entropy", ["trw", "shannon", "gini"])
@pytest.mark.parametrize("seed", [12, 16, 20, 22])
def test_no_solver_finds_a_point_below_what_another_proved(seed: int, entropy: str) -> None:
    field = rings(seed, entropy)
    solutions = [
        solve(field, solver, tol=tol, max_passes=200, random_state=0)
        for solver in ("lbfgs", "idal", "saga")
        for tol in (1e-6, 0.0)
    ]
    certified = [solution for solution in solutions if solution.certificate == "relaxed"]
    assert certified
    best = min(field.primal(solution.weights) for solution in solutions)
    for solution in certified:
        assert field.primal(solution.weights) - best <= solution.duality_gap
        assert solution.dual <= best


@pytest.mark.parametrize("entropy", ["trw", "shannon", "gini"])
def test_both_sides_hold_where_inference_has_not_converged(entropy: str) -> None:
    fine = rings(16, entropy)
    y = [list(fine.classes[codes]) for codes in np.split(fine.codes, fine.encoded.offsets[1:-1])]
    field = fields.RelaxedGraph(fine.encoded, y, l2=fine.l2, entropy=entropy, max_sweeps=1)
    random = np.random.default_rng(0)
    optimum = solve(fine, "lbfgs", tol=1e-9, random_state=0)
    for _ in range(5):
        weights = random.normal(size=field.dimension)
        primal, dual, gap = field.relaxed_bound(weights)
        assert fine.primal(weights) <= primal
        assert dual <= optimum.primal
        assert gap == primal - dual
