"""The programs in examples/ do what their first lines say, on data small enough for a test."""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from dualfield.datasets import make_denoising

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_denoising_with_neighbours_beats_pixels_alone_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    example = run_path(str(EXAMPLES / "denoising.py"))
    images = make_denoising(4, 3, size=16)

    def wrong(pictures: list[np.ndarray]) -> float:
        return float(np.mean([labels != truth for labels, truth in zip(pictures, images.y_test, strict=True)]))

    alone = example["logistic_regression"](images)
    together = example["random_field"](images, "pseudo_likelihood")
    assert wrong(together) < wrong(alone) < 0.5
    columns = {"noisy": images.pictures_test or [], "alone": alone, "together": together, "truth": images.y_test}
    example["draw"](columns, images, tmp_path / "a" / "picture.png")
    assert (tmp_path / "a" / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("with_pandas", [True, False])
def test_a_day_leads_from_a_table_to_tagged_text(
    with_pandas: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_pandas:
        pytest.importorskip("pandas")
    else:
        monkeypatch.setitem(sys.modules, "pandas", None)
    example = run_path(str(EXAMPLES / "a_day.py"))
    assert isinstance(example["words_with_tags"](3, 0), list) != with_pandas
    found = example["main"](tmp_path / "new", 150)
    assert found["f1"].shape == (3,)
    assert found["search"].scores_.shape == (3, 3, 3)
    assert found["search"].solution_.certificate == "exact"
    assert found["threshold"].reached
    assert found["threshold"].precision >= 0.95
    assert ("Paris", "CITY") in found["entities"]
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8").startswith("<!")
    assert found["tagger"].solution_.certificate == "exact"
