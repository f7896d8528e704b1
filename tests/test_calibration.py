"""Thresholds reach what they promise on the answers they were chosen on; reliability counts by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from dualfield import ChainCRF
from dualfield.calibration import Outcomes, choose_threshold, outcomes, reliability
from dualfield.metrics import chunk_scores, token_accuracy
from dualfield.reporting import report
from tests.models.test_chain_answers import entity_data


@st.composite
def answers(draw: st.DrawFn) -> Outcomes:
    rows = draw(st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=40))
    correct = np.array([right for _, right in rows], dtype=bool)
    missed = draw(st.integers(0, 5))
    return Outcomes(np.array([c / 10 for c, _ in rows]), correct, int(correct.sum()) + missed)


@settings(deadline=None)
@given(answers(), st.sampled_from([0.1, 0.5, 0.75, 0.9, 1.0]), st.integers(1, 6))
def test_the_threshold_is_the_lowest_that_reaches_the_precision(
    held_out: Outcomes, precision: float, min_support: int
) -> None:
    found = choose_threshold(held_out, precision, min_support)
    by_hand = {}
    for value in np.unique(held_out.confidence):
        kept = held_out.confidence >= value
        if kept.sum() >= min_support:
            by_hand[value] = held_out.correct[kept].mean()
    reaching = [value for value, share in by_hand.items() if share >= precision]
    assert found.reached == bool(reaching)
    if not by_hand:
        assert np.isnan(found.value)
        assert "No threshold" in found.message
        return
    if reaching:
        assert found.value == min(reaching)
    else:
        assert found.precision == max(by_hand.values())
        assert "cannot be reached" in found.message
    kept = held_out.confidence >= found.value
    assert (found.n_kept, found.n_correct) == (kept.sum(), held_out.correct[kept].sum())
    assert found.precision == held_out.correct[kept].mean()
    assert found.recall == (found.n_correct / held_out.n_true if held_out.n_true else 0.0)
    assert found.lower_bound <= found.precision


def test_the_lower_bound_is_that_of_the_binomial_distribution() -> None:
    # All of n right: the bound b solves b^n = 0.05.
    held_out = Outcomes(np.ones(30), np.ones(30, bool), 30)
    assert choose_threshold(held_out, 1.0).lower_bound == pytest.approx(0.05 ** (1 / 30))


def test_the_printed_threshold_keeps_the_answers_that_it_counts() -> None:
    held_out = Outcomes(np.array([0.87659, 0.5]), np.array([True, False]), 1)
    found = choose_threshold(held_out, 1.0, 1)
    printed = float(re.search(r"confidence ([\d.]+) or more", found.message).group(1))  # type: ignore[union-attr]
    assert (held_out.confidence >= printed).sum() == found.n_kept == 1


@settings(deadline=None)
@given(answers(), st.integers(1, 12))
def test_reliability_counts_every_answer_once(held_out: Outcomes, bins: int) -> None:
    rows = reliability(held_out, bins).rows
    assert sum(row[2] for row in rows) == len(held_out)
    assert sum(row[2] * row[4] for row in rows) == pytest.approx(held_out.correct.sum())
    assert sum(row[2] * row[3] for row in rows) == pytest.approx(held_out.confidence.sum())
    assert all(low <= mean + 1e-12 and mean <= high + 1e-12 for low, high, _, mean, _ in rows)


def test_the_calibration_error_of_answers_that_are_as_often_right_as_they_say_is_zero() -> None:
    held_out = Outcomes(np.full(10, 0.7), np.arange(10) < 7, 7)
    assert "error 0.000" in reliability(held_out).note
    assert "error 0.300" in reliability(Outcomes(np.full(10, 0.7), np.ones(10, bool), 10)).note


@pytest.fixture(scope="module")
def fitted() -> tuple[ChainCRF, Any, Any]:
    crf = ChainCRF(l2=1.0, random_state=0).fit(*entity_data(60, seed=1))
    return crf, *entity_data(50, seed=2)


def test_outcomes_of_entities_agree_with_chunk_scores(fitted: tuple[ChainCRF, Any, Any]) -> None:
    crf, X, y = fitted
    scores, held_out = chunk_scores(y, crf.predict(X)), outcomes(crf, X, y)
    assert (len(held_out), held_out.correct.sum(), held_out.n_true) == (
        scores.n_predicted,
        scores.n_correct,
        scores.n_true,
    )
    one = outcomes(crf, X, y, type="P")
    part = scores.per_type["P"]
    assert (len(one), one.correct.sum(), one.n_true) == (part.n_predicted, part.n_correct, part.n_true)
    probabilities = [entity.probability for entities in crf.predict_entities(X) for entity in entities]
    assert held_out.confidence.tolist() == probabilities


def test_outcomes_of_tokens_and_sequences_agree_with_predict(fitted: tuple[ChainCRF, Any, Any]) -> None:
    crf, X, y = fitted
    predicted = crf.predict(X)
    tokens = outcomes(crf, X, y, of="tokens")
    assert tokens.correct.mean() == pytest.approx(token_accuracy(y, predicted))
    marginals, classes = crf.predict_marginals(X), crf.classes_.tolist()
    assert tokens.confidence[0] == marginals[0][0, classes.index(predicted[0][0])]
    sequences = outcomes(crf, X, y, of="sequences")
    assert sequences.correct.tolist() == [a == b for a, b in zip(predicted, y, strict=True)]
    assert np.array_equal(sequences.confidence, crf.predict_confidence(X))


@pytest.mark.parametrize("void", [None, "?"])
def test_unknown_labels_are_no_errors(void: Any, tmp_path: Path) -> None:
    X, y = entity_data()
    random = np.random.default_rng(0)
    masked = [[label if random.random() < 0.8 else void for label in labels] for labels in y]
    crf = ChainCRF(ignore_label="?", random_state=0).fit(X, y)
    predicted = crf.predict(X)
    places = [[t for t, label in enumerate(labels) if label is not void] for labels in masked]
    true, shown = ([[one[t] for t in kept] for one, kept in zip(side, places, strict=True)] for side in (y, predicted))
    tokens = outcomes(crf, X, masked, of="tokens")
    assert tokens.n_true == len(tokens) == sum(map(len, true)) < sum(map(len, y))
    assert tokens.correct.mean() == token_accuracy(true, shown)
    whole = [n for n, (labels, kept) in enumerate(zip(y, places, strict=True)) if len(kept) == len(labels)]
    assert 0 < len(whole) < len(y)
    sequences = outcomes(crf, X, masked, of="sequences")
    assert sequences.correct.tolist() == [predicted[n] == y[n] for n in whole]
    assert sequences.n_true == len(whole)
    entities = outcomes(crf, X, masked)
    assert entities.n_true == chunk_scores(true, shown).n_true
    assert len(entities) <= sum(map(len, crf.predict_entities(X)))
    # An entity counts as right where the labels that are known agree: as if the others were not there.
    alone = outcomes(crf, X[:1], [[None, *y[0][1:]]])
    all_known = outcomes(crf, X[:1], y[:1])
    assert 0 <= all_known.n_true - alone.n_true <= 1
    with pytest.raises(ValueError, match=r"label \d+ of sequence \d+ is None"):
        report(crf, X, masked, tmp_path / "page.html")


def test_an_unseen_true_label_is_an_error_not_a_crash(fitted: tuple[ChainCRF, Any, Any]) -> None:
    crf, X, y = fitted
    odd = [["B-NEW"] * len(labels) for labels in y]
    assert not outcomes(crf, X, odd).correct.any()
    assert not outcomes(crf, X, odd, of="tokens").correct.any()


def test_bad_input_is_refused_in_a_sentence(fitted: tuple[ChainCRF, Any, Any]) -> None:
    crf, X, y = fitted
    some = Outcomes(np.array([0.5]), np.array([True]), 1)
    with pytest.raises(ValueError, match="of must be"):
        outcomes(crf, X, y, of="words")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="chooses among entities"):
        outcomes(crf, X, y, of="tokens", type="P")
    with pytest.raises(ValueError, match="49 sequences but X has 50"):
        outcomes(crf, X, y[1:])
    with pytest.raises(ValueError, match="sequence 0 of y: 'noun' at position 0"):
        outcomes(crf, X, [["noun"] * len(labels) for labels in y])
    with pytest.raises(NotFittedError):
        outcomes(ChainCRF(), X, y)
    with pytest.raises(ValueError, match="precision must be"):
        choose_threshold(some, 1.5)
    with pytest.raises(ValueError, match="min_support must be"):
        choose_threshold(some, 0.5, 0)
    with pytest.raises(ValueError, match="bins must be"):
        reliability(some, 0)
    with pytest.raises(ValueError, match=r"confidence 1 is 1\.5"):
        Outcomes(np.array([0.1, 1.5]), np.array([True, False]), 1)
    with pytest.raises(ValueError, match="equal length"):
        Outcomes(np.array([0.1]), np.array([True, False]), 1)
    with pytest.raises(ValueError, match="n_true is 0"):
        Outcomes(np.array([0.1]), np.array([True]), 0)
