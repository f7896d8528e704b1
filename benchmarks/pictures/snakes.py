"""Snakes before and after: each cell by itself, and cells that listen to their neighbours.

A snake of ten cells lies on a grid, and each of its cells has to get its number, from one end to the other. A colour
says where the snake goes on, so a cell by itself cannot tell its number. Logistic regression and ``GridCRF`` are
trained as in ``benchmarks/images/snakes.py``, which says more; the penalties are those with the best validation there.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/pictures/snakes.py [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.images.criteria import error, measure
from benchmarks.pictures.themes import PICTURES, Theme, draw_both
from benchmarks.tasks import data_file
from dualfield.datasets import Images, load_snakes

SHOWN = (0, 1)
L2 = 0.01
PASSES = 100
Labels = list[np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where to put the pictures")
    arguments = parser.parse_args()
    images = load_snakes(data_file("snakes"))
    options = {"tol": 1e-3, "max_passes": PASSES}
    alone, together = (measure(images, criterion, L2, **options) for criterion in ("logistic", "bp"))
    print(together.message)
    draw(images, alone.predicted, together.predicted, arguments.folder)


def draw(images: Images, alone: Labels, together: Labels, folder: Path) -> list[Path]:
    assert images.pictures_test is not None
    columns = {
        "colours": None,
        f"cell by cell\n{100 * error(alone, images.y_test):.1f} % wrong": alone,
        f"GridCRF\n{100 * error(together, images.y_test):.1f} % wrong": together,
    }

    def fill(figure: Any, theme: Theme) -> None:
        axes = figure.subplots(len(SHOWN), len(columns))
        for column, (title, labels) in zip(axes.T, columns.items(), strict=True):
            column[0].set_title(title, weight="bold")
            for panel, number in zip(column, SHOWN, strict=True):
                panel.set(xticks=[], yticks=[])
                panel.spines[["left", "bottom"]].set_visible(False)
                if labels is None:
                    panel.imshow(images.pictures_test[number], interpolation="nearest")
                else:
                    _numbers(panel, labels[number], images.y_test[number], theme)

    return draw_both("snakes", 330, fill, folder)


def kinds(labels: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """0 for ground that is known as such, 1 for a cell with its right number, 2 for what is wrong."""
    return np.where(labels != truth, 2, (labels > 0).astype(int))


def _numbers(panel: Any, labels: np.ndarray, truth: np.ndarray, theme: Theme) -> None:
    """The number of each cell of the snake, and the wrong ones on another ground."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([theme.rule, theme.blue, theme.orange])
    panel.imshow(kinds(labels, truth), cmap=colours, vmin=0, vmax=2)
    for (row, column), label in np.ndenumerate(labels):
        if label or truth[row, column]:
            panel.text(column, row, str(label), color=theme.paper, ha="center", va="center", size=10, weight="bold")


if __name__ == "__main__":
    main()
