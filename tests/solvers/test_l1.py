"""The l1 penalty: the optimum of other programs, its optimality conditions, and certificates that hold."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from dualfield import LBFGS, OEG, SDCA, Progress, Solution, fields, l2_path, solve
from dualfield.fields import Field
from dualfield.solvers import BY_CLASS_NAME, Run, Solver, resolve
from dualfield.solvers.dual import DualSolver
from tests.enumeration import all_labellings, entropy
from tests.zoo import dense_sequences, points, weights_with_zeros, word_sequences

PENALTIES = [(1.0, 1.0), (0.1, 0.1), (3.0, 0.01), (1.0, 0.0), (0.5, 1e-6)]
every_penalty = pytest.mark.parametrize(("l1", "l2"), PENALTIES)

MAKERS: dict[str, Any] = {
    "multiclass": lambda **options: fields.Multiclass(*points(40), **options),
    "multiclass-weighted": lambda **options: fields.Multiclass(
        *points(40), sample_weight=weights_with_zeros(40), bias=False, **options
    ),
    "chain": lambda **options: fields.Chain(*word_sequences(20), **options),
    "chain-observed": lambda **options: fields.Chain(
        *word_sequences(20), state_features="observed", transitions="observed", **options
    ),
    "chain-dense": lambda **options: fields.Chain(
        *dense_sequences(20), sample_weight=weights_with_zeros(20), **options
    ),
}
every_field = pytest.mark.parametrize("name", MAKERS)


def centred(field: fields.Chain, seed: int = 3) -> fields.Chain:
    """The problem about weights of which some are zero."""
    random = np.random.default_rng(seed)
    return field.about(random.normal(size=field.dimension) * random.integers(2, size=field.dimension))


def smooth_part(field: Field, w: Any) -> tuple[float, Any]:
    """Objective and gradient without l1, from the compiled field, which knows neither l1 nor centres."""
    value, gradient = field.core.gradient(np.ascontiguousarray(w))
    centre = np.zeros(field.dimension) if field.centre is None else field.centre
    value += field.l2 / 2 * (np.sum((w - centre) ** 2) - np.sum(w**2))
    return value, gradient - field.l2 * centre


def optimum_by_halves(field: Field) -> float:
    """The least objective with w = a + p − q for p, q >= 0, where l1 is linear, by SciPy."""
    centre = np.zeros(field.dimension) if field.centre is None else field.centre

    def objective(halves: Any) -> tuple[float, Any]:
        up, down = np.split(halves, 2)
        value, gradient = smooth_part(field, centre + up - down)
        return value + field.l1 * halves.sum(), np.concatenate([gradient + field.l1, field.l1 - gradient])

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0, "gtol": 1e-7, "maxcor": 30}
    bounds = [(0, None)] * (2 * field.dimension)
    start = np.zeros(2 * field.dimension)
    found = optimize.minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun)


# --- the optimum ---


@every_field
@every_penalty
def test_the_optimum_is_that_of_scipy(name: str, l1: float, l2: float) -> None:
    field = MAKERS[name](l1=l1, l2=l2)
    solution = solve(field, LBFGS(), tol=1e-9, max_passes=5000)
    assert solution.status == "converged"
    assert solution.primal == pytest.approx(optimum_by_halves(field), rel=1e-6)
    assert solution.primal <= optimum_by_halves(field) * (1 + 1e-9)


@every_penalty
def test_the_optimum_about_given_weights_is_that_of_scipy(l1: float, l2: float) -> None:
    field = centred(MAKERS["chain"](l1=l1, l2=l2))
    solution = solve(field, LBFGS(), tol=1e-9, max_passes=5000)
    assert solution.status == "converged"
    assert solution.primal == pytest.approx(optimum_by_halves(field), rel=1e-6)
    assert np.mean(solution.weights == field.centre) > 0.05


@pytest.mark.parametrize("labels", [3, 5])
@pytest.mark.parametrize(("l1", "l2"), [(1.0, 1.0), (0.3, 0.1), (1.0, 0.0), (5.0, 2.0)])
def test_multiclass_is_scikit_learns_elastic_net(labels: int, l1: float, l2: float) -> None:
    X, y = points(60, labels, seed=labels)
    options = {"C": 1 / (l1 + l2), "l1_ratio": l1 / (l1 + l2), "solver": "saga", "fit_intercept": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # newer versions no longer ask for the name of the penalty
        peer = LogisticRegression(penalty="elasticnet", tol=1e-10, max_iter=100_000, random_state=0, **options)
        peer.fit(X, y)
    field = fields.Multiclass(X, y, l2, l1=l1, bias=False)
    solution = solve(field, LBFGS(), tol=1e-10, max_passes=5000)
    assert solution.primal == pytest.approx(field.primal(peer.coef_.T.ravel()), rel=1e-8)
    if l2 > 0:  # then there is one optimum
        np.testing.assert_allclose(solution.weights.reshape(-1, labels).T, peer.coef_, atol=1e-3)
        assert np.array_equal(solution.weights.reshape(-1, labels).T == 0, np.abs(peer.coef_) < 1e-9)


def test_two_classes_are_scikit_learns_lasso() -> None:
    # Of w_1 − w_0 = v with l1 alone, both halves cost |v|: liblinear's one vector has the same optimum.
    X, y = points(60, 2, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LogisticRegression(C=1.0, penalty="l1", l1_ratio=1, solver="liblinear", fit_intercept=False, tol=1e-10)
        peer.fit(X, y)
    field = fields.Multiclass(X, y, 0.0, l1=1.0, bias=False)
    theirs = field.primal(np.stack([np.zeros(X.shape[1]), peer.coef_[0]], axis=1).ravel())
    assert solve(field, LBFGS(), tol=1e-10, max_passes=5000).primal == pytest.approx(theirs, rel=1e-8)


@every_field
@every_penalty
def test_the_optimality_conditions_hold(name: str, l1: float, l2: float) -> None:
    field = MAKERS[name](l1=l1, l2=l2)
    w = solve(field, LBFGS(), tol=1e-11, max_passes=5000).weights
    _, gradient = smooth_part(field, w)
    zero = w == 0
    assert 0 < zero.sum() < len(w)
    assert np.all(np.abs(gradient[zero]) <= l1 + 1e-4)
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(w[~zero]), atol=1e-4)


def test_a_large_penalty_leaves_nothing_at_once() -> None:
    for name, make in MAKERS.items():
        field = make(l1=1e4)
        solution = solve(field, LBFGS())
        assert (solution.passes, np.count_nonzero(solution.weights)) == (1, 0), name
        assert solution.relative_gap < 1e-12


# --- the certificate ---


@every_field
@every_penalty
def test_the_certificate_holds_at_any_pass(name: str, l1: float, l2: float) -> None:
    field = MAKERS[name](l1=l1, l2=l2)
    best = solve(field, LBFGS(), tol=1e-11, max_passes=5000)
    for passes in (1, 2, 3, 5, 9, 20):
        solution = solve(field, LBFGS(), tol=0.0, max_passes=passes)
        assert solution.certificate == "exact"
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-13)
        assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-13)


@every_field
@pytest.mark.parametrize(("l1", "l2"), [pair for pair in PENALTIES if pair[1] > 0])  # strongly convex
def test_the_gap_is_never_worse_than_the_subgradient_says(name: str, l1: float, l2: float) -> None:
    field = MAKERS[name](l1=l1, l2=l2)
    for passes in (1, 3, 10, 30):
        solution = solve(field, LBFGS(), tol=0.0, max_passes=passes)
        _, subgradient = field.gradient(solution.weights)
        assert solution.duality_gap <= subgradient @ subgradient / (2 * l2) + 1e-12 * solution.primal
        assert solution.history["gradient_norm"][-1] == pytest.approx(np.linalg.norm(subgradient), rel=1e-9)


def dual_by_enumeration(field: fields.Chain, w: Any, share: float) -> float:
    """D(μ) = Σ c H(μ) − <a, v> − |soft(v, l1)|² / (2 l2), μ = share · p(w) + (1 − share) · truth, written out."""
    total, v = 0.0, np.zeros(field.dimension)
    layout, classes = field.layout, len(field.classes)
    for i in range(field.n_blocks):
        block = field.encoded[i]
        truth = field.codes[field.encoded.offsets[i] : field.encoded.offsets[i + 1]]
        labellings = all_labellings(len(truth), classes)
        # The features of a labelling: what the gradient of a field with that one labelling lacks of E_0 F.
        rows = []
        for labelling in labellings:
            core = layout.compile(block, labelling.astype(np.int32), None, 1.0)
            rows.append(-core.gradient(np.zeros(layout.dimension))[1])
        features = np.array(rows)  # up to a constant that cancels
        scores = features @ w
        log_p = scores - np.logaddexp.reduce(scores)
        true = int(np.flatnonzero((labellings == truth).all(axis=1))[0])
        mu = share * np.exp(log_p)
        mu[true] += 1 - share
        with np.errstate(divide="ignore"):
            total += float(entropy(np.log(mu)))
        v += features[true] - mu @ features
    soft = np.maximum(np.abs(v) - field.l1, 0)
    if field.centre is not None:
        total -= field.centre @ v
    return total - (soft @ soft) / (2 * field.l2)


@settings(deadline=None, max_examples=15)
@given(
    st.sampled_from([0.05, 0.5, 2.0]), st.sampled_from([0.02, 0.3, 2.0]), st.integers(1, 12), st.booleans(), st.data()
)
def test_the_dual_value_is_one_of_the_dual(l1: float, l2: float, passes: int, moved: bool, data: Any) -> None:
    X, y = dense_sequences(5, labels=3, columns=2, longest=3, seed=data.draw(st.integers(0, 50)))
    field = fields.Chain(X, y, l2, l1=l1)
    field = centred(field) if moved else field
    seen: list[Any] = []

    def look(progress: Progress) -> None:
        seen.append(progress.weights())

    solution = solve(field, LBFGS(), tol=0.0, max_passes=passes, callbacks=[look])
    # At the model's own marginals D is reached, and no mixture with the truth that was looked at lies higher than a
    # point of the dual may.
    assert solution.dual >= max(dual_by_enumeration(field, w, 1.0) for w in seen) - 1e-9 * solution.primal
    best = solve(field, LBFGS(), tol=1e-11, max_passes=3000)
    for w in seen:
        for share in (0.0, 0.3, 0.9, 1.0):
            assert dual_by_enumeration(field, w, share) <= best.primal * (1 + 1e-9)


# --- what the objective says of itself ---


@every_field
def test_objective_and_subgradient_are_their_formulas(name: str) -> None:
    field = MAKERS[name](l1=0.7, l2=0.3)
    plain = MAKERS[name](l2=0.3)
    random = np.random.default_rng(0)
    w = random.normal(size=field.dimension) * random.integers(2, size=field.dimension)
    value, gradient = field.gradient(w)
    assert field.primal(w) == value == pytest.approx(plain.primal(w) + 0.7 * np.abs(w).sum(), rel=1e-14)
    _, smooth = plain.gradient(w)
    # The least norm over all subgradients, one number at a time.
    for k in range(field.dimension):
        signs = np.linspace(-1, 1, 20_001) if w[k] == 0 else np.sign(w[k : k + 1])
        choices = smooth[k] + 0.7 * signs
        assert abs(gradient[k]) == pytest.approx(np.abs(choices).min(), abs=1e-4)


def test_a_centre_shifts_the_penalty() -> None:
    field = MAKERS["chain"](l2=0.3, l1=0.2)
    about = centred(field)
    assert about.centre is not None
    w = np.random.default_rng(1).normal(size=field.dimension)
    losses = field.core.primal(w) - 0.15 * w @ w
    change = w - about.centre
    assert about.primal(w) == pytest.approx(losses + 0.2 * np.abs(change).sum() + 0.15 * change @ change, rel=1e-12)
    assert not about.same_as(field)
    assert about.same_as(field.about(about.centre))
    assert field.centre is None


def test_without_l1_a_centre_is_l_bfgs_on_the_shifted_penalty() -> None:
    field = MAKERS["chain"](l2=0.5)
    at_zero = solve(field.about(np.zeros(field.dimension)), tol=1e-10, max_passes=2000)
    plain = solve(field, LBFGS(), tol=1e-10, max_passes=2000)
    assert at_zero.primal == pytest.approx(plain.primal, rel=1e-9)
    np.testing.assert_allclose(at_zero.weights, plain.weights, atol=1e-3)


# --- the run ---


@every_field
def test_resuming_is_as_if_it_had_never_stopped(name: str) -> None:
    field = MAKERS[name](l1=0.2, l2=0.1)
    whole = solve(field, LBFGS(), tol=0.0, max_passes=9)
    first = solve(field, LBFGS(), tol=0.0, max_passes=4)
    state: Run = LBFGS().start(field, 0).restore(first.state.arrays())
    for second in (
        solve(field, LBFGS(), tol=0.0, max_passes=5, state=state),
        solve(field, LBFGS(), tol=0.0, max_passes=5, state=first.state),
    ):
        assert np.array_equal(second.weights, whole.weights)
        assert (second.primal, second.dual) == (whole.primal, whole.dual)
        assert first.updates + second.updates == whole.updates
        assert first.oracle_calls + second.oracle_calls == whole.oracle_calls


def test_a_run_saved_in_the_middle_of_a_gradient_goes_on() -> None:
    field = centred(MAKERS["chain"](l1=0.2, l2=0.1))
    run = LBFGS().start(field, 0)
    for _ in range(30):
        run.advance(0.0)
    other = LBFGS().start(field, 0).restore(run.arrays())
    one, two = (solve(field, LBFGS(), tol=0.0, max_passes=6, state=state) for state in (run, other))
    assert np.array_equal(one.weights, two.weights)


def test_given_weights_are_the_start() -> None:
    for field in (MAKERS["chain"](l1=0.2, l2=0.1), centred(MAKERS["chain"](l1=0.2, l2=0.1))):
        best = solve(field, LBFGS(), tol=1e-8, max_passes=2000)
        again = solve(field, LBFGS(), tol=1e-7, start=best.weights)
        assert again.passes <= 3
        assert again.primal <= best.primal * (1 + 1e-12)


def test_it_ends_where_floating_point_allows_no_more() -> None:
    for name, make in MAKERS.items():
        solution: Solution = solve(make(l1=0.5, l2=0.5), LBFGS(), tol=0.0, max_passes=600)
        assert solution.relative_gap < 1e-11, name
        assert solution.status in ("stalled", "max_passes")


def test_numbers_that_leave_floating_point_are_reported() -> None:
    field = fields.Multiclass(np.array([[1e308, 1e308], [1.0, -1e308]]), [0, 1], 0.1, l1=0.1)
    solution = solve(field, LBFGS(), start=np.full(field.dimension, 1e3))
    assert solution.status == "diverged"
    assert np.isnan(solution.duality_gap)


# --- what is refused ---


def those_without(penalty: str) -> list[str]:
    return [name for name, solver in BY_CLASS_NAME.items() if penalty not in solver.takes]


@pytest.mark.parametrize("name", those_without("l1"))
def test_other_solvers_refuse_by_name(name: str) -> None:
    assert name in ("SAG", "SMD", "Hybrid", "Perceptron", "PA", "AROW", "IDAL", "GDMM", "SoftSDCA", "SoftBCFW")
    takers = "'auto', 'oeg', 'sdca', 'lbfgs', 'saga', 'svrg', 'adagrad' or 'sgd'"
    with pytest.raises(TypeError, match=rf"^{name} cannot minimise the penalty l1=0.5; use solver={takers}\.$"):
        solve(MAKERS["chain"](l1=0.5), BY_CLASS_NAME[name]())


@pytest.mark.parametrize("name", those_without("centre"))
def test_other_solvers_refuse_a_penalty_about_given_weights(name: str) -> None:
    takers = "'auto', 'oeg', 'sdca' or 'lbfgs'"
    with pytest.raises(
        TypeError, match=rf"^{name} cannot minimise a penalty about given weights; use solver={takers}\.$"
    ):
        solve(centred(MAKERS["chain"]()), BY_CLASS_NAME[name]())


@pytest.mark.parametrize("penalty", ["l1", "centre"])
def test_the_solvers_that_the_refusal_names_take_the_penalty(penalty: str) -> None:
    field = MAKERS["chain"](l1=0.5) if penalty == "l1" else centred(MAKERS["chain"]())
    with pytest.raises(TypeError) as refusal:
        solve(field, "sag")
    named = re.findall(r"'(\w+)'", str(refusal.value).partition("solver=")[2])
    assert {resolve(name, field.default_solver).name for name in named[1:]} == set(BY_CLASS_NAME) - set(
        those_without(penalty)
    )


@pytest.mark.parametrize("solver", [SDCA(accelerate=False), OEG(accelerate=False)], ids=repr)
def test_without_l2_a_dual_method_needs_acceleration(solver: Solver) -> None:
    with pytest.raises(TypeError, match=rf"^{solver.name} without acceleration needs l2 > 0"):
        solve(MAKERS["chain"](l1=0.5, l2=0.0), solver)


@pytest.mark.parametrize("solver", ["lbfgs", "saga", "svrg", "adagrad", "sgd"])
def test_partial_labels_take_l1_and_need_no_l2(solver: str) -> None:
    X, y = word_sequences(12)
    known_in_part = [[label if t % 3 else {"NOUN", "VERB"} for t, label in enumerate(labels)] for labels in y]
    known_in_part[0] = ["NOUN", "VERB", "X", *y[0][3:]][: len(y[0])]
    for l2 in (0.5, 0.0):
        field = fields.Chain(X, known_in_part, l2, l1=0.5)
        solution = solve(field, solver, tol=1e-2, max_passes=30, random_state=0)
        assert solution.certificate == "none"
        assert field.primal(solution.weights) < field.primal(np.zeros(field.dimension))


def test_auto_says_why_it_chose_what_is_not_usual() -> None:
    assert re.match(r"OEG converged [^(]* \(relative\) of the optimum\.$", solve(MAKERS["multiclass"](l1=0.5)).message)
    message = solve(centred(MAKERS["chain"]())).message
    assert "(LBFGS was chosen: it begins at the given weights.)" in message


# --- methods on the dual ---

DUAL: list[Solver] = [
    OEG(),
    SDCA(),
    OEG(n_jobs=2),
    SDCA(n_jobs=2),
    OEG(memory="float32"),
]
every_dual = pytest.mark.parametrize("solver", DUAL, ids=repr)


@every_dual
@every_field
@every_penalty
def test_dual_methods_find_the_same_optimum(solver: DualSolver, name: str, l1: float, l2: float) -> None:
    field = MAKERS[name](l1=l1, l2=l2)
    best = solve(field, LBFGS(), tol=1e-10, max_passes=5000)
    tol = 1e-6 if solver.memory != "float32" and l2 >= 0.01 else 1e-3
    solution = solve(field, solver, tol=tol, max_passes=3000, random_state=0)
    assert -1e-9 * best.primal <= solution.primal - best.primal <= solution.duality_gap
    assert solution.dual <= best.primal * (1 + 1e-12)
    if l2 >= 0.01:
        assert solution.status == "converged"
        assert np.mean((solution.weights == 0) == (best.weights == 0)) > 0.9


@every_dual
@every_field
@every_penalty
def test_certificates_of_dual_methods_hold_at_any_pass(solver: DualSolver, name: str, l1: float, l2: float) -> None:
    field = MAKERS[name](l1=l1, l2=l2)
    best = solve(field, LBFGS(), tol=1e-11, max_passes=5000)
    for passes in (1, 2, 4, 9, 20):
        solution = solve(field, solver, tol=0.0, max_passes=passes, random_state=1)
        assert solution.certificate == "exact"
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-13)
        assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)


@every_dual
@every_penalty
def test_dual_methods_take_a_penalty_about_given_weights(solver: DualSolver, l1: float, l2: float) -> None:
    field = centred(MAKERS["chain"](l1=l1, l2=l2))
    best = solve(field, LBFGS(), tol=1e-10, max_passes=5000)
    solution = solve(field, solver, tol=1e-4, max_passes=3000, random_state=0)
    assert -1e-9 * best.primal <= solution.primal - best.primal <= solution.duality_gap
    assert solution.dual <= best.primal * (1 + 1e-12)
    if l2 >= 0.01:
        assert solution.relative_gap <= 1e-4


@pytest.mark.parametrize("solver", [OEG(), SDCA(), SDCA(accelerate=False)], ids=repr)
def test_a_path_of_penalties_keeps_its_marginals(solver: DualSolver) -> None:
    field = MAKERS["chain"](l1=0.3, l2=1.0)
    for l2, found in zip((1.0, 0.3, 0.1), l2_path(field, [1.0, 0.3, 0.1], solver, 1e-5, 3000), strict=True):
        best = solve(MAKERS["chain"](l1=0.3, l2=l2), LBFGS(), tol=1e-9, max_passes=5000)
        assert found.status == "converged"
        assert -1e-8 * best.primal <= found.primal - best.primal <= found.duality_gap


@pytest.mark.parametrize("l1", [-1.0, np.nan, np.inf, "1", None, True])
def test_a_penalty_that_is_no_number_is_refused(l1: Any) -> None:
    for make in MAKERS.values():
        with pytest.raises(ValueError, match="l1 must be a finite number, not negative; got"):
            make(l1=l1)


def test_l2_may_be_zero_beside_l1_alone() -> None:
    for make in MAKERS.values():
        assert make(l1=1.0, l2=0).l2 == 0.0
        for l2 in (0.0, -1.0):
            with pytest.raises(ValueError, match="l2 must be a positive finite number"):
                make(l1=0.0, l2=l2)
        with pytest.raises(ValueError, match="l2 must be a positive finite number"):
            make(l1=1.0, l2=-1.0)


def test_another_l2_keeps_l1() -> None:
    field = MAKERS["multiclass"](l1=0.4, l2=1.0).with_l2(2.0)
    assert (field.l1, field.l2) == (0.4, 2.0)
    assert not field.same_as(MAKERS["multiclass"](l1=0.5, l2=2.0))
    assert field.same_as(MAKERS["multiclass"](l1=0.4, l2=2.0))


# --- over the whole range of strengths ---


@settings(max_examples=40)
@given(
    st.sampled_from(["chain", "chain-dense", "multiclass"]),
    st.floats(-3, 3),
    st.one_of(st.floats(-3, 3), st.just(-np.inf)),
    st.sampled_from([OEG(), OEG(accelerate=False), SDCA(), SDCA(accelerate=True), LBFGS()]),
    st.integers(1, 40),
)
def test_the_gap_is_never_below_the_distance_from_the_optimum(
    name: str, log_l1: float, log_l2: float, solver: Solver, passes: int
) -> None:
    field = MAKERS[name](l1=10**log_l1, l2=10**log_l2)
    if field.l2 == 0 and isinstance(solver, DualSolver) and not solver.accelerate:
        return  # refused
    best = solve(field, LBFGS(), tol=1e-12, max_passes=5000)
    solution = solve(field, solver, tol=0.0, max_passes=passes, random_state=0)
    assert solution.primal - best.primal <= solution.duality_gap
    assert solution.dual <= best.primal * (1 + 1e-13)
    assert solution.primal >= best.dual
    assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)
