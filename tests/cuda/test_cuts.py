"""Mixtures of cuts bound the optimum, and far closer than one cut does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dualfield import fields, solve
from dualfield.cuda.cuts import best_mixture, mixed_value


@given(st.integers(0, 10_000), st.integers(1, 12), st.floats(0.01, 100))
def test_the_mixture_is_one_and_no_worse_than_any_cut(seed: int, count: int, l2: float) -> None:
    random = np.random.default_rng(seed)
    u = random.normal(size=(count, 5)) + random.normal(size=5)
    constants, products = random.normal(size=count), u @ u.T
    mixture = best_mixture(constants, products, l2)
    assert (mixture >= 0).all()
    assert mixture.sum() == pytest.approx(1)
    value = mixed_value(mixture, constants, products, l2)
    rise = constants - products @ mixture / l2  # at the best mixture no cut promises more
    assert rise.max() <= mixture @ rise + 1e-6 * (1 + abs(constants).max() + products.max() / l2)
    alone = constants - np.diag(products) / (2 * l2)
    assert value >= alone.max() - 1e-9 * (1 + abs(alone.max()))


def test_mixtures_bound_the_optimum_closely() -> None:
    random = np.random.default_rng(0)
    field = fields.Multiclass(random.normal(size=(300, 20)) * np.logspace(-1, 1, 20), random.integers(3, size=300), 0.1)
    optimum = solve(field, "lbfgs", tol=1e-10, max_passes=2000).primal
    seen: list[np.ndarray] = []
    options = {"maxiter": 25}
    minimize(
        field.gradient, np.zeros(field.dimension), jac=True, method="L-BFGS-B", callback=seen.append, options=options
    )
    cuts = []
    for w in map(np.copy, seen):
        value, gradient = field.gradient(w)
        loss, slope = value - field.penalty(w), gradient - field.l2 * w
        cuts.append((loss - slope @ w, slope))
    constants, slopes = np.array([cut[0] for cut in cuts[-12:]]), np.array([cut[1] for cut in cuts[-12:]])
    products = slopes @ slopes.T
    bound = mixed_value(best_mixture(constants, products, field.l2), constants, products, field.l2)
    alone = float((constants - np.diag(products) / (2 * field.l2)).max())
    assert bound <= optimum * (1 + 1e-12)
    assert optimum - bound < 0.7 * (optimum - alone)


def test_cuts_that_coincide_are_no_trouble() -> None:
    mixture = best_mixture(np.ones(4), np.ones((4, 4)), 1.0)
    assert mixed_value(mixture, np.ones(4), np.ones((4, 4)), 1.0) == pytest.approx(0.5)
