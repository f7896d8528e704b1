"""The operators for tensors on a GPU, by the kernels of ``dualfield.cuda``.

Log-likelihoods, gradients, marginals, entropies and the best labels run on PyTorch's current stream, in memory of its
allocator. The lists of best labels and samples go through the CPU. What the CPU refuses sequence by sequence, before
work, would make the GPU wait here: a mask that begins off or has a gap, and tags that do not exist, are looked for, in
one answer; a sequence without a possible labelling gets a log-partition of ``-inf``, and NaN stays NaN.
"""

from __future__ import annotations

from ctypes import c_int
from typing import Any

import torch
from torch import Tensor

from dualfield.cuda.chains import Chains, Messages, kernels_for, warps
from dualfield.cuda.toolkit import program
from dualfield.torch import operators

__all__ = ["register"]

_NONE = 2**31 - 1
_THREADS = 256
_SORTED_FROM = 4096  # chains, from which on the longest come first
_SHARED_MEMORY = 200 * 1024


class _Batch:
    """Chains under a mask, and their potentials, all contiguous."""

    def __init__(
        self,
        emissions: Tensor,
        mask: Tensor | None,
        start: Tensor,
        transitions: Tensor,
        end: Tensor,
        any_mask: bool,
        tags: Tensor | None = None,
    ) -> None:
        self.emissions = emissions.detach().contiguous()
        self.start, self.end = start.detach().contiguous(), end.detach().contiguous()
        self.transitions = transitions.detach().contiguous()
        self.tags = None if tags is None else tags.to(torch.int64).contiguous()
        count, columns, self.n_labels = emissions.shape
        self.device, self.dtype = emissions.device, emissions.dtype
        double = int(self.dtype == torch.float64)
        self.labels = program("labels", self.device.index or 0, K=self.n_labels, DOUBLE=double)
        whole = None if mask is None else mask.to(torch.bool).contiguous()
        row = self._integers(count * columns)
        kind = torch.empty(count * columns, dtype=torch.uint8, device=self.device)
        first, length = torch.empty(count, dtype=torch.int64, device=self.device), self._integers(count)
        wrong = torch.full((3,), _NONE, dtype=torch.int32, device=self.device)
        wrong[0] = 0
        places = [whole, self.tags, c_int(count), c_int(columns), row, kind, first, length, wrong]
        self.labels.launch("lay_out", warps(count), _THREADS, places)
        if (mask is not None and not any_mask) or tags is not None:
            _refuse(wrong.tolist(), any_mask, tags, self.n_labels)
        order = torch.argsort(length, descending=True).to(torch.int32) if count >= _SORTED_FROM else None
        self.chains = Chains(row, kind, None, max(columns, 1), first, length, order, columns)
        self.all_inside = mask is None

    def _integers(self, count: int) -> Tensor:
        return torch.empty(count, dtype=torch.int32, device=self.device)

    def messages(self, emissions: Tensor | None = None) -> Messages:
        messages = Messages(self.chains, self.n_labels, self.dtype, self.device)
        messages.take(self.emissions if emissions is None else emissions, self.transitions, self.start, self.end)
        return messages

    def table(self) -> Tensor:
        """Room for a number for each label of each position, zero outside the mask."""
        make = torch.empty_like if self.all_inside else torch.zeros_like
        return make(self.emissions)

    def gradients(self, messages: Messages, scale: float) -> tuple[Tensor, Tensor, Tensor]:
        """Expected counts times ``scale``: of labels, of pairs, of first and last labels."""
        count = len(self.chains.length)
        messages.pass_on(None, True)
        nodes = self.table()
        edges = self.emissions.new_empty(count, self.n_labels, self.n_labels)
        ends = self.emissions.new_zeros(count, 2, self.n_labels)
        messages.marginals(nodes, ends, True, scale)
        messages.pairs(edges, None)
        messages.mend(nodes, ends, edges, True)
        return nodes, edges, ends

    def subtract_from_score(self, values: Tensor, gradients: tuple[Tensor, Tensor, Tensor] | None) -> None:
        """The score of the tags less ``values``, in their place; counts of the tags are added to the gradients."""
        nodes, edges, ends = (None, None, None) if gradients is None else gradients
        chains, count = self.chains, len(self.chains.length)
        potentials = [self.emissions, self.start, self.end, self.transitions]
        places = [chains.row, chains.first, chains.length, self.tags, c_int(count)]
        self.labels.launch("truth", warps(count), _THREADS, [*potentials, *places, values, nodes, edges, ends])


def _refuse(wrong: list[int], any_mask: bool, tags: Tensor | None, n_labels: int) -> None:
    if not any_mask:
        if wrong[0]:
            raise ValueError("mask of the first timestep must all be on")
        if wrong[1] != _NONE:
            raise ValueError(
                f"mask of sequence {wrong[1]} has a gap; CRF(..., any_mask=True) takes masks of any shape."
            )
    if tags is not None and wrong[2] != _NONE:
        raise ValueError(
            f"sequence {wrong[2]} has a tag that is out of range; expected 0 to {n_labels - 1}, or leave the position "
            "out by the mask."
        )


def _values(
    emissions: Tensor,
    mask: Tensor | None,
    start: Tensor,
    transitions: Tensor,
    end: Tensor,
    any_mask: bool,
    tags: Tensor | None,
    allowed: Tensor | None,
    gradients: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    with torch.cuda.device(emissions.device):
        batch = _Batch(emissions, mask, start, transitions, end, any_mask, tags)
        messages = batch.messages()
        sign = 1.0 if tags is None and allowed is None else -1.0
        parts = batch.gradients(messages, sign) if gradients else None
        values = messages.values if gradients else messages.pass_on(None, False)
        if tags is not None:
            batch.subtract_from_score(values, parts)
        if allowed is not None:
            left = batch.messages(batch.emissions.masked_fill(~allowed, -float("inf")))
            of_left = batch.gradients(left, 1.0) if gradients else None
            values = (left.values if gradients else left.pass_on(None, False)) - values
            if parts is not None and of_left is not None:
                parts = tuple(one + other for one, other in zip(parts, of_left, strict=True))
        if parts is None:
            _, columns, labels = emissions.shape
            parts = (
                emissions.new_empty(0, columns, labels),
                emissions.new_empty(0, labels, labels),
                emissions.new_empty(0, 2, labels),
            )
        return values.to(emissions.dtype), *parts


def _marginals(emissions: Tensor, *arguments: Any) -> Tensor:
    with torch.cuda.device(emissions.device):
        batch = _Batch(emissions, *arguments)
        messages, nodes = batch.messages(), batch.table()
        messages.pass_on(None, True)
        messages.marginals(nodes, None, False)
        messages.mend(nodes, None, None, True)
        return nodes


def _entropy(emissions: Tensor, *arguments: Any) -> Tensor:
    """``log Z − ⟨potentials, expected counts⟩``, in float64."""
    with torch.cuda.device(emissions.device):
        batch = _Batch(emissions.double(), *(each.double() if _floats(each) else each for each in arguments))
        messages = batch.messages()
        nodes, edges, ends = batch.gradients(messages, 1.0)
        expected = _inner(batch.emissions, nodes) + _inner(batch.transitions, edges)
        expected += _inner(torch.stack([batch.start, batch.end]), ends)
        return (messages.values - expected).to(emissions.dtype)


def _floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _inner(potentials: Tensor, counts: Tensor) -> Tensor:
    """The sum over all but the first axis; what is impossible counts nothing."""
    return torch.where(counts == 0, 0.0, potentials * counts).flatten(1).sum(1)


def _decode(emissions: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    *chains, padding = arguments
    with torch.cuda.device(emissions.device):
        batch = _Batch(emissions, *chains)
        count, columns, labels = emissions.shape
        kernels_for(labels, batch.dtype, batch.device.index or 0)  # refuses what has too many labels
        shared = columns * labels
        memory = None
        if shared > _SHARED_MEMORY:
            memory, shared = torch.empty(count * columns * labels, dtype=torch.uint8, device=batch.device), 0
        tags = torch.full((count, columns), padding, dtype=torch.int64, device=batch.device)
        scores = torch.empty(count, dtype=torch.float64, device=batch.device)
        potentials = [batch.emissions, batch.start, batch.end, batch.transitions]
        places = [batch.chains.row, batch.chains.first, batch.chains.length, c_int(count)]
        threads = -(-labels // 32) * 32
        batch.labels.launch("viterbi", count, threads, [*potentials, *places, memory, tags, scores], shared)
        return tags, scores.to(emissions.dtype)


def _by_cpu(operator: Any) -> Any:
    def through(*arguments: Any) -> Any:
        device = arguments[0].device
        found = operator(*(each.cpu() if isinstance(each, Tensor) else each for each in arguments))
        return tuple(each.to(device) for each in found) if isinstance(found, tuple) else found.to(device)

    return through


def register() -> None:
    """Tell PyTorch what the operators do on a GPU."""
    operators.crf_values.register_kernel("cuda")(_values)
    operators.crf_marginals.register_kernel("cuda")(_marginals)
    operators.crf_entropy.register_kernel("cuda")(_entropy)
    operators.crf_decode.register_kernel("cuda")(_decode)
    operators.crf_kbest.register_kernel("cuda")(_by_cpu(operators.crf_kbest))
    operators.crf_sample.register_kernel("cuda")(_by_cpu(operators.crf_sample))


register()
