"""Raw text becomes sentences of words; every sign of the text is in one of them, at its place."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.features import tokenize

TEXTS = st.text(
    st.sampled_from("aB1é\u0301हि。 \n\t.,!?'\"’-_@:/()$&…😀\u00ad") | st.characters(codec="utf-8"), max_size=80
)


def words(text: str) -> list[list[str]]:
    return [[token.text for token in sentence] for sentence in tokenize(text)]


@given(TEXTS)
def test_tokens_are_the_text_but_for_its_blanks(text: str) -> None:
    sentences = tokenize(text)
    assert all(sentences)
    tokens = [token for sentence in sentences for token in sentence]
    assert all(text[token.start : token.end] == token.text != "" for token in tokens)
    assert all(a.end <= b.start for a, b in pairwise(tokens))
    assert "".join(token.text for token in tokens) == "".join(text.split())


@given(TEXTS)
def test_no_sentence_goes_over_the_end_of_a_line(text: str) -> None:
    assert all("\n" not in text[sentence[0].start : sentence[-1].end] for sentence in tokenize(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's well-known: R&D cost $3,000.50!", ["It's", "well-known", ":", "R&D", "cost", "$", "3,000.50", "!"]),
        ("At 10:30 (24/7), 5% and/or 2026-11-18", [*"At 10:30 ( 24/7 ) , 5 % and / or 2026-11-18".split()]),
        ("'t was ‘hi’", ["'", "t", "was", "‘", "hi", "’"]),
        ("See www.x.org/a?b=c), http://y.z. Or a.b@c.de!", [*"See www.x.org/a?b=c ) , http://y.z .".split()]),
        ("Well... no -- really?!", ["Well", "...", "no", "--", "really", "?", "!"]),
        ("The U.S. army, e.g. here", ["The", "U.S.", "army", ",", "e.g.", "here"]),
        ("हिन्दी cafe\u0301 Ber\u00adlin", ["हिन्दी", "cafe\u0301", "Ber\u00adlin"]),
    ],
)
def test_words_numbers_and_addresses_are_whole(text: str, expected: list[str]) -> None:
    assert words(text)[0] == expected


@pytest.mark.parametrize(
    ("text", "n_sentences"),
    [
        ("He left. She stayed! Why? 4 days.", 4),
        ('He said "go." Then he left.', 2),
        ('It ends. "Then this begins.', 2),
        ("Dr. J. R. Smith vs. Mr. Brown came.", 1),
        ("Am 3. Mai war es so. Im Jahr 2020. Danach nicht.", 3),
        ("version 3.5 is out, i.e. now. and so on", 1),
        ("one line\nanother\r\n\n  \nlast", 3),
        ("終わり。次。", 2),
        ("यह है। वह है।", 2),
        ("", 0),
        (" \n\t\n", 0),
    ],
)
def test_sentences_end_where_readers_would_end_them(text: str, n_sentences: int) -> None:
    assert len(words(text)) == n_sentences


def test_abbreviations_keep_their_full_stop_but_at_the_end_of_a_line() -> None:
    assert words("Dr. No and J. Bond\nIt was plan B.") == [
        ["Dr.", "No", "and", "J.", "Bond"],
        ["It", "was", "plan", "B", "."],
    ]


@pytest.mark.parametrize("unit", ["www.", "http://.", "a@", "a.b@", "a.", "-", "._"])
def test_hostile_text_takes_no_more_than_its_length(unit: str) -> None:
    text = unit * 50_000  # in quadratic time, minutes
    assert "".join(token.text for sentence in tokenize(text) for token in sentence) == text


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^tokenize\(\) takes a string; got an object of type bytes\.$"):
        tokenize(b"text")  # type: ignore[arg-type]
