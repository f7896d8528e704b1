"""The programs in examples/ do what their first lines say, on data small enough for a test."""

from __future__ import annotations

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
