"""Exact inference on many chains in one call; the recursions are those of one chain, in ``core/oracles``.

All chains of a batch share their edge potentials. Node potentials are float32 or float64 and are read where they lie:
padded, with gaps, one chain after the other, or with any strides. The arithmetic is float64, one chain at a time on
each thread. The results are the same on any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import contiguous
from dualfield.given_numbers import check_integer
from dualfield.memory import check_labellings
from dualfield.oracles.spans import SpanRules
from dualfield.random_state import check_random_state
from dualfield.threads import thread_count

__all__ = ["BatchMarginals", "ChainBatch"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
PADDING = -1  # the label of positions that are in no chain


class BatchMarginals(NamedTuple):
    """``log_partition``, shape (B,); ``nodes``, of the shape of the node potentials; ``edges``, shape (B, K, K).

    An entry of ``edges`` is a sum over the pairs of neighbours of a chain.
    """

    log_partition: FloatArray
    nodes: npt.NDArray[Any]
    edges: npt.NDArray[Any]


class ChainBatch:
    """Many chains with ``p(y) ∝ exp(begin[y_1] + Σ_t node[t, y_t] + Σ_t edge[y_t, y_{t+1}] + end[y_T])`` each.

    A potential of ``-inf`` forbids its label or its pair of labels.

    Parameters
    ----------
    node : array of float32 or float64, shape (B, T, K) or (N, K)
        Node potentials: padded, or of all chains one after the other, which needs ``offsets``. Not copied.
    edge : array, shape (K, K)
        Shared by all neighbours in all chains.
    begin, end : array, shape (K,), optional
        Potentials of the first and of the last label.
    mask : array of bool, shape (B, T), optional
        True for the positions that make up a chain, in their order. Gaps are allowed, and so is a chain of no position.
    lengths : array of int, shape (B,), optional
        Where padding is at the end: the number of positions of each chain, in place of ``mask``.
    offsets : array of int, shape (B + 1,), optional
        For ``node`` of shape (N, K): chain b has the rows ``offsets[b] .. offsets[b + 1] - 1``.
    n_jobs : int or None
        Threads; None is one, −1 all cores.

    Examples
    --------
    >>> import numpy as np
    >>> node = np.zeros((2, 3, 2), dtype=np.float32)  # two chains of at most three positions, two labels
    >>> batch = ChainBatch(node, np.zeros((2, 2)), lengths=[3, 1])
    >>> (batch.log_partition() / np.log(2)).round(6).tolist()
    [3.0, 1.0]
    >>> ragged = ChainBatch(np.zeros((4, 2)), np.zeros((2, 2)), offsets=[0, 3, 4])
    >>> ragged.viterbi()[0].tolist()
    [0, 0, 0, 0]
    """

    def __init__(
        self,
        node: npt.ArrayLike,
        edge: npt.ArrayLike,
        *,
        begin: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        mask: npt.ArrayLike | None = None,
        lengths: npt.ArrayLike | None = None,
        offsets: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        nodes = np.asarray(node)
        if nodes.dtype not in (np.float32, np.float64):
            nodes = contiguous(nodes, np.float64, "node")
        self._ragged = nodes.ndim == 2
        if nodes.ndim not in (2, 3) or nodes.shape[-1] == 0:
            raise ValueError(f"node must have shape (B, T, K), or (N, K) with offsets, K >= 1; got {nodes.shape}.")
        self._shape = nodes.shape
        labels = nodes.shape[-1]
        if self._ragged:
            nodes = nodes[np.newaxis]
            rows, bounds = _ragged_rows(nodes.shape[1], mask, lengths, offsets)
        else:
            rows, bounds = _padded_rows(nodes.shape[:2], mask, lengths, offsets)
        if not nodes.flags.aligned or any(step % nodes.itemsize for step in nodes.strides):
            nodes = nodes.copy()
        self._core = _core.ChainBatch(
            nodes,
            rows,
            bounds,
            _shared("begin", begin, (labels,)),
            _shared("edge", edge, (labels, labels)),
            _shared("end", end, (labels,)),
            thread_count(n_jobs),
        )
        self._lengths = np.diff(bounds)
        self._rows = math.prod(self._shape[:-1])

    def log_partition(self) -> FloatArray:
        """``log Σ_y exp(score(y))`` of each chain, shape (B,); 0 for a chain of no position."""
        return self._core.values(None, None, False)[0]

    def marginals(self) -> BatchMarginals:
        """Probabilities of each label at each position, and the expected number of each pair of labels in each chain.

        Zero where a position is in no chain. ``nodes`` and ``edges`` have the type of the node potentials.
        """
        log_partition, nodes, edges, _ = self._core.values(None, None, True)
        return BatchMarginals(log_partition, nodes.reshape(self._shape), edges)

    def log_likelihood(
        self, labels: npt.ArrayLike | None = None, *, allowed: npt.ArrayLike | None = None
    ) -> FloatArray:
        """The log-probability of each chain's labels, shape (B,).

        Parameters
        ----------
        labels : array of int, shape (B, T) or (N,)
            What stands at positions of no chain does not matter.
        allowed : array of bool, shape (B, T, K) or (N, K)
            In place of ``labels``: the log-probability that every position has one of the labels that are True for it.
        """
        return self.values(labels, allowed, False)[0]

    def values(
        self, labels: npt.ArrayLike | None, allowed: npt.ArrayLike | None, gradients: bool
    ) -> tuple[FloatArray, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Log-likelihoods, or log-partitions without ``labels`` and ``allowed``, and their gradients.

        Returns
        -------
        values : array, shape (B,)
        nodes, edges, ends : arrays, shapes of ``node``, (B, K, K), (B, 2, K)
            Gradients of each chain's value in its node potentials, in the edge potentials, and in those of the first
            and the last label; without ``gradients`` they hold nothing.
        """
        if labels is not None and allowed is not None:
            raise ValueError("labels and allowed were both given; expected one of them.")
        tags = None if labels is None else self._table("labels", labels, np.int64, self._shape[:-1])
        sets = None if allowed is None else self._table("allowed", allowed, np.bool_, self._shape).view(np.uint8)
        values, nodes, edges, ends = self._core.values(tags, sets, gradients)
        return values, nodes.reshape(self._shape) if gradients else nodes, edges, ends

    def viterbi(self, padding: int = PADDING) -> tuple[IntArray, FloatArray]:
        """The best labels, (B, T) or (N,), with ``padding`` at positions of no chain; and their scores, (B,)."""
        labels, scores = self._core.viterbi(padding)
        return labels.reshape(self._shape[:-1]), scores

    def kbest(self, k: int, padding: int = PADDING) -> tuple[IntArray, FloatArray]:
        """The k best labellings, (k, B, T) or (k, N), and their scores, (k, B): ``-inf`` where a chain has fewer."""
        k = check_integer("k", k, 1, "a positive integer")
        check_labellings(k, self._rows, "A list")
        check_labellings(k, self._lengths.max(initial=0), "A list", self._shape[-1])
        labels, scores = self._core.kbest(k, padding)
        return labels.reshape(k, *self._shape[:-1]), scores

    def sample(
        self, n: int, random_state: int | np.random.RandomState | None = None, padding: int = PADDING
    ) -> IntArray:
        """``n`` independent exact samples of the labels, shape (n, B, T) or (n, N)."""
        n = check_integer("n", n, 0, "an integer, not negative")
        check_labellings(n, self._rows, "A sample")
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return self._core.sample(n, seed, padding).reshape(n, *self._shape[:-1])

    def entropy(self) -> FloatArray:
        """``−Σ_y p(y) log p(y)`` of each chain, shape (B,)."""
        return self._core.entropy()

    def span_probabilities(self, tags: Sequence[str], spans: Sequence[tuple[int, int, int, str]]) -> FloatArray:
        """The probability of each span (chain, begin, end, type), exactly.

        Positions are counted among those of the chain; ``tags`` are the K labels, chunk tags. See
        :func:`dualfield.oracles.span_probabilities`.
        """
        rules = SpanRules.of_tags(tags)
        if len(rules.kinds) != self._shape[-1]:
            raise ValueError(f"node has {self._shape[-1]} labels but there are {len(rules.kinds)} tags.")
        rows = np.empty((len(spans), 4), dtype=np.int64)
        for number, (chain, begin, end, type_) in enumerate(spans):
            if not 0 <= chain < len(self._lengths):
                raise ValueError(f"span {number} is of chain {chain}; expected 0 to {len(self._lengths) - 1}.")
            if not 0 <= begin < end <= self._lengths[chain]:
                raise ValueError(
                    f"span {number} is of positions {begin} to {end}; expected 0 <= begin < end <= "
                    f"{self._lengths[chain]}, the length of chain {chain}."
                )
            if type_ not in rules.types:
                raise ValueError(f"span {number} is of type {type_!r}; expected one of {', '.join(rules.types)}.")
            rows[number] = chain, begin, end, rules.types.index(type_)
        order = np.argsort(rows[:, 0], kind="stable")
        probabilities = np.empty(len(rows))
        probabilities[order] = self._core.span_probabilities(rules.kinds, rules.steps, rows[order])
        return probabilities

    def _table(self, name: str, given: npt.ArrayLike, dtype: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        array = np.asarray(given)
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape} to go with node; got {array.shape}.")
        if array.dtype.kind not in ("b" if dtype is np.bool_ else "iu"):
            raise TypeError(f"{name} must be of type {np.dtype(dtype).name}; got {array.dtype}.")
        table = contiguous(array, dtype, name)
        return table[np.newaxis] if self._ragged else table


def _shared(name: str, given: npt.ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    """Potentials that all chains share, checked; zeros where none are given."""
    if given is None:
        return np.zeros(shape)
    array = contiguous(given, np.float64, name)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape} to go with node; got {array.shape}.")
    bad = np.argwhere(~((np.abs(array) <= 1e300) | np.isneginf(array)))
    if bad.size:
        raise ValueError(
            f"{name}{bad[0].tolist()} is {array[tuple(bad[0])]}; potentials must be finite, at most 1e300 in size, or "
            "-inf for what is impossible."
        )
    return array


def _padded_rows(
    shape: tuple[int, ...], mask: npt.ArrayLike | None, lengths: npt.ArrayLike | None, offsets: npt.ArrayLike | None
) -> tuple[IntArray, IntArray]:
    chains, most = shape
    if offsets is not None:
        raise ValueError("offsets go with node of shape (N, K); expected mask or lengths for node of shape (B, T, K).")
    if mask is not None and lengths is not None:
        raise ValueError("mask and lengths were both given; expected one of them.")
    if mask is None and lengths is None:
        return np.arange(chains * most), most * np.arange(chains + 1)
    if lengths is not None:
        sizes = contiguous(lengths, np.int64, "lengths")
        if sizes.shape != (chains,) or (chains and not (0 <= sizes.min() and sizes.max() <= most)):
            raise ValueError(f"lengths must hold a number from 0 to {most} for each of the {chains} chains.")
        kept = np.arange(most) < sizes[:, np.newaxis]
    else:
        kept = np.asarray(mask)
        if kept.dtype != np.bool_:
            raise TypeError(f"mask must be of type bool, True for the positions of a chain; got {kept.dtype}.")
        if kept.shape != (chains, most):
            raise ValueError(f"mask must have shape {(chains, most)} to go with node; got {kept.shape}.")
    return np.flatnonzero(kept), np.concatenate([[0], np.cumsum(np.count_nonzero(kept, axis=1))])


def _ragged_rows(
    rows: int, mask: npt.ArrayLike | None, lengths: npt.ArrayLike | None, offsets: npt.ArrayLike | None
) -> tuple[IntArray, IntArray]:
    if offsets is None or mask is not None or lengths is not None:
        raise ValueError("node of shape (N, K) goes with offsets; mask and lengths with node of shape (B, T, K).")
    bounds = contiguous(offsets, np.int64, "offsets")
    if bounds.ndim != 1 or len(bounds) == 0 or bounds[0] != 0 or bounds[-1] != rows or (np.diff(bounds) < 0).any():
        raise ValueError(f"offsets must run from 0 to {rows}, the rows of node, without a step down.")
    return np.arange(rows), bounds
