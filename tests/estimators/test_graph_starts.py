"""Where training on graphs begins: approximate objectives that are not convex depend on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import GridCRF, fields, solve
from dualfield.features import encode_grids


def noisy_images() -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(0)
    clean = [np.repeat([[0, 1, 1, 0, 0]], 4, axis=0), np.repeat([[1, 0, 0, 1, 1]], 4, axis=0)]
    return [labels - 0.5 + random.normal(size=labels.shape) for labels in clean], clean


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # mean field has jumps
@pytest.mark.parametrize("inference", ["bp", "mean_field"])
def test_an_objective_that_is_not_convex_begins_at_the_pseudo_likelihood(inference: str) -> None:
    X, y = noisy_images()
    grids = encode_grids(X)
    likely = solve(fields.PseudoLikelihood(grids, y, 0.5, edge_l2=2.0), "lbfgs", tol=1e-3).weights
    expected = solve(fields.Graph(grids, y, 0.5, edge_l2=2.0, inference=inference), "lbfgs", tol=1e-3, start=likely)
    found = GridCRF(l2=0.5, edge_l2=2.0, inference=inference).fit(X, y)
    assert np.array_equal(found.weights_, expected.weights)
    assert found.solution_.passes == expected.passes


def test_a_given_start_is_taken() -> None:
    X, y = noisy_images()
    found = GridCRF(inference="bp").fit(X, y)
    again = GridCRF(inference="bp").fit(X, y, start=found.weights_)
    assert again.solution_.passes <= 1
    assert again.solution_.primal == pytest.approx(found.solution_.primal, rel=1e-9)


def test_a_dual_solver_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy_images()
    monkeypatch.setattr(fields.PseudoLikelihood, "gradient", None)
    with pytest.raises(TypeError, match=r"SDCA needs .* which Graph with inference='bp' does not offer"):
        GridCRF(inference="bp", solver="sdca").fit(X, y)
