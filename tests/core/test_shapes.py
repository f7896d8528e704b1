"""Chains of every shape: very long ones, many of one or two positions, many labels.

What is compared is written down again with dense arrays and logarithms, sharing nothing with the core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import OEG, SDCA, fields, oracles, solve
from dualfield.features import Encoded, NumberedColumns
from dualfield.solvers import SAG

MANY = [31, 32, 33, 49, 64, 65, 97, 130]  # labels, about where words of bits and groups of vectors end


def log_sum(x: Any, axis: int) -> Any:
    top = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis=axis)


def in_logarithms(node: Any, edge: Any) -> tuple[float, Any, Any]:
    """log Z, node marginals and the sum of the edge marginals; messages are logarithms."""
    T = len(node)
    forward, backward, scale = np.empty_like(node), np.zeros_like(node), np.empty(T)
    for t in range(T):
        message = node[t] + (log_sum(forward[t - 1][:, np.newaxis] + edge, axis=0) if t > 0 else 0.0)
        scale[t] = log_sum(message, axis=0)
        forward[t] = message - scale[t]
    for t in range(T - 1, 0, -1):
        backward[t - 1] = log_sum(edge + node[t] + backward[t], axis=1) - scale[t]
    pairs = np.zeros_like(edge)
    for t in range(1, T):
        pairs += np.exp(forward[t - 1][:, np.newaxis] + edge + node[t] + backward[t] - scale[t])
    return float(scale.sum()), np.exp(forward + backward), pairs


def potentials(length: int, n_labels: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(length + n_labels)
    return rng.normal(size=(length, n_labels)) * 3, rng.normal(size=(n_labels, n_labels))


@pytest.mark.parametrize("length", [1, 2, 3, 1_000, 100_000])
def test_length_does_not_matter(length: int) -> None:
    node, edge = potentials(length, 3)
    log_z, nodes, pairs = in_logarithms(node, edge)
    found = oracles.marginals(node, edge)
    assert found.log_partition == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(found.nodes, nodes, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.edges.sum(axis=0), pairs, rtol=1e-9)


@pytest.mark.parametrize("n_labels", MANY)
def test_nor_does_the_number_of_labels(n_labels: int) -> None:
    node, edge = potentials(7, n_labels)
    log_z, nodes, pairs = in_logarithms(node, edge)
    found = oracles.marginals(node, edge)
    assert found.log_partition == pytest.approx(log_z, rel=1e-13)
    np.testing.assert_allclose(found.nodes, nodes, rtol=1e-10)
    np.testing.assert_allclose(found.edges.sum(axis=0), pairs, rtol=1e-10)


def sequences(n: int, length: int, n_labels: int, n_attributes: int, l2: float = 1.0, **options: Any) -> fields.Chain:
    """Positions with two attributes of a few, so that some come twice in a sequence."""
    rng = np.random.default_rng(n_labels)
    positions = n * length
    first = rng.integers(0, n_attributes // 2, positions)
    indices = np.stack([first, first + n_attributes // 2], axis=1).ravel()
    encoded = Encoded(
        np.arange(n + 1) * length, np.arange(positions + 1) * 2, indices, None, NumberedColumns(n_attributes)
    )
    y = (rng.integers(0, n_labels, positions) * 7 + first) % n_labels
    y[:n_labels] = np.arange(n_labels)[:positions]
    return fields.Chain(encoded, np.split(y, np.arange(1, n) * length), l2, **options)


def dense_objective(field: fields.Chain, weights: Any) -> tuple[float, Any]:
    """P and its gradient, with a dense matrix of all (attribute, label) weights in which unobserved ones are zero."""
    K, encoded = len(field.classes), field.encoded
    starts, labels = field.layout.rows or (
        np.arange(len(encoded.vocabulary) + 1) * K,
        np.tile(np.arange(K), len(encoded.vocabulary)),
    )
    rows = np.repeat(np.arange(len(encoded.vocabulary)), np.diff(starts))
    state = np.zeros((len(encoded.vocabulary), K))
    state[rows, labels] = weights[: len(rows)]
    edge = np.zeros(K * K)
    edge[field.layout.transitions] = weights[len(rows) : len(rows) + len(field.layout.transitions)]
    X = np.zeros((encoded.n_positions, len(encoded.vocabulary)))
    X[np.repeat(np.arange(encoded.n_positions), np.diff(encoded.indptr)), encoded.indices] = 1.0
    node = X @ state
    value, error, pairs = 0.5 * field.l2 * float(weights @ weights), np.zeros_like(node), np.zeros((K, K))
    for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True):
        y = field.codes[a:b]
        log_z, nodes, edges = in_logarithms(node[a:b], edge.reshape(K, K))
        value += log_z - node[np.arange(a, b), y].sum() - edge.reshape(K, K)[y[:-1], y[1:]].sum()
        error[a:b] = nodes
        error[np.arange(a, b), y] -= 1.0
        pairs += edges
        np.add.at(pairs, (y[:-1], y[1:]), -1.0)
    gradient = np.concatenate([(X.T @ error)[rows, labels], pairs.ravel()[field.layout.transitions]])
    return value, gradient + field.l2 * weights


@pytest.mark.parametrize("pairs", ["all", "observed"])
@pytest.mark.parametrize("n_labels", MANY)
def test_the_objective_of_many_labels(n_labels: int, pairs: str) -> None:
    options: dict[str, Any] = {"state_features": pairs, "transitions": pairs}
    field = sequences(12, 12, n_labels, 10, **options, bias=False, begin=False, end=False)
    weights = np.random.default_rng(0).normal(size=field.dimension)
    value, gradient = dense_objective(field, weights)
    found, slope = field.gradient(weights)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("solver", [OEG(), SDCA(), SAG()], ids=lambda solver: solver.name)
@pytest.mark.parametrize("n_labels", [49, 97])
def test_many_labels_are_certified(n_labels: int, solver: Any) -> None:
    options: dict[str, Any] = {"state_features": "observed", "transitions": "observed"}
    field = sequences(20, 8, n_labels, 10, 3.0, **options, bias=False, begin=False, end=False)
    solution = solve(field, solver, tol=1e-3, max_passes=500, random_state=0)
    assert solution.status == "converged"
    value, _ = dense_objective(field, solution.weights)
    assert solution.primal == pytest.approx(value, rel=1e-10)
    assert value - solution.duality_gap <= solve(field, "lbfgs", tol=1e-8, max_passes=3000).primal
    assert solution.dual <= value


def common_attribute(order: Any) -> fields.Chain:
    """An attribute at all but one position of each sequence, with one of three labels; the others have many labels."""
    rng = np.random.default_rng(0)
    indices = np.tile(np.repeat([0, 1], [29, 1]), 140)
    y = np.where(indices == 0, rng.integers(0, 3, 4200), np.arange(4200) // 30 % len(order))
    encoded = Encoded(np.arange(141) * 30, np.arange(4201), indices, None, NumberedColumns(2))
    plain: dict[str, Any] = {"bias": False, "begin": False, "end": False, "transitions": "observed"}
    return fields.Chain(encoded, np.split(order[y], np.arange(1, 140) * 30), state_features="observed", **plain)


@pytest.mark.parametrize("n_labels", [40, 70])
def test_the_order_of_labels_does_not_matter(n_labels: int) -> None:
    # SAG searches for the smoothness along a gradient, which has no entry where a pair has no weight: not either where
    # none of 32 labels in a row has one.
    some, other = (
        solve(common_attribute(order), SAG(), tol=0.0, max_passes=4, random_state=0)
        for order in (np.arange(n_labels), np.arange(n_labels)[::-1].copy())
    )
    assert some.oracle_calls == other.oracle_calls
    assert float(some.weights @ some.weights) == pytest.approx(float(other.weights @ other.weights), rel=1e-6)


@pytest.mark.parametrize("length", [1, 2])
def test_many_short_sequences_are_certified(length: int) -> None:
    field = sequences(20_000, length, 3, 10)
    solution = solve(field, tol=1e-4, random_state=0)
    assert solution.status == "converged"
    assert solution.primal - solution.duality_gap <= solve(field, "lbfgs", tol=1e-7, max_passes=1000).primal


@pytest.mark.parametrize(("solver", "length"), [("oeg", 100_000), ("sdca", 10_000)])
def test_one_long_sequence_is_certified(solver: str, length: int) -> None:
    field = sequences(1, length, 3, 10, bias=False, begin=False, end=False)
    solution = solve(field, solver, tol=1e-3, max_passes=10, random_state=0)
    value, _ = dense_objective(field, solution.weights)
    assert solution.primal == pytest.approx(value, rel=1e-9)
    assert solution.dual <= value <= solution.dual + solution.duality_gap * (1 + 1e-9)
