"""Losses and gradients of a problem on a GPU, in float32 or float64.

One evaluation: weights become potentials, potentials messages, messages probabilities, and these the gradient. Sums of
losses, and of the gradients of frequent attributes and of transitions, are float64 in either type.
"""

from __future__ import annotations

from ctypes import c_longlong
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dualfield.cuda.chains import Chains, Messages, warps
from dualfield.cuda.problem import Gathering, Problem
from dualfield.cuda.toolkit import program

__all__ = ["Data", "Objective"]

_THREADS = 256
_SEGMENTS = 528  # shares of the sum of pairs, four for each multiprocessor of an H100
_FEWER_SEGMENTS = 66  # where a share is large
_FIRST, _LAST = 3, 5  # kinds of positions: inside and first, inside and last


class Data:
    """The arrays of a problem on the GPU, which evaluations of both types use."""

    def __init__(self, problem: Problem, device: Any) -> None:
        self.problem, self.device = problem, device
        self._gathering: Gathering = problem.gathering()
        # Weights on the GPU are in the order of the table; None: that of the field.
        ordered = bool((np.diff(problem.slots) > 0).all())
        self.order = None if ordered else np.argsort(problem.slots, kind="stable")
        slots = problem.slots if self.order is None else problem.slots[self.order]
        self.direct = len(slots) == problem.table_size and problem.table is None
        self.slots = None if self.direct else self.put(slots, torch.int64)
        self.start, self.attribute = self.put(problem.start, torch.int64), self.put(problem.attribute, torch.int32)
        gathering = self._gathering
        self.position = self.put(gathering.position, torch.int32)
        self.chunk_start, self.out = self.put(gathering.start, torch.int64), self.put(gathering.out, torch.int32)
        self.part_start = self.put(gathering.part_start, torch.int64)
        self.part_attribute = self.put(gathering.part_attribute, torch.int32)
        self.n_parts = int(gathering.part_start[-1])
        self.truth = self.put(problem.truth, torch.int32)
        self.allowed = None if problem.allowed is None else self.put(problem.allowed, torch.uint8)
        self.truth_pairs = self.put(problem.truth_pairs(), torch.float64)
        self.chains = None if problem.offsets is None else self._chains(problem.offsets)
        self._typed: dict[tuple[str, Any], Tensor | None] = {}

    def put(self, array: Any, dtype: Any) -> Tensor:
        """A NumPy array on the GPU."""
        return torch.tensor(np.asarray(array), device=self.device).to(dtype)

    def typed(self, name: str, dtype: Any) -> Tensor | None:
        """Numbers of the problem in a type; None where it has none."""
        if (name, dtype) not in self._typed:
            problem = self.problem
            found = {
                "value": problem.value,
                "gathered": self._gathering.value,
                "weight": problem.weight,
                "dense": problem.dense,
                "fixed": problem.table,
            }[name]
            self._typed[name, dtype] = None if found is None else self.put(found, dtype)
        return self._typed[name, dtype]

    def _chains(self, offsets: Any) -> Chains:
        lengths = np.diff(offsets)
        kind = np.ones(self.problem.n_positions, dtype=np.uint8)
        some = lengths > 0
        kind[offsets[:-1][some]] |= _FIRST
        kind[offsets[1:][some] - 1] |= _LAST
        chain = np.repeat(np.arange(len(lengths)), lengths)
        return Chains(
            None,
            self.put(kind, torch.uint8),
            self.put(chain, torch.int32),
            1,
            self.put(offsets[:-1], torch.int64),
            self.put(lengths, torch.int32),
            self.put(np.argsort(-lengths, kind="stable"), torch.int32),
            int(lengths.max(initial=0)),
        )


class Objective:
    """The sum of losses ``Σ_i c_i (−log p(y_i | x_i; w))`` and its gradient, for weights in the order of the table.

    Parameters
    ----------
    data : Data
    dtype : torch.float32 or torch.float64
    """

    def __init__(self, data: Data, dtype: Any) -> None:
        self.data, self.dtype = data, dtype
        problem, device = data.problem, data.device
        self.K, self.P = problem.n_labels, problem.n_positions
        double = int(dtype == torch.float64)
        self._kernels = program("attributes", device.index or 0, K=self.K, DOUBLE=double)
        self._state = problem.n_rows * self.K  # numbers of the table before the transitions
        self._table = None if data.direct else torch.zeros(problem.table_size, dtype=dtype, device=device)
        self._fixed_slots: Tensor | None = None
        fixed = data.typed("fixed", dtype)
        if fixed is not None and self._table is not None:
            self._table.copy_(fixed)
            self._fixed_slots = fixed[data.slots]
        self._gradient = torch.zeros(problem.table_size, dtype=dtype, device=device)
        self._potentials, self._nodes = self._empty(self.P, self.K), self._empty(self.P, self.K)
        self._gold = self._empty(self.P)
        self._parts = self._empty(data.n_parts, self.K)
        weight = data.typed("weight", torch.float64)
        self._weight = weight
        self._messages: Messages | None = None
        if data.chains is None:
            self._shifted, self._tops = self._empty(self.P, self.K), self._empty(self.P)
            self._values = torch.empty(self.P, dtype=torch.float64, device=device)
        else:
            self._messages = Messages(data.chains, self.K, dtype, device)
            self._shifted, self._tops = self._messages.shifted, self._messages.tops
            wanted = _SEGMENTS if self.K <= 64 else _FEWER_SEGMENTS
            self._segment = max(64, -(-self.P // wanted))
            self._sums = self._empty(-(-self.P // self._segment), self.K, self.K)
            self._mended = torch.zeros(self.K, self.K, dtype=dtype, device=device)

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=self.dtype, device=self.data.device)

    def evaluate(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Write the gradient of the losses, and return their sum, float64 on the GPU; nothing waits."""
        data = self.data
        table = weights
        if self._table is not None:
            table = self._table
            table[data.slots] = weights if self._fixed_slots is None else weights + self._fixed_slots
        self._score(table)
        transitions = table[self._state :].view(self.K, self.K)
        into = gradient if data.direct else self._gradient
        if self._messages is None:
            values = self._points()
        else:
            values = self._chains(transitions, into[self._state :].view(self.K, self.K))
        self._gather(into)
        if not data.direct:
            torch.index_select(into, 0, data.slots, out=gradient)
        return values

    def magnitude(self) -> Tensor:
        """The size of the sums behind the last value, for what rounding may have moved it by."""
        values = self._values if self._messages is None else self._messages.values
        return values.abs().sum() + 2 * self._gold.abs().sum(dtype=torch.float64)

    def _score(self, table: Tensor) -> None:
        data, dtype = self.data, self.dtype
        dense = data.typed("dense", dtype)
        base = None
        if dense is not None:
            base = torch.mm(dense, table[: dense.shape[1] * self.K].view(-1, self.K))
        self._kernels.launch(
            "scores",
            warps(self.P),
            _THREADS,
            [
                *(table, data.start, data.attribute, data.typed("value", dtype), base, data.allowed, data.truth),
                *(self._potentials, self._shifted, self._tops, self._gold, c_longlong(self.P)),
            ],
        )

    def _points(self) -> Tensor:
        data = self.data
        arguments = [self._shifted, self._tops, self._gold, data.typed("weight", self.dtype), data.truth]
        self._kernels.launch(
            "points", warps(self.P), _THREADS, [*arguments, self._nodes, self._values, c_longlong(self.P)]
        )
        return self._values.sum() if self._weight is None else self._values @ self._weight

    def _chains(self, transitions: Tensor, gradient: Tensor) -> Tensor:
        messages, data = self._messages, self.data
        assert messages is not None
        messages.take_shifted(self._potentials, transitions)
        values = messages.pass_on(self._gold, True)
        weight = data.typed("weight", self.dtype)
        messages.marginals(self._nodes, None, True, 1.0, weight, data.truth)
        messages.pairs(self._sums, self._segment)
        self._mended.zero_()
        messages.mend(self._nodes, None, self._mended, False)
        expected = self._sums.sum(0, dtype=torch.float64)
        rounding = (expected * messages.slip).sum()
        expected += self._mended
        expected -= data.truth_pairs
        gradient.copy_(expected)
        total = values.sum() if self._weight is None else values @ self._weight
        counted = torch.where(data.truth_pairs == 0, 0.0, transitions * data.truth_pairs)
        return total - counted.sum() - rounding

    def _gather(self, into: Tensor) -> None:
        data, dtype = self.data, self.dtype
        chunks = len(data.out)
        self._kernels.launch(
            "gather",
            warps(chunks),
            _THREADS,
            [
                *(self._nodes, data.position, data.typed("gathered", dtype), data.chunk_start, data.out, into),
                *(self._parts, c_longlong(chunks)),
            ],
        )
        arguments = [self._parts, data.part_start, data.part_attribute, into]
        self._kernels.launch("collect", len(data.part_attribute), _THREADS, arguments)
        dense = data.typed("dense", dtype)
        if dense is not None:
            torch.mm(dense.t(), self._nodes, out=into[: dense.shape[1] * self.K].view(-1, self.K))
