"""ChainCRF: what goes in, what comes out, and which weights there are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dualfield import ChainCRF, oracles
from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode
from tests.sequences import LABELS, NAMES, as_arrays, as_dicts, as_sparse, labelled_sequences

FORMS = {
    "strings": lambda X: X,
    "tuples": lambda X: tuple(tuple(map(tuple, sequence)) for sequence in X),
    "dicts": as_dicts,
    "arrays": as_arrays,
    "sparse": as_sparse,
    "encoded strings": encode,
    "encoded arrays": lambda X: encode(as_arrays(X)),
    "generator": iter,
}


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return labelled_sequences(30)


@pytest.fixture(scope="module")
def crf(data: tuple[Any, Any]) -> ChainCRF:
    return ChainCRF(l2=0.3, random_state=0).fit(*data)


def potentials(crf: ChainCRF, X: Any) -> list[tuple[Any, Any]]:
    """Node and edge potentials of each sequence, by the formula of the class docstring in NumPy."""
    parts = crf.layout_.split(crf.weights_)
    result = []
    for matrix in as_arrays(X):
        node = matrix @ parts["state"] + parts.get("bias", 0.0)
        node[0] += parts.get("begin", 0.0)
        node[-1] += parts.get("end", 0.0)
        result.append((node, parts["transitions"]))
    return result


# Input


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_data_gives_the_same_model(form: str, data: tuple[Any, Any], crf: ChainCRF) -> None:
    X, y = data
    other = ChainCRF(l2=0.3, random_state=0).fit(FORMS[form](X), y)
    np.testing.assert_array_equal(other.weights_, crf.weights_)
    assert other.predict(FORMS[form](X)) == crf.predict(X)
    assert isinstance(other.vocabulary_, NumberedColumns if "arrays" in form or form == "sparse" else Vocabulary)


def test_real_values_are_the_same_in_dicts_arrays_and_sparse_matrices() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(3, 4)) for _ in range(8)]
    dicts = [[{str(j): v for j, v in enumerate(row)} for row in matrix.tolist()] for matrix in arrays]
    y = [rng.integers(2, size=3) for _ in arrays]
    y[0][:2] = 0, 1
    models = [ChainCRF(random_state=0).fit(X, y) for X in (arrays, dicts, list(map(sparse.csc_array, arrays)))]
    for model in models[1:]:
        np.testing.assert_allclose(model.weights_, models[0].weights_, rtol=1e-8)
    np.testing.assert_array_equal(models[1].weights_, models[2].weights_)


def test_labels_may_be_arrays_or_tuples(data: tuple[Any, Any], crf: ChainCRF) -> None:
    X, y = data
    for labels in ([np.array(s) for s in y], tuple(map(tuple, y)), iter(y)):
        np.testing.assert_array_equal(ChainCRF(l2=0.3, random_state=0).fit(X, labels).weights_, crf.weights_)


def test_encode_before_fit_equals_fit_and_after_fit_uses_the_model(data: tuple[Any, Any], crf: ChainCRF) -> None:
    X, y = data
    unfitted = ChainCRF(l2=0.3, random_state=0)
    encoded = unfitted.encode(X)
    assert isinstance(encoded, Encoded)
    np.testing.assert_array_equal(unfitted.fit(encoded, y).weights_, crf.weights_)
    backwards = X[::-1]
    again = crf.encode(backwards)
    assert again.vocabulary is crf.vocabulary_
    assert crf.predict(again) == crf.predict(backwards) == crf.predict(ChainCRF().encode(backwards))


def test_an_encoding_of_other_data_is_translated_by_name(crf: ChainCRF) -> None:
    own = encode([[["new", "w=h"], ["w=a"]]])
    assert crf.predict_marginals(own)[0].tolist() == crf.predict_marginals([[["w=h"], ["w=a"]]])[0].tolist()


def test_an_unseen_attribute_is_ignored(crf: ChainCRF) -> None:
    known, unknown = [[["w=a"], []]], [[["w=a", "w=zebra"], ["zebra"]]]
    assert crf.predict(unknown) == crf.predict(known)
    np.testing.assert_array_equal(crf.predict_marginals(unknown)[0], crf.predict_marginals(known)[0])


def test_classes_are_the_sorted_labels_and_predictions_have_their_type(data: tuple[Any, Any]) -> None:
    X, y = data
    strings = ChainCRF(random_state=0).fit(X, y)
    assert strings.classes_.tolist() == LABELS
    integers = ChainCRF(random_state=0).fit(X, [[10 * LABELS.index(label) for label in s] for s in y])
    assert integers.classes_.tolist() == [0, 10, 20]
    assert integers.classes_.dtype == np.int64
    labels = {type(label) for s in strings.predict(X) for label in s}
    assert labels == {str}
    assert {type(label) for s in integers.predict(X) for label in s} == {int}
    np.testing.assert_array_equal(integers.weights_, strings.weights_)
    assert [[LABELS[label // 10] for label in s] for s in integers.predict(X)] == strings.predict(X)


# Predictions


@pytest.mark.parametrize("options", [{}, {"bias": False, "end": False}, {"state_features": "observed"}])
def test_marginals_are_those_of_the_oracle(data: tuple[Any, Any], options: dict[str, Any]) -> None:
    X, y = data
    crf = ChainCRF(random_state=0, **options).fit(X, y)
    found = crf.predict_marginals(X)
    assert [table.shape for table in found] == [(len(s), 3) for s in y]
    for table, (node, edge) in zip(found, potentials(crf, X), strict=True):
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(table, oracles.marginals(node, edge).nodes, atol=1e-12)


def test_predictions_are_those_of_the_oracle(data: tuple[Any, Any], crf: ChainCRF) -> None:
    X, _ = data
    found = potentials(crf, X)
    assert crf.predict(X) == [crf.classes_[oracles.viterbi(*p)[0]].tolist() for p in found]
    assert crf.predict_posterior(X) == [crf.classes_[oracles.decode_posterior(*p)].tolist() for p in found]


def test_kbest_lists_every_labelling_in_order_of_probability(data: tuple[Any, Any], crf: ChainCRF) -> None:
    X, _ = data
    X = [sequence for sequence in X if len(sequence) <= 4]
    for sequence, first, ranked in zip(X, crf.predict(X), crf.predict_kbest(X, k=10**6), strict=True):
        labellings, probabilities = [tuple(labels) for labels, _ in ranked], [p for _, p in ranked]
        assert len(set(labellings)) == len(ranked) == 3 ** len(sequence)
        assert list(labellings[0]) == first
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) == pytest.approx(1.0, abs=1e-12)


def test_kbest_gives_the_first_k_and_agrees_with_the_marginals(crf: ChainCRF) -> None:
    X = [[["w=a"], ["w=b"]], [["w=c"]]]
    assert [len(ranked) for ranked in crf.predict_kbest(X, k=4)] == [4, 3]
    assert [len(ranked) for ranked in crf.predict_kbest(X)] == [5, 3]
    table = np.zeros((2, 3))
    for labels, probability in crf.predict_kbest(X, k=9)[0]:
        for t, label in enumerate(labels):
            table[t, LABELS.index(label)] += probability
    np.testing.assert_allclose(table, crf.predict_marginals(X)[0], atol=1e-12)


def test_the_objective_is_the_penalty_plus_minus_the_log_probabilities(data: tuple[Any, Any]) -> None:
    X, y = data
    short = [i for i, labels in enumerate(y) if len(labels) <= 4]
    X, y = [X[i] for i in short], [y[i] for i in short]
    crf = ChainCRF(l2=0.3, random_state=0).fit(X, y)
    loss = 0.0
    for labels, ranked in zip(y, crf.predict_kbest(X, k=10**6), strict=True):
        loss -= np.log(next(p for found, p in ranked if found == labels))
    assert crf.solution_.primal == pytest.approx(0.15 * crf.weights_ @ crf.weights_ + loss, rel=1e-9)


def test_samples_follow_the_marginals_and_the_seed(crf: ChainCRF) -> None:
    X = [[["w=a"], ["w=b"], ["w=e", "w=f"]], [["w=c"]]]
    drawn = crf.sample(X, n=4000, random_state=0)
    assert [np.shape(samples) for samples in drawn] == [(4000, 3), (4000, 1)]
    for samples, table in zip(drawn, crf.predict_marginals(X), strict=True):
        frequency = (np.array(samples)[:, :, None] == crf.classes_).mean(axis=0)
        np.testing.assert_allclose(frequency, table, atol=0.04)
    assert drawn == crf.sample(X, n=4000, random_state=0)
    assert drawn != crf.sample(X, n=4000, random_state=1)
    assert [len(samples) for samples in crf.sample(X)] == [1, 1]


def test_score_is_the_share_of_correct_positions(data: tuple[Any, Any], crf: ChainCRF) -> None:
    X, y = data
    right = [
        [a == b for a, b in zip(found, labels, strict=True)] for found, labels in zip(crf.predict(X), y, strict=True)
    ]
    assert crf.score(X, y) == pytest.approx(np.mean(list(chain.from_iterable(right))))
    assert 1 / 3 < crf.score(X, y) < 1
    assert crf.score(crf.encode(X), y) == crf.score(X, y)
    first = [1.0] + [0.0] * (len(X) - 1)
    assert crf.score(X, y, sample_weight=first) == pytest.approx(np.mean(right[0]))


def test_an_unseen_label_counts_as_an_error_with_a_warning(crf: ChainCRF) -> None:
    X = [[["w=a"], ["w=b"]]]
    right = crf.predict(X)[0]
    assert crf.score(X, [right]) == 1.0
    with pytest.warns(UserWarning, match="1 label of y"):
        assert crf.score(X, [[right[0], "UNSEEN"]]) == 0.5
    with pytest.warns(UserWarning, match="2 labels of y"):
        assert crf.score(X, [["NEW", "UNSEEN"]]) == 0.0


@pytest.mark.parametrize("n_jobs", [2, 7, 100, -1, None])
def test_the_number_of_threads_changes_no_prediction(n_jobs: int | None, data: tuple[Any, Any], crf: ChainCRF) -> None:
    X, y = data
    threaded = ChainCRF(l2=0.3, random_state=0).fit(X, y).set_params(n_jobs=n_jobs)
    assert threaded.predict(X) == crf.predict(X)
    assert threaded.predict_posterior(X) == crf.predict_posterior(X)
    assert threaded.score(X, y) == crf.score(X, y)
    for a, b in zip(threaded.predict_marginals(X), crf.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_model_predicts_in_several_threads_at_once(crf: ChainCRF) -> None:
    X, _ = labelled_sequences(300, seed=3)
    encoded = crf.encode(X)

    def everything(_: int) -> Any:
        tables = crf.predict_marginals(encoded)
        return crf.predict(X), crf.predict_kbest(encoded, 3), crf.sample(X, 2, 0), np.vstack(tables).tolist()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(everything, range(12)))
    alone = everything(0)
    assert all(result == alone for result in results)


# Weights


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("begin", [True, False])
@pytest.mark.parametrize("end", [True, False])
def test_switches_add_one_weight_per_label(bias: bool, begin: bool, end: bool, data: tuple[Any, Any]) -> None:
    crf = ChainCRF(bias=bias, begin=begin, end=end, random_state=0).fit(*data)
    parts = crf.layout_.split(crf.weights_)
    assert len(crf.weights_) == len(NAMES) * 3 + 9 + 3 * (bias + begin + end)
    switches = {"bias": bias, "begin": begin, "end": end}
    assert set(parts) == {"state", "transitions"} | {name for name, on in switches.items() if on}


def test_observed_pairs_are_those_of_the_training_data(data: tuple[Any, Any]) -> None:
    X, y = data
    X, y = X[:6], y[:6]
    states = {(a, label) for s, labels in zip(X, y, strict=True) for p, label in zip(s, labels, strict=True) for a in p}
    steps = {step for labels in y for step in pairwise(labels)}
    assert len(states) < 24
    assert len(steps) < 9
    crf = ChainCRF(state_features="observed", transitions="observed", random_state=0).fit(X, y)
    assert len(crf.weights_) == len(states) + len(steps) + 9
    parts = crf.layout_.split(crf.weights_)
    state = parts["state"].tocoo()
    names = crf.vocabulary_.names
    assert {(names[a], LABELS[k]) for a, k in zip(state.row, state.col, strict=True)} == states
    assert {(LABELS[i], LABELS[j]) for i, j in np.argwhere(parts["transitions"])} <= steps
    assert len(ChainCRF(transitions="observed", random_state=0).fit(X, y).weights_) == 24 + len(steps) + 9
    assert len(ChainCRF(state_features="observed", random_state=0).fit(X, y).weights_) == len(states) + 18


def test_min_count_drops_rare_attributes() -> None:
    X = [[["common", "rare"], ["common"]], [["common", "twice"], ["twice"]]]
    y = [["A", "B"], ["A", "B"]]
    crf = ChainCRF(min_count=2, random_state=0).fit(X, y)
    assert crf.vocabulary_.names == ["common", "twice"]
    without = [[[a for a in position if a != "rare"] for position in sequence] for sequence in X]
    np.testing.assert_array_equal(crf.weights_, ChainCRF(random_state=0).fit(without, y).weights_)
    assert crf.predict(X) == crf.predict(without)


def test_min_count_keeps_the_width_of_arrays() -> None:
    X = [np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[2.0, 0.0]])]
    crf = ChainCRF(min_count=2, random_state=0).fit(X, [["A", "B"], ["A"]])
    assert len(crf.vocabulary_) == 2
    np.testing.assert_array_equal(crf.layout_.split(crf.weights_)["state"][1], 0.0)
    assert crf.predict(X) == crf.predict([x * [1.0, 0.0] for x in X])


def test_a_position_without_attributes_and_a_model_without_any_are_fine() -> None:
    y = [["A", "B"], ["A", "B"]]
    assert ChainCRF(random_state=0).fit([[[], []], [[], []]], y).predict([[[], []]]) == [["A", "B"]]
    assert ChainCRF(random_state=0).fit([np.zeros((2, 0))] * 2, y).predict([np.zeros((2, 0))]) == [["A", "B"]]


# Sample weights


TIGHT = {"tol": 1e-12, "random_state": 0, "max_passes": 5000}


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_weight_zero_is_absence_and_weight_two_is_repetition(solver: str, data: tuple[Any, Any]) -> None:
    X, y = data
    weight = np.ones(len(X))
    weight[3:6], weight[10:14] = 0.0, 2.0
    weighted = ChainCRF(solver=solver, **TIGHT).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    written_out = ChainCRF(solver=solver, **TIGHT).fit([X[i] for i in rows], [y[i] for i in rows])
    assert weighted.solution_.primal == pytest.approx(written_out.solution_.primal, rel=1e-11)
    np.testing.assert_allclose(weighted.weights_, written_out.weights_, atol=1e-4)


def test_a_common_weight_only_scales_the_penalty(data: tuple[Any, Any]) -> None:
    X, y = data
    scaled = ChainCRF(l2=3.0, **TIGHT).fit(X, y, sample_weight=np.full(len(X), 3.0))
    plain = ChainCRF(l2=1.0, **TIGHT).fit(X, y)
    assert scaled.solution_.primal == pytest.approx(3 * plain.solution_.primal, rel=1e-11)
    ones = ChainCRF(l2=1.0, **TIGHT).fit(X, y, sample_weight=np.ones(len(X)))
    np.testing.assert_allclose(ones.weights_, plain.weights_, atol=1e-5)
