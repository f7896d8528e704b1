"""The travel sentences are well formed, repeatable, and cannot be solved by looking words up."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.datasets import travel_sentences
from dualfield.datasets.travel import ENTITY_TYPES, TEMPLATES
from dualfield.metrics import chunk_scores


@given(st.integers(0, 30), st.integers(0, 2**40))
def test_a_seed_fixes_the_sentences_and_more_of_them_begin_alike(n: int, seed: int) -> None:
    sentences = travel_sentences(n, seed)
    assert len(sentences) == n
    assert travel_sentences(n + 3, seed)[:n] == sentences


def test_another_seed_gives_other_sentences() -> None:
    assert travel_sentences(20, 0) != travel_sentences(20, 1)


@given(st.integers(0, 2**40))
def test_tags_are_well_formed_iob2(seed: int) -> None:
    for sentence in travel_sentences(20, seed):
        before = "O"
        for word, tag in sentence:
            assert word.split() == [word]
            assert tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:] in ENTITY_TYPES)
            if tag.startswith("I-"):
                assert before[2:] == tag[2:]
            before = tag
        assert not sentence[0][0][0].islower()
        assert sentence[-1][1] == "O"


def test_every_type_occurs_and_most_tokens_are_outside() -> None:
    tags = [tag for sentence in travel_sentences(500, 0) for _, tag in sentence]
    assert {tag for tag in tags if tag.startswith("B-")} == {f"B-{name}" for name in ENTITY_TYPES}
    assert 0.4 < tags.count("O") / len(tags) < 0.8
    assert len(TEMPLATES) >= 30


def test_known_words_are_ambiguous() -> None:
    types = defaultdict(set)
    for sentence in travel_sentences(2000, 0):
        for word, tag in sentence:
            types[word].add(tag[2:] or "O")
    assert {"PERSON", "CITY", "AIRLINE"} <= types["Jordan"]
    assert {"PERSON", "DATE", "O"} <= types["May"]
    assert {"PERSON", "CITY"} <= types["Paris"]
    assert {"CITY", "AIRLINE"} <= types["Delta"]


def test_looking_words_up_is_not_enough() -> None:
    train, test = travel_sentences(1000, 0), travel_sentences(300, 1)
    seen: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for sentence in train:
        for word, tag in sentence:
            seen[word][tag] += 1
    best = {word: max(counts, key=lambda tag: counts[tag]) for word, counts in seen.items()}
    guesses = [[best.get(word, "O") for word, _ in sentence] for sentence in test]
    truth = [[tag for _, tag in sentence] for sentence in test]
    assert 0.2 < chunk_scores(truth, guesses).f1 < 0.7
    unseen = {word for sentence in test for word, tag in sentence if tag != "O" and word not in seen}
    assert len(unseen) > 100


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 0; found -1"):
        travel_sentences(-1)
