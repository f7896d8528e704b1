"""Approximate inference on one pairwise graph given as arrays; the message passing is in ``core/oracles``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dualfield import _core
from dualfield.core_arrays import contiguous
from dualfield.given_numbers import as_float
from dualfield.oracles.graph_arrays import checked_edges, checked_potentials

__all__ = [
    "Approximation",
    "Labelling",
    "belief_propagation",
    "map_labels",
    "mean_field",
    "spanning_tree_probabilities",
    "tree_reweighted",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]

_SCHEDULES = ("sequential", "parallel", "residual")
_METHODS = ("trws", "max-product", "max-marginals")
_LEAST = 1e-9  # an edge probability; potentials are divided by it


@dataclass(frozen=True)
class Approximation:
    """An approximate log-partition with its marginals.

    Attributes
    ----------
    log_partition : float
        The approximate ``log Z``; once converged, its gradient by the potentials is the marginals.
    direction : {"upper", "lower", "neither"}
        Which kind of bound on the exact ``log Z`` it is, to within the tolerance of the messages.
    nodes : ndarray, shape (V, K)
        Approximate probability of each label at each node.
    edges : ndarray, shape (E, K, K)
        Approximate probability of each pair of labels at the ends of each edge.
    converged : bool
        Whether the last sweep changed nothing by more than ``tol``.
    sweeps : int
        Updates of every message (mean field: of every node).
    residual : float
        The largest change in the last sweep: of the log-odds between two labels in a message, or of a marginal.
    upper_bound : float
        A proven upper bound on ``log Z``, converged or not, up to rounding; infinite where the method gives none.
    """

    log_partition: float
    direction: Literal["upper", "lower", "neither"]
    nodes: FloatArray
    edges: FloatArray
    converged: bool
    sweeps: int
    residual: float
    upper_bound: float


@dataclass(frozen=True)
class Labelling:
    """A labelling of large score.

    Attributes
    ----------
    labels : ndarray of int32, shape (V,)
    score : float
        ``Σ_v node[v, y_v] + Σ_e edge_e[y_s, y_t]`` of these labels.
    bound : float
        No labelling has a larger score, up to rounding; infinite where the method proves no bound. Labels whose score
        meets it are optimal.
    converged : bool
        Whether the messages (``"trws"``: the bound, or the gap to it) came to rest.
    sweeps : int
    """

    labels: IntArray
    score: float
    bound: float
    converged: bool
    sweeps: int


def belief_propagation(
    node: npt.ArrayLike,
    edges: npt.ArrayLike,
    edge: npt.ArrayLike,
    *,
    damping: float = 0.0,
    schedule: str = "sequential",
    max_sweeps: int = 200,
    tol: float = 1e-8,
) -> Approximation:
    r"""Loopy belief propagation and the Bethe approximation of ``log Z``.

    Messages over edge e = (t, s) are iterated to a fixed point of ``M_{e→s}(b) ∝ Σ_a exp(edge_e[a, b]) b_t(a) /
    M_{e→t}(a)`` with beliefs ``b_t(a) ∝ exp(node[t, a]) Π_e M_{e→t}(a)``. There, the beliefs are consistent marginals
    μ, a stationary point of ``Σ ⟨θ, μ⟩ + Σ_v H(μ_v) − Σ_e I(μ_e)``, whose value is ``log_partition``. On a forest all
    of it is exact; elsewhere it is neither bound, there may be several fixed points, and messages may oscillate.

    Parameters
    ----------
    node : array-like, shape (V, K)
        Node potentials.
    edges : array-like of integers, shape (E, 2)
        The two nodes of each edge.
    edge : array-like, shape (K, K) or (E, K, K)
        Edge potentials, shared or one matrix an edge; rows are labels of ``edges[e, 0]``.
    damping : float, in [0, 1)
        The share of the old message in the new one, mixed as logarithms; helps against oscillation.
    schedule : {"sequential", "parallel", "residual"}
        Each message from the newest beliefs, back and forth over a breadth-first order of the nodes (exact on a forest
        after one sweep); all at once; or always the message that would change most.
    max_sweeps : int
        At most so many times 2 E messages.
    tol : float
        Converged when no log-odds between two labels in a message changes by more.

    Returns
    -------
    Approximation

    Examples
    --------
    >>> found = belief_propagation([[0.0, 1.0], [0.0, 0.0]], [[0, 1]], [[0.0, 0.0], [2.0, 0.0]])
    >>> round(found.log_partition, 6), found.nodes.round(3).tolist()
    (3.210998, [[0.081, 0.919], [0.85, 0.15]])
    """
    _check_messages(damping, schedule)
    _check_stopping(max_sweeps, tol)
    return _propagate(checked_potentials(node, edges, edge), None, damping, schedule, max_sweeps, tol)


def tree_reweighted(
    node: npt.ArrayLike,
    edges: npt.ArrayLike,
    edge: npt.ArrayLike,
    *,
    edge_probabilities: npt.ArrayLike | None = None,
    damping: float = 0.0,
    schedule: str = "sequential",
    max_sweeps: int = 200,
    tol: float = 1e-8,
) -> Approximation:
    r"""Tree-reweighted belief propagation: a convex upper bound on ``log Z`` (Wainwright, Jaakkola and Willsky, 2005).

    The maximum of ``Σ ⟨θ, μ⟩ + Σ_v H(μ_v) − Σ_e ρ_e I(μ_e)`` over locally consistent marginals μ, concave and therefore
    with one optimum, where ρ_e is the probability that edge e is in a random spanning forest. Messages are those of
    :func:`belief_propagation` with ``edge_e / ρ_e`` for ``edge_e`` and each message to the power ρ_e in the beliefs.
    ``log_partition`` bounds ``log Z`` once converged, to within the square of the residual; ``upper_bound`` does so
    from any messages, and meets it in the limit.

    Parameters
    ----------
    node, edges, edge, damping, schedule, max_sweeps, tol
        As for :func:`belief_propagation`.
    edge_probabilities : array-like, shape (E,), optional
        ρ, in the forest polytope; by default :func:`spanning_tree_probabilities`. Of the polytope's conditions, only
        those on single edges and on whole components are checked.

    Returns
    -------
    Approximation

    Examples
    --------
    >>> import numpy as np
    >>> found = tree_reweighted(np.zeros((3, 2)), [[0, 1], [1, 2], [2, 0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> exact = np.log(2 * np.exp(3) + 6 * np.exp(1))
    >>> found.direction, bool(found.log_partition >= exact)
    ('upper', True)
    """
    _check_messages(damping, schedule)
    _check_stopping(max_sweeps, tol)
    nodes, ends, _ = arrays = checked_potentials(node, edges, edge)
    if edge_probabilities is None:
        rho = _core.spanning_tree_probabilities(len(nodes), ends)
    else:
        rho = _checked_probabilities(edge_probabilities, len(nodes), ends)
    return _propagate(arrays, rho, damping, schedule, max_sweeps, tol)


def mean_field(
    node: npt.ArrayLike, edges: npt.ArrayLike, edge: npt.ArrayLike, *, max_sweeps: int = 200, tol: float = 1e-8
) -> Approximation:
    r"""Naive mean field: a lower bound on ``log Z`` by independent nodes.

    Coordinate ascent on ``Σ ⟨θ, μ⟩ + Σ_v H(μ_v)`` over products μ of node distributions, from the softmax of the node
    potentials: ``μ_v(a) ∝ exp(node[v, a] + Σ_e Σ_b edge_e[a, b] μ_u(b))``, node by node. Every sweep raises the bound,
    which holds converged or not; the optimum found may be a local one.

    Parameters
    ----------
    node, edges, edge
        As for :func:`belief_propagation`.
    max_sweeps : int
        At most so many updates of every node.
    tol : float
        Converged when no marginal changes by more in a sweep.

    Returns
    -------
    Approximation
        Its edge marginals are outer products of node marginals.

    Examples
    --------
    >>> import numpy as np
    >>> found = mean_field(np.zeros((2, 2)), [[0, 1]], np.zeros((2, 2)))
    >>> round(found.log_partition, 6), found.direction
    (1.386294, 'lower')
    """
    _check_stopping(max_sweeps, tol)
    arrays = checked_potentials(node, edges, edge)
    found = _core.MeanField().run(*arrays, int(max_sweeps), float(tol), False)
    return Approximation(found[0], "lower", *found[1:], np.inf)


def map_labels(
    node: npt.ArrayLike,
    edges: npt.ArrayLike,
    edge: npt.ArrayLike,
    *,
    method: str = "trws",
    damping: float = 0.0,
    schedule: str = "sequential",
    max_sweeps: int = 200,
    tol: float = 1e-8,
) -> Labelling:
    """A labelling of large score ``Σ_v node[v, y_v] + Σ_e edge_e[y_s, y_t]``; the largest is NP-hard to find.

    Parameters
    ----------
    node, edges, edge
        As for :func:`belief_propagation`.
    method : {"trws", "max-product", "max-marginals"}
        ``"trws"`` (Kolmogorov, 2006) lowers a bound on the largest score, keeps the best labelling met on the way, and
        stops when they meet or the bound stalls; ``"max-product"`` is belief propagation with maxima for sums. Both
        are exact on forests, and both end by relabelling single nodes as long as the score grows (iterated
        conditional modes). ``"max-marginals"`` takes the likeliest label of each node by
        :func:`belief_propagation`, which aims at few wrong labels, not at the largest score.
    damping, schedule
        Of the messages, as for :func:`belief_propagation`; TRW-S has its own.
    max_sweeps, tol
        When to stop; for TRW-S, ``tol`` is relative to the bound.

    Returns
    -------
    Labelling

    Examples
    --------
    >>> best = map_labels([[0.0, 1.0], [0.0, 0.0]], [[0, 1]], [[0.0, 0.0], [2.0, 0.0]])
    >>> best.labels.tolist(), best.score, best.bound
    ([1, 0], 3.0, 3.0)
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}; got {method!r}.")
    _check_messages(damping, schedule)
    _check_stopping(max_sweeps, tol)
    if method == "trws" and (damping != 0.0 or schedule != "sequential"):
        raise ValueError(
            f"method 'trws' has neither damping nor another schedule than 'sequential'; got damping={damping!r}, "
            f"schedule={schedule!r}."
        )
    arrays = checked_potentials(node, edges, edge)
    if method == "trws":
        return Labelling(*_core.graph_trws(*arrays, int(max_sweeps), float(tol)))
    if method == "max-product":
        return Labelling(*_core.graph_max_product(*arrays, float(damping), schedule, int(max_sweeps), float(tol)))
    found = _propagate(arrays, None, damping, schedule, max_sweeps, tol)
    labels = found.nodes.argmax(axis=1).astype(np.int32)
    return Labelling(labels, _core.graph_score(*arrays, labels), np.inf, found.converged, found.sweeps)


def spanning_tree_probabilities(n_nodes: int, edges: npt.ArrayLike) -> FloatArray:
    """Probabilities of the edges in a uniform mixture of spanning forests, positive and about as even as can be.

    Each forest is Kruskal's with the edges used least so far first; there are four times as many forests as it takes to
    cover all edges, fewer where the counts are all equal before, one where the graph is a forest. Deterministic.

    Parameters
    ----------
    n_nodes : int
    edges : array-like of integers, shape (E, 2)

    Returns
    -------
    ndarray, shape (E,)

    Examples
    --------
    >>> spanning_tree_probabilities(3, [[0, 1], [1, 2]]).tolist()
    [1.0, 1.0]
    >>> spanning_tree_probabilities(3, [[0, 1], [1, 2], [2, 0]]).round(3).tolist()
    [0.667, 0.667, 0.667]
    """
    if not _is_integer(n_nodes) or not 1 <= n_nodes <= np.iinfo(np.int32).max:
        raise ValueError(f"n_nodes must be a positive integer below 2^31; got {n_nodes!r}.")
    return _core.spanning_tree_probabilities(int(n_nodes), checked_edges(int(n_nodes), edges))


Arrays = tuple[FloatArray, IntArray, FloatArray]


def _propagate(
    arrays: Arrays, rho: FloatArray | None, damping: float, schedule: str, max_sweeps: int, tol: float
) -> Approximation:
    value, upper, nodes, pairs, converged, sweeps, residual = _core.BeliefPropagation().run(
        *arrays, rho, float(damping), schedule, int(max_sweeps), float(tol), False
    )
    direction: Literal["upper", "neither"] = "upper" if rho is not None and converged else "neither"
    return Approximation(value, direction, nodes, pairs, converged, sweeps, residual, upper)


def _checked_probabilities(values: npt.ArrayLike, n_nodes: int, ends: IntArray) -> FloatArray:
    rho = contiguous(values, np.float64, "edge_probabilities")
    if rho.shape != (len(ends),):
        raise ValueError(f"edge_probabilities must have shape ({len(ends)},), one for each edge; got {rho.shape}.")
    bad = ~((rho >= _LEAST) & (rho <= 1.0))
    if bad.any():
        e = int(bad.argmax())
        raise ValueError(f"edge_probabilities[{e}] is {rho[e]}; it must be in (0, 1], at least {_LEAST:g}.")
    adjacency = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    count, component = connected_components(adjacency, directed=False)
    sums = np.bincount(component[ends[:, 0]], weights=rho, minlength=count)
    most = np.bincount(component, minlength=count) - 1
    over = sums > most * (1.0 + 1e-9)
    if over.any():
        c = int(over.argmax())
        raise ValueError(
            f"edge_probabilities add up to {sums[c]:g} in the component of node {int((component == c).argmax())}, but "
            f"a forest has at most {most[c]} edges on its {most[c] + 1} nodes."
        )
    return rho


def _check_messages(damping: Any, schedule: Any) -> None:
    if not _is_number(damping) or not 0.0 <= damping < 1.0:
        raise ValueError(f"damping must be a number in [0, 1); got {damping!r}.")
    if schedule not in _SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(map(repr, _SCHEDULES))}; got {schedule!r}.")


def _check_stopping(max_sweeps: Any, tol: Any) -> None:
    if not _is_integer(max_sweeps) or not 1 <= max_sweeps <= np.iinfo(np.int32).max:
        raise ValueError(f"max_sweeps must be a positive integer below 2^31; got {max_sweeps!r}.")
    if not _is_number(tol) or not 0.0 <= as_float(tol) < np.inf:
        raise ValueError(f"tol must be a finite number, not negative; got {tol!r}.")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_integer(value) or isinstance(value, float | np.floating)
