"""The record of an image data set refuses what does not fit together, with the place."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from dualfield.datasets import Images


def parts(**changed: Any) -> dict[str, Any]:
    """Two images for training, one for testing, with changes."""
    shapes = {"train": [(2, 3), (1, 4)], "test": [(3, 3)]}
    edges = {"train": [7, 3], "test": [12]}
    fields: dict[str, Any] = {}
    for part in shapes:
        fields[f"X_{part}"] = [np.zeros((*shape, 2)) for shape in shapes[part]]
        fields[f"y_{part}"] = [np.zeros(shape, dtype=np.int64) for shape in shapes[part]]
        fields[f"edge_features_{part}"] = [np.zeros((count, 5)) for count in edges[part]]
    return fields | changed


def test_images_that_fit_are_summarised() -> None:
    images = Images(**parts(note="Take care."))
    assert repr(images) == "Images(2 for training, 1 for testing; 2 features a site, 5 an edge; Take care.)"
    assert images.pictures_train is None
    with pytest.raises(FrozenInstanceError):
        images.note = "Never mind."  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y_train": []}, "y_train has 0 arrays but X_train has 2"),
        ({"pictures_test": []}, "pictures_test has 0 arrays but X_test has 1"),
        ({"X_test": [np.zeros((3, 3))]}, r"image 0 of X_test has shape \(3, 3\); expected \(height, width, features\)"),
        ({"X_test": [np.zeros((0, 3, 2))]}, r"image 0 of X_test has shape \(0, 3, 2\); .* at least one site"),
        ({"X_test": [np.zeros((3, 3, 4))]}, "image 0 of X_test has 4 features a site but the images before it have 2"),
        (
            {"y_train": [np.zeros((2, 3)), np.zeros((4, 1))]},
            r"image 1 of X_train has 1 rows and 4 columns but its labels have shape \(4, 1\)",
        ),
        (
            {"edge_features_train": [np.zeros((7, 5)), np.zeros((4, 5))]},
            r"edge features of image 1 of X_train have shape \(4, 5\); expected 3 rows",
        ),
        ({"edge_features_test": [np.zeros((12, 1))]}, "image 0 of X_test has 1 features an edge .* have 5"),
    ],
)
def test_images_that_do_not_fit_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Images(**parts(**changed))
