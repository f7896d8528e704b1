"""What a run on a GPU does on the CPU: steps, bounds and certificates, with rows that NumPy has in place of a GPU."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dualfield import fields, l2_path, solve
from dualfield.cuda.products import Products
from dualfield.driver import Clock, Drive
from dualfield.solvers.base import Solver
from dualfield.solvers.on_cuda import CudaRun
from tests.cuda.test_problem import sequences


class Rows:
    """Weights and gradients in float32, as on a GPU; losses and gradients are the field's."""

    growth = 1.0

    def __init__(self, field: fields.Field, rows: int, single: bool = True) -> None:
        self.field, self.rows, self.single = field, rows, single
        kind = np.float32 if single else np.float64
        self._w, self._u = (np.zeros((rows, field.dimension), kind) for _ in range(2))

    def _evaluate(self, row: int) -> tuple[float, np.ndarray, np.ndarray]:
        w = self._w[row].astype(float)
        value, gradient = self.field.gradient(w)
        return value - self.field.penalty(w), gradient - self.field.l2 * w, w

    def look(self, row: int) -> tuple[float, np.ndarray]:
        loss, self._u[row], _ = self._evaluate(row)
        w, u = self._w.astype(float), self._u.astype(float)
        return loss, np.stack([w @ w[row], u @ w[row], w @ u[row], u @ u[row]], axis=1)

    def combine(self, row: int, coefficients: np.ndarray) -> None:
        used = np.flatnonzero(coefficients)
        rows = np.concatenate([self._w, self._u])[used].astype(float)
        self._w[row] = coefficients[used] @ rows

    def exact(self, shares: dict[int, float]) -> tuple[list[tuple[float, ...]], float]:
        values, mixed = [], np.zeros(self.field.dimension)
        for row, share in shares.items():
            loss, u, w = self._evaluate(row)
            values.append((loss, float(u @ w), float(w @ w), abs(loss)))
            mixed += share * u
        return values, float(mixed @ mixed)

    def weights(self, row: int) -> np.ndarray:
        return self._w[row].astype(float)

    def set_weights(self, row: int, weights: np.ndarray) -> None:
        self._w[row] = weights


class InNumPy(Solver):
    """A run on such rows."""

    needs = frozenset({"exact marginals"})

    def start(self, field: fields.Field, seed: int) -> CudaRun:
        return CudaRun(self, field, Rows(field, 12), 1e-3)


def to_the_end(field: fields.Field, tol: float, **options: Any) -> Any:
    run = CudaRun(InNumPy(), field, Rows(field, 12, **options), tol)
    return Drive(run, Clock((0.0, 0.0)), tol, 600, (), None).to_the_end()


@pytest.mark.parametrize("l2", [10.0, 1.0, 0.01])
@pytest.mark.parametrize("single", [True, False])
def test_the_optimum_is_reached_and_every_gap_is_a_bound(l2: float, single: bool) -> None:
    field = fields.Chain(*sequences(150), l2=l2)
    optimum = solve(field, "lbfgs", tol=1e-11, max_passes=3000)
    for tol in (1e-1, 1e-3, 1e-6):
        solution = to_the_end(field, tol, single=single)
        assert solution.status == "converged"
        assert solution.dual <= optimum.primal
        assert solution.duality_gap >= solution.primal - optimum.primal - 1e-9 * optimum.primal
        assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)
    assert solution.primal == pytest.approx(optimum.primal, rel=1e-6)


def test_mixed_cuts_prove_sooner_than_the_gradient_alone() -> None:
    field = fields.Chain(*sequences(150), l2=0.1)
    run = InNumPy().start(field, 0)
    by_gradient, by_cuts = [], []
    for _ in range(200):
        run.advance(1.0)
        gap, primal = run.estimate()
        norm = run.record()["gradient_norm"]
        by_gradient.append(norm**2 / (2 * field.l2) / primal)
        by_cuts.append(gap / primal)
    sooner, later = (next(k for k, gap in enumerate(gaps) if gap < 1e-3) for gaps in (by_cuts, by_gradient))
    assert sooner < later


def test_the_direction_is_that_of_two_loops_over_vectors() -> None:
    random = np.random.default_rng(0)
    l2, dimension, rows = 0.5, 20, 6
    curvature = np.diag(random.uniform(0.1, 5, dimension))
    w = random.normal(size=(rows, dimension))
    u = w @ curvature
    products = Products(rows, l2)
    for row in range(rows):
        found = np.stack([w @ w[row], u @ w[row], w @ u[row], u @ u[row]], axis=1)
        products.learn(row, float(row), found)
    live = [3, 1, 5, 0]
    found = products.direction(live) @ np.concatenate([w, u])
    q = gradient = l2 * w[0] + u[0]
    pairs = [(w[b] - w[a], l2 * (w[b] - w[a]) + u[b] - u[a]) for a, b in itertools.pairwise(live)]
    alphas = []
    for s, y in reversed(pairs):
        alphas.append(s @ q / (s @ y))
        q = q - alphas[-1] * y
    s, y = pairs[-1]
    q = q * (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q = q + (alpha - y @ q / (s @ y)) * s
    np.testing.assert_allclose(found, -q, rtol=1e-9)
    assert products.slope(0, products.direction(live)) == pytest.approx(-gradient @ q)


def test_a_step_that_leads_nowhere_ends_the_run() -> None:
    field = fields.Chain(*sequences(20), l2=1.0)
    run = InNumPy().start(field, 0)
    for _ in range(300):
        if run.stalled:
            break
        run.advance(1.0)
    assert run.confirm(1.0)
    assert run.bound.gap <= 1e-5 * run.bound.primal


def test_a_saved_run_goes_on_at_its_weights() -> None:
    field = fields.Chain(*sequences(50), l2=1.0)
    run = InNumPy().start(field, 0)
    for _ in range(10):
        run.advance(1.0)
    other = InNumPy().start(field, 0).restore(run.arrays())
    other.advance(1.0)
    assert other.estimate()[1] == pytest.approx(run.estimate()[1], rel=1e-6)
    with pytest.raises(ValueError, match="does not fit this field"):
        InNumPy().start(field, 0).restore({"weights": np.zeros(3), "passes_done": np.array([1])})


def test_paths_go_on_from_penalty_to_penalty() -> None:
    field = fields.Chain(*sequences(60), l2=1.0)
    found = l2_path(field, [10.0, 1.0], InNumPy(), tol=1e-5)
    expected = l2_path(field, [10.0, 1.0], "lbfgs", tol=1e-7)
    for one, other in zip(found, expected, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=2e-5)
