"""Kinds and lower case of characters are Python's, code point by code point."""

from __future__ import annotations

import runpy
import string
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualfield._core as core
from tests.core.strategies import few_examples

# The table is of Unicode 14. Another Python knows more characters, but Latin, Greek and Cyrillic are the same.
WHOLE = unicodedata.unidata_version == "14.0.0"
POINTS = [
    chr(c)
    for c in (range(0x110000) if WHOLE else [*range(0x530), *range(0x1E00, 0x2000)])
    if not 0xD800 <= c < 0xE000 and (WHOLE or unicodedata.category(chr(c)) != "Cn")
]


def shapes(words: list[str]) -> list[str]:
    """What the core makes of each word by ``shape``."""
    encoded = [word.encode() for word in words]
    bounds = np.concatenate([[0], np.cumsum([len(word) for word in encoded])]).astype(np.int64)
    names = core.Names(np.frombuffer(b"".join(encoded), np.uint8), bounds)
    codes = np.arange(len(words), dtype=np.int32)
    tokens = core.Tokens([(names, codes)], np.array([0, len(words)]), np.zeros(len(words), np.int64))
    view, rule = (0, [("shape", 12, "", [])]), (["", ""], [(0, 0, False)], True, False, "anywhere")
    _, found, made = core.CompiledTemplate([view], [rule], "nothing").list(tokens, False)
    strings = made.strings()
    return [strings[code] for code in found.tolist()]


def test_lower_case_of_every_character_is_pythons() -> None:
    # A line feed between them keeps each a word of its own.
    assert core.lower_case("\n".join(POINTS)).split("\n") == "\n".join(c.lower() for c in POINTS).split("\n")


def test_the_shape_of_every_character_is_pythons() -> None:
    expected = ["X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in POINTS]
    assert shapes(POINTS) == expected


@pytest.mark.parametrize(
    ("letter", "belongs"),
    [
        ("d", str.isdigit),
        ("l", str.islower),
        ("u", str.isupper),
        ("a", str.isalpha),
        ("w", lambda c: c.isalpha() or c.isdigit()),
        ("s", str.isspace),
        ("p", lambda c: unicodedata.category(c)[0] in "PS" if ord(c) > 127 else c in string.punctuation),
    ],
)
def test_the_classes_of_patterns_are_pythons(letter: str, belongs: object) -> None:
    assert callable(belongs)
    for c in POINTS[: 0x500 : 1 if WHOLE else 3]:
        if letter in "saw" and (c in "\x1c\x1d\x1e\x1f" or (c.islower() and not c.isalpha())):
            continue  # Python's white space has four control characters more; circled letters are lower case only
        assert (core.match_pattern(f"\\{letter}", c) is not None) == bool(belongs(c)), repr(c)
        assert (core.match_pattern(f"\\{letter.upper()}", c) is not None) != bool(belongs(c)), repr(c)


@few_examples
@given(st.text(st.characters(exclude_categories=("Cs", "Cn"), exclude_characters="Σ", max_codepoint=0x24FF)))
def test_words_are_lowered_as_python_does(word: str) -> None:
    assert core.lower_case(word) == word.lower()


@pytest.mark.parametrize("word", ["ΟΔΟΣ", "ΣΑΣ", "Σ", "ΣΣ", "ΑΣ Α", "ΟΔΟΣ.", "İSTANBUL", "ÀÇÉ", "ЖЁЛТЫЙ", "ẞ"])
def test_a_sigma_is_final_at_the_end_of_a_word(word: str) -> None:
    assert core.lower_case(word) == word.lower()


@pytest.mark.skipif(not WHOLE, reason="the table is of another version of Unicode than this Python")
def test_the_table_is_what_its_generator_writes() -> None:
    folder = Path(__file__).parents[2] / "core" / "text"
    written = runpy.run_path(str(folder / "make_character_runs.py"))["header"]()
    assert written == (folder / "character_runs.hpp").read_text(encoding="utf-8")
