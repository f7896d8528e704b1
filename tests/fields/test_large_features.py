"""Features so large that potentials swallow a unit of probability: every inference ends, and its marginals add up."""

from __future__ import annotations

import numpy as np
import pytest

from dualfield import fields, solve

TRIANGLE = [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize("solver", ["lbfgs", "idal", "sgd", "soft_sdca"])
@pytest.mark.parametrize("size", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("entropy", ["gini", "shannon", "trw"])
def test_relaxed_inference_ends_on_large_features(entropy: str, size: float, solver: str) -> None:
    field = fields.RelaxedGraph([(size * np.eye(3), TRIANGLE)], [["a", "b", "a"]], entropy=entropy)
    solution = solve(field, solver, max_passes=5, random_state=0)
    assert np.isfinite(solution.weights).all()
    marginals, *_ = field.core.infer(solution.weights, 0, 1)
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e8, 1e16, 1e100])
def test_gini_marginals_keep_their_mass_where_all_scores_are_large(scale: float) -> None:
    x = np.array([[1.0, scale], [0.0, scale], [0.5, scale]])
    field = fields.RelaxedGraph([(x, TRIANGLE)], [["a", "b", "a"]], entropy="gini")
    weights = np.zeros(field.dimension)
    weights[:2] = 0.25, -0.25  # of the first attribute
    weights[2:4] = 1.0  # of the second, the same for both labels
    marginals, *_ = field.core.infer(weights, 0, 1)
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-9)
