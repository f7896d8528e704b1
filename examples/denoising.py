"""Denoise binary images, trained in five ways, and draw the results side by side.

Shapes are drawn and covered with noise; the task is to recover them. Logistic regression looks at one pixel at a time.
The others are conditional random fields on the grid: trained on the likelihood with log Z by mean field, by loopy
belief propagation or by its tree-reweighted form, or on the pseudo-likelihood. No data are needed:

    pip install "dualfield[examples]"
    python examples/denoising.py denoising.png
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dualfield import GridCRF, SoftmaxRegression
from dualfield.datasets import Images, make_denoising

SHOWN = 3
TRAINED_ON = {
    "mean field": "mean_field",
    "loopy BP": "bp",
    "TRW": "trw",
    "pseudo-likelihood": "pseudo_likelihood",
}


def logistic_regression(images: Images) -> list[np.ndarray]:
    """Every pixel for itself."""
    pixels = np.concatenate([X.reshape(-1, 2) for X in images.X_train])
    model = SoftmaxRegression(bias=False).fit(pixels, np.concatenate([y.ravel() for y in images.y_train]))
    return [model.predict(X.reshape(-1, 2)).reshape(X.shape[:2]) for X in images.X_test]


def random_field(images: Images, inference: str) -> list[np.ndarray]:
    """Pixels that listen to their neighbours, the less the more their intensities differ."""
    # Mean field's objective has jumps, on which further passes gain nothing.
    passes = 20 if inference == "mean_field" else 200
    crf = GridCRF(inference=inference, edge_weights="ising", max_passes=passes)
    crf.fit(crf.encode(images.X_train, images.edge_features_train), images.y_train)
    print(f"{inference}: {crf.solution_.message}")
    if inference == "pseudo_likelihood":  # a way to train only; predictions need an inference
        crf.set_params(inference="bp")
    return crf.predict(crf.encode(images.X_test, images.edge_features_test))


def draw(columns: dict[str, list[np.ndarray]], images: Images, path: Path) -> None:
    """A row for each image, a column for each way, with the share of wrong pixels over all test images."""
    shape = (SHOWN, len(columns))
    figure, axes = plt.subplots(*shape, figsize=(1.35 * shape[1], 1.35 * shape[0] + 0.45), layout="constrained")
    for (title, pictures), column in zip(columns.items(), axes.T, strict=True):
        if title not in ("noisy", "truth"):
            wrong = np.mean([labels != truth for labels, truth in zip(pictures, images.y_test, strict=True)])
            title += f"\n{100 * wrong:.2f} % wrong"
        column[0].set_title(title, fontsize=8)
        for axis, picture in zip(column, pictures, strict=False):
            axis.imshow(
                picture,
                cmap="gray",
                interpolation="nearest",
                vmin=-0.5 * (title == "noisy"),
                vmax=1 + 0.5 * (title == "noisy"),
            )
            axis.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})


def main() -> None:
    """Train in all ways, then draw."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} PICTURE.png")
    warnings.simplefilter("ignore", ConvergenceWarning)  # the messages are printed
    images = make_denoising()
    columns = {"noisy": images.pictures_test or [], "logistic regression": logistic_regression(images)}
    for title, inference in TRAINED_ON.items():
        columns[title] = random_field(images, inference)
    columns["truth"] = images.y_test
    draw(columns, images, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
