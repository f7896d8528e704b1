"""Fields equal their definition: a feature map written down in Python, summed over all labellings."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from dualfield import _core, fields, solve
from dualfield.fields.multiclass import compile_rows
from tests.core.strategies import assert_close, few_examples
from tests.enumeration import Enumeration, all_labellings, log_sum_exp

# --- chains ---


@dataclass
class ChainProblem:
    """Labelled sequences, options, and the feature vectors that the documentation of ``Chain`` promises."""

    X: list[list[dict[str, float]]]
    y: list[list[str]]
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.field = fields.Chain(self.X, self.y, **self.options)
        self.labels = sorted({label for sequence in self.y for label in sequence})
        self.codes = [[self.labels.index(label) for label in sequence] for sequence in self.y]
        self.K = len(self.labels)
        names = self.field.encoded.vocabulary.names
        states = [(name, k) for name in names for k in range(self.K)]
        edges = [(i, j) for i in range(self.K) for j in range(self.K)]
        if self.options.get("state_features") == "observed":
            seen = {
                (name, k)
                for x, codes in zip(self.X, self.codes, strict=True)
                for position, k in zip(x, codes, strict=True)
                for name in position
            }
            states = [pair for pair in states if pair in seen]
        if self.options.get("transitions") == "observed":
            seen = {pair for codes in self.codes for pair in pairwise(codes)}
            edges = [pair for pair in edges if pair in seen]
        keys = [("state", *pair) for pair in states] + [("edge", *pair) for pair in edges]
        for part in ("bias", "begin", "end"):
            if self.options.get(part, True):
                keys += [(part, k) for k in range(self.K)]
        self.place = {key: place for place, key in enumerate(keys)}
        weight = self.options.get("sample_weight")
        self.sample_weight = np.ones(len(self.X)) if weight is None else np.asarray(weight)
        self.l2 = self.options.get("l2", 1.0)

    def features(self, i: int, codes: Any) -> Any:
        """``F(x_i, y)``."""
        x, last = self.X[i], len(self.X[i]) - 1
        active: list[tuple[Any, float]] = [(("begin", codes[0]), 1.0), (("end", codes[last]), 1.0)]
        for t, position in enumerate(x):
            active += [(("state", name, codes[t]), value) for name, value in position.items()]
            active.append((("bias", codes[t]), 1.0))
            if t < last:
                active.append((("edge", codes[t], codes[t + 1]), 1.0))
        vector = np.zeros(len(self.place))
        for key, value in active:
            if key in self.place:
                vector[self.place[key]] += value
        return vector

    def scored(self, i: int, w: Any) -> tuple[Any, Any, Any]:
        """All labellings of block i, their feature vectors and their scores."""
        labellings = all_labellings(len(self.X[i]), self.K)
        vectors = np.array([self.features(i, row) for row in labellings])
        return labellings, vectors, (vectors.astype(np.longdouble) @ w)

    def primal_and_gradient(self, w: Any) -> tuple[float, Any]:
        value, gradient = self.l2 / 2 * np.dot(w, w), self.l2 * w
        for i, c in enumerate(self.sample_weight):
            _, vectors, scores = self.scored(i, w)
            truth = self.features(i, self.codes[i])
            log_z = log_sum_exp(scores)
            value = value + c * (log_z - truth @ w)
            gradient = gradient + c * (np.exp(scores - log_z) @ vectors - truth)
        return value, gradient

    def potentials(self, i: int, w: Any) -> tuple[Any, Any]:
        """Node (T, K) and edge (K, K) potentials of block i."""
        get = lambda *key: w[self.place[key]] if key in self.place else 0.0  # noqa: E731
        last = len(self.X[i]) - 1
        node = np.array(
            [
                [
                    sum(value * get("state", name, k) for name, value in position.items())
                    + get("bias", k)
                    + (get("begin", k) if t == 0 else 0.0)
                    + (get("end", k) if t == last else 0.0)
                    for k in range(self.K)
                ]
                for t, position in enumerate(self.X[i])
            ]
        )
        return node, np.array([[get("edge", i, j) for j in range(self.K)] for i in range(self.K)])


positions = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([1.0, -0.5, 2.0, 3.25]), max_size=3)
plain_positions = st.dictionaries(st.sampled_from("abcd"), st.just(1.0), max_size=3)


@st.composite
def chain_problems(draw: st.DrawFn) -> ChainProblem:
    kind = draw(st.sampled_from([positions, plain_positions]))
    X = draw(st.lists(st.lists(kind, min_size=1, max_size=4), min_size=1, max_size=4))
    assume(any(position for x in X for position in x))
    alphabet = draw(st.sampled_from(["AB", "ABC"]))
    y = [draw(st.lists(st.sampled_from(alphabet), min_size=len(x), max_size=len(x))) for x in X]
    assume(len({label for sequence in y for label in sequence}) > 1)
    options = {
        "l2": draw(st.sampled_from([0.1, 1.0, 7.5])),
        "state_features": draw(st.sampled_from(["all", "observed"])),
        "transitions": draw(st.sampled_from(["all", "observed"])),
        **{part: draw(st.booleans()) for part in ("bias", "begin", "end")},
    }
    if draw(st.booleans()):
        options["sample_weight"] = [draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])) for _ in X]
        assume(any(options["sample_weight"]))
    return ChainProblem(X, y, options)


scales = st.sampled_from([0.0, 0.3, 3.0, 300.0])


def random_weights(problem: Any, scale: float) -> Any:
    return scale * np.random.default_rng(0).normal(size=problem.field.dimension)


@few_examples
@given(chain_problems())
def test_a_chain_has_the_weights_that_its_options_say(problem: ChainProblem) -> None:
    assert problem.field.dimension == problem.field.layout.dimension == len(problem.place)
    assert problem.field.n_blocks == len(problem.X)
    assert problem.field.classes.tolist() == problem.labels


@few_examples
@given(chain_problems(), scales)
def test_chain_potentials_are_inner_products_with_features(problem: ChainProblem, scale: float) -> None:
    w = random_weights(problem, scale)
    for i in range(len(problem.X)):
        node, edge = problem.potentials(i, w)
        assert_close(problem.field.core.potentials(w, i), np.concatenate([node.ravel(), edge.ravel()]))
        # ... and the feature map of this file scores labellings as these potentials do.
        assert_close(problem.scored(i, w)[2], Enumeration(node, edge).scores)


@few_examples
@given(chain_problems(), scales)
def test_chain_objective_and_gradient_are_sums_over_labellings(problem: ChainProblem, scale: float) -> None:
    w = random_weights(problem, scale)
    expected_value, expected_gradient = problem.primal_and_gradient(w)
    value, gradient = problem.field.gradient(w)
    assert_close(problem.field.primal(w), expected_value)
    assert_close(value, expected_value)
    assert_close(gradient, expected_gradient)


def central_differences(function: Any, w: Any, step: float = 1e-5) -> Any:
    moves = step * np.eye(len(w))
    return np.array([(function(w + move) - function(w - move)) / (2 * step) for move in moves])


def assert_gradient_is_the_limit_of_differences(field: Any, w: Any) -> None:
    differences = central_differences(field.primal, w)
    # Rounding of the values (1e-15 · |P| / 1e-5) and the third derivative (1e-10) leave about eight digits.
    scale = max(1.0, abs(field.primal(w)), np.abs(differences).max())
    np.testing.assert_allclose(field.gradient(w)[1], differences, rtol=0, atol=1e-7 * scale)


@few_examples
@given(chain_problems())
def test_chain_gradient_is_the_limit_of_differences(problem: ChainProblem) -> None:
    assert_gradient_is_the_limit_of_differences(problem.field, random_weights(problem, 0.5))


@few_examples
@given(chain_problems(), scales)
def test_chain_predictions_agree_with_enumeration(problem: ChainProblem, scale: float) -> None:
    w, core = random_weights(problem, scale), problem.field.core
    n = len(problem.X)
    cuts = np.cumsum([len(x) for x in problem.X])[:-1]
    decoded = np.split(core.decode(w, 0, n), cuts)
    marginals = np.split(core.marginals(w, 0, n), cuts)
    for i in range(n):
        exact = Enumeration(*problem.potentials(i, w))
        assert_close(exact.score(decoded[i]), exact.scores.max())
        assert_close(marginals[i], np.exp(exact.log_nodes))
        labels, log_p = core.kbest(w, i, 4)
        assert_close(log_p, exact.kbest(4)[1] - exact.log_partition)
        assert_close(log_p, [exact.score(row) - exact.log_partition for row in labels])
        assert len(np.unique(labels, axis=0)) == len(labels) == min(4, len(exact.scores))
        drawn = core.sample(w, i, 5, 0)
        assert min(exact.score(row) - exact.log_partition for row in drawn) > np.log(1e-12)


@few_examples
@given(chain_problems(), st.data())
def test_a_range_of_blocks_is_a_slice_of_all(problem: ChainProblem, data: st.DataObject) -> None:
    w, n = random_weights(problem, 1.0), len(problem.X)
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    bounds = problem.field.encoded.offsets[[first, last]]
    core = problem.field.core
    assert np.array_equal(core.decode(w, first, last), core.decode(w, 0, n)[slice(*bounds)])
    assert np.array_equal(core.marginals(w, first, last), core.marginals(w, 0, n)[slice(*bounds)])


# Around the widths of the vector units, and of the words that say which labels a row has.
@pytest.mark.parametrize("labels", [2, 7, 8, 9, 16, 22, 31, 32, 33, 64, 65, 100])
@pytest.mark.parametrize("state_features", ["all", "observed"])
def test_any_number_of_labels(labels: int, state_features: str) -> None:
    random = np.random.default_rng(labels)
    y = [[f"{k:03}" for k in random.permutation(labels)[: 1 + labels // 2]] for _ in range(8)] + [
        [f"{k:03}"] for k in range(labels)
    ]
    X = [[{f"a{random.integers(6)}": random.normal(), f"b{random.integers(3)}": 1.0} for _ in labels] for labels in y]
    problem = ChainProblem(X, y, {"state_features": state_features, "l2": 0.1})
    w = random_weights(problem, 1.0)
    for i in range(len(X)):
        node, edge = problem.potentials(i, w)
        assert_close(problem.field.core.potentials(w, i), np.concatenate([node.ravel(), edge.ravel()]))
    _, gradient = problem.field.gradient(w)
    direction = random.normal(size=len(w))
    along = [problem.field.primal(w + step * direction) for step in (-1e-5, 1e-5)]
    np.testing.assert_allclose(gradient @ direction, (along[1] - along[0]) / 2e-5, rtol=1e-6)
    # The dual methods also apply directions to the weights: their weights must stay those of their marginals.
    for solver in ("oeg", "sdca"):
        solution = solve(problem.field, solver, tol=1e-4, max_passes=300)
        assert solution.status == "converged"
        assert_close(solution.primal, problem.field.primal(solution.weights))


def test_samples_of_a_block_follow_its_probabilities() -> None:
    problem = ChainProblem([[{"a": 1.0}, {"b": 2.0}, {"a": -1.0}]], [["A", "B", "C"]])
    w = random_weights(problem, 0.7)
    exact = Enumeration(*problem.potentials(0, w))
    drawn = problem.field.core.sample(w, 0, 20_000, 5)
    counts = np.bincount(np.ravel_multi_index(tuple(drawn.T), (3, 3, 3)), minlength=27)
    expected = 20_000 * exact.probabilities.astype(float)
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 5)


def test_an_attribute_repeated_at_a_position_counts_with_the_sum_of_its_values() -> None:
    offsets, y = np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    transitions = np.arange(4, dtype=np.int32)

    def chain(indptr: list[int], indices: list[int], values: list[float]) -> Any:
        arrays = offsets, np.array(indptr), np.array(indices, dtype=np.int32), np.array(values)
        return _core.ChainAll(*arrays, 2, 2, transitions, True, True, True, y, None, 1.0)

    repeated, merged = (
        chain([0, 3, 4], [1, 0, 1, 1], [1.5, 1.0, -4.0, 1.0]),
        chain([0, 2, 3], [0, 1, 1], [1.0, -2.5, 1.0]),
    )
    w = np.random.default_rng(0).normal(size=repeated.dimension)
    assert_close(repeated.primal(w), merged.primal(w))
    assert_close(repeated.gradient(w)[1], merged.gradient(w)[1])


# --- multiclass ---


@dataclass
class MulticlassProblem:
    """Labelled points, and their objective written as plain softmax regression."""

    X: Any
    codes: Any
    l2: float
    bias: bool
    sample_weight: Any
    as_sparse: bool

    def __post_init__(self) -> None:
        X = sparse.csr_matrix(self.X) if self.as_sparse else self.X
        self.field = fields.Multiclass(X, self.codes, self.l2, bias=self.bias, sample_weight=self.sample_weight)
        self.K = len(np.unique(self.codes))
        self.c = np.ones(len(self.X)) if self.sample_weight is None else np.asarray(self.sample_weight)

    def scores(self, w: Any) -> Any:
        X = np.column_stack([self.X, np.ones(len(self.X))]) if self.bias else self.X
        return X, X.astype(np.longdouble) @ w.reshape(-1, self.K)

    def primal_and_gradient(self, w: Any) -> tuple[Any, Any]:
        X, scores = self.scores(w)
        log_z = np.array([log_sum_exp(row) for row in scores])
        truth = np.eye(self.K)[self.codes]
        losses = log_z - (scores * truth).sum(axis=1)
        residuals = self.c[:, None] * (np.exp(scores - log_z[:, None]) - truth)
        return self.l2 / 2 * (w @ w) + self.c @ losses, self.l2 * w + (X.T @ residuals).ravel()


@st.composite
def multiclass_problems(draw: st.DrawFn) -> MulticlassProblem:
    n, d, K = draw(st.integers(2, 8)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    X = random.normal(size=(n, d)) * (random.uniform(size=(n, d)) < 0.7)
    if draw(st.booleans()):
        X = (X > 0).astype(float)
    codes = random.permutation(np.concatenate([np.arange(min(K, n)), random.integers(min(K, n), size=n)])[:n])
    sample_weight = draw(st.sampled_from([None, np.linspace(0.0, 2.0, n)]))
    l2, bias, as_sparse = draw(st.sampled_from([0.1, 1.0, 7.5])), draw(st.booleans()), draw(st.booleans())
    return MulticlassProblem(X, codes, l2, bias, sample_weight, as_sparse)


@few_examples
@given(multiclass_problems(), scales)
def test_multiclass_objective_and_gradient_are_those_of_softmax_regression(
    problem: MulticlassProblem, scale: float
) -> None:
    assert problem.field.dimension == (problem.X.shape[1] + problem.bias) * problem.K
    w = random_weights(problem, scale)
    expected_value, expected_gradient = problem.primal_and_gradient(w)
    value, gradient = problem.field.gradient(w)
    assert_close(problem.field.primal(w), expected_value)
    assert_close(value, expected_value)
    assert_close(gradient, expected_gradient)


@few_examples
@given(multiclass_problems())
def test_multiclass_gradient_is_the_limit_of_differences(problem: MulticlassProblem) -> None:
    assert_gradient_is_the_limit_of_differences(problem.field, random_weights(problem, 0.5))


@few_examples
@given(multiclass_problems(), scales)
def test_multiclass_predictions_are_those_of_softmax_regression(problem: MulticlassProblem, scale: float) -> None:
    w, n = random_weights(problem, scale), len(problem.X)
    core = compile_rows(problem.X, problem.K, problem.bias)  # in the order of X; a Multiclass has its own
    scores = problem.scores(w)[1].astype(float)
    for i in range(n):
        assert_close(core.potentials(w, i), scores[i])
    decoded = core.decode(w, 0, n)
    assert_close(scores[np.arange(n), decoded], scores.max(axis=1))
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert_close(core.marginals(w, 0, n), shifted / shifted.sum(axis=1, keepdims=True))
    assert np.array_equal(core.decode(w, 1, n), decoded[1:])


# --- CRFsuite ---


@pytest.mark.parametrize("max_iterations", [3, 500])
@pytest.mark.parametrize("possible", [True, False])
@pytest.mark.parametrize("c2", [0.05, 1.0])
def test_the_objective_is_that_of_crfsuite(tmp_path: Any, possible: bool, c2: float, max_iterations: int) -> None:
    random = np.random.default_rng(4)
    X = [
        [
            {f"a{k}": float(random.choice([1.0, 0.5, -2.0])) for k in random.choice(6, 2, replace=False)}
            for _ in range(random.integers(1, 7))
        ]
        for _ in range(12)
    ]
    y = [[str(random.choice(list("ABC"))) for _ in x] for x in X]
    trainer = pycrfsuite.Trainer(verbose=False)
    for sequence in zip(X, y, strict=True):
        trainer.append(*sequence)
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": c2,
            "feature.possible_states": possible,
            "feature.possible_transitions": possible,
            "max_iterations": max_iterations,
            "epsilon": 1e-9,
            "delta": 1e-12,
        }
    )
    path = str(tmp_path / "model")
    trainer.train(path)
    loss = trainer.logparser.last_iteration["loss"]
    with pycrfsuite.Tagger().open(path) as tagger:
        info = tagger.info()
    mode = "all" if possible else "observed"
    problem = ChainProblem(
        X,
        y,
        {"l2": 2 * c2, "state_features": mode, "transitions": mode, "bias": False, "begin": False, "end": False},
    )
    w = np.zeros(problem.field.dimension)
    for (name, label), weight in info.state_features.items():
        w[problem.place["state", name, problem.labels.index(label)]] = weight
    for (before, after), weight in info.transitions.items():
        w[problem.place["edge", problem.labels.index(before), problem.labels.index(after)]] = weight
    # CRFsuite prints weights and loss with six digits after the point.
    value, gradient = problem.field.gradient(w)
    assert abs(value - loss) <= 1e-6 * (1 + np.abs(gradient).sum())
    if max_iterations == 500:  # CRFsuite leaves out pairs whose values add up to less than zero
        assert np.abs(gradient[w != 0]).max() < 1e-3
