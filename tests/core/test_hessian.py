"""Hessian-vector products equal the covariance of the features over all labellings, and the change of the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import fields
from tests.core.strategies import assert_close
from tests.written_out import WrittenOut
from tests.zoo import PROBLEMS, dense_sequences, problem, word_sequences

SHORT = {
    "one position": lambda: fields.Chain(*dense_sequences(4, longest=1)),
    "two positions": lambda: fields.Chain(*dense_sequences(4, longest=2, seed=1)),
    "five positions": lambda: fields.Chain(*dense_sequences(4, longest=5, seed=2)),
    "observed pairs": lambda: fields.Chain(*word_sequences(4), state_features="observed", transitions="observed"),
    "no dense weights": lambda: fields.Chain(
        *dense_sequences(3), transitions="observed", bias=False, begin=False, end=False
    ),
    "weighted": lambda: fields.Chain(*dense_sequences(4), sample_weight=[0.0, 2.0, 0.3, 1.0]),
    "points": PROBLEMS["multiclass-weighted"],
    "points of two labels": PROBLEMS["multiclass-two-labels"],
    "points without bias": PROBLEMS["multiclass-bare"],
}

every_problem = pytest.mark.parametrize("name", PROBLEMS)


def weights_and_vector(field: Any, scale: float, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    return scale * random.normal(size=field.dimension), random.normal(size=field.dimension)


@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0, 30.0, 300.0])
@pytest.mark.parametrize("name", SHORT)
def test_products_are_covariances_over_all_labellings(name: str, scale: float) -> None:
    field = SHORT[name]()
    written_out = WrittenOut(field)
    for seed in range(3):
        w, v = weights_and_vector(field, scale, seed)
        expected = field.l2 * v + written_out.hessian_product(w, v)
        assert_close(field.hessian_product(w, v), expected)


@pytest.mark.parametrize("size", [1.0, 500.0, 1e4])
@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_products_hold_for_potentials_of_any_size(length: int, size: float) -> None:
    random = np.random.default_rng(length)
    # One-hot attributes at three labels: the weights of a position are its potentials.
    field = fields.Chain([np.eye(length)] * 2, [[t % 3 for t in range(length)], [2] * length])
    labels = len(field.classes)
    w = random.uniform(-size, size, size=field.dimension)
    w[-3 * labels :] = 0.0
    v = random.normal(size=field.dimension)
    found = field.hessian_product(w, v)
    assert_close(found, field.l2 * v + WrittenOut(field).hessian_product(w, v))


@every_problem
def test_products_are_the_change_of_the_gradient(name: str) -> None:
    field = problem(name)
    w, v = weights_and_vector(field, 0.5)
    step = 1e-5 / np.linalg.norm(v)
    difference = (field.gradient(w + step * v)[1] - field.gradient(w - step * v)[1]) / (2 * step)
    product = field.hessian_product(w, v)
    np.testing.assert_allclose(product, difference, rtol=0, atol=1e-7 * np.abs(product).max())


@pytest.mark.parametrize("scale", [0.3, 20.0])
def test_products_of_a_long_chain_are_the_change_of_the_gradient(scale: float) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3000, 2)), random.integers(4, size=3000)
    field = fields.Chain([X], [y])
    w, v = weights_and_vector(field, scale)
    step = 1e-6 / np.linalg.norm(v)
    difference = (field.gradient(w + step * v)[1] - field.gradient(w - step * v)[1]) / (2 * step)
    product = field.hessian_product(w, v)
    np.testing.assert_allclose(product, difference, rtol=0, atol=1e-5 * np.abs(product).max())


@every_problem
@pytest.mark.parametrize("scale", [0.0, 1.0, 100.0])
def test_the_hessian_is_symmetric_linear_and_at_least_the_penalty(name: str, scale: float) -> None:
    field = problem(name)
    w, u = weights_and_vector(field, scale, 1)
    v = weights_and_vector(field, scale, 2)[1]
    Hu, Hv = field.hessian_product(w, u), field.hessian_product(w, v)
    assert v @ Hu == pytest.approx(u @ Hv, rel=1e-9, abs=1e-9 * np.linalg.norm(Hu) * np.linalg.norm(v))
    np.testing.assert_allclose(
        field.hessian_product(w, 2.5 * u - 0.75 * v), 2.5 * Hu - 0.75 * Hv, rtol=1e-9, atol=1e-9 * np.abs(Hu).max()
    )
    assert u @ Hu >= field.l2 * (u @ u) * (1 - 1e-12)
    np.testing.assert_array_equal(field.hessian_product(w, np.zeros_like(u)), 0.0)


def test_a_constant_added_to_all_labels_changes_nothing_but_the_penalty() -> None:
    field = fields.Multiclass(np.eye(6), np.arange(6) % 3)
    w, _ = weights_and_vector(field, 1.0)
    shift = np.repeat(np.random.default_rng(1).normal(size=7), 3)  # each attribute's row the same for every label
    np.testing.assert_allclose(field.hessian_product(w, shift), field.l2 * shift, atol=1e-13)


def test_vectors_of_the_wrong_length_are_refused() -> None:
    field = problem("chain-dense")
    with pytest.raises(ValueError, match=f"Chain has {field.dimension} weights"):
        field.hessian_product(np.zeros(field.dimension), np.zeros(3))
    with pytest.raises(ValueError, match=f"Chain has {field.dimension} weights"):
        field.hessian_product(np.zeros(3), np.zeros(field.dimension))
