"""SMD steps as its formulas say: replayed with gradients and Hessian products summed over all labellings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import solve
from dualfield.solvers import SMD
from tests.written_out import WrittenOut, visited_batch
from tests.zoo import problem


@pytest.mark.parametrize("name", ["chain-dense", "chain-weighted", "chain-observed", "multiclass-weighted"])
@pytest.mark.parametrize(
    "solver",
    [
        SMD(eta=0.05, batch_size=1),
        SMD(eta=0.05, batch_size=5),
        SMD(eta=0.02, meta=0.5, decay=0.9, batch_size=4),
        SMD(eta=0.02, meta=3.0, decay=0.0, batch_size=100),
        SMD(eta=0.05, meta=0.0, batch_size=3),
    ],
    ids=repr,
)
def test_smd_is_its_formulas(name: str, solver: SMD) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = solver.start(field, seed=7)._core
    w, v, gains = np.zeros(field.dimension), np.zeros(field.dimension), np.full(field.dimension, float(solver.eta))
    for _ in range(3):
        seen: list[int] = []
        for _ in range(core.updates_per_pass):
            batch = visited_batch(core)
            seen += batch
            r = field.l2 * len(batch) / full.n
            g = full.gradient(w, batch) + r * w
            Hv = full.hessian_product(w, v, batch) + r * v
            gains = gains * np.maximum(0.5, 1 - solver.meta * g * v)
            w = w - gains * g
            v = solver.decay * v - gains * (g + solver.decay * Hv)
            state = core.save()
            for found, expected in ((core.weights(), w), (state["trace"], v), (state["gains"], gains)):
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max()))
        assert sorted(seen) == full.active


def test_without_meta_the_gains_stay() -> None:
    solution = solve(problem("chain-dense"), SMD(eta=0.05, meta=0.0), tol=0.0, max_passes=3, random_state=0)
    assert set(solution.state.arrays()["gains"]) == {0.05}


def test_gains_never_fall_by_more_than_half_in_a_step() -> None:
    core = SMD(eta=0.1, meta=100.0, batch_size=1).start(problem("chain-dense"), 0)._core
    gains, halved = core.save()["gains"], 0
    for _ in range(30):
        core.run(1, 3600.0)
        now = core.save()["gains"]
        assert np.all(now >= 0.5 * gains)
        halved += np.count_nonzero(now == 0.5 * gains)
        gains = now
    assert halved > 0


def test_the_trace_is_how_the_weights_depend_on_the_logarithms_of_the_gains() -> None:
    # With meta = 0 and decay = 1, v = dw / d log(eta), all gains being eta.
    field = problem("multiclass-dense")

    def weights(eta: float) -> Any:
        core = SMD(eta=eta, meta=0.0, decay=1.0, batch_size=4).start(field, 3)._core
        core.run(12, 3600.0)
        return core.weights(), core.save()["trace"]

    eta, step = 0.02, 1e-5
    difference = (weights(eta * np.exp(step))[0] - weights(eta * np.exp(-step))[0]) / (2 * step)
    np.testing.assert_allclose(weights(eta)[1], difference, rtol=1e-6, atol=1e-8)
