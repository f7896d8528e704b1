"""Whether the edges of a graph model help: its labels beside those that node features alone give.

A model may minimise its approximate objective to a certificate and still label worse than without any edges. The
pseudo-likelihood is known for it (Vishwanathan et al. 2006, section 5.1): where neighbours nearly always have the same
label, it makes edges so strong that whole images get one label. So its edges have a stronger penalty by default, and
after training with anything but exact inference the labels are looked at.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dualfield.features import EncodedGraphs
from dualfield.fields import Multiclass
from dualfield.fields.graph import GraphField
from dualfield.solving import solve

__all__ = ["default_edge_l2", "warn_of_smoothing"]

_SHARE_OF_EDGES = 0.01  # docs/measurements/graphs.md measures what it gains
_ENOUGH_NODES = 20_000  # to see what features alone can do
_FEW_NODES = 500  # fewer say nothing
_WORSE = 0.005  # the share of nodes from which on it is worth a warning


def default_edge_l2(l2: float, n_edges: int) -> float:
    """The penalty of edges in the pseudo-likelihood; it grows with the data, so that more data do not smooth more."""
    return max(l2, _SHARE_OF_EDGES * n_edges)


def warn_of_smoothing(field: GraphField, graphs: EncodedGraphs, predicted: npt.NDArray[Any]) -> None:
    """Warn where fewer nodes get their true label than by logistic regression on node features, in training."""
    n = len(field.codes)
    if n < _FEW_NODES:
        return
    some = np.arange(n) if n <= _ENOUGH_NODES else np.random.default_rng(0).choice(n, _ENOUGH_NODES, replace=False)
    truth = field.codes[some]
    if len(np.unique(truth)) < 2:
        return
    values = np.ones(len(graphs.indices)) if graphs.values is None else graphs.values
    rows = sparse.csr_array((values, graphs.indices, graphs.indptr), shape=(n, graphs.n_attributes))[some]
    points = Multiclass(rows, truth, field.l2)
    alone = solve(points, tol=1e-2, max_passes=100, random_state=0).weights
    scores = np.asarray(rows @ alone[: -len(points.classes)].reshape(-1, len(points.classes)))
    labels = points.classes[(scores + alone[-len(points.classes) :]).argmax(axis=1)]
    with_edges, without = float(np.mean(predicted[some] == truth)), float(np.mean(labels == truth))
    if with_edges < without - _WORSE:
        warnings.warn(
            f"On the training data the model labels {with_edges:.1%} of the nodes correctly, where their features "
            f"alone give {without:.1%}: its edges smooth too much. Raise edge_l2 (now {field.edge_l2 or field.l2:g}), "
            "or train with inference='trw'.",
            UserWarning,
            stacklevel=4,
        )
