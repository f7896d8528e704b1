"""A batch of chains on a GPU: which kernels run, on which arrays. The kernels are in ``kernels/chains.cu``.

Everything runs on PyTorch's current stream, in tensors of its allocator, and nothing waits for the GPU.
"""

from __future__ import annotations

from ctypes import c_double, c_float, c_int, c_longlong
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dualfield.cuda import MOST_LABELS
from dualfield.cuda.toolkit import Program, program

__all__ = ["Chains", "Messages", "held_and_rest", "kernels_for", "warps"]

_HELD = {torch.float32: 160, torch.float64: 72}  # rows of the matrix that fit into registers
_SHARED_MEMORY = 200 * 1024  # bytes
_LOG_BLOCKS = 16  # chains that are computed in logarithms at a time
_THREADS = 256


def warps(count: int) -> int:
    """Blocks of 256 threads that make up so many warps."""
    return (count * 32 + _THREADS - 1) // _THREADS


def kernels_for(n_labels: int, dtype: Any, device: int) -> tuple[Program, int]:
    """The kernels for chains, and the bytes of shared memory that ``messages`` asks for."""
    if n_labels > MOST_LABELS:
        raise ValueError(
            f"there are {n_labels} labels; on a GPU there may be at most {MOST_LABELS}: merge rare labels, or use the "
            "CPU."
        )
    shared = held_and_rest(n_labels, _HELD[dtype])[1] * -(-n_labels // 32) * 32 * dtype.itemsize
    in_memory = shared > _SHARED_MEMORY
    double = int(dtype == torch.float64)
    compiled = program(
        "chains", device, K=n_labels, DOUBLE=double, HELD_AT_MOST=_HELD[dtype], REST_IN_MEMORY=int(in_memory)
    )
    return compiled, 0 if in_memory else shared


def held_and_rest(n_labels: int, most: int) -> tuple[int, int]:
    """How many rows of the matrix are in registers, padded to a multiple of four, and how many are not."""
    held = min(-(-n_labels // 4) * 4, most)
    return held, max(0, n_labels - held)


class Chains(NamedTuple):
    """Where the positions of chains are, as tensors on the GPU; see ``kernels/chains.cu``."""

    row: Tensor | None  # int32 (P,): the row of potentials of each position; None: its own number
    kind: Tensor  # uint8 (P,)
    chain: Tensor | None  # int32 (P,): which chain; None: position // columns
    columns: int
    first: Tensor  # int64 (B,)
    length: Tensor  # int32 (B,)
    order: Tensor | None  # int32 (B,): the longest first, where that is worth sorting
    longest: int


class Messages:
    """Forward and backward messages of a batch, and what is made of them.

    Parameters
    ----------
    chains : Chains
    n_labels : int
    dtype : torch.float32 or torch.float64
    device : torch.device
    """

    def __init__(self, chains: Chains, n_labels: int, dtype: Any, device: Any) -> None:
        self.chains, self.n_labels, self.dtype, self.device = chains, n_labels, dtype, device
        self._kernels, self._shared = kernels_for(n_labels, dtype, device.index or 0)
        self._scalar = c_double if dtype == torch.float64 else c_float
        self.positions, self.count = len(chains.kind), len(chains.length)
        self.shifted = self._empty(self.positions, n_labels)
        self.tops = self._empty(self.positions)
        self.values = torch.empty(self.count, dtype=torch.float64, device=device)
        self.marked = torch.empty(self.count, dtype=torch.int32, device=device)
        self._matrix = self._empty(2 * n_labels * n_labels + 1)
        self.slip = torch.empty(n_labels, n_labels, dtype=torch.float64, device=device)
        self._alpha: Tensor | None = None
        self._beta: Tensor | None = None
        self._q: Tensor | None = None
        self._memory: Tensor | None = None

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=self.dtype, device=self.device)

    def take(self, potentials: Tensor, transitions: Tensor, begin: Tensor | None, end: Tensor | None) -> None:
        """Set the potentials: (rows, K), (K, K), and of first and last labels, (K,)."""
        self.take_transitions(transitions)
        self._begin, self._end = begin, end
        self._potentials = potentials
        arguments = [potentials, begin, end, self.chains.row, self.chains.kind, self.shifted, self.tops]
        self._kernels.launch("shift", warps(self.positions), _THREADS, [*arguments, c_longlong(self.positions)])

    def take_shifted(self, potentials: Tensor, transitions: Tensor) -> None:
        """Set potentials whose ``shifted`` and ``tops`` were computed elsewhere."""
        self.take_transitions(transitions)
        self._potentials, self._begin, self._end = potentials, None, None

    def take_transitions(self, transitions: Tensor) -> None:
        """Set the potentials of pairs, (K, K)."""
        square = self.n_labels * self.n_labels
        self._transitions = transitions
        self._exponentials = self._matrix[:square], self._matrix[square : 2 * square], self._matrix[2 * square :]
        self._kernels.launch("exponentials", 1, 1024, [transitions, *self._exponentials, self.slip])

    def pass_on(self, gold: Tensor | None, both: bool) -> Tensor:
        """Compute messages; ``log Z`` of each chain, less the sum of ``gold``, float64. Backward ones too if both."""
        if both and self._alpha is None:
            self._alpha, self._beta = (
                self._empty(self.positions, self.n_labels),
                self._empty(self.positions, self.n_labels),
            )
        chains = self.chains
        self.marked.zero_()
        threads = -(-self.n_labels // 32) * 32
        groups = 4 if self.n_labels <= 32 else 1
        count = self.count * (2 if both else 1)
        self._gold = gold
        self._kernels.launch(
            "messages",
            -(-count // groups),
            threads * groups,
            [
                *(self.shifted, self.tops, gold, *self._exponentials),
                *(chains.first, chains.length, chains.order, c_int(self.count)),
                *((self._alpha, self._beta) if both else (None, None)),
                *(self.values, self.marked),
            ],
            self._shared,
        )
        if not both:
            self._mend(None, None, None, True, None, None, 1.0)
        return self.values

    def marginals(
        self,
        nodes: Tensor,
        ends: Tensor | None,
        with_pairs: bool,
        scale: float = 1.0,
        weight: Tensor | None = None,
        truth: Tensor | None = None,
    ) -> None:
        """Write ``scale · weight · (p(label) - [label is the truth])`` into ``nodes``; see ``kernels/chains.cu``."""
        if with_pairs and self._q is None:
            self._q = self._empty(self.positions, self.n_labels)
        chains = self.chains
        self._weighted = (weight, truth, scale)
        self._kernels.launch(
            "marginals",
            warps(self.positions),
            _THREADS,
            [
                *(self.shifted, self._alpha, self._beta, chains.row, chains.kind, chains.chain, c_int(chains.columns)),
                *(weight, truth, self._scalar(scale), nodes, ends, self._q if with_pairs else None, self.marked),
                c_longlong(self.positions),
            ],
        )

    def pairs(self, out: Tensor, segment: int | None) -> None:
        """Sums of pairs, (segments, K, K): of each chain, or of each so many positions."""
        chains = self.chains
        tile = 32 if self.n_labels <= 32 else 64
        tiles = -(-self.n_labels // tile)
        by_chain = segment is None
        self._kernels.launch(
            "pairs",
            (tiles * tiles, len(out)),
            _THREADS,
            [
                *(self._alpha, self._q, self._exponentials[0], chains.first, chains.length if by_chain else None),
                *(None if by_chain else chains.chain, c_longlong(segment or 0), c_longlong(self.positions)),
                *(self.marked, out),
            ],
        )

    def mend(self, nodes: Tensor, ends: Tensor | None, edges: Tensor | None, by_chain: bool) -> None:
        """Compute again, in logarithms, the chains whose numbers left the range of the type."""
        self._mend(nodes, ends, edges, by_chain, *self._weighted)

    def _mend(
        self,
        nodes: Tensor | None,
        ends: Tensor | None,
        edges: Tensor | None,
        by_chain: bool,
        weight: Tensor | None,
        truth: Tensor | None,
        scale: float,
    ) -> None:
        chains = self.chains
        room = chains.longest * self.n_labels
        if self._memory is None:
            self._memory = torch.empty(_LOG_BLOCKS * max(room, 1), dtype=torch.float64, device=self.device)
        self._kernels.launch(
            "in_logarithms",
            _LOG_BLOCKS,
            _THREADS,
            [
                *(self._potentials, self._begin, self._end, self._transitions, chains.row, chains.first, chains.length),
                *(c_int(self.count), self._gold, weight, truth, self._scalar(scale), self._memory, c_longlong(room)),
                *(self.values, nodes, ends, edges, c_int(by_chain), self.marked),
            ],
        )
