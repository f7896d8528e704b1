"""The operators of the layer, known to PyTorch by name, so that ``torch.compile`` and ``torch.export`` keep them whole.

All take emissions of shape (B, T, K), float32 or float64, with any strides; a mask of shape (B, T) or None; and the
parameters in the same type. What is here runs on the CPU; ``on_cuda.py`` has the same for a GPU. The first derivative
of a log-partition is a table of marginals, which the same pass gives. So ``crf_values`` returns it beside the values,
and ``crf_gradients`` weights it in the backward pass. A second derivative would need another recursion: asking for one
is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dualfield.oracles.batch import ChainBatch

__all__ = ["crf_decode", "crf_entropy", "crf_gradients", "crf_kbest", "crf_marginals", "crf_sample", "crf_values"]

_CHAINS = "Tensor emissions, Tensor? mask, Tensor start, Tensor transitions, Tensor end, bool any_mask"


def _operator(name: str, arguments: str, results: str) -> Callable[[Callable[..., Any]], Any]:
    schema = f"({_CHAINS}{arguments}) -> {results}"
    return torch.library.custom_op(f"dualfield::{name}", mutates_args=(), schema=schema, device_types="cpu")


def _batch(
    emissions: Tensor, mask: Tensor | None, start: Tensor, transitions: Tensor, end: Tensor, any_mask: bool
) -> ChainBatch:
    kept = None if mask is None else mask.bool().numpy()
    if kept is not None and not any_mask and kept.shape[1]:
        if not kept[:, 0].all():
            raise ValueError("mask of the first timestep must all be on")
        gaps = (kept[:, 1:] > kept[:, :-1]).any(axis=1)
        if gaps.any():
            raise ValueError(
                f"mask of sequence {int(gaps.argmax())} has a gap; CRF(..., any_mask=True) takes masks of any shape."
            )
    return ChainBatch(
        emissions.detach().numpy(),
        transitions.detach().numpy(),
        begin=start.detach().numpy(),
        end=end.detach().numpy(),
        mask=kept,
        n_jobs=torch.get_num_threads(),
    )


@_operator(
    "crf_values",
    ", Tensor? tags, Tensor? allowed, bool gradients",
    "(Tensor values, Tensor nodes, Tensor edges, Tensor ends)",
)
def crf_values(
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
    """Log-likelihoods, or log-partitions without tags and allowed labels; and what :meth:`ChainBatch.values` gives."""
    batch = _batch(emissions, mask, start, transitions, end, any_mask)
    values, *derivatives = batch.values(
        None if tags is None else tags.numpy(), None if allowed is None else allowed.numpy(), gradients
    )
    return (torch.from_numpy(values).to(emissions.dtype), *map(torch.from_numpy, derivatives))


@crf_values.register_fake
def _(emissions: Tensor, *arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    chains, length, labels = emissions.shape
    kept = chains if arguments[-1] else 0
    shapes = ((chains,), (kept, length, labels), (kept, labels, labels), (kept, 2, labels))
    return tuple(emissions.new_empty(shape) for shape in shapes)


@torch.library.custom_op(
    "dualfield::crf_gradients",
    mutates_args=(),
    schema="(Tensor grad, Tensor nodes, Tensor edges, Tensor ends, Tensor emissions, Tensor start, Tensor transitions, "
    "Tensor end) -> (Tensor emissions_grad, Tensor start_grad, Tensor transitions_grad, Tensor end_grad)",
    device_types=("cpu", "cuda"),
)
def crf_gradients(
    grad: Tensor,
    nodes: Tensor,
    edges: Tensor,
    ends: Tensor,
    emissions: Tensor,
    start: Tensor,
    transitions: Tensor,
    end: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The derivatives of each sequence, weighted by ``grad``.

    Emissions and parameters are arguments although their values are not needed: a second backward pass then comes here
    and is refused.
    """
    weights = grad.detach().to(nodes.dtype)
    with torch.autocast(nodes.device.type, enabled=False):
        of_ends = torch.tensordot(weights, ends, 1)
        return (
            nodes * weights[:, None, None],
            of_ends[0].clone(),
            torch.tensordot(weights, edges, 1),
            of_ends[1].clone(),
        )


@crf_gradients.register_fake
def _(grad: Tensor, nodes: Tensor, edges: Tensor, ends: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    _, start, transitions, end = inputs
    return torch.empty_like(nodes), torch.empty_like(start), torch.empty_like(transitions), torch.empty_like(end)


def _keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    emissions, _, start, transitions, end, *_, gradients = inputs
    ctx.gradients = gradients
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(*output[1:], emissions, start, transitions, end)


def _backward(ctx: Any, grad: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if grad is None:
        return (None,) * 9
    if not ctx.gradients:
        raise RuntimeError("dualfield::crf_values was called with gradients=False; backward() needs gradients=True.")
    emissions, start, transitions, end = torch.ops.dualfield.crf_gradients(grad, *ctx.saved_tensors)
    return emissions, None, start, transitions, end, None, None, None, None


crf_values.register_autograd(_backward, setup_context=_keep_for_backward)


def _refuse_backward(operator: Any, message: str) -> None:
    def refuse(ctx: Any, *grads: Any) -> None:
        raise RuntimeError(message)

    operator.register_autograd(refuse)


_refuse_backward(
    crf_gradients,
    "dualfield.torch.CRF: double backward is not supported; the gradient of its log-likelihood has no derivative here.",
)


@_operator("crf_marginals", "", "Tensor")
def crf_marginals(emissions: Tensor, *arguments: Any) -> Tensor:
    """Probabilities of each label at each position, zero outside the mask."""
    return torch.from_numpy(_batch(emissions, *arguments).marginals().nodes)


@crf_marginals.register_fake
def _(emissions: Tensor, *arguments: Any) -> Tensor:
    return torch.empty_like(emissions, memory_format=torch.contiguous_format)


@_operator("crf_entropy", "", "Tensor")
def crf_entropy(emissions: Tensor, *arguments: Any) -> Tensor:
    """The entropy of each sequence's labels."""
    return torch.from_numpy(_batch(emissions, *arguments).entropy()).to(emissions.dtype)


@crf_entropy.register_fake
def _(emissions: Tensor, *arguments: Any) -> Tensor:
    return emissions.new_empty(emissions.shape[0])


for _name, _function in (("marginals", crf_marginals), ("entropy", crf_entropy)):
    _refuse_backward(
        _function, f"dualfield.torch.CRF.{_name} has no gradient; call it under torch.no_grad() or detach its result."
    )


@_operator("crf_decode", ", int padding", "(Tensor tags, Tensor scores)")
def crf_decode(emissions: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    """The best tags, (B, T), and their scores, (B,)."""
    *chains, padding = arguments
    tags, scores = _batch(emissions, *chains).viterbi(padding)
    return torch.from_numpy(tags), torch.from_numpy(scores).to(emissions.dtype)


@crf_decode.register_fake
def _(emissions: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    chains, length, _ = emissions.shape
    return emissions.new_empty((chains, length), dtype=torch.int64), emissions.new_empty(chains)


@_operator("crf_kbest", ", int k, int padding", "(Tensor tags, Tensor scores)")
def crf_kbest(emissions: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    """The k best labellings, (k, B, T), and their scores, (k, B)."""
    *chains, k, padding = arguments
    tags, scores = _batch(emissions, *chains).kbest(k, padding)
    return torch.from_numpy(tags), torch.from_numpy(scores).to(emissions.dtype)


@crf_kbest.register_fake
def _(emissions: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    chains, length, _ = emissions.shape
    k = arguments[-2]
    return emissions.new_empty((k, chains, length), dtype=torch.int64), emissions.new_empty((k, chains))


@_operator("crf_sample", ", int n, Tensor seed, int padding", "Tensor")
def crf_sample(emissions: Tensor, *arguments: Any) -> Tensor:
    """Exact samples of the tags, (n, B, T); ``seed`` holds one integer."""
    *chains, n, seed, padding = arguments
    return torch.from_numpy(_batch(emissions, *chains).sample(n, int(seed), padding))


@crf_sample.register_fake
def _(emissions: Tensor, *arguments: Any) -> Tensor:
    chains, length, _ = emissions.shape
    return emissions.new_empty((arguments[-3], chains, length), dtype=torch.int64)
