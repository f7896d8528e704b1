"""Steps of OEG from where short ones change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dualfield import OEG, SDCA, solve
from dualfield.fields import Multiclass
from tests.zoo import finish

N, LABELS = 40, 3


def field() -> Multiclass:
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 4))
    return Multiclass(X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5), l2=1.0)


@pytest.mark.parametrize("memory", ["float64", "float32"])
@pytest.mark.parametrize("potential", [30.0, 200.0, 5000.0])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_block_with_all_its_mass_on_one_label_moves_again(memory: str, potential: float, n_jobs: int) -> None:
    points = field()
    solver = OEG(memory=memory, n_jobs=n_jobs)
    run = solver.start(points, 0)
    finish(run.advance)
    arrays = run.arrays()
    rows = arrays["duals"].reshape(N, 2, LABELS)  # potentials and marginals of each point
    wrong = (points.codes[:5] + 1) % LABELS
    rows[:5] = 0.0
    rows[range(5), 0, wrong] = potential
    rows[range(5), 1, wrong] = 1.0
    arrays["etas"][:5] = 0.5
    stuck = solver.start(points, 0).restore(arrays)
    finish(stuck.confirm)
    assert stuck.bound.gap > 1.0
    stuck.adopt()
    solution = solve(points, solver, tol=1e-4, max_passes=40, state=stuck)
    assert solution.status == "converged"
    assert solution.primal == pytest.approx(solve(points, SDCA(), tol=1e-8, random_state=0).primal, rel=1e-4)
