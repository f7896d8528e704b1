"""Noisy images before and after: each pixel by itself, and pixels that listen to their neighbours.

Shapes are drawn by the package and covered with noise. Logistic regression looks at one pixel at a time; ``GridCRF``
at its neighbours too. Both are trained on 40 images and label 10 others, of which two are shown.

    python benchmarks/pictures/segmentation.py [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.pictures.themes import PICTURES, Theme, draw_both
from dualfield import GridCRF, SoftmaxRegression
from dualfield.datasets import Images, make_denoising

SHOWN = (0, 1)
Labels = list[np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where to put the pictures")
    arguments = parser.parse_args()
    images = make_denoising()
    draw(images, alone(images), together(images), arguments.folder)


def alone(images: Images) -> Labels:
    pixels = np.concatenate([X.reshape(-1, X.shape[2]) for X in images.X_train])
    model = SoftmaxRegression(bias=False).fit(pixels, np.concatenate([y.ravel() for y in images.y_train]))
    return [model.predict(X.reshape(-1, X.shape[2])).reshape(X.shape[:2]) for X in images.X_test]


def together(images: Images) -> Labels:
    crf = GridCRF(edge_weights="ising", random_state=0)
    crf.fit(crf.encode(images.X_train, images.edge_features_train), images.y_train)
    print(crf.solution_.message, f"{crf.solution_.cpu_seconds:.0f} s of CPU time")
    return crf.predict(crf.encode(images.X_test, images.edge_features_test))


def wrong(labels: Labels, images: Images) -> float:
    """The share of wrong pixels over all test images."""
    return float(np.mean([found != truth for found, truth in zip(labels, images.y_test, strict=True)]))


def draw(images: Images, pixels: Labels, field: Labels, folder: Path) -> list[Path]:
    assert images.pictures_test is not None
    columns = {
        "noisy image": images.pictures_test,
        f"pixel by pixel\n{wrong(pixels, images):.1%} wrong": pixels,
        f"GridCRF\n{wrong(field, images):.1%} wrong": field,
    }

    def fill(figure: Any, theme: Theme) -> None:
        axes = figure.subplots(len(SHOWN), len(columns))
        for column, (title, pictures) in zip(axes.T, columns.items(), strict=True):
            column[0].set_title(title, weight="bold")
            span = (-0.5, 1.5) if pictures is images.pictures_test else (0, 1)
            for panel, number in zip(column, SHOWN, strict=True):
                panel.imshow(pictures[number], cmap="gray", vmin=span[0], vmax=span[1], interpolation="nearest")
                panel.set(xticks=[], yticks=[])
                panel.spines[["left", "bottom"]].set_visible(False)

    return draw_both("segmentation", 352, fill, folder, suffix="png")


if __name__ == "__main__":
    main()
