"""Fields on graphs with one label per node: exact on junction trees, or with approximate inference."""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import check_sample_weight, frozen
from dualfield.features import EncodedGraphs, EncodedGrids, encode_graph_labels, encode_graphs
from dualfield.fields.base import APPROXIMATE, EXACT, PER_CLIQUE, Choice, Field, check_l2, check_label_count
from dualfield.given_numbers import as_float, check_integer
from dualfield.models.graph_layout import GraphLayout
from dualfield.solution import Certificate

__all__ = [
    "INFERENCES",
    "TABLE_BUDGET",
    "Graph",
    "GraphField",
    "GraphInference",
    "TooDenseError",
    "default_solver",
]

INFERENCES = ("auto", "junction_tree", "bp", "trw", "mean_field")
TABLE_BUDGET = 2**24

_FEW_BLOCKS, _FEW_WEIGHTS = 30, 200


class TooDenseError(ValueError):
    """Exact inference on a graph needs larger tables than are allowed."""


@dataclass(frozen=True)
class GraphInference:
    """How graphs are inferred, and how hard to try.

    Parameters
    ----------
    method : {"auto", "junction_tree", "bp", "trw", "mean_field"}
        "junction_tree" is exact; "auto" is the same where all graphs fit the budget, and "trw" elsewhere. "bp" is
        loopy belief propagation, "trw" its tree-reweighted variant, an upper bound on log Z, "mean_field" the naive
        mean field, a lower bound.
    table_budget : int
        The most numbers that the clique tables of one graph may take.
    damping, max_sweeps, tolerance : float, int, float
        Of the approximate methods: the share of an old message that stays, the most sweeps over all messages, and
        the largest change of a message in a sweep that counts as none.
    """

    method: str = "auto"
    table_budget: int = TABLE_BUDGET
    damping: float = 0.0
    max_sweeps: int = 200
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if self.method not in INFERENCES:
            names = ", ".join(map(repr, INFERENCES[:-1])) + f" or {INFERENCES[-1]!r}"
            raise ValueError(f"inference must be {names}; got {self.method!r}.")
        check_integer("table_budget", self.table_budget, 1, "a positive integer")
        check_integer("max_sweeps", self.max_sweeps, 1, "a positive integer", most=2**31 - 1)
        if not _is_number(self.damping) or not 0 <= as_float(self.damping) < 1:
            raise ValueError(f"damping must be a number in [0, 1); got {self.damping!r}.")
        if not _is_number(self.tolerance) or not 0 < as_float(self.tolerance) < math.inf:
            raise ValueError(f"inference_tol must be a positive finite number; got {self.tolerance!r}.")

    @property
    def exact(self) -> bool:
        """Whether it computes, rather than approximates; of "auto" that depends on the graphs."""
        return self.method == "junction_tree"

    def compile(self, arguments: dict[str, Any], member: str = "graph") -> tuple[Any, GraphInference]:
        """The compiled field, and the inference it has: of "auto", the one that suits the graphs.

        Parameters
        ----------
        arguments : dict
            Those of :meth:`GraphLayout.arguments`.
        member : str
            What an error calls a graph.
        """
        if self.method == "auto":
            try:
                return replace(self, method="junction_tree").compile(arguments, member)
            except TooDenseError:
                if arguments["clique_sizes"] is not None:  # which pairs of nodes cannot stand for
                    raise
                return replace(self, method="trw").compile(arguments, member)
        if not self.exact:
            return self._approximate(arguments), self
        try:
            return _core.Graph(**arguments, table_budget=int(self.table_budget)), self
        except ValueError as error:
            if "budget" not in str(error):
                raise
            raise TooDenseError(
                f"{str(error).rstrip('.').replace('graph', member, 1)}; choose inference='trw', 'bp' or 'mean_field', "
                "train on the pseudo-likelihood, or raise table_budget."
            ) from None

    def _approximate(self, arguments: dict[str, Any]) -> Any:
        return _core.LoopyGraph(
            **arguments,
            inference=self.method,
            damping=float(self.damping),
            max_sweeps=int(self.max_sweeps),
            tolerance=float(self.tolerance),
            node_count=1.0,
            edge_count=1.0,
            edge_probabilities=None,
        )


class GraphField(Field):
    """What the fields on graphs share: data, weights, and penalties of nodes and edges."""

    encoded: EncodedGraphs
    layout: GraphLayout
    classes: npt.NDArray[Any]
    codes: npt.NDArray[np.int32]
    edge_l2: float | None
    sample_weight: npt.NDArray[np.float64] | None
    takes_cliques: bool = False  # of three nodes and more
    member: str = "graph"  # or "image"

    def _prepare(
        self,
        X: Any,
        y: Any,
        l2: float,
        edge_l2: float | None,
        edge_weights: str,
        bias: bool,
        sample_weight: npt.ArrayLike | None,
    ) -> None:
        """Check and encode everything, then compile."""
        self.l2 = check_l2(l2)
        self.edge_l2 = None if edge_l2 is None else _check_edge_l2(edge_l2)
        encoded = X.graphs if isinstance(X, EncodedGrids) else encode_graphs(X)
        if len(encoded) == 0:
            raise ValueError("X has no graphs; expected at least one.")
        before = time.perf_counter(), time.process_time()
        shapes = X.shapes if isinstance(X, EncodedGrids) else None
        self.encoded = encoded
        self.classes, codes = encode_graph_labels(y, encoded.sizes, shapes=shapes)
        self.codes = frozen(codes, np.int32)
        check_label_count(len(self.classes))
        self.member = "graph" if shapes is None else "image"
        self.sample_weight = check_sample_weight(sample_weight, len(encoded), self.member)
        self.layout = GraphLayout(
            encoded.n_attributes,
            len(self.classes),
            encoded.n_edge_features,
            edge_weights,
            bool(bias),
            1.0 if self.edge_l2 is None else math.sqrt(self.l2 / self.edge_l2),
            () if encoded.cliques is None else tuple(encoded.cliques.sizes.tolist()),
        )
        if self.layout.clique_sizes and not self.takes_cliques:
            raise ValueError(
                f"{self.name} knows pairs of nodes only but X has cliques of {self.layout.clique_sizes[-1]}; use "
                "inference='junction_tree', or leave the cliques out."
            )
        self.core = self._compile()
        self.preparation = time.perf_counter() - before[0], time.process_time() - before[1]

    def _compile(self) -> Any:
        raise NotImplementedError

    def _arguments(self) -> dict[str, Any]:
        return self.layout.arguments(self.encoded, self.codes, self.sample_weight, self.l2)

    def with_l2(self, l2: float) -> Self:
        """The same graphs under another penalty; ``edge_l2`` changes in proportion."""
        other = copy(self)
        other.l2 = check_l2(l2)
        other.edge_l2 = None if self.edge_l2 is None else self.edge_l2 * other.l2 / self.l2
        before = time.perf_counter(), time.process_time()
        other.core = other._compile()
        other.preparation = time.perf_counter() - before[0], time.process_time() - before[1]
        return other

    def _sizes(self) -> dict[str, int]:
        graphs = self.encoded
        shown = {self.member: len(graphs), "node": graphs.n_nodes, "edge": graphs.n_edges, "label": len(self.classes)}
        return {**shown, "weight": self.dimension}

    def _content(self) -> list[Any]:
        graphs = self.encoded
        return [
            *(self.l2, self.edge_l2, self.sample_weight, self.classes, self.codes, self.layout),
            *(graphs.offsets, graphs.indptr, graphs.indices, graphs.values),
            *(graphs.edge_offsets, graphs.ends, graphs.edge_features),
            *(() if graphs.cliques is None else (graphs.cliques.offsets, graphs.cliques.starts, graphs.cliques.nodes)),
        ]


class Graph(GraphField):
    """Labelled graphs as a training problem.

    For a graph with node features x and edge features z, the labels y have the score

        ``Σ_v ⟨w_{y_v}, x_v⟩ + b_{y_v} + Σ_{e=(u,v)} Σ_f z_{ef} W_f[y_u, y_v] + Σ_C V_{|C|}[y_C]``

    with edges directed as given and the last sum over larger cliques, where X has any. (They need exact inference, and
    their weights V count as node weights in the penalty.) The objective is

        ``l2/2 (‖w‖² + ‖b‖²) + edge_l2/2 ‖W‖² + Σ_i c_i · (log Z(x_i) − score(x_i, y_i))``,

    where ``‖W‖²`` sums the squares of the edges' parameters (see ``edge_weights``). Weights are one flat vector,
    ``[ attribute × label | edge feature × parameter | bias ]``, with edge weights divided by ``sqrt(l2/edge_l2)``, so
    that the penalty is ``l2/2`` times its square; ``layout.split(weights)`` gives the natural ones.

    With "junction_tree", log Z is exact. The approximate methods put their own value in its place: "trw" an upper
    bound that keeps the objective convex, so a certificate speaks of that relaxed problem; "bp" (the Bethe
    approximation) and "mean_field" (a lower bound) make it a function that is not convex, and nothing is proven.

    Parameters
    ----------
    X : sequence of (node_features, edges) or (node_features, edges, edge_features), EncodedGraphs, or EncodedGrids
        The graphs; see :func:`dualfield.features.encode_graphs`.
    y : sequence of label sequences
        One label per node; for EncodedGrids an array (height, width) per image.
    l2 : float
        Strength of the penalty.
    edge_l2 : float, optional
        Strength of the penalty on edge weights; by default ``l2``.
    inference : {"auto", "junction_tree", "bp", "trw", "mean_field"}
        "auto" is "junction_tree", and "trw" where that passes the budget.
    edge_weights : {"full", "symmetric", "potts", "ising"}
        The parameters of an edge matrix W_f: all K², one for (a, b) and (b, a), one for equal labels, or for two
        labels one that counts + for equal and − for unequal ones.
    bias : bool
        Whether labels have a bias weight.
    sample_weight : array, shape (n,), optional
        The ``c_i``, not negative.
    table_budget : int
        The most numbers that the clique tables of one graph may take.
    damping, max_sweeps, inference_tol
        Of approximate inference: the share of an old message that stays, the most sweeps, and the change of messages
        that counts as none.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    >>> field = fields.Graph([triangle], [["a", "b", "a"]], l2=1.0)
    >>> solve(field, "sdca", tol=1e-6).status
    'converged'
    """

    name: str = "Graph"

    def __init__(
        self,
        X: Any,
        y: Any,
        l2: float = 1.0,
        *,
        edge_l2: float | None = None,
        inference: str = "auto",
        edge_weights: str = "full",
        bias: bool = False,
        sample_weight: npt.ArrayLike | None = None,
        table_budget: int = TABLE_BUDGET,
        damping: float = 0.0,
        max_sweeps: int = 200,
        inference_tol: float = 1e-8,
    ) -> None:
        self.inference = GraphInference(inference, table_budget, damping, max_sweeps, inference_tol)
        self.takes_cliques = inference in ("auto", "junction_tree")
        if not self.takes_cliques:
            self.name = f"Graph with inference={inference!r}"
        self._prepare(X, y, l2, edge_l2, edge_weights, bias, sample_weight)
        method = self.inference.method  # of "auto", the one that suits
        self.exact = self.inference.exact
        self.offers = EXACT if self.exact else APPROXIMATE
        self.convex = self.exact or method == "trw"
        if not self.exact:
            self.name = f"Graph with inference={method!r}"
            self.instead = "use inference='junction_tree', or a primal solver such as 'lbfgs'"
        if self.layout.clique_sizes:
            self.offers -= {"independent nodes"}  # the weights of a product are a sum of singles and pairs alone
        if method == "trw" or (self.exact and self.core.forests):
            self.offers |= PER_CLIQUE
        elif self.exact:
            self.instead = "graphs with loops offer it with inference='trw' alone"
        self.default_solver = default_solver(self.n_blocks, self.dimension)
        if not self.exact:
            why = "with approximate inference it is the best that always applies"
            if inference == "auto":
                why = f"exact inference passes the table budget, so inference is 'trw', and {why}"
            self.default_solver = Choice("lbfgs", why)

    def _compile(self) -> Any:
        core, self.inference = self.inference.compile(self._arguments(), self.member)
        return core

    def certifies(self, weights: npt.NDArray[np.float64]) -> tuple[Certificate, str]:
        """Say "exact" for exact inference, "relaxed" for "trw", whose gap has what inference leaves open, or "none"."""
        if self.convex:
            return ("exact" if self.inference.exact else "relaxed"), ""
        return "none", self._objection(weights)

    def _objection(self, weights: npt.NDArray[np.float64]) -> str:
        """Why nothing is proven where the objective is not convex."""
        what = f"inference={self.inference.method!r}"
        *_, converged = self.core.infer(weights, 0, self.n_blocks)
        missing = int((~converged.astype(bool)).sum())
        if missing:
            return f"{what} did not converge on {missing} of {self.n_blocks} graphs (raise max_sweeps or damping)"
        return f"with {what} the objective is not convex"

    def _content(self) -> list[Any]:
        return [*super()._content(), self.inference]


def default_solver(n_blocks: int, dimension: int) -> Choice:
    """The solver for exact marginals, by what docs/explanation/choosing-a-solver.md measures."""
    if n_blocks < _FEW_BLOCKS:
        return Choice("lbfgs", f"with fewer than {_FEW_BLOCKS} graphs a pass costs nothing and it needs few")
    if dimension < _FEW_WEIGHTS:
        return Choice("lbfgs", f"with fewer than {_FEW_WEIGHTS} weights it needs few passes")
    return Choice("oeg", "on many graphs and weights it was the first to a certificate", usual=True)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _check_edge_l2(edge_l2: object) -> float:
    try:
        return check_l2(edge_l2)
    except ValueError:
        raise ValueError(f"edge_l2 must be None or a positive finite number; got {edge_l2!r}.") from None
