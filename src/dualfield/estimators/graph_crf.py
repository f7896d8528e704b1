"""``GraphCRF``: label the nodes of graphs with a conditional random field."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.answers import Answers
from dualfield.estimators.graph_model import GraphModel, cut_nodes
from dualfield.features import EncodedGraphs, Vocabulary, encode_graphs
from dualfield.fields.graph import TABLE_BUDGET
from dualfield.solvers import Solver

__all__ = ["GraphCRF"]


class GraphCRF(GraphModel):
    """A conditional random field on graphs with a label at every node.

    For a graph with node features x and edge features z the labels y have probability ``p(y | x) ∝ exp(score)``,

        ``score(y) = Σ_v ⟨w_{y_v}, x_v⟩ + b_{y_v} + Σ_{e=(u,v)} Σ_f z_{ef} W_f[y_u, y_v]``,

    with edges directed as given and ``z = 1`` where there are no edge features. Training minimises

        ``l2/2 (‖w‖² + ‖b‖²) + edge_l2/2 ‖W‖² + Σ_i c_i · (−log p(y_i | x_i))``.

    With exact inference it stops when the result is *proven* to be within ``tol`` (relative) of the minimum.
    ``X`` is a list of ``(node_features, edges)`` or ``(node_features, edges, edge_features)``: an array or sparse
    matrix with a row per node, or a list of a dict or a list of strings per node, as for :class:`ChainCRF`; pairs of
    node numbers; an array with a row per edge. A fourth part may list cliques, of three nodes and more, which then add
    ``Σ_C V_{|C|}[y_C]`` to the score, one tensor V for each size; they need exact inference.

    Parameters
    ----------
    l2 : float
        Strength of the penalty.
    solver : str or Solver
        "auto", the name of a method ("oeg", "sdca", "lbfgs", "sag", ...), or an object from ``dualfield.solvers``.
        Dual methods need exact inference or the pseudo-likelihood.
    inference : {"auto", "junction_tree", "bp", "trw", "mean_field", "pseudo_likelihood"}
        "junction_tree" is exact and takes tables of ``K^(treewidth + 1)`` numbers; "auto" is the same where
        the tables of all graphs fit ``table_budget``, and elsewhere "trw", or where nodes times squared
        labels are more than 500,000 the pseudo-likelihood; ``solution_.message`` says so. "bp", "trw" and "mean_field"
        approximate; "trw" has a certificate for its own, relaxed problem, the others none.
        "pseudo_likelihood" trains every node given the labels of its neighbours, with a certificate for that objective;
        it then predicts as "auto" does (see :meth:`inference_for`). Predictions follow the parameter as it is when they
        are made.
    edge_weights : {"full", "symmetric", "potts", "ising"}
        The parameters of each matrix ``W_f``: all K², one for (a, b) and (b, a), one for equal labels, or for two
        labels one that counts + for equal and − for unequal ones.
    bias : bool
        Whether labels have a bias weight.
    tol : float
        The relative duality gap to reach. For "bp" and "mean_field", ``‖∇P‖² / (2 l2)`` relative to the objective P.
    max_passes : int
        The most passes over the data.
    n_jobs : int or None
        Threads of training, if the solver can use them, and of prediction; −1 for all cores. An ``n_jobs`` of a solver
        object counts more for training.
    random_state : int, RandomState or None
        Seed of the sampling; the same seed gives the same result.
    verbose : int
        0 is quiet, 1 shows a progress bar.
    edge_l2 : float, optional
        Strength of the penalty on edge weights. More of it smooths less. By default ``l2``; for the pseudo-likelihood,
        which otherwise smooths too much, a hundredth of the number of edges if that is more and X has no edge features.
    prediction : {"auto", "map", "max-marginals"}
        Predict the most probable labelling, or at each node the label of largest marginal, which minimises the
        expected number of wrong labels. "auto" is "map" with exact inference and "max-marginals" otherwise.
    table_budget : int
        The most numbers that the clique tables of one graph may take.
    damping, max_sweeps, inference_tol : float, int, float
        Of approximate inference: the share of an old message that stays, the most sweeps over all messages, and the
        change of messages that counts as none.
    warm_start : bool
        Keep the solver's state and go on from it when ``fit`` is called again with the same data.
    ignore_label : str, int or None
        Nodes of this label, such as void pixels, are left out: of training with their edges, and of ``score``. So are
        nodes whose label is None.

    Attributes
    ----------
    classes_ : array, shape (K,)
        The labels, sorted.
    node_weights_, edge_weights_, bias_ : arrays, shapes (d, K), (De, K, K), (K,)
        The weights w, W, and b.
    vocabulary_ : Vocabulary or NumberedColumns
        What the rows of ``node_weights_`` are of: named attributes, or columns.
    layout_ : GraphLayout
        Which weights exist, and where in ``weights_``, the vector that was trained.
    solution_ : Solution
        How training went; ``solution_.duality_gap`` is the certificate, ``solution_.message`` says it in words.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import GraphCRF
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> X = [(np.array([[1.0], [1.0], [-1.0], [-1.0]]), square), (np.array([[1.0], [-1.0]]), [(0, 1)])]
    >>> crf = GraphCRF(l2=0.1, random_state=0).fit(X, [["in", "in", "out", "out"], ["in", "out"]])
    >>> [labels.tolist() for labels in crf.predict([(np.array([[2.0], [1.0], [-2.0]]), [(0, 1), (1, 2)])])]
    [['in', 'in', 'out']]
    >>> crf.solution_.relative_gap <= 1e-3, crf.edge_weights_.shape
    (True, (1, 2, 2))
    """

    _stored_as = "GraphCRF"

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

    def encode(self, X: Any) -> EncodedGraphs:
        """Encode graphs once, for any number of later calls of ``fit`` and ``predict``."""
        return self._later_data(X) if self.__sklearn_is_fitted__() else encode_graphs(X)

    def predict(self, X: Any) -> list[npt.NDArray[Any]]:
        """The labels of each graph, an array like its part of y; ``prediction`` says by which rule.

        To NumPy, and so to ``cross_val_predict``, the list is a one-dimensional array of arrays.
        """
        return Answers(super().predict(X))  # graphs differ in size

    def _training_data(self, X: Any) -> EncodedGraphs:
        return encode_graphs(X)

    def _later_data(self, X: Any) -> EncodedGraphs:
        names = self.vocabulary_ if isinstance(self.vocabulary_, Vocabulary) else None
        return encode_graphs(X, self.layout_.n_attributes, self.layout_.n_edge_features, names)

    def _cut(self, flat: npt.NDArray[Any], data: EncodedGraphs) -> list[npt.NDArray[Any]]:
        return cut_nodes(flat, data)
