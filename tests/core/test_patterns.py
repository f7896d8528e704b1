"""Wapiti's regular expressions, held against Python's own after a translation."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualfield._core as core
from tests.core.plain_patterns import pythons, search
from tests.core.strategies import few_examples

items = st.sampled_from(
    [".", "a", "b", "A", "1", "-", "+", "[", "\\.", "\\*", "\\?", "\\\\", '\\"', *(f"\\{c}" for c in "dluawpsDLUAWPS")]
)
quantified = st.tuples(items, st.sampled_from(["", "", "*", "?"])).map("".join)
patterns = st.tuples(
    st.sampled_from(["", "^"]), st.lists(quantified, max_size=6).map("".join), st.sampled_from(["", "$"])
).map("".join)
words = st.text('abAéz漢19.-*?\\" _', max_size=8)


@few_examples
@given(patterns, words)
def test_matches_are_those_of_pythons_engine(pattern: str, word: str) -> None:
    expected = re.search(pythons(pattern), word)
    assert core.match_pattern(pattern, word) == (None if expected is None else expected.span())


@pytest.mark.parametrize(
    ("pattern", "word", "span"),
    [
        ("^.?.?.?.?", "prefix", (0, 4)),
        (".?.?.?$", "ending", (3, 6)),
        ("^\\u\\u*$", "NATO", (0, 4)),
        ("^\\u\\u*$", "Nato", None),
        ("\\d*", "a1", (0, 0)),  # a star takes as little as the rest allows
        ("-.*$", "a-b-c", (1, 5)),
        ("a$b", "a$b", (0, 3)),  # a dollar anchors only at the end, a caret only at the beginning
        ("a^", "a^", (0, 2)),
        ("a?ab", "ab", (0, 2)),
        ("", "", (0, 0)),
        ("é?.", "éß", (0, 2)),
        ("^\\u", "Ж", (0, 1)),
    ],
)
def test_written_out(pattern: str, word: str, span: tuple[int, int] | None) -> None:
    assert core.match_pattern(pattern, word) == span


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("*a", "nothing before it to repeat"),
        ("^*", "nothing before it to repeat"),
        ("a**", "nothing before it to repeat"),
        ("a?*", "nothing before it to repeat"),
        ("ab\\", "ends in a backslash"),
        ("a" * 1001, "longer than 1000 characters"),
    ],
)
def test_bad_patterns_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        core.match_pattern(pattern, "aaa")


def test_every_short_pattern_matches_as_written_out() -> None:
    some = ["".join(pair) for pair in product(("a", "b", "."), ("", "*", "?"))]
    bodies = ["".join(chosen) for size in range(4) for chosen in product(some, repeat=size)]
    texts = ["".join(chosen) for size in range(5) for chosen in product("ab", repeat=size)]
    for begin, body, end in product(("", "^"), bodies, ("", "$")):
        pattern = begin + body + end
        for text in texts:
            assert core.match_pattern(pattern, text) == search(pattern, text), (pattern, text)


def test_no_pattern_is_slow() -> None:
    # 2^40 ways for an engine that forgets where it failed
    assert core.match_pattern("a?" * 40 + "a" * 40 + "b", "a" * 40) is None
    assert core.match_pattern(".*" * 40 + "b$", "a" * 200) is None


@pytest.mark.parametrize("pattern", ["a*b", "a*.*b", "a?a*b$", ".*b*c"])
def test_a_search_reads_a_long_text_once(pattern: str) -> None:
    # An engine that begins anew at every place takes 10^12 steps.
    text = "a" * 1_000_000
    assert core.match_pattern(pattern, text) is None
    assert core.match_pattern("^" + pattern, text) is None
    assert core.match_pattern("a*$", text + "b" + text) == (1_000_001, 2_000_001)


@few_examples
@given(st.text(max_size=12), st.text(max_size=12))
def test_any_text_is_a_pattern_or_refused(pattern: str, word: str) -> None:
    refusal = ""
    try:
        span = core.match_pattern(pattern, word)
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert "regular expression" in refusal
    else:
        assert span is None or 0 <= span[0] <= span[1] <= len(word)


def test_a_long_pattern_is_quoted_in_part() -> None:
    with pytest.raises(ValueError, match="is longer than 1000 characters") as caught:
        core.match_pattern("é" * 100_000, "")
    assert len(str(caught.value)) < 200
