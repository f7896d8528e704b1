"""Tutorials and guides are written in short sentences, and no page tells how its figures came to be."""

from __future__ import annotations

import re

import pytest

from tests.documentation.pages import TEXTS, sentences, without_blocks

MOST_WORDS = 35
SHORT = [page for page in TEXTS if page.startswith(("docs/tutorials/", "docs/guides/"))]
MEASURED = [*SHORT, *(page for page in TEXTS if page.startswith(("docs/reference/", "docs/measurements/")))]
DIARY = re.compile(
    r"\b(?:present|earlier|later|previous) (?:builds?|runs?|versions? of this)\b|\b(?:an)?other runs?\b|\bbusy\b"
    r"|\b(?:was|were) (?:also )?running\b|\bbuild before\b|\b(?:an)?other process(?:es)?\b"
)


def words(sentence: str) -> int:
    return len(re.findall(r"\S*\w\S*", sentence))


def too_long(page: str) -> list[str]:
    return [f"{words(s)} words: {s}" for s in sentences(TEXTS[page]) if words(s) > MOST_WORDS]


def test_sentences_are_found() -> None:
    text = "# A title\nOne `x. Y` two.\nThree (Le Priol et al. 2018)! (Four.)\n- five\n- Six\n"
    text += "```\nNo. No.\n```\n| a | b |\n"
    assert list(sentences(text)) == ["One Code two.", "Three (Le Priol et al. 2018)!", "(Four.)", "five", "Six"]
    assert words("One Code, two – and (3) more.") == 6


@pytest.mark.parametrize("page", SHORT)
def test_sentences_are_short(page: str) -> None:
    assert too_long(page) == []


@pytest.mark.parametrize("page", MEASURED)
def test_a_page_says_what_holds_and_not_how_the_day_went(page: str) -> None:
    assert DIARY.findall(without_blocks(TEXTS[page])) == []
