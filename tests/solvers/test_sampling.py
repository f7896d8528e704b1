"""Blocks are drawn as the rules say: the stated probabilities, the largest gap, never a block of weight zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dualfield import OEG, SDCA, _core, fields, solve
from dualfield.solvers import Solver
from tests.zoo import PROBLEMS, finish, points, problem, reference

RULES = ("uniform", "importance", "gap", "gap*importance", "max", "safemax", "residual")
every_rule = pytest.mark.parametrize("rule", RULES)
every_multiclass = pytest.mark.parametrize("name", [name for name in PROBLEMS if name.startswith("multiclass")])

# Six blocks, one of sample weight zero, one without a gap.
C = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0])
SMOOTHNESS = np.array([2.0, 9.0, 4.0, 1.0, 3.0, 1.5])
GAPS = np.array([0.3, 8.0, 1.2, 0.1, 0.0, 0.7])
LENGTHS = np.array([0.5, 2.0, 0.2, 1.5, 0.0, 1.0])
ACTIVE = C > 0


def drawn(rule: str, draws: int, non_uniformity: float = 0.75, permutation_every: int = 0, gaps: Any = GAPS) -> Any:
    return _core.sample_blocks(rule, non_uniformity, permutation_every, 5, C, SMOOTHNESS, gaps, LENGTHS, draws)


def probabilities(rule: str, share: float) -> npt.NDArray[np.float64]:
    """What the documentation of SDCA states."""
    preference = {
        "uniform": np.ones(6),
        "importance": SMOOTHNESS,
        "gap": GAPS,
        "gap*importance": GAPS * SMOOTHNESS,
        "max": GAPS == GAPS[ACTIVE].max(),
        "safemax": GAPS == GAPS[ACTIVE].max(),
        "residual": LENGTHS * np.sqrt(C * SMOOTHNESS),
    }[rule]
    preference = np.where(ACTIVE, preference, 0.0) / preference[ACTIVE].sum()
    share = {"uniform": 0.0, "max": 1.0}.get(rule, share)
    return share * preference + (1 - share) * ACTIVE / ACTIVE.sum()


@every_rule
@pytest.mark.parametrize("share", [0.0, 0.75, 1.0])
def test_blocks_are_drawn_with_the_stated_probabilities(rule: str, share: float) -> None:
    draws = 40_000
    counts = np.bincount(drawn(rule, draws, share), minlength=6)
    expected = draws * probabilities(rule, share)
    assert np.all(counts[expected == 0] == 0)
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected))


@every_rule
def test_passes_in_random_order_come_as_often_as_asked(rule: str) -> None:
    passes = drawn(rule, 5 * 11, permutation_every=3).reshape(11, 5)  # passes 1, 2, ...
    for number, blocks in enumerate(passes, start=1):
        if number % 3 == 0:
            assert sorted(blocks) == np.flatnonzero(ACTIVE).tolist()
    assert any(len(set(blocks)) < 5 for blocks in passes)


@pytest.mark.parametrize("rule", ["uniform", "gap", "gap*importance", "max", "safemax"])
def test_where_no_gap_is_recorded_draws_are_uniform(rule: str) -> None:
    counts = np.bincount(drawn(rule, 10_000, 1.0, gaps=np.zeros(6)), minlength=6)
    assert counts[1] == 0
    assert np.all(np.abs(counts[ACTIVE] - 2000) <= 5 * np.sqrt(2000))


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 63, 64, 65, 512, 513, 1000])
def test_blocks_are_drawn_by_their_gaps_among_any_number_of_them(n: int) -> None:
    gaps = np.random.default_rng(n).exponential(size=n)
    gaps[1::3] = 0.0
    gaps[-1] = 1.0
    ones, draws = np.ones(n), 200 * n
    counts = np.bincount(_core.sample_blocks("gap", 1.0, 0, 3, ones, ones, gaps, ones, draws), minlength=n)
    expected = draws * gaps / gaps.sum()
    assert np.all(counts[gaps == 0] == 0)
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected) + 5)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 100])
def test_the_maximum_is_found_among_any_number_of_blocks(n: int) -> None:
    ones, gaps = np.ones(n), np.random.default_rng(n).permutation(n) + 1.0
    assert set(_core.sample_blocks("max", 1.0, 0, 0, ones, ones, gaps, ones, 20)) == {gaps.argmax()}


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule of the name best"):
        drawn("best", 1)
    with pytest.raises(ValueError, match="one number a block"):
        drawn("gap", 1, gaps=np.ones(5))
    with pytest.raises(ValueError, match="positive weight"):
        _core.sample_blocks("gap", 1.0, 0, 0, *np.zeros((4, 3)), 1)


# --- in a run ---


@pytest.mark.parametrize("solver", [SDCA(sampling="max", accelerate=False), OEG(sampling="max")], ids=repr)
def test_max_updates_the_block_of_the_largest_recorded_gap(solver: SDCA | OEG) -> None:
    field = problem("multiclass-dense")
    run = solver.start(field, 0)
    finish(run.advance)
    for _ in range(20):
        before = run.arrays()
        run._core.run(1, 3600.0)
        after = run.arrays()
        moved = np.flatnonzero(after["entropies"] != before["entropies"])
        assert moved.tolist() == [before["recorded"].argmax()]


@pytest.mark.parametrize("rule", ["importance", "gap*importance"])
@pytest.mark.parametrize("name", ["chain-weighted", "multiclass-weighted"])
def test_a_run_weighs_its_blocks_by_l2_plus_radius(name: str, rule: str) -> None:
    field = problem(name)
    run = SDCA(sampling=rule, accelerate=False).start(field, 0)
    finish(run.advance)
    c = field.sample_weight
    smoothness = np.array([field.l2 + c[i] * field.core.radius(i)[0] for i in range(field.n_blocks)])
    saved = run.arrays()
    weights = saved["recorded"] * smoothness if rule == "gap*importance" else np.where(c > 0, smoothness, 0.0)
    np.testing.assert_allclose(saved["drawing"], weights, rtol=1e-12)


def test_residual_sampling_records_the_length_of_the_last_direction() -> None:
    field = fields.Multiclass(*points(6, seed=3), l2=2.0)
    core = SDCA(
        sampling="residual", non_uniformity=1.0, permutation_every=0, subprecision=1e-3, epsilon=0.1, accelerate=False
    ).bind(field, 0, single=False)
    assert core.start(3600.0)
    alpha, w = core.save()["duals"].reshape(6, 3), core.weights()
    core.run(1, 3600.0)  # the first block of the first pass
    drawing = core.save()["drawing"]
    visited = np.flatnonzero(drawing)
    assert len(visited) == 1
    theta = field.core.potentials(w, visited[0])
    beta = np.exp(theta - np.logaddexp.reduce(theta))
    smoothness = field.l2 + field.core.radius(visited[0])[0]
    expected = np.abs(beta - alpha[visited[0]]).sum() * np.sqrt(smoothness)
    assert drawing[visited[0]] == pytest.approx(expected, rel=1e-12)


@every_multiclass
def test_residual_sampling_finds_the_optimum(name: str) -> None:
    solution = solve(
        problem(name), SDCA(sampling="residual", accelerate=False), tol=1e-7, max_passes=20_000, random_state=0
    )
    assert solution.status == "converged"
    assert solution.primal - reference(name).primal <= solution.duality_gap


@pytest.mark.parametrize(
    "solver", [SDCA(sampling="max", permutation_every=0, accelerate=False), OEG(sampling="max", permutation_every=0)]
)
def test_max_comes_to_the_optimum_by_confirming_passes_alone(solver: Solver) -> None:
    # Its recorded gaps go to zero long before the true ones do; a confirming pass then makes them true again.
    solution = solve(problem("multiclass-two-labels"), solver, tol=1e-6, max_passes=2000, random_state=0)
    assert solution.status == "converged"


def test_chi_is_the_non_uniformity_of_the_recorded_gaps() -> None:
    field = problem("multiclass-weighted")
    solution = solve(field, SDCA(accelerate=False), tol=0.0, max_passes=4, random_state=0)
    recorded = solution.state.arrays()["recorded"][field.sample_weight > 0]
    chi = solution.history["chi"]
    assert chi[-1] == pytest.approx(np.sqrt(np.mean(recorded**2)) / np.mean(recorded))
    assert np.all((chi >= 1) & (chi <= np.sqrt(len(recorded))))
