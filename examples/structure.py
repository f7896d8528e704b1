"""Find man-made structure in a photo, and draw what was found.

Blocks of 16 × 16 pixels are described by the directions of their edges, and a conditional random field on the grid of
blocks says which of them show buildings. The photos are Kumar and Hebert's; FOLDER holds ``totalImagesTrain.tar``,
``totalImagesTest.tar``, ``labels_train.txt`` and ``labels_test.txt``. NUMBER chooses a test photo, counted from 0.

    pip install "dualfield[examples]"
    python examples/structure.py FOLDER PICTURE.png [NUMBER]

Left: the blocks found, tinted, and those of the labels, framed. Right: the probability of structure in each block.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dualfield import GridCRF
from dualfield.datasets import load_man_made_structure
from dualfield.features.graphs.orientations import BLOCK


def tinted(photo: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The photo with the blocks of label 1 in red, the others as they are."""
    chosen = np.kron(labels, np.ones((BLOCK, BLOCK)))[:, :, None]
    return (photo * (1 - 0.45 * chosen) + 0.45 * chosen * np.array([255, 0, 0])).astype(np.uint8)


def frame(axis: plt.Axes, labels: np.ndarray) -> None:
    """White lines where blocks of different labels meet."""
    padded = np.pad(labels, 1)
    for row, column in np.argwhere(padded[:, 1:] != padded[:, :-1]):
        axis.plot([column * BLOCK] * 2, [(row - 1) * BLOCK, row * BLOCK], color="white", linewidth=1.5)
    for row, column in np.argwhere(padded[1:] != padded[:-1]):
        axis.plot([(column - 1) * BLOCK, column * BLOCK], [row * BLOCK] * 2, color="white", linewidth=1.5)


def main() -> None:
    """Train on all training photos, then label one test photo."""
    if len(sys.argv) not in (3, 4):
        sys.exit(f"usage: {sys.argv[0]} FOLDER PICTURE.png [NUMBER]")
    images = load_man_made_structure(sys.argv[1])
    number = int(sys.argv[3]) if len(sys.argv) == 4 else 5
    if not 0 <= number < len(images.X_test):
        sys.exit(f"there is no test photo {number}; expected a number from 0 to {len(images.X_test) - 1}.")

    crf = GridCRF(inference="trw", edge_weights="ising")
    crf.fit(crf.encode(images.X_train, images.edge_features_train), images.y_train)
    print(crf.solution_.message)
    test = crf.encode(images.X_test, images.edge_features_test)
    print(f"test blocks labelled correctly: {100 * crf.score(test, images.y_test):.1f} %")
    probability = crf.predict_marginals(test[[number]])[0][:, :, 1]

    photo, truth = images.pictures_test[number], images.y_test[number]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    axes[0].imshow(tinted(photo, probability > 0.5))
    frame(axes[0], truth)
    shown = axes[1].imshow(probability, vmin=0, vmax=1, cmap="magma")
    figure.colorbar(shown, ax=axes[1], label="probability of structure")
    for axis in axes:
        axis.set_axis_off()
    Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(sys.argv[2], dpi=100)


if __name__ == "__main__":
    main()
