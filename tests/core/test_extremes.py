"""Large attribute values and long chains: the numbers stay right, and a certificate is never too good."""

import numpy as np
import pytest

from dualfield import SDCA, fields, oracles, solve


def chains_with_huge_values(size: float) -> fields.Chain:
    """Fifty sequences of one column, in which three values out of ten are of the given size."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for _ in range(50):
        labels = rng.integers(2, size=10)
        signs = 2 * labels - 1
        X.append(np.where(rng.random(10) < 0.3, signs * size, signs + rng.normal(size=10))[:, np.newaxis])
        y.append(labels)
    return fields.Chain(X, y)


@pytest.mark.parametrize("size", [1e3, 1e5, 1e7, 1e8])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("solver", ["sdca", "oeg"])
def test_the_gap_bounds_the_suboptimality_for_huge_values(solver, size, tol):
    field = chains_with_huge_values(size)
    solution = solve(field, solver, tol=tol, max_passes=300, random_state=0)
    reference = solve(field, "lbfgs", tol=1e-9, max_passes=3000)
    assert solution.primal - reference.primal <= solution.duality_gap
    assert solution.dual <= reference.primal


@pytest.mark.parametrize(("length", "size"), [(1_000, 1e4), (20_000, 1e4), (20_000, 174.0)])
def test_marginals_of_long_chains_are_consistent(length, size):
    rng = np.random.default_rng(0)
    node = rng.normal(size=(length, 3)) * size
    found = oracles.marginals(node, rng.normal(size=(3, 3)) * size)
    np.testing.assert_allclose(found.nodes.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(found.edges.sum(axis=(1, 2)), 1.0, atol=1e-12)
    np.testing.assert_allclose(found.edges.sum(axis=2), found.nodes[:-1], atol=1e-10)
    np.testing.assert_allclose(found.edges.sum(axis=1), found.nodes[1:], atol=1e-10)


def test_both_paths_agree_on_a_long_chain():
    """A range just below and just above the switch, on potentials that differ by a constant per position."""
    rng = np.random.default_rng(0)
    node, edge = rng.uniform(-140, 140, size=(5_000, 4)), rng.uniform(-150, 150, size=(4, 4))
    fast = oracles.marginals(node, edge)
    slow = oracles.log_marginals(node, edge)
    np.testing.assert_allclose(fast.nodes, np.exp(slow.nodes), atol=1e-11)
    np.testing.assert_allclose(fast.edges, np.exp(slow.edges), atol=1e-11)
    assert abs(fast.log_partition - slow.log_partition) <= 1e-11 * abs(fast.log_partition)


def test_one_long_sequence_with_huge_values_still_moves():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=1000)
    signs = 2 * y - 1
    X = np.where(rng.random(1000) < 0.3, signs * 1e5, signs + rng.normal(size=1000))[:, np.newaxis]
    solution = solve(fields.Chain([X], [y]), SDCA(accelerate=False), tol=0, max_passes=60, random_state=0)
    assert (np.diff(solution.history["dual"]) > 0).all()


def test_an_overflowing_objective_ends_the_run_at_once():
    field = fields.Chain([np.array([[1e200], [-1e200]])] * 3, [[0, 1]] * 3)
    solution = solve(field, "sdca", random_state=0)
    assert solution.status == "diverged"
    assert solution.passes <= 2
    assert solution.certificate == "none"
    assert "scale the attributes" in solution.message


@pytest.mark.parametrize("size", [1e12, 1e149, 1e299])
@pytest.mark.parametrize("seed", range(5))
def test_marginals_add_up_to_one_where_scores_dwarf_the_logarithm_of_their_number(size, seed):
    rng = np.random.default_rng(seed)
    node, edge = rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], size=(3, 3)) * size
    found = oracles.marginals(node, edge)
    np.testing.assert_allclose(found.nodes.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(found.edges.sum(axis=(1, 2)), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.exp(oracles.log_marginals(node, edge).nodes).sum(axis=1), 1.0, atol=1e-12)
