"""The two image tasks of Vishwanathan et al. (2006), section 5, as fields for each training criterion.

A site of features ``h_i`` has the potential ``y_i θ·h_i`` and an edge ``y_i y_j θ·h_ij``, with ``y = ±1``, and the
prior has σ = 1. Our labels have a weight vector each, so ``w = ±θ`` and ``‖w‖² = 2‖θ‖²``: their σ is ``l2 = 1/2`` on
nodes, and ``edge_l2 = 1`` on edges, which have one parameter a feature. All solvers begin at the weights of logistic
regression, with 0.5 for the edges.

*Gains.* A step of gain η on our w moves θ as far as one of gain η/2 on θ, on nodes (two rows of w share a θ) and on
edges (their scale is ``sqrt(l2 / edge_l2)``). So the published gain is twice its number here. A coordinate's ``g·v``,
which moves its gain, is half of theirs on nodes and the same on edges; the meta-gain 10 η0 is likewise taken as ten
times our gain, which is theirs on nodes and twice theirs on edges.

*Denoising* is on shapes drawn by ``make_denoising``, for the paper's are not to be had; *structure* on Kumar and
Hebert's photos with features of our own making, 108 of them to train on where the paper had 129.

Batches of the pseudo-likelihood are as many sites as an image has (or three images), drawn from all images: its blocks
are sites. Whatever was trained on, sites are labelled by max-marginals of belief propagation, as in the paper.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmarks.tasks import data_file
from dualfield import SoftmaxRegression, fields
from dualfield.datasets import Images, load_man_made_structure, make_denoising
from dualfield.features import encode_grids
from dualfield.fields.graph import GraphField

__all__ = ["CRITERIA", "LATTICES", "Lattices"]

L2, EDGE_L2, EDGE_START = 0.5, 1.0, 0.5
CRITERIA = ("bp", "mean_field", "pseudo_likelihood")


class Lattices:
    """Labelled grids, split for training and testing, under the paper's model."""

    name: ClassVar[str]
    brief: ClassVar[str]
    files: ClassVar[tuple[str, ...]] = ()
    batch_images: ClassVar[int]

    def __init__(self, images: Images) -> None:
        self.images = images
        self.grids = encode_grids(images.X_train, edge_features=images.edge_features_train)
        self._fields: dict[str, GraphField] = {}

    @classmethod
    def available(cls) -> bool:
        """Whether all files are there."""
        folder = os.environ.get("DUALFIELD_DATA")
        return not cls.files or (bool(folder) and all((Path(folder or "") / name).exists() for name in cls.files))

    def field(self, criterion: str) -> GraphField:
        """The training problem."""
        if criterion not in self._fields:
            parts = {"l2": L2, "edge_l2": EDGE_L2, "edge_weights": "ising"}
            y = self.images.y_train
            if criterion == "pseudo_likelihood":
                self._fields[criterion] = fields.PseudoLikelihood(self.grids, y, **parts)
            else:
                self._fields[criterion] = fields.Graph(self.grids, y, inference=criterion, **parts)
        return self._fields[criterion]

    def batch_size(self, criterion: str) -> int:
        """Blocks a batch: images, or sites."""
        return self.batch_images * (self.images.y_train[0].size if criterion == "pseudo_likelihood" else 1)

    @cached_property
    def start(self) -> np.ndarray:
        """Nodes by logistic regression, edges 0.5, in the order of a field's weights."""
        sites = np.concatenate([X.reshape(-1, X.shape[2]) for X in self.images.X_train])
        labels = np.concatenate([y.ravel() for y in self.images.y_train])
        logistic = SoftmaxRegression(l2=L2, bias=False, tol=1e-6, random_state=0).fit(sites, labels)
        layout = self.field("bp").layout
        edges = np.full(layout.n_edge_features, EDGE_START / layout.edge_scale)
        return np.concatenate([logistic.coef_.T.ravel(), edges])

    @cached_property
    def _test(self) -> object:
        graphs = self.grids.encoding.apply(self.images.X_test, self.images.edge_features_test).graphs
        field = self.field("bp")
        return field.inference.compile(field.layout.arguments(graphs))[0]

    def predict(self, weights: np.ndarray) -> list[np.ndarray]:
        """Labels of the test images."""
        labels = self._test.marginals(weights, 0, self._test.blocks).argmax(axis=1)
        cuts = np.cumsum([y.size for y in self.images.y_test])[:-1]
        return [part.reshape(y.shape) for part, y in zip(np.split(labels, cuts), self.images.y_test, strict=True)]

    def error(self, weights: np.ndarray) -> float:
        """Test sites with a wrong label, in percent."""
        wrong = [(a != b).ravel() for a, b in zip(self.predict(weights), self.images.y_test, strict=True)]
        return 100 * float(np.concatenate(wrong).mean())

    def logistic_labels(self) -> list[np.ndarray]:
        """Labels of the test images by single sites."""
        weights = self.start.copy()
        weights[-self.field("bp").layout.n_edge_features :] = 0.0
        return self.predict(weights)


class Denoising(Lattices):
    name, brief = "denoising", "Denoising"
    batch_images = 1

    @classmethod
    def load(cls, quick: bool) -> Denoising:
        return cls(make_denoising(6, 3, size=32) if quick else make_denoising(40, 10))


class Structure(Lattices):
    name, brief = "structure", "Patches"
    batch_images = 3
    files: ClassVar = tuple(
        f"kumar_hebert/{file}"
        for file in ("totalImagesTrain.tar", "totalImagesTest.tar", "labels_train.txt", "labels_test.txt")
    )

    @classmethod
    def load(cls, quick: bool) -> Structure:
        """In quick mode a dozen photos, or where there are none, drawn shapes."""
        if quick and not cls.available():
            return cls(make_denoising(12, 6, size=16))
        images = load_man_made_structure(data_file("kumar_hebert"))
        if not quick:
            return cls(images)
        names = ("X", "y", "edge_features", "pictures")
        cut = {f"{name}_train": getattr(images, f"{name}_train")[:12] for name in names}
        return cls(Images(**cut, **{f"{name}_test": getattr(images, f"{name}_test")[:8] for name in names}))


LATTICES: dict[str, type[Denoising] | type[Structure]] = {"denoising": Denoising, "structure": Structure}
