"""The linear-chain field over data of which every rank has a share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.features import Encoded
from dualfield.features.sequences.dense import Standard
from dualfield.fields.base import Choice, Field, check_label_count
from dualfield.fields.chain import Chain
from dualfield.labels import check_costs, resolve_constraints
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.chain_masks import check_labels
from dualfield.models.spec import ChainSpec
from dualfield.ranks import Communicator

__all__ = ["DistributedChain"]


class DistributedChain(Field):
    """What :class:`Chain` is, for sequences that are shared out among processes.

    The problem is the same, with the same weights and the same certificate. Every rank makes this field with its own
    share, and then calls :func:`~dualfield.solve` with the same arguments; every rank gets the same solution. OEG
    exchanges the changes of weights several times a pass, "lbfgs" adds up gradients.

    Parameters
    ----------
    X : Encoded
        The sequences of this rank; one at least. Its attributes are those of all ranks, under the same numbers.
    codes : array of int32
        The number of each position's label among ``classes``.
    classes : array, shape (K,)
        The labels of all ranks, sorted.
    communicator : Communicator
        The ranks.
    l2 : float
        Strength of the penalty; zero only with a positive ``l1``.
    sample_weight : array, optional
        Weights of this rank's sequences.
    class_weight, costs
        As for :class:`Chain`; solver "lbfgs" takes them.
    **options
        Those of :class:`~dualfield.models.ChainSpec`, without ``min_count`` and ``standardize``.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import features, fields, ranks, solve
    >>> X = features.encode([[["a"], ["b"]], [["b"], ["b"]]])
    >>> classes, codes = np.array(["X", "Y"]), np.array([0, 1, 1, 1], np.int32)
    >>> field = fields.DistributedChain(X, codes, classes, ranks.Alone(), l2=1.0)
    >>> solve(field, tol=1e-6, random_state=0).certificate
    'exact'
    """

    name: str = "Chain on several ranks"
    offers: frozenset[str] = frozenset({"marginals", "exact marginals", "entropy", "compact potentials"})
    instead: str = "use solver='oeg' or 'lbfgs'"
    default_solver = Choice("oeg", "it needs the fewest passes, and exchanges only weights that several ranks touch")
    standard: Standard | None = None
    communicator: Communicator

    def __init__(
        self,
        X: Encoded,
        codes: npt.NDArray[np.int32],
        classes: npt.NDArray[Any],
        communicator: Communicator,
        l2: float = 1.0,
        *,
        sample_weight: npt.ArrayLike | None = None,
        class_weight: Any = None,
        costs: Any = None,
        **options: Any,
    ) -> None:
        self._pose(ChainSpec(l2=l2, **options))
        before = time.perf_counter(), time.process_time()
        self.communicator, self.classes = communicator, classes
        if self.spec.min_count > 1 or self.spec.standardize:
            raise ValueError(
                "min_count and standardize look at all data at once, of which a rank has a share; leave them out, and "
                "leave rare attributes out when the data are encoded."
            )
        if X.dense is not None:
            raise ValueError("X has dense columns, which ranks cannot share out; leave them out.")
        check_costs(class_weight, costs)
        check_label_count(len(classes))
        rules = resolve_constraints(self.spec.constraints, classes)
        communicator.together(lambda: check_labels(codes, X.offsets, classes, rules, None))
        communicator.together(lambda: _check_weight(sample_weight, communicator.rank))
        self.layout = _common_layout(
            ChainLayout.from_data(X, codes, len(classes), self.spec, constraints=rules), self.spec, communicator
        )
        if class_weight == "balanced":
            counts = communicator.all_reduce(np.bincount(codes, minlength=len(classes)).astype(np.float64))
            balanced = counts.sum() / (len(counts) * np.maximum(counts, 1))
            class_weight = dict(zip(classes.tolist(), balanced, strict=True))
        self.share = Chain.of_layout(
            X, codes, classes, self.layout, self.spec, sample_weight, class_weight=class_weight, costs=costs
        )
        if not isinstance(self.share.core, _core.ChainAll | _core.ChainObserved):
            self.offers, self.instead = frozenset({"marginals"}), "use solver='lbfgs'"
            self.default_solver = _BY_GRADIENTS
        sizes = communicator.all_reduce(np.array([len(X), X.n_positions], np.int64))
        self._n_sequences, self._n_positions = int(sizes[0]), int(sizes[1])
        self._compile()
        self.preparation = time.perf_counter() - before[0], time.process_time() - before[1]

    def _pose(self, spec: ChainSpec) -> None:
        self.spec, self.l1, self.l2 = spec, spec.l1, spec.l2

    def _compile(self) -> None:
        field = ref(self)  # the core must not keep alive what keeps it alive

        def loss(_: int, w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
            owner = field()
            assert owner is not None
            return owner._loss(w)

        self.core = _core.PythonLosses(loss, 1, self.dimension, None, self.l2)

    @property
    def encoded(self) -> Encoded:
        """The sequences of this rank."""
        return self.share.encoded

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return self.layout.dimension

    @property
    def n_blocks(self) -> int:
        """The number of sequences of all ranks."""
        return self._n_sequences

    def _sizes(self) -> dict[str, int]:
        counts = {"rank": self.communicator.size, "sequence": self._n_sequences, "position": self._n_positions}
        return {**counts, "label": len(self.classes), "weight": self.dimension}

    def _loss(self, w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """The losses of all ranks, and their gradient."""
        value, gradient = self.share.core.gradient(w)
        (loss,) = self.communicator.sums_of_agreed([value - 0.5 * self.l2 * float(w @ w)], [w])
        return float(loss), self.communicator.all_reduce(gradient - self.l2 * w)

    def primal(self, weights: npt.ArrayLike) -> float:
        """The objective over the data of all ranks, which must all ask for it."""
        w = self._checked(weights)
        own = self.share.primal(w) - self.penalty(w)
        return float(self.communicator.all_reduce(np.array([own]))[0]) + self.penalty(w)

    def owners(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """For each attribute, how many ranks have it, and how often it occurs in all."""
        counts = np.bincount(self.encoded.indices, minlength=len(self.encoded.vocabulary)).astype(np.float64)
        return self.communicator.all_reduce((counts > 0).astype(np.int32)), self.communicator.all_reduce(counts)

    def with_l2(self, l2: float) -> DistributedChain:
        """The same data under another penalty."""
        return self._under(self.spec.but(l2=l2), self.share.with_l2(l2))

    def with_l1(self, l1: float) -> DistributedChain:
        """The same data under another l1 penalty."""
        return self._under(self.spec.but(l1=l1), self.share.with_l1(l1))

    def _under(self, spec: ChainSpec, share: Chain) -> DistributedChain:
        other = copy(self)
        other._pose(spec)
        other.share = share
        other._compile()
        return other

    def _content(self) -> list[Any]:
        return [self.share, self.communicator, self.l2, self.l1]


_BY_GRADIENTS = Choice("lbfgs", "constraints, bigrams, costs and sparse transitions are not shared out by weights")


def _check_weight(sample_weight: npt.ArrayLike | None, rank: int) -> None:
    """Refuse a rank whose sequences all have the weight zero."""
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise ValueError(f"all sequences of rank {rank} have the weight zero; leave them out, or start fewer ranks.")


def _common_layout(own: ChainLayout, spec: ChainSpec, communicator: Communicator) -> ChainLayout:
    """The weights of all ranks: where only observed pairs have one, those of any rank."""
    if "observed" not in (spec.state_features, spec.transitions, spec.bigram_features):
        return own
    layouts: Sequence[ChainLayout] | None = communicator.gather(own)
    union: ChainLayout = communicator.broadcast(layouts[0].joined(layouts[1:]) if layouts is not None else None)
    return union
