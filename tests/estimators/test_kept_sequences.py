"""Chunk by chunk, partial_fit works on the problem of all sequences: near its optimum soon, and at it on request."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dualfield import OEG, ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.estimators import kept_sequences
from dualfield.features import Vocabulary, encode
from dualfield.fields import Chain
from dualfield.memory import DoesNotFit
from dualfield.models.spec import ChainSpec

SENTENCES = travel_sentences(240, seed=3)
X = [[[f"word={word}", f"end={word[-2:]}"] for word, _ in sentence] for sentence in SENTENCES]
Y = [[tag for _, tag in sentence] for sentence in SENTENCES]
LABELS = sorted({label for y in Y for label in y})
CUTS = [*range(0, 240, 24), 240]

OPTIONS: list[dict[str, Any]] = [
    {},
    {"bias": False, "begin": False, "end": False},
    {"state_features": "observed"},
    {"constraints": "bio", "l2": 0.3},
    {"solver": OEG(memory="float64"), "n_jobs": 2},
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def in_chunks(crf: ChainCRF, inputs: Any = X, **options: Any) -> ChainCRF:
    for a, b in pairwise(CUTS[:-1]):
        crf.partial_fit(inputs[a:b], Y[a:b], classes=LABELS)
    return crf.partial_fit(inputs[CUTS[-2] :], Y[CUTS[-2] :], **options)


def objective(crf: ChainCRF, X: Any = X, Y: Any = Y) -> float:
    """Of all sequences, in a problem with the attributes and labels of the model."""
    field = Chain.of_layout(
        encode(X).translate(crf.vocabulary_),
        np.concatenate([np.searchsorted(crf.classes_, y) for y in Y]).astype(np.int32),
        crf.classes_,
        crf.layout_,
        ChainSpec.of(crf),
    )
    return field.primal(crf.weights_)


@every_option
def test_chunks_come_near_the_optimum_of_one_fit(options: dict[str, Any]) -> None:
    crf = in_chunks(ChainCRF(random_state=0, **options))
    one = ChainCRF(random_state=0, tol=1e-6, **options).fit(X, Y)
    first = ChainCRF(random_state=0, **options).partial_fit(X[:24], Y[:24], classes=LABELS)
    reached, best = objective(crf), one.solution_.primal
    assert best * (1 - 1e-9) <= reached < 1.1 * best
    encoded = [[[name for name in position if name in first.vocabulary_] for position in x] for x in X]
    assert objective(first, encoded) > 1.3 * best


@every_option
def test_on_request_it_is_the_problem_of_one_fit_with_a_certificate(options: dict[str, Any]) -> None:
    crf = in_chunks(ChainCRF(random_state=0, tol=1e-6, **options), certify=True)
    one = ChainCRF(random_state=0, tol=1e-6, **options).fit(X, Y)
    assert crf.solution_.certificate == "exact"
    assert crf.solution_.status == "converged"
    assert crf.solution_.primal == pytest.approx(one.solution_.primal, rel=2e-6)
    assert crf.solution_.primal == pytest.approx(objective(crf), rel=1e-9)
    assert crf.predict(X) == one.predict(X)


def test_the_weights_are_those_of_the_duals_that_are_kept() -> None:
    crf = in_chunks(ChainCRF(random_state=0, solver=OEG(memory="float64")))
    kept, weights = crf._kept, crf.weights_.copy()
    assert kept is not None
    encoded, codes, sample_weight = kept_sequences.joined(kept_sequences._contents(kept._parts))
    field = Chain.of_layout(encoded, codes, crf.classes_, crf.layout_, ChainSpec.of(crf), sample_weight)
    run = kept.resumed(field, crf)  # which computes them afresh
    np.testing.assert_allclose(run.weights(), weights, atol=1e-9)


def test_a_chunk_costs_the_same_whatever_came_before() -> None:
    crf = ChainCRF(random_state=0)
    steps = []
    for a, b in pairwise(CUTS):
        crf.partial_fit(X[a:b], Y[a:b], classes=LABELS)
        steps.append(crf.solution_.updates)
    assert steps[2:] == [3 * (24 + 2 * 24)] * (len(steps) - 2)
    assert steps[1] == 3 * (24 + 24)
    assert crf.solution_.certificate == "none"
    assert np.isnan(crf.solution_.duality_gap)
    assert "on 24 new sequences and 48 of the 216 before them" in crf.solution_.message
    assert "certify=True" in crf.solution_.message


def test_a_model_of_fit_is_what_the_penalty_is_about() -> None:
    options: dict[str, Any] = {"random_state": 0, "tol": 1e-7, "l2": 0.5}
    crf, other = (ChainCRF(**options).fit(X[:60], Y[:60]) for _ in range(2))
    for a in range(60, 200, 20):
        crf.partial_fit(X[a : a + 20], Y[a : a + 20])
    crf.partial_fit(X[200:], Y[200:], certify=True)
    other.partial_fit(X[60:], Y[60:])
    assert crf.solution_.certificate == "exact"
    assert crf.solution_.primal == pytest.approx(other.solution_.primal, rel=1e-6)
    assert crf.predict(X) == other.predict(X)


def test_labels_that_come_later_make_all_be_learnt_anew() -> None:
    late = [["LATE" if label == LABELS[0] else label for label in y] for y in Y]
    known = [n for n, y in enumerate(late) if "LATE" not in y]
    others = [n for n, y in enumerate(late) if "LATE" in y]
    crf = ChainCRF(random_state=0, tol=1e-6)
    for some in (known[::2], known[1::2], others):
        crf.partial_fit([X[n] for n in some], [late[n] for n in some])
    one = ChainCRF(random_state=0, tol=1e-6).fit(X, late)
    assert crf.solution_.certificate == "exact"
    assert crf.solution_.primal == pytest.approx(one.solution_.primal, rel=2e-6)
    assert crf.predict(X) == one.predict(X)


def test_sequences_of_weight_zero_and_arrays_are_kept_too() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(len(x), 7)) for x in X]
    weights = rng.integers(0, 3, len(X)).astype(float)
    crf = ChainCRF(random_state=0, tol=1e-6)
    for a, b in pairwise(CUTS):
        crf.partial_fit(arrays[a:b], Y[a:b], classes=LABELS, sample_weight=weights[a:b], certify=b == 240)
    one = ChainCRF(random_state=0, tol=1e-6).fit(arrays, Y, sample_weight=weights)
    assert crf.solution_.primal == pytest.approx(one.solution_.primal, rel=2e-6)


def test_of_bigrams_nothing_is_kept() -> None:
    crf = ChainCRF(random_state=0)
    for some in (slice(0, 40), slice(40, 80)):
        crf.partial_fit(encode(X[some], bigrams=X[some]), Y[some], classes=LABELS)
        assert crf._kept is None
        assert crf.solution_.certificate == "exact"


def test_many_small_chunks_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_sequences, "_MOST_PARTS", 3)
    crf = in_chunks(ChainCRF(random_state=0, tol=1e-6), certify=True)
    assert crf.solution_.primal == pytest.approx(
        ChainCRF(random_state=0, tol=1e-6).fit(X, Y).solution_.primal, rel=2e-6
    )


def test_what_does_not_fit_into_memory_is_summed_up_by_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    crf = in_chunks(ChainCRF(random_state=0))
    before = crf.score(X, Y)

    def refuse(*_: object) -> None:
        raise DoesNotFit("too large")

    with monkeypatch.context() as patched:
        patched.setattr(kept_sequences, "check_memory", refuse)
        crf.partial_fit(X[:5], Y[:5])
    assert crf.solution_.certificate == "exact"
    assert len(crf._kept) == 5
    assert crf.score(X, Y) > before - 0.05


def test_other_parameters_begin_anew_about_the_present_weights() -> None:
    crf = in_chunks(ChainCRF(random_state=0)).set_params(l2=7.0)
    weights = crf.weights_.copy()
    crf.partial_fit(X[:5], Y[:5])
    assert crf.solution_.certificate == "exact"
    np.testing.assert_array_equal(crf._kept.centre, weights)


@pytest.mark.parametrize("options", [{"solver": "lbfgs"}, {"solver": "sdca"}, {"l1": 0.1}], ids=str)
def test_other_solvers_and_l1_keep_nothing(options: dict[str, Any]) -> None:
    crf = in_chunks(ChainCRF(random_state=0, **options))
    assert crf._kept is None
    assert crf.solution_.certificate == "exact"


def test_a_pickle_a_clone_and_a_new_fit_have_no_kept_sequences() -> None:
    crf = in_chunks(ChainCRF(random_state=0))
    assert crf._kept is not None
    again = pickle.loads(pickle.dumps(crf))
    assert again._kept is None
    assert clone(crf)._kept is None
    assert again.predict(X) == crf.predict(X)
    assert crf.fit(X[:30], Y[:30])._kept is None


def test_the_model_before_a_chunk_stays_as_it_was() -> None:
    crf = ChainCRF(random_state=0).partial_fit(X[:24], Y[:24], classes=LABELS)
    weights, vocabulary = crf.weights_, crf.vocabulary_
    names, copy = list(vocabulary.names), weights.copy()
    for a, b in pairwise(CUTS[1:]):
        crf.partial_fit(X[a:b], Y[a:b])
    np.testing.assert_array_equal(weights, copy)
    assert vocabulary.names == names
    assert vocabulary == Vocabulary(names)
    assert vocabulary.index[names[-1]] == len(names) - 1
    assert all(vocabulary.index[name] == -1 for name in crf.vocabulary_.names[len(names) :])
