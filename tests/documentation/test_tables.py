"""Tables on the pages of measurements are those of the results files."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from tests.documentation.pages import ROOT, TEXTS

MEASURED = [page for page in TEXTS if page.startswith("docs/measurements/")]
TABLES: dict[str, Any] = run_path(str(ROOT / "docs" / "measurements" / "tables.py"))


@pytest.mark.parametrize("page", MEASURED)
def test_tables_are_those_of_the_results(page: str) -> None:
    assert TEXTS[page] == TABLES["filled"](TEXTS[page]), "write them anew: python docs/measurements/tables.py"


def test_tables_are_on_the_pages() -> None:
    assert {Path(page).name for page in MEASURED if "<!-- from " in TEXTS[page]} >= {"gpu.md", "scaling.md"}


def test_another_table_is_replaced_and_a_missing_one_is_named() -> None:
    page = "a\n<!-- from benchmarks/results/scaling.txt: tiny: -->\nanything\n<!-- end -->\nb\n"
    filled = TABLES["filled"](page)
    assert "anything" not in filled
    assert "\ntiny: length 2, labels 3" in filled
    assert filled.startswith("a\n")
    assert filled.endswith("<!-- end -->\nb\n")
    with pytest.raises(ValueError, match=r"0 paragraphs of benchmarks/results/scaling\.txt begin with .gone:"):
        TABLES["filled"](page.replace("tiny:", "gone:"))
