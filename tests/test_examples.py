"""The programs in examples/ do what their first lines say, on data small enough for a test."""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from dualfield.calibration import outcomes
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


def test_a_day_leads_from_a_table_to_tagged_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.setattr(sys, "argv", ["a_day.py", str(tmp_path / "new")])
    day = run_path(str(EXAMPLES / "a_day.py"), run_name="__main__")
    assert day["f1"].shape == (3,)
    assert day["search"].scores_.shape == (3, 3, 4)
    assert day["search"].scores_.mean(axis=0).max() > day["f1"].mean()
    assert day["search"].solution_.certificate == "exact"
    threshold = day["threshold"]
    assert threshold.reached
    assert threshold.precision >= 0.95
    assert 0 < threshold.n_kept < len(outcomes(day["crf"], day["X"][day["held_out"]], day["y"][day["held_out"]]))
    kept = {(entity.text, entity.type): entity.probability >= threshold.value for entity in day["found"]}
    assert kept[("Mr. Olsson", "PERSON")]
    assert not all(kept.values())
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8").startswith("<!")
    assert (tmp_path / "new" / "travel.safetensors").exists()
    assert "report.html in a browser." in capsys.readouterr().out.splitlines()[-1]
