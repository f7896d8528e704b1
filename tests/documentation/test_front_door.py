"""What holds for guides and tutorials holds for the README, the front page and the explanations."""

from __future__ import annotations

import pytest

from tests.documentation.pages import TEXTS, without_blocks
from tests.documentation.test_sentences import DIARY, too_long

DOORS = [page for page in TEXTS if page.startswith(("README.md", "docs/index.md", "docs/explanation/"))]


@pytest.mark.parametrize("page", DOORS)
def test_sentences_are_short(page: str) -> None:
    assert too_long(page) == []


@pytest.mark.parametrize("page", DOORS)
def test_a_page_says_what_holds_and_not_how_the_day_went(page: str) -> None:
    assert DIARY.findall(without_blocks(TEXTS[page])) == []
