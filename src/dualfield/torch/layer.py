"""The layer. Checks of shapes are here, in terms that TorchScript knows; checks of values are in the operators.

Operators take the batch first. Where the layer's input has time first, they are given a transposed view.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dualfield.labels.constraints import Constraints, resolve_constraints
from dualfield.torch import on_cuda, operators  # noqa: F401 - the first tells PyTorch of kernels for GPUs

__all__ = ["CRF"]


class CRF(nn.Module):
    """A linear-chain CRF as a layer: ``p(y) ∝ exp(score(y))``, where

        ``score(y) = start[y_1] + Σ_t emissions[t, y_t] + Σ_t transitions[y_{t−1}, y_t] + end[y_T]``.

    Constructor, ``forward``, ``decode``, parameters and ``state_dict`` are those of pytorch-crf; what comes after
    ``batch_first`` is beyond it. Sums are float64, also for float32 emissions; float16 and bfloat16 are taken as
    float32. Runs on the CPU, on ``torch.get_num_threads()`` threads; or on a CUDA GPU with at most 256 tags, where
    messages have the type of the emissions.

    Parameters
    ----------
    num_tags : int
        The number of tags K.
    batch_first : bool
        Whether emissions have shape (batch, time, K), tags and masks (batch, time); else time comes first.
    any_mask : bool
        Take masks of any shape: padding on either side, gaps, sequences of no position. Positions outside the mask are
        left out, as if the sequence were shorter. Without it the mask must be on at first and off after its end.
    ignore_index : int, optional
        Positions with this tag, -100 in Hugging Face's token classification, are left out like those outside the mask.
        Allows masks of any shape.
    labels : sequence of str, optional
        The names of the tags, for constraints that are given by name and for span probabilities.
    constraints : {"bio", "iobes", "bilou", "bmes"} or Constraints, optional
        Which sequences are possible; the distribution is over those. A name needs ``labels``.

    Attributes
    ----------
    start_transitions, end_transitions : Parameter, shape (K,)
    transitions : Parameter, shape (K, K)
        The row is the tag before.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> crf = CRF(3, batch_first=True)
    >>> emissions = torch.randn(2, 4, 3, requires_grad=True)
    >>> mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)
    >>> loss = -crf(emissions, torch.zeros(2, 4, dtype=torch.long), mask)
    >>> loss.backward()
    >>> [len(tags) for tags in crf.decode(emissions, mask)]
    [4, 2]
    """

    ignore_index: int | None
    forbidden_start: Tensor | None
    forbidden_transition: Tensor | None
    forbidden_end: Tensor | None

    def __init__(
        self,
        num_tags: int,
        batch_first: bool = False,
        *,
        any_mask: bool = False,
        ignore_index: int | None = None,
        labels: Sequence[str] | None = None,
        constraints: Any = None,
    ) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        if labels is not None and len(labels) != num_tags:
            raise ValueError(f"CRF: {len(labels)} labels were given for {num_tags} tags; expected one for each.")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.any_mask = any_mask or ignore_index is not None
        self.ignore_index = ignore_index
        self.labels = None if labels is None else list(labels)
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        # No buffers: those of a model that is made without memory and then filled from a file, as Hugging Face's
        # from_pretrained does, would be left with what the memory held.
        rules = self._rules(constraints)
        self.forbidden_start = None if rules is None else torch.from_numpy(~rules.begin)
        self.forbidden_transition = None if rules is None else torch.from_numpy(~rules.transitions)
        self.forbidden_end = None if rules is None else torch.from_numpy(~rules.end)
        self.reset_parameters()

    def _rules(self, constraints: Any) -> Constraints | None:
        if constraints is None:
            return None
        if isinstance(constraints, Constraints):
            names = constraints.labels if self.labels is None else self.labels
        elif self.labels is None:
            raise ValueError(f"CRF: constraints={constraints!r} needs labels, the names of the {self.num_tags} tags.")
        else:
            names = self.labels
        if len(names) != self.num_tags:
            raise ValueError(
                f"CRF: constraints speak of {len(names)} labels; expected {self.num_tags}, one for each tag."
            )
        return resolve_constraints(constraints, np.asarray(names))

    def _apply(self, fn: Any, recurse: bool = True) -> "CRF":
        """Where PyTorch moves or converts the parameters: what is forbidden follows them to their device."""
        super()._apply(fn, recurse)
        device = self.transitions.device
        if device.type != "meta":
            for name in ("forbidden_start", "forbidden_transition", "forbidden_end"):
                forbidden = getattr(self, name)
                setattr(self, name, forbidden if forbidden is None else forbidden.to(device))
        return self

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly from −0.1 to 0.1."""
        nn.init.uniform_(self.start_transitions, -0.1, 0.1)
        nn.init.uniform_(self.end_transitions, -0.1, 0.1)
        nn.init.uniform_(self.transitions, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(num_tags={self.num_tags})"

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None, reduction: str = "sum") -> Tensor:
        """The log-likelihood of tags.

        Parameters
        ----------
        emissions : Tensor, shape (time, batch, K), or (batch, time, K) if ``batch_first``
        tags : Tensor
            Integers, shape (time, batch), or (batch, time) if ``batch_first``. Or, for partial labels, booleans of the
            shape of ``emissions``: True for each tag that a position may have; the likelihood is then that of all
            sequences that agree.
        mask : Tensor, shape of integer tags, optional
            On for the positions that count.
        reduction : {"none", "sum", "mean", "token_mean"}
            ``mean`` divides the sum by the number of sequences, ``token_mean`` by that of positions in the mask.

        Returns
        -------
        Tensor, shape (batch,) for "none", else ()
        """
        partial = tags.dim() == 3 and tags.dtype == torch.bool
        self._validate(emissions, tags[:, :, 0] if partial else tags, mask)
        if reduction not in ("none", "sum", "mean", "token_mean"):
            raise ValueError(f"invalid reduction: {reduction}")
        if partial and tags.size(2) != self.num_tags:
            raise ValueError(f"expected last dimension of partial tags is {self.num_tags}, got {tags.size(2)}")
        ignored = self.ignore_index
        if ignored is not None and not partial:
            known = tags != ignored
            mask = known if mask is None else mask.to(torch.bool) & known
        llh = self._values(emissions, mask, None if partial else tags, tags if partial else None)
        if reduction == "none":
            return llh
        if reduction == "sum":
            return llh.sum()
        if reduction == "mean":
            return llh.mean()
        if mask is None:
            return llh.sum() / (emissions.size(0) * emissions.size(1))
        return llh.sum() / mask.to(torch.bool).sum()

    def log_partition(self, emissions: Tensor, mask: Tensor | None = None) -> Tensor:
        """``log Σ_y exp(score(y))`` of each sequence, shape (batch,), with gradients."""
        self._validate(emissions, None, mask)
        return self._values(emissions, mask, None, None)

    @torch.jit.export
    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """The best tags of each sequence, as lists of its positions in the mask."""
        table = self.decode_tensor(emissions, mask, -1)
        if not self.batch_first:
            table = table.t()
        if mask is None:
            whole: list[list[int]] = table.tolist()
            return whole
        kept = mask.to(torch.bool) if self.batch_first else mask.to(torch.bool).t()
        flat: list[int] = table[kept].tolist()
        lengths: list[int] = kept.sum(1).tolist()
        sequences: list[list[int]] = []
        first = 0
        for length in lengths:
            sequences.append(flat[first : first + length])
            first += length
        return sequences

    @torch.jit.export
    def decode_tensor(self, emissions: Tensor, mask: Tensor | None = None, padding: int = -1) -> Tensor:
        """The best tags as a tensor of the mask's shape, with ``padding`` outside the mask."""
        self._validate(emissions, None, mask)
        emissions, mask, start, transitions, end = self._chains(emissions, mask)
        tags, _ = torch.ops.dualfield.crf_decode(emissions, mask, start, transitions, end, self.any_mask, padding)
        return tags if self.batch_first else tags.t()

    def marginals(self, emissions: Tensor, mask: Tensor | None = None) -> Tensor:
        """The probability of each tag at each position, of the shape of ``emissions``; zero outside the mask."""
        self._validate(emissions, None, mask)
        table: Tensor = torch.ops.dualfield.crf_marginals(*self._chains(emissions, mask), self.any_mask)
        return table if self.batch_first else table.transpose(0, 1)

    def entropy(self, emissions: Tensor, mask: Tensor | None = None) -> Tensor:
        """The entropy of each sequence's tags, ``−Σ_y p(y) log p(y)``, shape (batch,)."""
        self._validate(emissions, None, mask)
        entropy: Tensor = torch.ops.dualfield.crf_entropy(*self._chains(emissions, mask), self.any_mask)
        return entropy

    def kbest(self, emissions: Tensor, k: int, mask: Tensor | None = None, padding: int = -1) -> tuple[Tensor, Tensor]:
        """The k best labellings, shape (k, ...) with that of the mask, and their scores, (k, batch), best first.

        Where a sequence has fewer possible labellings the rest has the score ``-inf`` and holds ``padding``. The
        logarithm of a probability is the score less :meth:`log_partition`.
        """
        if k < 1:
            raise ValueError(f"k must be a positive integer; got {k}.")
        self._validate(emissions, None, mask)
        chains = self._chains(emissions, mask)
        tags, scores = torch.ops.dualfield.crf_kbest(*chains, self.any_mask, k, padding)
        return tags if self.batch_first else tags.transpose(1, 2), scores

    def sample(
        self,
        emissions: Tensor,
        n: int = 1,
        mask: Tensor | None = None,
        padding: int = -1,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """``n`` independent exact samples of the tags, shape (n, ...) with that of the mask.

        The seed comes from PyTorch's generator, the default one or that which is given.
        """
        if n < 0:
            raise ValueError(f"n must be an integer, not negative; got {n}.")
        self._validate(emissions, None, mask)
        where = "cpu" if generator is None else generator.device
        seed = torch.randint(2**31 - 1, (), generator=generator, device=where)
        chains = self._chains(emissions, mask)
        tags: Tensor = torch.ops.dualfield.crf_sample(*chains, self.any_mask, n, seed, padding)
        return tags if self.batch_first else tags.transpose(1, 2)

    def span_probabilities(
        self, emissions: Tensor, spans: Sequence[tuple[int, int, int, str]], mask: Tensor | None = None
    ) -> Tensor:
        """The exact probability of each span (sequence, begin, end, type), shape (number of spans,), without gradients.

        Positions are ``begin .. end - 1``, counted among those of the sequence in the mask. The layer needs ``labels``,
        chunk tags such as ``B-PER``.
        """
        if self.labels is None:
            raise ValueError("CRF.span_probabilities: the layer has no labels; give them to its constructor.")
        self._validate(emissions, None, mask)
        chains = self._chains(emissions, mask)
        emissions, mask, start, transitions, end = (each if each is None else each.cpu() for each in chains)
        batch = operators._batch(emissions, mask, start, transitions, end, self.any_mask)
        return torch.from_numpy(batch.span_probabilities(self.labels, spans)).to(chains[0])

    def _values(self, emissions: Tensor, mask: Tensor | None, tags: Tensor | None, allowed: Tensor | None) -> Tensor:
        emissions, mask, start, transitions, end = self._chains(emissions, mask)
        if not self.batch_first:
            tags = tags if tags is None else tags.t()
            allowed = allowed if allowed is None else allowed.transpose(0, 1)
        needed = emissions.requires_grad or start.requires_grad or transitions.requires_grad or end.requires_grad
        values, _, _, _ = torch.ops.dualfield.crf_values(
            emissions,
            mask,
            start,
            transitions,
            end,
            self.any_mask,
            tags,
            allowed,
            needed and torch.is_grad_enabled(),
        )
        return values

    def _chains(self, emissions: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None, Tensor, Tensor, Tensor]:
        """Emissions and mask with the batch first, and the parameters, all in one type."""
        start, transitions, end = self.start_transitions, self.transitions, self.end_transitions
        double = emissions.dtype == torch.float64 or transitions.dtype == torch.float64
        dtype = torch.float64 if double else torch.float32
        emissions, start, transitions, end = emissions.to(dtype), start.to(dtype), transitions.to(dtype), end.to(dtype)
        start = _without(start, self.forbidden_start)
        transitions = _without(transitions, self.forbidden_transition)
        end = _without(end, self.forbidden_end)
        if not self.batch_first:
            emissions = emissions.transpose(0, 1)
            mask = mask if mask is None else mask.t()
        return emissions, mask, start, transitions, end

    def _validate(self, emissions: Tensor, tags: Tensor | None, mask: Tensor | None) -> None:
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError(f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}")
        device = emissions.device
        if device.type not in ("cpu", "cuda") or self.transitions.device != device:
            raise ValueError(
                "dualfield.torch.CRF runs on the CPU or a CUDA GPU, with all tensors there; move emissions, tags, mask "
                f"and the layer to one device by .to(device). Emissions are on {device}, parameters on "
                f"{self.transitions.device}."
            )
        if (tags is not None and tags.device != device) or (mask is not None and mask.device != device):
            raise ValueError(f"emissions are on {device}; move tags and mask there by .to(device).")
        shape = emissions.shape[:2]
        if tags is not None and shape != tags.shape:
            raise ValueError(
                "the first two dimensions of emissions and tags must match, "
                f"got {(shape[0], shape[1])} and {(tags.shape[0], tags.shape[1])}"
            )
        if mask is not None and shape != mask.shape:
            raise ValueError(
                "the first two dimensions of emissions and mask must match, "
                f"got {(shape[0], shape[1])} and {(mask.shape[0], mask.shape[1])}"
            )


def _without(potentials: Tensor, forbidden: Tensor | None) -> Tensor:
    """The potentials, -inf where forbidden; Hugging Face's ``device_map`` moves parameters alone."""
    if forbidden is None:
        return potentials
    return potentials.masked_fill(forbidden.to(potentials.device), -float("inf"))
