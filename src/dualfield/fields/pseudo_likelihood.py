"""The pseudo-likelihood of graphs: every node given the labels of its neighbours."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dualfield import _core
from dualfield.fields.base import EXACT
from dualfield.fields.graph import GraphField, default_solver

__all__ = ["PseudoLikelihood"]


class PseudoLikelihood(GraphField):
    """Labelled graphs as one problem per node, joined by their weights (Besag 1975).

    With the score of :class:`Graph`, and the neighbours of a node at their true labels, the objective is

        ``l2/2 (‖w‖² + ‖b‖²) + edge_l2/2 ‖W‖² + Σ_i c_i Σ_v (−log p(y_v | y_{neighbours of v}, x_i))``.

    It needs no inference, so graphs of any size and shape will do; it is convex and certified, but another objective
    than the likelihood. Weights are those of :class:`Graph`.

    Parameters
    ----------
    X, y, l2, edge_l2, edge_weights, bias, sample_weight
        As for :class:`Graph`; a block is one node.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    >>> field = fields.PseudoLikelihood([triangle], [["a", "b", "a"]], l2=1.0)
    >>> solve(field, "sdca", tol=1e-6).status, field.n_blocks
    ('converged', 3)
    """

    name: str = "PseudoLikelihood"
    offers: frozenset[str] = EXACT | {"one node"}

    def __init__(
        self,
        X: Any,
        y: Any,
        l2: float = 1.0,
        *,
        edge_l2: float | None = None,
        edge_weights: str = "full",
        bias: bool = False,
        sample_weight: npt.ArrayLike | None = None,
    ) -> None:
        self._prepare(X, y, l2, edge_l2, edge_weights, bias, sample_weight)
        self.default_solver = default_solver(self.n_blocks, self.dimension)

    def _compile(self) -> Any:
        return _core.PseudoLikelihood(**self._arguments())
