"""With a hundred labels or more sequences go over one matrix of transitions together, and answer as one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, Constraints, fields, solve
from dualfield._core import ConstrainedChain

LABELS = 103


def sequences(n: int, longest: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = random.integers(LABELS, size=random.integers(1, longest + 1))
        X.append([[f"word={k % 40}", f"some={random.integers(4)}"] for k in labels])
        y.append(labels.tolist())
    X.append([["word=0"]] * LABELS)
    y.append(list(range(LABELS)))
    return X, y


def both(**options: Any) -> tuple[Any, Any]:
    """The same problem twice; under constraints that forbid nothing sequences go one by one."""
    X, y = sequences(37, 30)
    made = []
    for rules in (None, Constraints(range(LABELS))):
        field = fields.Chain(X, y, constraints=rules, **options)
        field.layout = replace(field.layout, sparse=False)
        made.append(field.with_l2(field.l2))
    assert isinstance(made[1].core, ConstrainedChain)
    return made[0], made[1]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"state_features": "observed", "bias": False},
    {"transitions": "observed", "sample_weight": np.resize([1.0, 0.0, 2.5], 38)},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_answers_are_those_of_one_by_one(options: dict[str, Any], scale: float) -> None:
    together, alone = both(**options)
    w = scale * np.random.default_rng(1).normal(size=together.dimension)
    value, gradient = together.gradient(w)
    expected, expected_gradient = alone.gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    assert together.primal(w) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-9)
    arguments = w, 0, together.n_blocks
    np.testing.assert_allclose(together.core.marginals(*arguments), alone.core.marginals(*arguments), atol=1e-9)
    np.testing.assert_array_equal(together.core.decode(*arguments), alone.core.decode(*arguments))


def test_one_that_needs_logarithms_changes_nothing_for_those_beside_it() -> None:
    together, alone = both(state_features="observed")
    w = np.random.default_rng(1).normal(size=together.dimension)
    rows = together.layout.rows[0]
    some = list(together.encoded.vocabulary.names).index("word=3")
    w[rows[some] : rows[some + 1]] = np.linspace(-5e3, 5e3, rows[some + 1] - rows[some])
    value, gradient = together.gradient(w)
    expected, expected_gradient = alone.gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-9)


def test_threads_change_no_bit() -> None:
    field = fields.Chain(*sequences(60, 9), state_features="observed")
    weights = [solve(field, LBFGS(n_jobs=n_jobs), max_passes=4).weights for n_jobs in (1, 2, 3)]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])
