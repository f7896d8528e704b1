"""SDCA does what the paper proves: every update ascends by at least the lemma's bound."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from dualfield import SDCA, fields, solve
from dualfield.fields import Field
from tests.zoo import PROBLEMS, SOLVERS, points, problem

some_examples = settings(max_examples=30, deadline=None)
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def started(
    field: Field, epsilon: float = 0.0, seed: int = 0, non_uniformity: float = 0.8, subprecision: float = 1e-6
) -> Any:
    """The compiled solver after its start; ``epsilon`` zero is "auto"."""
    solver = SDCA(
        "gap",
        non_uniformity=non_uniformity,
        permutation_every=0,
        accelerate=False,
        subprecision=subprecision,
        epsilon=epsilon or "auto",
    )
    core = solver.bind(field, seed, single=False)
    assert core.start(3600.0)
    return core


# --- ascent (section 5 of the paper, in sum units) ---


class Ascents:
    """A multiclass problem after some passes: what one update of each block gains, and what it is promised."""

    def __init__(self, X: Any, y: Any, l2: float, weights: Any, epsilon: float, passes: int) -> None:
        self.field = fields.Multiclass(X, y, l2, sample_weight=weights)
        field = self.field
        n, self.n_labels = field.n_blocks, len(field.classes)
        core = started(field, epsilon, non_uniformity=1.0)
        core.run(passes * n, 3600.0)
        state = core.save()
        w = core.weights()
        alpha = state["duals"].reshape(n, self.n_labels)
        theta = np.array([field.core.potentials(w, i) for i in range(n)])
        log_beta = theta - np.array([np.logaddexp.reduce(row) for row in theta])[:, None]
        self.c = np.ones(n) if field.sample_weight is None else field.sample_weight
        self.l2 = l2
        self.gaps = np.maximum(0.0, (xlogy(alpha, alpha) - alpha * log_beta).sum(axis=1))
        self.residuals = np.abs(np.exp(log_beta) - alpha).sum(axis=1) ** 2
        # ψ_i(y) = F(x_i, y_i) − F(x_i, y) has x_i and the bias in one row and their negative in another.
        self.radii = 2 * (1 + np.asarray(field.rows.multiply(field.rows).sum(axis=1)).ravel())
        self.ascents = np.array([self._ascent(core, state, i) for i in range(n)])

    @staticmethod
    def _ascent(core: Any, state: dict[str, Any], i: int) -> float:
        # With all recorded weight on block i, and the pass in random order behind, block i is drawn.
        n = len(state["recorded"])
        core.restore({**state, "recorded": np.eye(n)[i], "draws": np.array([n])})
        before = core.dual
        core.run(1, 3600.0)
        moved = core.save()["duals"].reshape(n, -1) != state["duals"].reshape(n, -1)
        assert set(np.flatnonzero(moved.any(axis=1))) <= {i}
        return core.dual - before


@st.composite
def ascents(draw: st.DrawFn) -> Ascents:
    n, labels = draw(st.integers(3, 8)), draw(st.integers(2, 3))
    X, y = points(n, labels, columns=3, seed=draw(st.integers(0, 99)))
    weights = draw(st.sampled_from([None, np.linspace(0.5, 2.0, n)]))
    l2 = draw(st.sampled_from([0.05, 1.0, 20.0]))
    epsilon = draw(st.sampled_from([0.0, 0.01, 1.0]))
    return Ascents(draw(st.sampled_from([0.1, 1.0, 3.0])) * X, y, l2, weights, epsilon, draw(st.integers(0, 3)))


@some_examples
@given(ascents())
def test_every_update_ascends_by_the_lemma_22(at: Ascents) -> None:
    # D⁺ − D >= c [γ g + γ ((1 − γ)/2 − γ c R / (2 l2)) ‖β − α‖₁²] for every γ, so for the best one.
    gamma = np.linspace(0.0, 1.0, 201)[:, None]
    bounds = at.c * (gamma * at.gaps + gamma * ((1 - gamma) / 2 - gamma * at.c * at.radii / (2 * at.l2)) * at.residuals)
    assert np.all(at.ascents >= bounds.max(axis=0) * (1 - 1e-4) - 1e-10)


@some_examples
@given(ascents(), st.integers(0, 99))
def test_expected_ascent_is_at_least_the_expected_gap_times_the_safe_step_24(at: Ascents, seed: int) -> None:
    step = 1 / (1 + (at.c * at.radii).max() / at.l2)
    gaps = at.c * at.gaps
    uniform = np.full(len(gaps), 1 / len(gaps))
    anything = np.random.default_rng(seed).dirichlet(np.ones(len(gaps)))
    for probabilities in (uniform, anything):
        assert probabilities @ at.ascents >= step * (probabilities @ gaps) * (1 - 1e-4) - 1e-10


@some_examples
@given(ascents())
def test_gap_sampling_gains_the_square_of_the_non_uniformity_25(at: Ascents) -> None:
    gaps = at.c * at.gaps
    if gaps.sum() < 1e-9:
        return
    step = 1 / (1 + (at.c * at.radii).max() / at.l2)
    non_uniformity = np.sqrt(np.mean(gaps**2)) / np.mean(gaps)
    expected = (gaps / gaps.sum()) @ at.ascents
    assert expected >= non_uniformity**2 * step * np.mean(gaps) * (1 - 1e-4) - 1e-10


# --- the running state ---


@every_problem
def test_the_bookkeeping_agrees_with_the_confirming_pass(name: str) -> None:
    field = problem(name)
    core = started(field, seed=1, subprecision=0.05)
    for _ in range(4):
        core.run(3 * core.updates_per_pass, 3600.0)
        assert core.confirm(3600.0)
        primal, dual, gap = core.certificate
        assert core.dual == pytest.approx(dual, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(core.confirmed_weights(), core.weights(), rtol=0, atol=1e-9)
        assert field.primal(core.confirmed_weights()) == pytest.approx(primal, rel=1e-12)
        assert -1e-14 * abs(primal) <= primal - dual <= gap


@every_problem
def test_confirming_changes_nothing_in_the_run(name: str) -> None:
    field = problem(name)
    watched, alone = started(field), started(field)
    for core in (watched, alone):
        core.run(2 * core.updates_per_pass, 3600.0)
    assert watched.confirm(3600.0)
    for core in (watched, alone):
        core.run(2 * core.updates_per_pass, 3600.0)
    assert np.array_equal(watched.weights(), alone.weights())
    assert watched.dual == alone.dual


@every_problem
def test_adopting_the_confirmed_values_makes_the_gap_estimate_exact(name: str) -> None:
    core = started(problem(name), seed=2)
    core.run(5 * core.updates_per_pass, 3600.0)
    assert core.confirm(3600.0)
    primal, dual, _ = core.certificate
    core.adopt_confirmed()
    assert core.gap_estimate == pytest.approx(primal - dual, rel=1e-6, abs=1e-11 * primal)
    assert core.dual == dual


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if isinstance(solver, SDCA)], ids=repr)
@pytest.mark.parametrize("name", ["chain-observed", "chain-weighted", "multiclass-weighted"])
def test_a_saved_state_goes_on_in_a_new_run(name: str, solver: SDCA) -> None:
    field = problem(name)
    whole = solve(field, solver, tol=0.0, max_passes=9, random_state=4)
    first = solve(field, solver, tol=0.0, max_passes=4, random_state=4)
    arrays = {key: array.copy() for key, array in first.state.arrays().items()}
    solve(field, solver, tol=0.0, max_passes=1, state=first.state)  # the old run moves on; the arrays are copies
    solution = solve(field, solver, tol=0.0, max_passes=5, state=revived(solver, field, arrays))
    assert np.array_equal(solution.weights, whole.weights)
    assert (solution.primal, solution.dual) == (whole.primal, whole.dual)


def revived(solver: SDCA, field: Field, arrays: dict[str, Any]) -> Any:
    return solver.start(field, seed=12345).restore(arrays)


def test_a_saved_state_comes_back_as_it_was() -> None:
    state = solve(problem("chain-dense"), SDCA(accelerate=False), tol=0.0, max_passes=3, random_state=0).state
    arrays = state.arrays()
    again = revived(SDCA(accelerate=False), problem("chain-dense"), arrays).arrays()
    assert arrays.keys() == again.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, again[name])


@pytest.mark.parametrize(
    "damage",
    [
        {"duals": np.zeros(3)},
        {"weights": np.zeros(1)},
        {"entropies": np.zeros(1)},
        {"recorded": np.zeros(0)},
        {"factors": np.zeros(12)},
        {"drawing": np.zeros(12)},
        {"order": np.zeros(12, dtype=np.int64)},
        {"order": np.arange(1, 13)},
        {"random": np.zeros(3, dtype=np.uint64)},
        {"draws": np.array([-1])},
        {"counters": np.zeros(4, dtype=np.int64)},
        {"numbers": np.zeros(2)},
    ],
    ids=lambda damage: f"{next(iter(damage))}{next(iter(damage.values())).shape}",
)
def test_a_damaged_state_is_refused(damage: dict[str, Any]) -> None:
    field = problem("chain-dense")
    arrays = solve(field, SDCA(accelerate=False), tol=0.0, max_passes=2, random_state=0).state.arrays()
    with pytest.raises(ValueError, match="does not fit this field"):
        revived(SDCA(accelerate=False), field, {**arrays, **damage})
    for name in damage:
        del arrays[name]
    with pytest.raises(ValueError, match="lacks an entry"):
        revived(SDCA(accelerate=False), field, arrays)


def test_a_state_saved_on_another_field_is_refused() -> None:
    arrays = solve(problem("chain-dense"), SDCA(accelerate=False), tol=0.0, max_passes=2, random_state=0).state.arrays()
    with pytest.raises(ValueError, match="does not fit this field"):
        revived(SDCA(accelerate=False), problem("chain-weighted"), arrays)
    with pytest.raises(ValueError, match="does not fit this field"):
        revived(SDCA(accelerate=False), problem("chain-words"), arrays)


# --- sampling ---


def test_the_first_pass_visits_every_block_once() -> None:
    field = problem("multiclass-dense")
    core = started(field, 0.5)
    core.run(field.n_blocks - 1, 3600.0)
    assert np.count_nonzero(core.save()["recorded"]) == field.n_blocks - 1
    core.run(1, 3600.0)
    assert np.count_nonzero(core.save()["recorded"]) == field.n_blocks


def test_gap_sampling_needs_fewer_passes_than_uniform_sampling() -> None:
    # One hard block among many easy ones: χ(g) is large, so equation (25) promises much.
    random = np.random.default_rng(0)
    X = np.vstack([0.01 * random.normal(size=(200, 3)), 30 * random.normal(size=(4, 3))])
    y = random.integers(3, size=204)
    field = fields.Multiclass(X, y, l2=1.0)
    passes = {
        sampling: solve(
            field, SDCA(sampling=sampling, accelerate=False), tol=1e-6, max_passes=5000, random_state=0
        ).passes
        for sampling in ("gap", "uniform")
    }
    assert passes["gap"] < passes["uniform"]


def test_seeds_give_different_runs() -> None:
    one, other = (
        solve(problem("chain-dense"), SDCA(accelerate=False), tol=0.0, max_passes=2, random_state=s) for s in (0, 1)
    )
    assert not np.array_equal(one.weights, other.weights)


# --- parameters ---


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sampling": "best"}, "SDCA: sampling must be 'gap', 'uniform', .* or 'residual'; got 'best'"),
        ({"sampling": None}, "SDCA: sampling must be 'gap', 'uniform', .* or 'residual'; got None"),
        ({"non_uniformity": -0.1}, r"SDCA: non_uniformity must be in \[0, 1\]; got -0.1"),
        ({"non_uniformity": 1.1}, r"SDCA: non_uniformity must be in \[0, 1\]"),
        ({"non_uniformity": np.nan}, r"SDCA: non_uniformity must be in \[0, 1\]"),
        ({"permutation_every": 1.5}, "SDCA: permutation_every must be an integer, at least 0; got 1.5"),
        ({"permutation_every": True}, "SDCA: permutation_every must be an integer"),
        ({"permutation_every": -1}, "SDCA: permutation_every must be an integer, at least 0; got -1"),
        ({"step": 0.0}, r"SDCA: step must be 'newton', .*'guaranteed' or a number in \(0, 1\]; got 0.0"),
        ({"step": 1.5}, r"SDCA: step must be .* a number in \(0, 1\]; got 1.5"),
        ({"step": np.nan}, "SDCA: step must be .*; got nan"),
        ({"step": True}, "SDCA: step must be .*; got True"),
        ({"step": None}, "SDCA: step must be .*; got None"),
        ({"step": "fixed"}, "SDCA: step must be 'newton', 'newton-1', 'golden', 'guaranteed' or .*; got 'fixed'"),
        ({"subprecision": 0.0}, r"SDCA: subprecision must be in \(0, 1\); got 0.0"),
        ({"subprecision": 1.0}, r"SDCA: subprecision must be in \(0, 1\)"),
        ({"init": "best"}, "SDCA: init must be 'mixture', 'product', 'peaked', 'uniform' or 'random'; got 'best'"),
        ({"epsilon": 0.0}, r"SDCA: epsilon must be in \(0, 1\] or 'auto'; got 0.0"),
        ({"epsilon": 1.5}, r"SDCA: epsilon must be in \(0, 1\] or 'auto'"),
        ({"epsilon": "best"}, r"SDCA: epsilon must be in \(0, 1\] or 'auto'; got 'best'"),
        ({"epsilon": np.nan}, r"SDCA: epsilon must be in \(0, 1\] or 'auto'"),
        ({"epsilon": None}, r"SDCA: epsilon must be in \(0, 1\] or 'auto'"),
    ],
)
def test_bad_parameters_are_refused_with_a_message(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SDCA(**parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"permutation_every": "often"},
        {"permutation_every": np.nan},
        {"permutation_every": None},
        {"non_uniformity": "much"},
        {"subprecision": None},
        {"epsilon": True},
    ],
    ids=repr,
)
def test_parameters_of_the_wrong_type_are_refused_by_name(parameters: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"SDCA: {next(iter(parameters))} must"):
        SDCA(**parameters)


# --- misuse of the compiled solver ---

MISUSE = """
import numpy as np
from dualfield import SDCA, fields
run = SDCA(accelerate=False).start(fields.Multiclass(np.eye(2), [0, 1]), 0)
try:
    {call}
except (ValueError, RuntimeError):
    print("refused")
"""


@pytest.mark.parametrize(
    "call",
    [
        "run.adopt()",
        "run.arrays()",
        "run.confirm(1.0)",
        "run._core.run(1, 1.0)",
    ],
)
def test_a_run_that_has_not_started_has_nothing_to_give(call: str) -> None:
    code = MISUSE.format(call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n")


def test_a_run_that_leaves_floating_point_keeps_finite_weights() -> None:
    X, y = points(6)
    solution = solve(fields.Multiclass(1e200 * X, y), SDCA(accelerate=False), max_passes=5, random_state=0)
    assert (solution.status, solution.certificate) == ("diverged", "none")
    assert np.isfinite(solution.weights).all()
