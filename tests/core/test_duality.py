"""Entropy, divergence and the exact step on tables of marginals equal their definitions over all labellings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualfield import _core, oracles
from tests.core.strategies import assert_close, few_examples, sizes
from tests.enumeration import divergence, entropy, joint_of_marginals


class Table(NamedTuple):
    """Consistent marginals of a chain."""

    nodes: Any
    edges: Any

    @property
    def flat(self) -> Any:
        return np.concatenate([self.edges.ravel(), self.nodes.ravel()])

    @property
    def joint(self) -> Any:
        """Log-probabilities of all labellings."""
        return joint_of_marginals(self.nodes, self.edges)

    @property
    def segments(self) -> list[tuple[int, int, float]]:
        length, labels = self.nodes.shape
        if length == 1:
            return [(0, labels, 1.0)]
        edges = (length - 1) * labels * labels
        return [(0, edges, 1.0), (edges + labels, (length - 2) * labels, -1.0)]


def towards(mu: Table, nu: Table, step: float) -> Table:
    """``(1 − step) μ + step ν``."""
    return Table(*((1 - step) * a + step * b for a, b in zip(mu, nu, strict=True)))


@st.composite
def potentials(draw: st.DrawFn, size: tuple[int, int], bound: float) -> tuple[Any, Any]:
    values = st.floats(-bound, bound, allow_subnormal=False)
    length, labels = size
    node = draw(hnp.arrays(np.float64, size, elements=values))
    return node, draw(hnp.arrays(np.float64, (length - 1, labels, labels), elements=values))


def table_of(chain: tuple[Any, Any]) -> Table:
    return Table(*oracles.marginals(*chain)[1:])


@st.composite
def tables(draw: st.DrawFn, size: tuple[int, int], bounds: tuple[float, ...] = (1.0, 10.0, 100.0)) -> Table:
    """Marginals of random potentials, or a mixture of two such, or of one with the truth of some labelling."""
    table = table_of(draw(potentials(size, draw(st.sampled_from(bounds)))))
    kind = draw(st.sampled_from(["plain", "mixture", "nearly certain"]))
    if kind == "mixture":
        return towards(table, table_of(draw(potentials(size, 5.0))), draw(st.floats(0.0, 1.0)))
    if kind == "nearly certain":
        length, labels = size
        truth = draw(st.lists(st.integers(0, labels - 1), min_size=length, max_size=length))
        nodes = np.eye(labels)[truth]
        return towards(table, Table(nodes, nodes[:-1, :, None] * nodes[1:, None, :]), 1 - 1e-6)
    return table


pairs = sizes(max_labellings=81).flatmap(lambda size: st.tuples(tables(size), tables(size)))


@few_examples
@given(sizes().flatmap(tables))
def test_entropy_of_a_table_is_the_entropy_of_its_labellings(mu: Table) -> None:
    assert_close(_core.table_entropy(mu.segments, mu.flat), entropy(mu.joint))


@few_examples
@given(pairs)
def test_divergence_of_tables_is_that_of_their_labellings(pair: tuple[Table, Table]) -> None:
    mu, nu = pair
    assume(nu.flat.min() > 1e-290)
    assert_close(_core.table_divergence(mu.segments, mu.flat, nu.flat), divergence(mu.joint, nu.joint))


@few_examples
@given(sizes().flatmap(tables))
def test_divergence_from_itself_is_zero(mu: Table) -> None:
    assert _core.table_divergence(mu.segments, mu.flat, mu.flat) == 0.0


def test_entropy_counts_impossible_labels_as_nothing() -> None:
    assert _core.table_entropy([(0, 3, 1.0)], np.array([1.0, 0.0, 0.0])) == 0.0
    assert_close(_core.table_entropy([(0, 4, 1.0)], np.array([0.5, 0.0, 0.5, 0.0])), np.log(2))


def test_divergence_is_infinite_where_the_possible_is_called_impossible() -> None:
    sure, half = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert _core.table_divergence([(0, 2, 1.0)], half, sure) == np.inf
    assert_close(_core.table_divergence([(0, 2, 1.0)], sure, half), np.log(2))


@pytest.mark.parametrize("segment", [(-1, 2, 1.0), (0, 4, 1.0), (2, 2, 1.0), (0, -1, 1.0)])
def test_segments_outside_the_table_are_refused(segment: tuple[int, int, float]) -> None:
    table = np.full(3, 1 / 3)
    with pytest.raises(ValueError, match="outside the table"):
        _core.table_entropy([segment], table)
    with pytest.raises(ValueError, match="outside the table"):
        _core.table_divergence([segment], table, table)
    with pytest.raises(ValueError, match="outside the table"):
        _core.line_search([segment], table, table, 1.0, 1.0, 1.0, 1.0, "newton", 0.01, 0.0)


def test_tables_of_different_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="same size"):
        _core.table_divergence([], np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="same size"):
        _core.line_search([], np.ones(2), np.ones(3), 1.0, 1.0, 1.0, 1.0, "newton", 0.01, 0.0)


# --- the line search ---


class Search:
    """``f(γ) = H(μ + γ δ) + γ ⟨θ, δ⟩ − γ²/2 · quadratic`` with ν the marginals of θ: by the core, and by hand."""

    def __init__(self, mu: Table, chain: tuple[Any, Any], quadratic: float) -> None:
        self.mu, self.nu, self.quadratic = mu, table_of(chain), quadratic
        theta = np.concatenate([np.asarray(chain[1]).ravel(), chain[0].ravel()]).astype(np.longdouble)
        self.delta = self.nu.flat - mu.flat
        self.residual = theta @ (self.nu.flat.astype(np.longdouble) - mu.flat)
        self.entropy = entropy(mu.joint)
        # KL(μ‖ν) = log Z − ⟨θ, μ⟩ − H(μ)
        self.gap = max(0.0, float(oracles.log_partition(*chain) - theta @ mu.flat - self.entropy))

    def run(
        self, subprecision: float = 0.01, rule: str = "newton", size: float = 0.0
    ) -> tuple[float, float, float, int]:
        return _core.line_search(
            self.mu.segments,
            self.mu.flat,
            self.delta,
            self.gap,
            float(self.residual),
            self.quadratic,
            float(self.entropy),
            rule,
            subprecision,
            size,
        )

    def ascent(self, step: float) -> float:
        """``f(step) − f(0)``."""
        there = entropy(towards(self.mu, self.nu, step).joint)
        return float(there - self.entropy + step * self.residual - step**2 / 2 * self.quadratic)

    def best_step(self) -> float:
        """The maximum of the concave f on [0, 1], by golden sections."""
        golden = (np.sqrt(5) - 1) / 2
        left, right = 0.0, 1.0
        for _ in range(80):
            a, b = right - golden * (right - left), left + golden * (right - left)
            if self.ascent(a) < self.ascent(b):
                left = a
            else:
                right = b
        return (left + right) / 2


@st.composite
def searches(draw: st.DrawFn, bounds: tuple[float, ...] = (1.0, 10.0, 30.0)) -> Search:
    size = draw(sizes(max_labellings=27))
    chain = draw(potentials(size, draw(st.sampled_from(bounds))))
    quadratic = draw(st.sampled_from([0.0, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6])) * draw(st.floats(0.5, 2.0))
    return Search(draw(tables(size)), chain, quadratic)


exact_rules = pytest.mark.parametrize("rule", ["newton", "golden"])
every_rule = pytest.mark.parametrize("rule", ["newton", "golden", "newton-1", "fixed"])


@exact_rules
@few_examples
@given(search=searches())
def test_line_search_finds_the_maximum(search: Search, rule: str) -> None:
    step = search.run(1e-3, rule)[0]
    assert 0.0 <= step <= 1.0
    best = search.ascent(search.best_step())
    assert search.ascent(step) >= (1 - 1e-3) * best - 1e-9


@exact_rules
@few_examples
@given(search=searches())
def test_no_point_of_a_grid_is_higher_than_the_line_search(search: Search, rule: str) -> None:
    _, _, ascent, _ = search.run(1e-3, rule)
    grid = max(search.ascent(step) for step in np.concatenate([np.logspace(-4, -1, 12), np.linspace(0.1, 1.0, 19)]))
    assert ascent >= (1 - 1e-3) * grid - 1e-9


@few_examples
@given(searches(), st.floats(0.01, 1.0))
def test_a_fixed_step_is_taken_as_it_is(search: Search, size: float) -> None:
    assume(search.gap > 0)
    assert search.run(rule="fixed", size=size)[::3] == (size, 1)
    assert search.run(rule="guaranteed", size=size) == search.run(rule="fixed", size=size)


@few_examples
@given(searches())
def test_one_newton_step_goes_from_the_middle_along_the_slope(search: Search) -> None:
    assume(search.gap > 0)
    middle, count = 0.5 * (search.mu.flat + search.nu.flat), np.zeros(len(search.delta))
    for offset, length, sign in search.mu.segments:
        count[offset : offset + length] = sign
    moved = (count != 0) & (search.delta != 0)
    assume(middle[moved].min(initial=1.0) > 1e-290)
    delta, log_middle = search.delta[moved], np.log(middle[moved])
    phi = search.residual - count[moved] @ (delta * log_middle) - 0.5 * search.quadratic
    slope = -count[moved] @ (delta**2 / middle[moved]) - search.quadratic
    assume(slope < -1e-6)
    step, _, _, evaluations = search.run(rule="newton-1")
    assert step == pytest.approx(float(np.clip(0.5 - phi / slope, 0.0, 1.0)), rel=1e-6, abs=1e-6)
    assert evaluations == 2


@few_examples
@given(searches(bounds=(0.3, 3.0)))
def test_line_search_comes_as_close_to_the_best_step_as_asked(search: Search) -> None:
    assume(search.gap > 1e-3)  # else the maximum is too flat to have a place
    step = search.run(subprecision=1e-6)[0]
    assert abs(step - search.best_step()) <= 1e-4 * step + 1e-9


@every_rule
@few_examples
@given(search=searches(bounds=(1.0, 30.0, 1e3)))
def test_line_search_reports_its_ascent(search: Search, rule: str) -> None:
    step, entropy_there, ascent, evaluations = search.run(rule=rule, size=0.3)
    scale = max(1.0, float(abs(search.residual)), search.quadratic)
    assert abs(ascent - search.ascent(step)) <= 1e-9 * scale
    assert_close(entropy_there, entropy(towards(search.mu, search.nu, step).joint))
    assert 0 <= evaluations <= 60


@exact_rules
@few_examples
@given(search=searches(bounds=(1.0, 30.0, 1e3)))
def test_an_exact_line_search_never_descends(search: Search, rule: str) -> None:
    assert search.run(rule=rule)[2] >= -1e-12 * max(1.0, float(abs(search.residual)))


@few_examples
@given(searches(bounds=(1e3,)))
def test_line_search_uses_most_of_the_ascent_at_extreme_potentials(search: Search) -> None:
    step, _, ascent, _ = search.run()
    best = search.ascent(search.best_step())
    assert np.isfinite(step)
    assert ascent >= 0.9 * best - 1e-9 * max(1.0, best)


@few_examples
@given(searches(bounds=(1.0, 10.0)))
def test_without_a_quadratic_the_full_step_is_best(search: Search) -> None:
    search.quadratic = 0.0
    assume(search.gap > 1e-9)
    assert search.run(subprecision=1e-3)[0] >= 1 - 2e-3


@every_rule
@few_examples
@given(search=searches())
def test_a_block_without_gap_does_not_move(search: Search, rule: str) -> None:
    search.gap = 0.0
    step, entropy_there, ascent, evaluations = search.run(rule=rule, size=0.3)
    assert (step, ascent, evaluations) == (0.0, 0.0, 0)
    assert entropy_there == float(search.entropy)


def test_the_step_solves_the_quadratic_of_a_tiny_displacement() -> None:
    # Near the optimum KL(μ‖ν) ≈ ½ Σ δ²/ν, and the best step is 2 gap / (2 gap + quadratic).
    nu = np.array([0.5, 0.3, 0.2])
    mu = nu + 1e-4 * np.array([1.0, -2.0, 1.0])
    theta = np.log(nu)
    gap = float(mu @ np.log(mu / nu))
    for quadratic in (0.1 * gap, gap, 10 * gap):
        step, _, _, evaluations = _core.line_search(
            [(0, 3, 1.0)],
            mu,
            nu - mu,
            gap,
            float(theta @ (nu - mu)),
            quadratic,
            -float(mu @ np.log(mu)),
            "newton",
            1e-3,
            0.0,
        )
        assert step == pytest.approx(2 * gap / (2 * gap + quadratic), rel=1e-3)
        assert evaluations == 1


@pytest.mark.parametrize("quadratic", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("gap", [4.0, 8.0, 16.0])
def test_the_first_step_reckons_with_a_start_at_a_single_label(gap: float, quadratic: float) -> None:
    # mu is one label, nu has e^-gap there: the linear guess 2 gap / (2 gap + quadratic) is wrong by up to a half.
    quadratic *= gap
    nu = np.append(np.exp(-gap), np.full(9, -np.expm1(-gap) / 9))
    mu = np.append(1.0, np.zeros(9))
    residual = float(np.log(nu) @ (nu - mu))
    step, _, ascent, evaluations = _core.line_search(
        [(0, 10, 1.0)], mu, nu - mu, gap, residual, quadratic, 0.0, "newton", 0.1, 0.0
    )

    def ascent_at(steps: Any) -> Any:
        there = mu + np.asarray(steps)[..., None] * (nu - mu)
        logs = np.log(there, where=there > 0, out=np.zeros_like(there))
        return -(there * logs).sum(-1) + steps * residual - steps**2 / 2 * quadratic

    grid = np.linspace(0.0, 1.0, 10001)
    assert ascent == pytest.approx(float(ascent_at(np.float64(step))), rel=1e-12)
    assert ascent >= 0.98 * ascent_at(grid).max()
    assert evaluations == 1


@exact_rules
@few_examples
@given(search=searches())
def test_a_coarse_line_search_leaves_little_ascent(search: Search, rule: str) -> None:
    best = search.ascent(search.best_step())
    assert search.run(0.1, rule)[2] >= 0.9 * best - 1e-9
