"""``GridCRF``: label the pixels of images with a conditional random field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.answers import Answers
from dualfield.estimators.graph_model import GraphModel, cut_nodes
from dualfield.features import EncodedGrids, GridEncoding, encode_grids
from dualfield.features.graphs.encoded_grids import check_grid_parameters
from dualfield.fields.graph import TABLE_BUDGET
from dualfield.solvers import Solver

__all__ = ["GridCRF"]


class GridCRF(GraphModel):
    """A conditional random field on images, with a label at every pixel and edges between neighbours.

    The model is that of :class:`GraphCRF` on the grid: p(y | x) ∝ exp of the sum over pixels of ``⟨w_{y_v}, x_v⟩``
    and over edges (u, v) of ``Σ_f z_f W_f[y_u, y_v]``, edges running right and down. ``X`` is a list of arrays
    (height, width, d), or (height, width) for one feature a pixel; ``y`` one of arrays (height, width) of labels, or
    of boolean masks, which become the labels 0 and 1.

    A grid's junction tree is as wide as its shorter side, so only small images have exact inference; larger ones are
    trained with ``inference="trw"``, very large ones on the pseudo-likelihood, unless another is chosen.

    Parameters
    ----------
    l2, solver, inference, edge_weights, bias, tol, max_passes, n_jobs, random_state, verbose, edge_l2, prediction, \
table_budget, damping, max_sweeps, inference_tol, warm_start, ignore_label
        As for :class:`GraphCRF`.
    neighbours : {4, 8}
        Whether diagonal neighbours are joined too.
    edge_features : {None, "contrast", "direction"}
        What edges carry: nothing; 1 and ``exp(−‖x_u − x_v‖² / (2 m))``, with m the mean over the training edges; or
        an indicator of the direction. Other features are given by :meth:`encode`.

    Attributes
    ----------
    classes_, node_weights_, edge_weights_, bias_, layout_, solution_
        As for :class:`GraphCRF`.
    encoding_ : GridEncoding
        How images become graphs, with the m of "contrast".

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import GridCRF
    >>> clean = np.repeat([[1, 1, 1, 0, 0, 0]], 4, axis=0)
    >>> noisy = clean - 0.5 + np.random.default_rng(0).normal(size=clean.shape)
    >>> crf = GridCRF(l2=0.1, edge_weights="potts", random_state=0).fit([noisy], [clean])
    >>> int((crf.predict([noisy])[0] == clean).sum()), int(((noisy > 0) == clean).sum())
    (24, 20)
    """

    encoding_: GridEncoding

    _stored_as = "GridCRF"

    def __init__(
        self,
        l2: float = 1.0,
        solver: str | Solver = "auto",
        inference: str = "auto",
        edge_weights: str = "full",
        bias: bool = False,
        tol: float = 1e-3,
        max_passes: int = 500,
        n_jobs: int | None = 1,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        *,
        neighbours: int = 4,
        edge_features: str | None = None,
        edge_l2: float | None = None,
        prediction: str = "auto",
        table_budget: int = TABLE_BUDGET,
        damping: float = 0.0,
        max_sweeps: int = 200,
        inference_tol: float = 1e-8,
        warm_start: bool = False,
        ignore_label: str | int | None = None,
    ) -> None:
        self._keep(locals())

    neighbours: int
    edge_features: str | None

    def encode(self, X: Any, edge_features: Iterable[npt.ArrayLike] | None = None) -> EncodedGrids:
        """Encode images once, for any number of later calls of ``fit`` and ``predict``.

        Parameters
        ----------
        X : list of arrays
            Images.
        edge_features : list of arrays, optional
            One array (n_edges, De) per image, rows in the order of :func:`dualfield.features.grid_edges`. A model
            trained on such images predicts such images only.
        """
        if self.__sklearn_is_fitted__():
            return self.encoding_.apply(X, edge_features)
        check_grid_parameters(self.neighbours, self.edge_features)
        if edge_features is not None and self.edge_features is not None:
            raise ValueError(f"edge features came with the images but edge_features={self.edge_features!r}.")
        return encode_grids(X, self.neighbours, self.edge_features if edge_features is None else edge_features)

    def predict(self, X: Any) -> list[npt.NDArray[Any]]:
        """The labels of each image, an array of its height and width; ``prediction`` says by which rule.

        Where sizes differ the list is, to NumPy and so to ``cross_val_predict``, a one-dimensional array of arrays.
        """
        labels = super().predict(X)
        return labels if len({one.shape for one in labels}) <= 1 else Answers(labels)

    def _training_data(self, X: Any) -> EncodedGrids:
        check_grid_parameters(self.neighbours, self.edge_features)
        return encode_grids(X, self.neighbours, self.edge_features)

    def _later_data(self, X: Any) -> EncodedGrids:
        return self.encoding_.apply(X)

    def _take_encoding(self, encoding: GridEncoding) -> None:
        self.encoding_ = encoding

    def _cut(self, flat: npt.NDArray[Any], data: EncodedGrids) -> list[npt.NDArray[Any]]:
        shapes = data.shapes.tolist()
        pixels = cut_nodes(flat, data.graphs)
        return [part.reshape(*shape, *part.shape[1:]) for part, shape in zip(pixels, shapes, strict=True)]
