"""Partial labels by convex problems: each bounds the objective and is certified, and the objective never rises."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualfield import OEG, ChainCRF, fields, l2_path, solve
from dualfield.solvers import expectation
from dualfield.solvers.expectation import ExpectationRun
from tests.core.strategies import assert_close
from tests.fields.test_partial_labels import FIELDS, enumerated, every_field, partial_chunks, partly, scales, weights
from tests.written_out import WrittenOut
from tests.zoo import chunk_sequences, finish


def enumerated_bound(field: fields.Chain, at: Any, w: Any) -> tuple[float, Any]:
    """The convex problem that meets the objective at ``at``, and its gradient, at ``w``, by sums over labellings."""
    value, gradient = field.l2 / 2 * (w @ w), field.l2 * w
    assert field.candidates is not None
    for block, (a, b) in zip(WrittenOut(field).blocks, pairwise(field.encoded.offsets), strict=True):
        among = field.candidates[np.arange(a, b), block.labellings].all(axis=1)
        scores, there = block.vectors.astype(np.longdouble) @ w, block.vectors[among].astype(np.longdouble) @ at
        log_z = np.logaddexp.reduce(scores)
        q = np.exp(there - np.logaddexp.reduce(there))
        truth = q @ block.vectors[among]
        entropy = -np.sum(q[q > 0] * np.log(q[q > 0]))
        value += block.c * (log_z - truth @ w - entropy)
        gradient = gradient + block.c * (np.exp(scores - log_z) @ block.vectors - truth)
    return float(value), gradient.astype(float)


def bounded_at(field: fields.Chain, w: Any) -> fields.Chain:
    """The convex problem that meets the objective at w."""
    problem = field.bounding_problem()
    loss = problem.core.expect(w)
    assert loss + field.l2 / 2 * (w @ w) == pytest.approx(field.primal(w), rel=1e-10)
    problem.core.meet()
    return problem


@every_field
@scales
def test_the_convex_problem_is_the_one_of_enumeration(name: str, scale: float) -> None:
    field = FIELDS[name]()
    at, w = weights(field, scale), weights(field, 0.7, 1)
    problem = bounded_at(field, at)
    value, gradient = enumerated_bound(field, at, w)
    assert_close(problem.primal(w) - problem.core.entropy, value, 1e-8)
    assert_close(problem.gradient(w)[1], gradient, 1e-8)


@every_field
def test_it_bounds_the_objective_and_meets_it(name: str) -> None:
    field = FIELDS[name]()
    at = weights(field, 0.5)
    problem = bounded_at(field, at)
    assert problem.primal(at) - problem.core.entropy == pytest.approx(field.primal(at), rel=1e-10)
    assert_close(problem.gradient(at)[1], field.gradient(at)[1], 1e-8)
    for seed in range(20):
        w = at + weights(field, 0.5 * seed, seed)
        assert problem.primal(w) - problem.core.entropy >= field.primal(w) * (1 - 1e-12)


@every_field
@pytest.mark.parametrize("accelerate", [True, False])
def test_the_objective_never_rises_and_every_certificate_holds(name: str, accelerate: bool) -> None:
    field = FIELDS[name]()
    run = OEG(accelerate=accelerate).start_to(field, 0, 1e-8)
    assert isinstance(run, ExpectationRun)
    values = [field.primal(np.zeros(field.dimension))]
    tol = 0.1
    for _ in range(400):
        finish(run.advance)
        if not run.worth_confirming(tol, 1.0):
            continue
        finish(run.confirm)
        primal, dual, gap = run.bound
        values.append(primal)
        assert primal == pytest.approx(enumerated(field, run.certified_weights())[0], rel=1e-10)
        least = solve(run.problem, "lbfgs", tol=1e-12, max_passes=10_000).primal - run.problem.core.entropy
        assert gap >= primal - least - 1e-9 * abs(primal)
        assert dual <= least + 1e-9 * abs(primal)
        if gap <= 1e-8 * primal:
            break
        if gap <= tol * primal:
            tol *= 0.1
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert run.problems > 2
    # Without acceleration some of these small problems come to rest on their way, which depends on rounding.
    assert gap <= (1e-6 if accelerate else 1e-3) * primal


def mostly_known(**options: Any) -> fields.Chain:
    """So many known labels that the stationary point is the same from everywhere."""
    X, y = chunk_sequences(40, longest=6)
    random = np.random.default_rng(0)
    return fields.Chain(X, [[tag if random.random() > 0.1 else None for tag in tags] for tags in y], **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"constraints": "bio"}, {"state_features": "observed", "transitions": "observed"}, {"l1": 0.2}],
    ids=str,
)
def test_it_ends_where_lbfgs_does(options: dict[str, Any]) -> None:
    field = mostly_known(l2=1.0, **options)
    ends = [
        solve(field, "lbfgs", tol=1e-10, max_passes=5000, start=weights(field, scale, seed))
        for seed, scale in enumerate((0.0, 0.3, 0.3))
    ]
    for end in ends[1:]:  # one and the same from different starts
        assert end.primal == pytest.approx(ends[0].primal, rel=1e-7)
    ours = solve(field, "oeg", tol=1e-8, max_passes=5000, random_state=0)
    assert ours.status == "converged"
    assert ours.primal == pytest.approx(ends[0].primal, rel=1e-7)
    np.testing.assert_allclose(ours.weights, ends[0].weights, atol=2e-3)


def test_a_converged_run_says_what_is_proven_and_what_is_not() -> None:
    field = mostly_known()
    solution = solve(field, random_state=0)
    assert solution.status == "converged"
    assert solution.message.startswith("OEG reached tol after")
    assert "convex problems, which bounds the objective and meets it at these weights, is proven" in solution.message
    assert "but with partial labels the objective is not convex, so there may be lower optima" in solution.message
    assert solution.certificate == "none"
    assert np.isnan([solution.dual, solution.duality_gap]).all()
    assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)
    history = solution.history
    assert np.all(np.diff(history["problem"]) >= 0)
    assert history["problem"][-1] > 1
    assert history["problem_gap"][-1] <= 1e-3 * solution.primal
    confirmed = history["primal"][~np.isnan(history["primal"])]
    assert np.all(np.diff(confirmed) <= 0)


@every_field
def test_while_labels_follow_the_dual_value_stays_below_the_objective(name: str) -> None:
    field = FIELDS[name]()
    run = OEG().start_to(field, 0, 1e-8)
    assert isinstance(run, ExpectationRun)
    truths = []
    for _ in range(5):
        finish(run.advance)
        truths.append(run.problem.core.truth()[0])
        gap, primal = run.estimate()
        w = run.weights()
        bound = run.problem.primal(w) - run.problem.core.entropy
        assert bound >= field.primal(w) * (1 - 1e-12)  # whatever the truth is
        assert primal - gap <= bound + 1e-9 * bound
    assert not np.array_equal(truths[0], truths[-1])


def test_a_certificate_that_was_interrupted_is_completed_before_the_next_step() -> None:
    field = mostly_known()
    run = OEG().start_to(field, 0, 1e-3)
    finish(run.advance)
    assert not run.confirm(0.0)  # begun
    while not run.advance(0.0):
        pass
    finish(run.confirm)
    primal, dual, gap = run.bound
    least = solve(run.problem, "lbfgs", tol=1e-12, max_passes=10_000).primal - run.problem.core.entropy
    assert dual <= least + 1e-9 * primal <= primal + 1e-8 * primal
    assert gap >= primal - least - 1e-9 * primal


def test_a_start_is_where_the_labels_are_expected_first() -> None:
    field = partial_chunks()
    there = solve(field, "lbfgs", tol=1e-10, max_passes=5000).weights
    solution = solve(field, "oeg", start=there, random_state=0)
    assert solution.status == "converged"
    assert solution.primal <= field.primal(there) * (1 + 1e-12)


def test_a_saved_state_goes_on_as_if_it_had_not_stopped() -> None:
    field = mostly_known(l2=0.1)
    solver = OEG()
    half = solve(field, solver, tol=1e-7, max_passes=6, random_state=0)
    saved = half.state.arrays()
    again = solver.start_to(field, 1, 1e-7).restore(saved)
    ends = [solve(field, solver, tol=1e-7, max_passes=6, state=state) for state in (half.state, again)]
    assert ends[0].primal < half.primal
    assert ends[0].primal == pytest.approx(ends[1].primal, rel=1e-12)
    np.testing.assert_array_equal(ends[0].weights, ends[1].weights)
    with pytest.raises(ValueError, match="no array 'anchor'"):
        solver.start_to(field, 1, 1e-7).restore({name: saved[name] for name in saved if name != "anchor"})


def test_a_path_goes_from_penalty_to_penalty() -> None:
    field = mostly_known()
    path = l2_path(field, [10.0, 1.0, 0.3], "oeg", tol=1e-6, random_state=0)
    for l2, found in zip((10.0, 1.0, 0.3), path, strict=True):
        assert found.status == "converged"
        end = solve(field.with_l2(l2), "lbfgs", tol=1e-9, max_passes=5000)
        assert found.primal == pytest.approx(end.primal, rel=1e-5)


def test_an_estimator_with_unknown_labels_is_certified_by_the_same_way() -> None:
    X, y = chunk_sequences(200, seed=3)
    labels = sorted({tag for tags in y for tag in tags})
    crf = ChainCRF(constraints="bio", random_state=0, warm_start=True).fit(X, partly(y, labels))
    assert crf.solution_.message.startswith("OEG ")
    assert crf.solution_.history["problem"][-1] > 1
    again = crf.solution_.primal
    crf.set_params(tol=1e-5).fit(X, partly(y, labels))
    assert crf.solution_.primal <= again


def test_a_convex_problem_needs_no_bound() -> None:
    X, y = chunk_sequences(20)
    with pytest.raises(TypeError, match="Chain is convex"):
        fields.Chain(X, y).bounding_problem()


@pytest.mark.parametrize("accelerate", [True, False])
def test_labels_are_expected_where_those_that_follow_come_to_rest(
    accelerate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = mostly_known()
    expected = solve(field, OEG(accelerate=accelerate), tol=1e-4, max_passes=2000, random_state=0)
    monkeypatch.setattr(expectation, "_LOWER", 0.0)  # every gap counts as no lower
    monkeypatch.setattr(expectation, "_PATIENCE", 1)
    rested = solve(field, OEG(accelerate=accelerate), tol=1e-4, max_passes=2000, random_state=0)
    assert rested.status == expected.status == "converged"
    assert rested.history["problem"][-1] > expected.history["problem"][-1]
    assert rested.primal == pytest.approx(expected.primal, rel=1e-2)
