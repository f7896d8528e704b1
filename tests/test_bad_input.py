"""Bad input is refused before training, in one sentence that names the place."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from dualfield import OEG, SDCA, ChainCRF, SoftmaxRegression, fields, solve
from dualfield.features import encode
from dualfield.solvers import LBFGS, SAG, SAGA, SGD, SMD, SVRG, AdaGrad, Hybrid, Perceptron, Run, Solver
from tests.sequences import as_arrays, labelled_sequences

X: list[Any] = [[["a"], ["b", "c"]], [["b"], ["a"]], [["c"]]]
Y = [["N", "V"], ["V", "N"], ["N"]]
ARRAYS = [np.eye(2), np.eye(2), np.ones((1, 2))]
DICTS = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}, {"w": "a"}], [{"w": "c"}]]


def refuses(error: type[Exception], match: str, action: Any) -> None:
    """The action raises one sentence: a capital or a name first, a full stop last, no line breaks."""
    with pytest.raises(error, match=match) as caught:
        action()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    # no second sentence: a full stop and a capital
    assert not re.search(r"\. [A-Z]", message)


# X


def with_value(value: float) -> list[Any]:
    return [np.eye(2), np.array([[1.0, 0.0], [0.0, value]]), np.ones((1, 2))]


def with_key(value: Any) -> list[Any]:
    return [DICTS[0], [DICTS[1][0], {"w": "a", "size": value}], DICTS[2]]


BAD_X: dict[str, tuple[Any, type[Exception], str]] = {
    "NaN in an array": (with_value(np.nan), ValueError, "column 1 at position 1 of sequence 1 is nan"),
    "infinity in an array": (with_value(-np.inf), ValueError, "column 1 at position 1 of sequence 1 is -inf"),
    "NaN in a sparse matrix": (
        [sparse.csr_array(x) for x in with_value(np.nan)],
        ValueError,
        "column 1 at position 1 of sequence 1 is nan",
    ),
    "NaN in a dict": (with_key(np.nan), ValueError, "'size' at position 1 of sequence 1 has the value nan"),
    "infinity in a dict": (with_key(float("inf")), ValueError, "'size' at position 1 of sequence 1"),
    "None in a dict": (with_key(None), TypeError, "position 1 of sequence 1.*'size' is of type NoneType"),
    "an endless integer": (with_key(10**400), ValueError, "position 1 of sequence 1"),
    "an empty sequence": ([X[0], [], X[2]], ValueError, "sequence 1 is empty"),
    "an empty array": ([np.eye(2), np.zeros((0, 2)), np.ones((1, 2))], ValueError, "sequence 1 is empty"),
    "no sequences": ([], ValueError, "X has no sequences"),
    "dicts and arrays": ([DICTS[0], np.eye(2), DICTS[2]], TypeError, "sequence 1 is an array but"),
    "arrays and dicts": ([np.eye(2), DICTS[1], DICTS[2]], TypeError, "position 0 of sequence 1 is a dict but"),
    "dicts and lists": ([DICTS[0], X[1], DICTS[2]], TypeError, "position 0 of sequence 1 is a list"),
    "a dict among lists": ([[["a"], {"b": 1}], X[1], X[2]], TypeError, "position 1 of sequence 0 is a dict"),
    "different widths": ([np.eye(2), np.eye(3), np.eye(2)], ValueError, "sequence 1 has 3 columns but .* 2"),
    "a number as key": ([DICTS[0], [{"w": "a"}, {7: 1.0}], DICTS[2]], TypeError, "position 1 of sequence 1 .* 7"),
    "a number as attribute": ([X[0], [["a"], ["b", 3]], X[2]], TypeError, "position 1 of sequence 1 .* 3"),
    "a bare string": ([X[0], [["a"], "b"], X[2]], TypeError, "position 1 of sequence 1 is a string"),
    "a vector": ([np.ones(2)] * 3, ValueError, "sequence 0 is a 1-D array"),
    "a cube": ([np.ones((2, 2, 2))] * 3, ValueError, "sequence 0 is a 3-D array"),
    "complex numbers": ([np.eye(2), np.eye(2) * 1j, np.ones((1, 2))], TypeError, "sequence 1 is .* complex"),
    "one matrix": (np.eye(2), TypeError, r"X is one matrix.*wrap it as \[X\]"),
    "one sequence of dicts": (DICTS[0], TypeError, r"X is a list of dicts.*wrap it as \[X\]"),
    "a string": ("text", TypeError, "X is of type str"),
    "nothing": (None, TypeError, "X is of type NoneType"),
    "a number": (3, TypeError, "X is of type int"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_X)
def test_bad_sequences_are_refused(kind: str) -> None:
    bad, error, match = BAD_X[kind]
    crf = ChainCRF()
    refuses(error, match, lambda: crf.fit(bad, Y))
    assert not hasattr(crf, "weights_")


# y


BAD_Y: dict[str, tuple[Any, type[Exception], str]] = {
    "too few sequences": (Y[:2], ValueError, "y has 2 sequences but X has 3"),
    "too many sequences": ([*Y, ["N"]], ValueError, "y has 4 sequences but X has 3"),
    "too few labels": ([Y[0], ["V"], Y[2]], ValueError, "sequence 1 has 1 label in y but 2 positions in X"),
    "too many labels": ([Y[0], Y[1], ["N", "V"]], ValueError, "sequence 2 has 2 labels in y but 1 position in X"),
    "one label only": ([["N", "N"], ["N", "N"], ["N"]], ValueError, "at least two different labels .* only 'N'"),
    "a flat list": (["N", "V", "N"], TypeError, "y is a flat list of labels"),
    "mixed types": ([["N", 1], Y[1], Y[2]], TypeError, "label 1 of sequence 0 is 1 of type int"),
    "a missing label": ([Y[0], ["V", float("nan")], Y[2]], ValueError, "label 1 of sequence 1 is nan"),
    "NaN": ([Y[0], ["V", np.nan], Y[2]], ValueError, "label 1 of sequence 1 is nan"),
    "real numbers": ([[0.5, 1.5], [1.5, 0.5], [0.5]], TypeError, "label 0 of sequence 0 is 0.5 of type float"),
    "truth values": ([[True, False], [True, False], [True]], TypeError, "label 0 of sequence 0 is True of type bool"),
    "no labels": (None, TypeError, "y is of type NoneType"),
    "a string": ("NVN", TypeError, "y is of type str"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_Y)
def test_bad_labels_are_refused(kind: str) -> None:
    bad, error, match = BAD_Y[kind]
    refuses(error, match, lambda: ChainCRF().fit(X, bad))
    refuses(error, match, lambda: ChainCRF().fit(encode(X), bad))


# Parameters


NOT_A_NUMBER = [float("nan"), float("inf"), "1", None]
BAD_PARAMETERS = [
    *(("l2", value, "l2 must be a positive finite number") for value in (0, -1.0, True, *NOT_A_NUMBER)),
    *(("l1", value, "l1 must be a finite number, not negative") for value in (-1.0, True, *NOT_A_NUMBER)),
    *(("tol", value, "tol must be a finite number, not negative") for value in (-1e-9, *NOT_A_NUMBER)),
    *(("max_passes", value, "max_passes must be a positive integer") for value in (0, -1, 1.5, True, "9", None)),
    *(("solver", value, "solver must be one of 'auto', 'sdca', 'oeg'") for value in ("newton", "SDCA", None, 3, [])),
    *(("state_features", value, "state_features must be 'all' or 'observed'") for value in ("some", None, True)),
    *(("transitions", value, "transitions must be 'all' or 'observed'") for value in ("ALL", None, 1)),
    *(("min_count", value, "min_count must be a positive integer") for value in (0, -1, 1.5, True, "2", None)),
    ("min_count", 99, "No attribute occurs 99 times or more; lower min_count"),
    *(("n_jobs", value, "n_jobs must be a positive integer, -1") for value in (0, -2, 1.5, True, "2")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "match"), BAD_PARAMETERS)
def test_bad_parameters_are_refused_by_name_and_value(name: str, value: Any, match: str) -> None:
    refuses(ValueError, match, lambda: ChainCRF(**{name: value}).fit(X, Y))
    if value != 99:
        refuses(ValueError, re.escape(repr(value)), lambda: ChainCRF(**{name: value}).fit(X, Y))


def test_parameters_are_looked_at_in_fit_and_not_before() -> None:
    assert ChainCRF(l2=-1, solver="newton").get_params()["l2"] == -1


@pytest.mark.parametrize("value", [1, 2.5, np.float32(1), np.int64(2)])
def test_any_real_number_will_do(value: Any) -> None:
    assert ChainCRF(l2=value, tol=float(value), max_passes=np.int64(9), random_state=0).fit(X, Y).solution_.passes >= 1


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1.0, -0.5, 1.0], r"sample_weight\[1\] is -0.5"),
        ([1.0, 1.0, np.nan], r"sample_weight\[2\] is nan"),
        ([np.inf, 1.0, 1.0], r"sample_weight\[0\] is inf"),
        ([0.0, 0.0, 0.0], "Every sample_weight is zero"),
        ([1.0, 1.0], r"one entry per sequence, 3 in all; got shape \(2,\)"),
        ([1.0] * 5, r"one entry per sequence, 3 in all; got shape \(5,\)"),
        ([[1.0], [1.0], [1.0]], "one number for each sequence; got weights of positions"),
        ([], r"got shape \(0,\)"),
    ],
)
def test_bad_sample_weights_are_refused(weight: Any, match: str) -> None:
    refuses(ValueError, match, lambda: ChainCRF().fit(X, Y, sample_weight=weight))


def test_one_number_weighs_all_sequences() -> None:
    scaled = ChainCRF(random_state=0).fit(X, Y, sample_weight=2.0)
    written_out = ChainCRF(random_state=0).fit(X, Y, sample_weight=[2.0, 2.0, 2.0])
    np.testing.assert_array_equal(scaled.weights_, written_out.weights_)


# Prediction


METHODS = ["predict", "predict_marginals", "predict_posterior", "predict_kbest", "sample"]


@pytest.mark.parametrize("method", METHODS)
def test_an_unfitted_model_does_not_predict(method: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(ChainCRF(), method)(X)


def test_an_unfitted_model_does_not_score() -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        ChainCRF().score(X, Y)
    with pytest.raises(NotFittedError, match="not fitted"):
        SoftmaxRegression().predict(np.eye(2))


@pytest.mark.parametrize("method", METHODS)
def test_predictions_want_the_form_of_training(method: str) -> None:
    on_names, on_arrays = ChainCRF(random_state=0).fit(DICTS, Y), ChainCRF(random_state=0).fit(ARRAYS, Y)
    predict_names, predict_arrays = getattr(on_names, method), getattr(on_arrays, method)
    refuses(TypeError, "trained on named attributes; give dicts", lambda: predict_names(ARRAYS))
    refuses(TypeError, "X holds dicts but .* arrays of 2 columns", lambda: predict_arrays(DICTS))
    refuses(TypeError, "X holds lists but .* arrays of 2 columns", lambda: predict_arrays(X))
    refuses(ValueError, "sequence 1 has 3 columns but .* 2", lambda: predict_arrays([np.eye(2), np.eye(3)]))
    refuses(TypeError, "are columns but", lambda: predict_names(encode(ARRAYS)))
    refuses(TypeError, "are names but", lambda: predict_arrays(encode(DICTS)))
    refuses(ValueError, "has 3 columns but", lambda: predict_arrays(encode([np.eye(3)])))
    refuses(
        ValueError, "column 0 at position 1 of sequence 0", lambda: predict_arrays([np.array([[1, 1], [np.nan, 0]])])
    )
    refuses(ValueError, "sequence 0 is empty", lambda: predict_names([[]]))
    refuses(ValueError, "X has no sequences", lambda: predict_names([]))


def test_scoring_wants_labels_that_fit() -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    refuses(ValueError, "y has 2 sequences but X has 3", lambda: crf.score(X, Y[:2]))
    refuses(ValueError, "sequence 0 has 1 label ", lambda: crf.score(X, [["N"], *Y[1:]]))
    refuses(TypeError, "labels of y are of type int", lambda: crf.score(X, [[1, 2], [2, 1], [1]]))


@pytest.mark.parametrize("weight", [[0.0, 0.0, 0.0], [1.0, 1.0], [1.0, np.nan, 1.0], [1.0, -1.0, 1.0]])
def test_scoring_wants_weights_that_fit(weight: Any) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    refuses(ValueError, "sample_weight", lambda: crf.score(X, Y, sample_weight=weight))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", None])
def test_kbest_wants_a_positive_number(k: Any) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    refuses(ValueError, f"k must be a positive integer; got {k!r}", lambda: crf.predict_kbest(X, k))


@pytest.mark.parametrize("n", [-1, 1.5, "2", None])
def test_sampling_wants_a_number(n: Any) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    refuses(ValueError, f"n must .*got {n!r}", lambda: crf.sample(X, n, random_state=0))


def test_predicting_nothing_gives_nothing() -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    nothing = encode(X)[:0]
    assert crf.predict(nothing) == crf.predict_posterior(nothing) == []
    assert crf.predict_kbest(nothing) == crf.sample(nothing) == []


def test_marginals_of_nothing_are_nothing() -> None:
    assert ChainCRF(random_state=0).fit(X, Y).predict_marginals(encode(X)[:0]) == []


# solve


class Clairvoyant(Solver):
    """A solver that asks too much."""

    needs: ClassVar[frozenset[str]] = frozenset({"foresight", "exact marginals", "a crystal ball"})

    def start(self, field: fields.Field, seed: int) -> Run:
        raise AssertionError("refused before any work")


@pytest.mark.parametrize("field", ["Chain", "Multiclass"])
def test_a_solver_that_needs_what_a_field_lacks_is_refused_by_name(field: str) -> None:
    problem = fields.Chain(X, Y) if field == "Chain" else fields.Multiclass(np.eye(2), [0, 1])
    match = f"Clairvoyant needs a crystal ball and foresight, which {field} does not offer"
    refuses(TypeError, match, lambda: solve(problem, Clairvoyant()))


def test_residual_sampling_is_refused_on_chains() -> None:
    match = "sampling='residual' needs one node a block, which Chain does not offer"
    refuses(TypeError, match, lambda: solve(fields.Chain(X, Y), SDCA(sampling="residual")))
    refuses(TypeError, match, lambda: ChainCRF(solver=SDCA(sampling="residual")).fit(X, Y))


@pytest.mark.parametrize("solver", [SDCA, OEG])
@pytest.mark.parametrize("sampling", ["best", "GAP", None, 3, ["gap"]])
def test_an_unknown_sampling_rule_is_refused(solver: Any, sampling: Any) -> None:
    match = f"{solver.name}: sampling must be 'gap', 'uniform', .* or '.*'; got {re.escape(repr(sampling))}"
    refuses(ValueError, match, lambda: solver(sampling=sampling))
    refuses(ValueError, "OEG: sampling must be", lambda: OEG(sampling="residual"))


@pytest.mark.parametrize("solver", [SDCA, OEG])
@pytest.mark.parametrize(
    ("parameter", "value", "rule"),
    [
        ("non_uniformity", -0.1, r"in \[0, 1\]"),
        ("non_uniformity", 1.1, r"in \[0, 1\]"),
        ("non_uniformity", "much", r"in \[0, 1\]"),
        ("permutation_every", -1, "an integer, at least 0"),
        ("refresh_every", -1, "an integer, at least 0"),
        ("refresh_every", 1.5, "an integer, at least 0"),
        ("refresh_every", True, "an integer, at least 0"),
        ("refresh_every", None, "an integer, at least 0"),
    ],
)
def test_impossible_parameters_of_dual_methods_are_refused(solver: Any, parameter: str, value: Any, rule: str) -> None:
    match = f"{solver.name}: {parameter} must be {rule}; got {value!r}"
    refuses(ValueError, match, lambda: solver(**{parameter: value}))


@pytest.mark.parametrize("step", ["secant", 0, 0.0, -0.5, 1.5, np.inf, np.nan, True, None])
def test_an_impossible_step_is_refused(step: Any) -> None:
    match = rf"SDCA: step must be 'newton', .* or a number in \(0, 1\]; got {re.escape(repr(step))}"
    refuses(ValueError, match, lambda: SDCA(step=step))


@pytest.mark.parametrize("init", ["truth", "Mixture", None, 0, ["mixture"]])
def test_an_unknown_start_is_refused(init: Any) -> None:
    match = f"SDCA: init must be 'mixture', .* or 'random'; got {re.escape(repr(init))}"
    refuses(ValueError, match, lambda: SDCA(init=init))


@pytest.mark.parametrize("init", ["peaked", "uniform", "random"])
def test_a_start_without_epsilon_is_given_none(init: Any) -> None:
    match = f"SDCA: epsilon belongs to init='mixture' and init='product', and init='{init}' has none; got epsilon=0.1"
    refuses(ValueError, match, lambda: SDCA(init=init, epsilon=0.1))
    assert SDCA(init=init).epsilon == "auto"


def test_estimators_pass_the_refusal_on() -> None:
    refuses(TypeError, "Clairvoyant needs", lambda: ChainCRF(solver=Clairvoyant()).fit(X, Y))
    refuses(TypeError, "Clairvoyant needs", lambda: SoftmaxRegression(solver=Clairvoyant()).fit(np.eye(2), [0, 1]))


@pytest.mark.parametrize(
    ("argument", "match"),
    [
        ({"tol": -1.0}, "tol must be a finite number, not negative; got -1.0"),
        ({"tol": "small"}, "tol must be .* got 'small'"),
        ({"max_passes": 0}, "max_passes must be a positive integer; got 0"),
        ({"solver": "newton"}, "solver must be one of .* got 'newton'"),
        ({"callback_every": 0}, "callback_every must be an integer, at least 1; got 0"),
        ({"callback_every": 1.5}, "callback_every must be an integer, at least 1; got 1.5"),
        ({"callback_every": True}, "callback_every must be an integer, at least 1; got True"),
    ],
)
def test_solve_refuses_bad_arguments(argument: dict[str, Any], match: str) -> None:
    refuses(ValueError, match, lambda: solve(fields.Chain(X, Y), **argument))


NOT_POSITIVE = [0, 0.0, -1.0, True, *NOT_A_NUMBER]
NOT_A_COUNT = [0, -1, 1.5, True, *NOT_A_NUMBER]
NOT_A_TRUTH_VALUE = [0, 1, "yes", None, 0.5]
BAD_SOLVERS: list[tuple[Any, str, list[Any], str]] = [
    *((solver, "eta", NOT_POSITIVE, "a positive number or 'auto'") for solver in (SGD, AdaGrad, SMD)),
    *((solver, "batch_size", NOT_A_COUNT, "an integer, at least 1") for solver in (SGD, AdaGrad, SMD)),
    (SGD, "schedule", ["fast", "", None, 0], "'constant', 'annealed' or 'pegasos'"),
    *((solver, "average", NOT_A_TRUTH_VALUE, "True or False") for solver in (SGD, Perceptron)),
    (AdaGrad, "delta", NOT_POSITIVE, "a positive number"),
    (SMD, "meta", [-0.1, True, *NOT_A_NUMBER], "a number, not negative"),
    (SMD, "decay", [-0.1, 1.1, True, *NOT_A_NUMBER], r"in \[0, 1\]"),
    *((solver, "sampling", ["gap", "NUS", "", None, 1], r"'nus\*', 'nus' or 'uniform'") for solver in (SAG, SAGA)),
    (SVRG, "inner_passes", NOT_A_COUNT, "an integer, at least 1"),
    (Hybrid, "first_sample", NOT_A_COUNT, "an integer, at least 1"),
    (Hybrid, "growth", [0.99, 0, -1.0, True, *NOT_A_NUMBER], "at least 1"),
    *((solver, "corrections", NOT_A_COUNT, "an integer, at least 1") for solver in (Hybrid, LBFGS)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("solver", "name", "values", "rule"), BAD_SOLVERS, ids=[f"{solver.name}-{name}" for solver, name, *_ in BAD_SOLVERS]
)
def test_parameters_of_solvers_are_refused_by_name_and_value(solver: Any, name: str, values: Any, rule: str) -> None:
    for value in values:
        got = re.escape(f"got {value!r}")
        refuses(ValueError, f"^{solver.name}: {name} must be {rule}; {got}", lambda v=value: solver(**{name: v}))


@pytest.mark.parametrize(
    "solver",
    [
        SGD(eta=np.float32(0.5), average=np.bool_(True), batch_size=np.int64(2)),
        AdaGrad(eta=1, delta=np.int64(1), batch_size=np.int32(2)),
        SMD(eta=np.float64(0.01), meta=0, decay=1, batch_size=np.int64(3)),
        SVRG(np.int64(1)),
        Hybrid(np.int64(2), np.float32(2.0), np.int64(3)),
        LBFGS(np.int32(4)),
        Perceptron(average=np.bool_(False)),
    ],
    ids=repr,
)
def test_numbers_of_numpy_will_do(solver: Any) -> None:
    assert solve(fields.Chain(X, Y), solver, max_passes=2, random_state=0).passes >= 1


def test_a_state_fits_only_its_own_solver_and_field() -> None:
    field = fields.Chain(X, Y)
    state = solve(field, "sdca", random_state=0).state
    refuses(TypeError, "comes from SDCA\\(.*LBFGS\\(.*cannot go on", lambda: solve(field, "lbfgs", state=state))
    refuses(ValueError, "belongs to another field", lambda: solve(fields.Chain(X, Y), "sdca", state=state))
    assert solve(field, "sdca", state=state).state is state


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([[1.0], [np.nan]], [0, 1], "Row 1 of X has a NaN or infinite value"),
        (sparse.csr_array([[1.0], [np.inf]]), [0, 1], "Row 1 of X has a NaN or infinite value"),
        ([[1.0], [2.0]], [0, 1, 1], "one label per row of X, 2"),
        ([[1.0], [2.0]], [1, 1], "at least two classes"),
        ([1.0, 2.0], [0, 1], "X must be a matrix"),
        (np.zeros((0, 2)), [], "at least one row"),
    ],
)  # fmt: skip
def test_bad_points_are_refused(X: Any, y: Any, match: str) -> None:
    refuses(ValueError, match, lambda: fields.Multiclass(X, y))


def test_weights_of_the_wrong_length_are_refused() -> None:
    field = fields.Chain(*labelled_sequences(5))
    refuses(ValueError, f"Chain has {field.dimension} weights", lambda: field.primal(np.zeros(3)))
    refuses(ValueError, f"Chain has {field.dimension} weights", lambda: field.gradient(np.zeros(3)))


def test_long_and_short_sequences_go_together() -> None:
    long = as_arrays([[["w=a"], ["w=b"]] * 500])
    crf = ChainCRF(random_state=0).fit([*long, *as_arrays([[["w=c"]]])], [["N", "V"] * 500, ["N"]])
    assert crf.predict(long) == [["N", "V"] * 500]
