"""ChainCRF under constraints: no forbidden labelling is ever predicted, and allowed sets and given labels are kept."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dualfield import ChainCRF, ChainCRFCV, Constraints
from dualfield.inspection import explain
from dualfield.metrics import chunks
from dualfield.models.model_file import read_model, write_model
from tests.zoo import chunk_sequences

SCHEMES = ["bio", "iobes"]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
MODELS: dict[Any, ChainCRF] = {}


def fitted(scheme: str = "bio", **options: Any) -> ChainCRF:
    """A model of few sentences, whose weights alone would often break the scheme."""
    key = scheme, *options.items()
    if key not in MODELS:
        MODELS[key] = ChainCRF(constraints=scheme, random_state=0, **options).fit(*chunk_sequences(40, scheme))
    return MODELS[key]


def noise(n: int = 60, seed: int = 5) -> Any:
    """Sentences of attributes that tell nothing, or something wrong."""
    random = np.random.default_rng(seed)
    tags = ["I-X", "I-geo-loc", "E-X", "B-X", "noise", "O"]
    return [[[f"shown={random.choice(tags)}"] for _ in range(random.integers(1, 9))] for _ in range(n)]


def rules_of(crf: ChainCRF) -> Constraints:
    assert crf.layout_.constraints is not None
    return crf.layout_.constraints


@every_scheme
@pytest.mark.parametrize("options", [{}, {"state_features": "observed", "transitions": "observed"}, {"n_jobs": 2}])
def test_nothing_forbidden_is_predicted(scheme: str, options: Any) -> None:
    crf, X = fitted(scheme, **options), noise()
    rules = rules_of(crf)
    assert all(rules.allows(labels) for labels in crf.predict(X))
    assert all(rules.allows(labels) for labels in crf.predict_posterior(X))
    for best in crf.predict_kbest(X, 12):
        assert all(rules.allows(labels) for labels, _ in best)
        probabilities = [p for _, p in best]
        assert sorted(probabilities, reverse=True) == probabilities
        assert sum(probabilities) <= 1 + 1e-9
    for drawn in crf.sample(X, 20, random_state=0):
        assert all(rules.allows(labels) for labels in drawn)


def test_without_constraints_the_same_data_breaks_the_scheme() -> None:
    free = ChainCRF(random_state=0).fit(*chunk_sequences(40))
    assert not all(rules_of(fitted()).allows(labels) for labels in free.predict(noise()))


@every_scheme
def test_marginals_are_over_the_allowed_labellings(scheme: str) -> None:
    crf, X = fitted(scheme), noise(20)
    rules = rules_of(crf)
    for x, marginals in zip(X, crf.predict_marginals(X), strict=True):
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0)
        assert np.all(marginals[0, ~rules.begin] == 0.0)
        assert np.all(marginals[-1, ~rules.end] == 0.0)
        [everything] = crf.predict_kbest([x[:3]], 10**6)
        assert sum(p for _, p in everything) == pytest.approx(1.0)


@every_scheme
def test_training_is_certified(scheme: str) -> None:
    for solver in ("auto", "sdca", "oeg", "lbfgs"):
        crf = ChainCRF(constraints=scheme, solver=solver, tol=1e-4, random_state=0).fit(*chunk_sequences(40, scheme))
        assert crf.solution_.certificate == "exact"
        assert crf.solution_.relative_gap <= 1e-4


# --- allowed sets and given labels ---


def test_predictions_keep_to_allowed_labels() -> None:
    crf, X = fitted(), noise(30)
    random = np.random.default_rng(0)
    allowed = [
        None if i % 5 == 0 else [None if random.random() < 0.5 else {"O", "B-X", "I-X"} for _ in x]
        for i, x in enumerate(X)
    ]

    def kept(labels: Any, sets: Any) -> bool:
        return sets is None or all(s is None or label in s for label, s in zip(labels, sets, strict=True))

    rules = rules_of(crf)
    for method in (crf.predict, crf.predict_posterior):
        for labels, sets in zip(method(X, allowed=allowed), allowed, strict=True):
            assert kept(labels, sets)
            assert rules.allows(labels)
    for best, sets in zip(crf.predict_kbest(X, 9, allowed=allowed), allowed, strict=True):
        assert all(kept(labels, sets) and rules.allows(labels) for labels, _ in best)
    for drawn, sets in zip(crf.sample(X, 9, random_state=0, allowed=allowed), allowed, strict=True):
        assert all(kept(labels, sets) and rules.allows(labels) for labels in drawn)


def test_probabilities_given_allowed_labels_are_conditional() -> None:
    crf, x = fitted(), [["shown=noise"], ["shown=I-X"], ["letter=B"]]
    sets = [None, {"I-X", "O"}, None]
    [everything] = crf.predict_kbest([x], 10**6)
    kept = [(labels, p) for labels, p in everything if labels[1] in {"I-X", "O"}]
    total = sum(p for _, p in kept)
    [found] = crf.predict_kbest([x], 10**6, allowed=[sets])
    assert len(found) == len(kept)
    for (labels, p), (expected, q) in zip(found, kept, strict=True):
        assert p == pytest.approx(q / total)
        assert labels == expected or p == pytest.approx(q / total, rel=1e-12)
    [marginals] = crf.predict_marginals([x], allowed=[sets])
    for t, k in np.ndindex(*marginals.shape):
        expected_p = sum(p for labels, p in kept if labels[t] == crf.classes_[k]) / total
        assert marginals[t, k] == pytest.approx(expected_p, abs=1e-12)


def test_given_labels_are_sets_of_one() -> None:
    crf = ChainCRF(random_state=0).fit(*chunk_sequences(40))  # also without constraints
    X = noise(10)
    given = [["O" if t % 2 else None for t in range(len(x))] for x in X]
    allowed = [[None if label is None else [label] for label in labels] for labels in given]
    assert crf.predict(X, given=given) == crf.predict(X, allowed=allowed)
    for labels in crf.predict(X, given=given):
        assert all(label == "O" for label in labels[1::2])
    for one, other in zip(
        crf.predict_marginals(X, given=given), crf.predict_marginals(X, allowed=allowed), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert crf.predict(X, given=crf.predict(X)) == crf.predict(X)
    [[(labels, p)]] = crf.predict_kbest(X[:1], 5, given=[["O"] * len(X[0])])
    assert labels == ["O"] * len(X[0])
    assert p == pytest.approx(1.0)


def test_allowed_sets_that_hold_every_label_change_nothing() -> None:
    crf, X = ChainCRF(random_state=0).fit(*chunk_sequences(40)), noise(10)
    everything = [[set(crf.classes_.tolist()) for _ in x] for x in X]
    assert crf.predict(X, allowed=everything) == crf.predict(X)
    for one, other in zip(crf.predict_marginals(X, allowed=everything), crf.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_allowed_sets_narrow_the_training_problem() -> None:
    X, y = chunk_sequences(20)
    labels = sorted({tag for tags in y for tag in tags})
    sets = [[{tag, "O"} for tag in tags] for tags in y]
    crf = ChainCRF(random_state=0, solver="sdca", tol=1e-6).fit(X, y, allowed=sets)
    wide = ChainCRF(random_state=0, solver="sdca", tol=1e-6).fit(X, y, allowed=[[labels for _ in tags] for tags in y])
    free = ChainCRF(random_state=0, solver="sdca", tol=1e-6).fit(X, y)
    assert crf.solution_.certificate == "exact"
    assert crf.solution_.primal < wide.solution_.primal
    assert wide.solution_.primal == pytest.approx(free.solution_.primal, rel=1e-5)


# --- saving, copying, scikit-learn ---


@pytest.mark.parametrize("given", ["bio", "object"])
def test_a_model_file_keeps_the_constraints(given: str, tmp_path: Path) -> None:
    X, y = chunk_sequences(30)
    labels = sorted({tag for tags in y for tag in tags})
    # one label more than there is, in another order
    rules: Any = "bio" if given == "bio" else Constraints.bio(["I-other", *reversed(labels)])
    crf = ChainCRF(constraints=rules, random_state=0).fit(X, y)
    crf.save(tmp_path / "model.safetensors")
    again = ChainCRF.load(tmp_path / "model.safetensors")
    assert again.constraints == crf.constraints
    assert again.layout_.constraints == crf.layout_.constraints == Constraints.bio(labels)
    assert again.predict(noise()) == crf.predict(noise())
    copy = pickle.loads(pickle.dumps(crf))
    assert copy.predict(noise()) == crf.predict(noise())
    assert clone(crf).constraints == crf.constraints


def test_a_model_without_constraints_has_none_in_its_file(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit(*chunk_sequences(20))
    crf.save(tmp_path / "model.safetensors")
    arrays, _ = read_model(tmp_path / "model.safetensors")
    assert not [name for name in arrays if name.startswith("allowed")]
    assert ChainCRF.load(tmp_path / "model.safetensors").layout_.constraints is None


@pytest.mark.parametrize("damage", ["shape", "type", "missing"])
def test_a_damaged_mask_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    fitted().save(path)
    arrays, description = read_model(path)
    if damage == "shape":
        arrays["allowed_begin"] = arrays["allowed_begin"][:-1]
    elif damage == "type":
        arrays["allowed_begin"] = arrays["allowed_begin"].astype(np.float64)
    else:
        del arrays["allowed_end"]
    write_model(path, arrays, description)
    with pytest.raises(ValueError, match="cannot be used as a ChainCRF"):
        ChainCRF.load(path)


def test_cross_validation_takes_constraints() -> None:
    X, y = chunk_sequences(40)
    crf = ChainCRFCV(l2s=[1.0, 0.1], cv=3, random_state=0, constraints="bio").fit(X, y)
    assert all(rules_of(crf.best_estimator_).allows(labels) for labels in crf.predict(noise()))


def test_a_warm_start_goes_on_under_the_same_rules_only() -> None:
    X, y = chunk_sequences(30)
    crf = ChainCRF(constraints="bio", solver="oeg", warm_start=True, tol=1e-2, random_state=0).fit(X, y)
    crf.tol = 1e-5
    assert crf.fit(X, y).solution_.relative_gap <= 1e-5
    crf.constraints = None
    with pytest.warns(UserWarning, match="warm_start: the data, the penalty or the solver differ"):
        crf.fit(X, y)


# --- refusals ---


X3 = [[["a"], ["b"], ["c"]], [["a"], ["b"]], [["c"]]]


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (
            [["O", "B-X", "I-X"], ["O", "I-X"], ["O"]],
            "position 1 of sequence 1 has the label 'I-X' in y, but the constraints forbid it after 'O'",
        ),
        (
            [["O", "B-X", "I-X"], ["O", "O"], ["I-X"]],
            "position 0 of sequence 2 has the label 'I-X' in y, but the constraints forbid it as the first label",
        ),
    ],
)
def test_labels_that_break_the_rules_are_refused_with_their_place(y: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ChainCRF(constraints="bio").fit(X3, y)


def test_a_last_label_that_breaks_the_rules_is_refused_with_its_place() -> None:
    with pytest.raises(
        ValueError, match=r"position 2 of sequence 0 has the label 'B-X' .* forbid it as the last label"
    ):
        ChainCRF(constraints="iobes").fit(X3, [["O", "O", "B-X"], ["B-X", "E-X"], ["O"]])


def test_labels_outside_their_allowed_sets_are_refused_with_their_place() -> None:
    with pytest.raises(
        ValueError, match=r"position 1 of sequence 1 has the label 'B' .* not among the labels that `allowed`"
    ):
        ChainCRF().fit(X3, [["A", "B", "A"], ["A", "B"], ["A"]], allowed=[None, [None, {"A"}], None])


def test_a_sequence_for_which_nothing_is_allowed_is_refused() -> None:
    rules = Constraints(["A", "B"], [("A", "A"), ("B", "A"), ("B", "B")])
    crf = ChainCRF(constraints=rules).fit([[["a"], ["b"]], [["a"]]], [["A", "B"], ["B"]])
    match = "sequence 1, of length 3, has no labelling that the constraints .* leave: .* possible at position 2"
    for method in (crf.predict, crf.predict_marginals, crf.predict_kbest, crf.sample, crf.predict_posterior):
        with pytest.raises(ValueError, match=match):
            method([[["a"]], [["a"]] * 3])


def test_allowed_sets_that_leave_nothing_are_refused() -> None:
    crf = fitted()
    with pytest.raises(
        ValueError, match="sequence 0, of length 2, has no labelling that the constraints and the allowed"
    ):
        crf.predict([[["a"], ["b"]]], given=[["O", "I-X"]])
    free = ChainCRF().fit(*chunk_sequences(20))
    assert free.predict([[["a"], ["b"]]], given=[["O", "I-X"]]) == [["O", "I-X"]]


def test_both_allowed_and_given_are_refused() -> None:
    with pytest.raises(ValueError, match="Both allowed and given were passed"):
        fitted().predict([[["a"]]], allowed=[None], given=[None])


@pytest.mark.parametrize("constraints", ["BIO", 3, ["bio"], np.ones((3, 3))])
def test_other_constraints_are_refused(constraints: Any) -> None:
    with pytest.raises(ValueError, match="constraints must be None, 'bio', 'iobes', 'bilou', 'bmes' or a Constraints"):
        ChainCRF(constraints=constraints).fit(*chunk_sequences(5))


def test_a_label_that_the_rules_do_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="the constraints do not know the label 'C' of y"):
        ChainCRF(constraints=Constraints(["A", "B"])).fit([[["a"], ["b"]]], [["A", "C"]])


def test_pairs_of_labels_stay_within_sequences() -> None:
    # the end of one sequence and the start of the next are no transition
    y = [["B", "A"], ["A", "A"]]
    crf = ChainCRF(constraints=Constraints(["A", "B"], [("A", "B")])).fit([[["a"], ["b"]], [["b"], ["a"]]], y)
    assert all(("A", "B") not in pairwise(labels) for labels in crf.predict([[["a"]] * 5, [["b"]] * 5]))


# --- confidences, entities, explanations ---


@every_scheme
def test_confidences_and_entities_are_over_the_allowed_labellings(scheme: str) -> None:
    crf, X = fitted(scheme), [x[:3] for x in noise(15)]
    sets = [
        [None if t else {"O", "B-X", "S-X", "B-geo-loc"} & set(crf.classes_.tolist()) for t in range(len(x))] for x in X
    ]
    for allowed in (None, sets):
        everything = crf.predict_kbest(X, 10**6, allowed=allowed)
        confidences = crf.predict_confidence(X, allowed=allowed)
        for best, confidence in zip(everything, confidences, strict=True):
            assert confidence == pytest.approx(best[0][1])
        for best, entities in zip(everything, crf.predict_entities(X, allowed=allowed), strict=True):
            assert [entity[:3] for entity in entities] == chunks(best[0][0])
            for entity in entities:
                expected = sum(p for labels, p in best if entity[:3] in chunks(labels))
                assert entity.probability == pytest.approx(expected, rel=1e-9)


def test_explanations_compare_possible_labels() -> None:
    crf = fitted()
    x = [["shown=I-X"], ["shown=I-X"]]
    why = explain(crf, x, 0)
    assert {why.label, why.against} <= {"O", "B-X", "B-geo-loc"}  # the first label is none inside
    assert why.probability == pytest.approx(crf.predict_marginals([x])[0][0][crf.classes_.tolist().index(why.label)])
    assert rules_of(crf).allows(why.labelling)
    assert rules_of(crf).allows(why.alternative)
    with pytest.raises(ValueError, match="the model's constraints rule out the label 'I-X' at position 0"):
        explain(crf, x, 0, against="I-X")


def test_a_label_without_alternative_needs_no_explanation() -> None:
    rules = Constraints(["A", "B"], begin=["B"])
    crf = ChainCRF(constraints=rules).fit([[["a"], ["b"]], [["a"]]], [["A", "B"], ["A"]])
    with pytest.raises(ValueError, match="'A' is the only label possible at position 0"):
        explain(crf, [["a"], ["b"]], 0)
