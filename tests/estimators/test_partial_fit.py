"""Training that goes on: what was learnt stays, the model grows, and the objective is the one that is documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dualfield import SDCA, ChainCRF, fields, solvers
from dualfield.datasets import travel_sentences
from dualfield.features import encode
from tests.sequences import as_arrays, as_dicts, labelled_sequences
from tests.zoo import word_sequences

OPTIONS: list[dict[str, Any]] = [
    {},
    {"state_features": "observed", "transitions": "observed"},
    {"bias": False, "begin": False, "end": False},
    {"l1": 0.3, "l2": 0.2},
    {"l1": 0.3, "l2": 0.2, "state_features": "observed", "transitions": "observed"},
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def new_batch() -> tuple[Any, Any]:
    """Sequences with attributes and a label that the first ones lack."""
    X, y = word_sequences(15, seed=7)
    X = [[[*position, f"new {len(x)}"] for position in x] for x in X]
    y[0][0] = "ADVERB"  # comes first in the alphabet, so all numbers of labels change
    return X, y


def named_weights(crf: ChainCRF) -> dict[Any, float]:
    """Every weight by what it is of."""
    parts, labels = crf.layout_.split(crf.weights_), crf.classes_.tolist()
    state = parts["state"] if isinstance(parts["state"], np.ndarray) else parts["state"].toarray()
    found = {
        (name, label): state[i, k] for i, name in enumerate(crf.vocabulary_.names) for k, label in enumerate(labels)
    }
    found |= {
        (one, other, "transition"): parts["transitions"][i, j]
        for i, one in enumerate(labels)
        for j, other in enumerate(labels)
    }
    for name in ("bias", "begin", "end"):
        if name in parts:
            found |= {(name, label, "label"): parts[name][k] for k, label in enumerate(labels)}
    return found


@every_option
def test_without_a_model_it_is_fit(options: dict[str, Any]) -> None:
    X, y = word_sequences(20)
    one = ChainCRF(**options, solver="oeg", random_state=0).fit(X, y)
    other = ChainCRF(**options, solver="oeg", random_state=0).partial_fit(X, y)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert one.solution_.primal == other.solution_.primal


@every_option
def test_weights_that_new_sequences_do_not_touch_stay(options: dict[str, Any]) -> None:
    crf = ChainCRF(**options, random_state=0).fit(*word_sequences(40))
    before = named_weights(crf)
    X, y = new_batch()
    shown = {name for sequence in X for position in sequence for name in position}
    crf.partial_fit(X, y)
    after = named_weights(crf)
    untouched = [key for key in before if len(key) == 2 and key[0] not in shown and before[key] != 0]
    assert len(untouched) > 5
    for key in untouched:
        assert after[key] == before[key]
    assert any(after.get(key, 0.0) != value for key, value in before.items())


@every_option
def test_the_model_grows(options: dict[str, Any]) -> None:
    crf = ChainCRF(**options, random_state=0).fit(*word_sequences(20))
    old = set(crf.vocabulary_.names)
    X, y = new_batch()
    crf.partial_fit(X, y)
    assert crf.classes_.tolist() == ["ADVERB", "NOUN", "VERB", "X"]
    assert any(name.startswith("new") for name in crf.vocabulary_.names)
    if "l1" not in options:
        assert old < set(crf.vocabulary_.names)
    assert crf.solution_.certificate == "exact"
    assert crf.solution_.status == "converged"
    assert len(crf.predict(X)) == len(X)


@pytest.mark.parametrize("l2", [0.1, 1.0])
def test_the_objective_is_that_of_the_new_sequences_about_the_old_weights(l2: float) -> None:
    crf = ChainCRF(l2=l2, tol=1e-9, max_passes=5000, random_state=0).fit(*word_sequences(30))
    before = named_weights(crf)
    X, y = new_batch()
    crf.partial_fit(X, y)
    # The same by SciPy: all losses from a field that has every attribute and label, weights found by their names.
    field = fields.Chain(encode(X).translate(crf.vocabulary_), y, l2)
    twin = ChainCRF(l2=l2)._take(field, crf.solution_)
    twin.weights_ = np.arange(field.dimension, dtype=float)
    places = {key: int(place) for key, place in named_weights(twin).items()}
    centre = np.zeros(field.dimension)
    for key, value in before.items():
        centre[places[key]] = value

    def objective(w: Any) -> tuple[float, Any]:
        value, gradient = field.gradient(w)
        return value + l2 / 2 * ((w - centre) @ (w - centre) - w @ w), gradient - l2 * centre

    found = optimize.minimize(objective, centre, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-8})
    assert crf.solution_.primal == pytest.approx(found.fun, rel=1e-8)
    ours = np.zeros(field.dimension)
    for key, value in named_weights(crf).items():
        ours[places[key]] = value
    np.testing.assert_allclose(ours, found.x, atol=1e-3)


@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_what_was_learnt_stays_where_a_new_fit_forgets_it(l1: float) -> None:
    sentences = travel_sentences(130, seed=0)
    X = [[[f"word={word}", f"end={word[-2:]}"] for word, _ in sentence] for sentence in sentences]
    y = [[tag for _, tag in sentence] for sentence in sentences]
    first, second = (X[:120], y[:120]), (X[120:], y[120:])
    crf = ChainCRF(l1=l1, random_state=0).fit(*first)
    learnt, unseen = crf.score(*first), crf.score(*second)
    crf.partial_fit(*second)
    forgetful = ChainCRF(l1=l1, random_state=0).fit(*second)
    assert crf.score(*first) > learnt - 0.05
    assert crf.score(*second) > unseen
    assert forgetful.score(*first) < learnt - 0.1


def test_a_model_from_a_file_goes_on(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit(*word_sequences(30))
    crf.save(tmp_path / "model")
    again = ChainCRF.load(tmp_path / "model")
    X, y = new_batch()
    np.testing.assert_array_equal(again.partial_fit(X, y).weights_, crf.partial_fit(X, y).weights_)
    again.save(tmp_path / "model")
    assert ChainCRF.load(tmp_path / "model").predict(X) == crf.predict(X)


def test_the_same_sequences_twice_come_closer_to_them() -> None:
    X, y = word_sequences(30)
    crf = ChainCRF(l2=3.0, random_state=0)
    losses = []
    for _ in range(4):
        crf.partial_fit(X, y)
        field = fields.Chain(X, y, 1.0)
        losses.append(field.primal(crf.weights_) - 0.5 * crf.weights_ @ crf.weights_)
    assert np.all(np.diff(losses) < 0)


def test_classes_name_labels_that_come_later() -> None:
    X, y = word_sequences(20)
    crf = ChainCRF(random_state=0).partial_fit(X, y, classes=["LATER", "NOUN"])
    assert crf.classes_.tolist() == ["LATER", "NOUN", "VERB", "X"]
    y[0][0] = "LATER"
    dimension = len(crf.weights_)
    assert len(crf.partial_fit(X, y).weights_) == dimension


def test_new_attributes_must_be_frequent_and_known_ones_need_not() -> None:
    X, y = labelled_sequences(20)
    crf = ChainCRF(min_count=2, random_state=0).fit(X, y)
    crf.partial_fit([[["w=a"], ["rare"]], [["often"], ["often"]]], [["ADJ", "NOUN"], ["VERB", "ADJ"]])
    assert "often" in crf.vocabulary_
    assert "rare" not in crf.vocabulary_
    assert "w=a" in crf.vocabulary_


def test_arrays_keep_their_columns() -> None:
    X, y = labelled_sequences(20)
    crf = ChainCRF(random_state=0).fit(as_arrays(X), y)
    more, labels = labelled_sequences(10, seed=3)
    dicts = ChainCRF(random_state=0).fit(as_dicts(X), y).partial_fit(as_dicts(more), labels)
    np.testing.assert_allclose(crf.partial_fit(as_arrays(more), labels).weights_, dicts.weights_, atol=1e-12)
    with pytest.raises(ValueError, match="columns"):
        crf.partial_fit([np.zeros((2, 3))], [["ADJ", "NOUN"]])


def test_a_warm_start_is_not_confused_by_it() -> None:
    X, y = word_sequences(20)
    crf = ChainCRF(warm_start=True, random_state=0).fit(X, y)
    crf.partial_fit(*new_batch())
    with pytest.warns(UserWarning, match="training starts afresh"):
        crf.fit(X, y)
    np.testing.assert_array_equal(crf.weights_, ChainCRF(random_state=0).fit(X, y).weights_)


def test_a_solver_that_cannot_is_refused() -> None:
    X, y = word_sequences(20)
    crf = ChainCRF(solver="sag", random_state=0).fit(X, y)
    weights = crf.weights_.copy()
    with pytest.raises(TypeError, match="SAG cannot minimise a penalty about given weights; use solver='auto'"):
        crf.partial_fit(*new_batch())
    np.testing.assert_array_equal(crf.weights_, weights)


def test_a_method_on_the_dual_goes_on_too() -> None:
    X, y = word_sequences(20)
    one, other = (ChainCRF(solver=solver, random_state=0, tol=1e-9).fit(X, y) for solver in ("sdca", "lbfgs"))
    np.testing.assert_allclose(one.weights_, other.weights_, atol=1e-3)
    for crf in (one, other):
        crf.partial_fit(*new_batch())
    assert one.solution_.primal == pytest.approx(other.solution_.primal, rel=1e-3)
    np.testing.assert_allclose(one.weights_, other.weights_, atol=1e-2)


def test_other_kinds_of_weights_are_refused() -> None:
    crf = ChainCRF(random_state=0).fit(*word_sequences(20))
    crf.set_params(bias=False)
    with pytest.raises(ValueError, match="bias=False, but the model was trained with bias=True"):
        crf.partial_fit(*new_batch())


def test_bad_input_is_refused_with_its_place() -> None:
    crf = ChainCRF(random_state=0).fit(*word_sequences(20))
    with pytest.raises(ValueError, match="sequence 0 has 1 label in y but 2 positions in X"):
        crf.partial_fit([[["a"], ["b"]]], [["NOUN"]])
    with pytest.raises(TypeError, match="the labels of y are of type int"):
        crf.partial_fit([[["a"], ["b"]]], [[1, 2]])
    with pytest.raises(ValueError, match="y has 2 sequences but X has 1"):
        crf.partial_fit([[["a"], ["b"]]], [["NOUN", "X"], ["X"]])


@pytest.mark.parametrize("solver", ["idal", SDCA(init="product")], ids=repr)
def test_what_constraints_do_not_offer_is_refused_by_name_at_the_first_call(solver: Any) -> None:
    X, y = [[["a"], ["b"]], [["b"], ["a"]]], [["B-X", "O"], ["O", "B-X"]]
    crf = ChainCRF(solver=solver, constraints="bio", random_state=0)
    with pytest.raises(TypeError, match="which Chain with constraints does not offer"):
        crf.partial_fit(X, y)


@pytest.mark.parametrize(
    ("solver", "match"),
    [(solvers.IDAL(), "IDAL needs .*Chain with constraints"), (SDCA(init="product"), "Chain with constraints")],
    ids=repr,
)
def test_a_first_batch_with_constraints_is_refused_by_name(solver: Any, match: str) -> None:
    X, y = [[["a"], ["b"]], [["b"], ["a"]]], [["B-X", "I-X"], ["O", "B-X"]]
    for start in (ChainCRF.fit, ChainCRF.partial_fit):
        with pytest.raises((TypeError, ValueError), match=match):
            start(ChainCRF(constraints="bio", solver=solver), X, y)
