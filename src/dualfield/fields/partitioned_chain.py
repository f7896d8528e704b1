"""The linear-chain field over a folder of partitions, of which one is compiled at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features import Encoded
from dualfield.features.sequences.dense import Standard
from dualfield.fields.base import Choice, Field, check_label_count
from dualfield.fields.chain import Chain
from dualfield.labels import check_costs, resolve_constraints
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.chain_masks import check_labels
from dualfield.models.spec import ChainSpec
from dualfield.partitions import Partition, PartitionedData

__all__ = ["PartitionedChain"]

Int64Array = npt.NDArray[np.int64]


class PartitionedChain(Field):
    """What :class:`Chain` is, for sequences in a folder that need not fit into memory.

    The problem is the same, with the same weights and the same certificate. Partitions are compiled when it is their
    turn, and dropped after. OEG trains it; other methods need all data at once, which ``data.load()`` gives.

    Parameters
    ----------
    data : PartitionedData
        The folder, opened.
    l2 : float
        Strength of the penalty; zero only with a positive ``l1``.
    class_weight, costs
        As for :class:`Chain`.
    **options
        Those of :class:`~dualfield.models.ChainSpec`. ``min_count`` is that of the folder, or is left out.

    Examples
    --------
    >>> import tempfile
    >>> from dualfield import fields, solve
    >>> from dualfield.partitions import write_partitions
    >>> chunks = [([[["a"], ["b"]]], [["X", "Y"]]), ([[["b"], ["b"]]], [["Y", "Y"]])]
    >>> with tempfile.TemporaryDirectory() as home:
    ...     data = write_partitions(chunks, f"{home}/data", positions=2)
    ...     solution = solve(fields.PartitionedChain(data, l2=1.0), tol=1e-6)
    >>> solution.status, solution.certificate
    ('converged', 'exact')
    """

    name: str = "Chain in partitions"
    offers: frozenset[str] = frozenset({"exact marginals", "entropy", "compact potentials"})
    instead: str = "use solver='oeg', or data.load() where all data fit into memory"
    default_solver = Choice("oeg", "it needs one partition at a time")
    partitioned = True
    standard: Standard | None = None  # a folder has no dense columns

    def __init__(
        self, data: PartitionedData, l2: float = 1.0, *, class_weight: Any = None, costs: Any = None, **options: Any
    ) -> None:
        self._pose(ChainSpec(l2=l2, **options))
        before = time.perf_counter(), time.process_time()
        if self.spec.min_count not in (1, data.min_count):
            raise ValueError(
                f"min_count={self.spec.min_count}, but {data.path} was made with min_count={data.min_count}; leave it "
                "out, or make the folder anew."
            )
        if self.spec.standardize:
            raise ValueError("standardize=True is for dense columns, which a folder of partitions does not have.")
        check_costs(class_weight, costs)
        self.data, self.classes = data, data.classes
        check_label_count(len(self.classes))
        rules = resolve_constraints(self.spec.constraints, self.classes)
        labels = np.zeros(len(self.classes), np.int64)
        self.trained: list[int] = []  # the partitions that have a sequence of positive weight
        layouts = _Layouts(self.spec, len(self.classes), rules)
        for number, part in enumerate(data):
            check_labels(part.codes, part.X.offsets, self.classes, rules, None)
            labels += np.bincount(part.codes, minlength=len(labels))
            if part.sample_weight is None or part.sample_weight.any():
                self.trained.append(number)
            layouts.add(part)
        if not self.trained:
            raise ValueError("Every sample_weight is zero; at least one sequence needs a positive weight.")
        self.layout = layouts.union()
        if class_weight == "balanced":
            class_weight = dict(
                zip(self.classes.tolist(), labels.sum() / (len(labels) * np.maximum(labels, 1)), strict=True)
            )
        self._costs = {"class_weight": class_weight, "costs": costs}
        self.preparation = time.perf_counter() - before[0], time.process_time() - before[1]

    @classmethod
    def of_spec(
        cls, spec: ChainSpec, data: PartitionedData, *, class_weight: Any = None, costs: Any = None
    ) -> PartitionedChain:
        """The problem of a spec."""
        return cls(data, class_weight=class_weight, costs=costs, **spec._asdict())

    def _pose(self, spec: ChainSpec) -> None:
        self.spec, self.l1, self.l2 = spec, spec.l1, spec.l2

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return self.layout.dimension

    @property
    def n_blocks(self) -> int:
        """The number of sequences."""
        return self.data.n_sequences

    def _sizes(self) -> dict[str, int]:
        data = self.data
        counts = {"partition": len(data), "sequence": data.n_sequences, "position": data.n_positions}
        return {**counts, "label": len(self.classes), "weight": self.dimension}

    @property
    def encoded(self) -> Encoded:
        """No sequences, with the vocabularies of all."""
        none = np.zeros(1, np.int64)
        bigrams = None
        if self.data.bigram_vocabulary is not None:
            bigrams = Encoded(none, none, np.empty(0, np.int32), None, self.data.bigram_vocabulary)
        return Encoded(none, none, np.empty(0, np.int32), None, self.data.vocabulary, bigrams)

    def part(self, number: int) -> Chain:
        """A partition as a problem of its own, compiled, with the weights and the penalty of the whole."""
        X, codes, sample_weight = self.data[number]
        return Chain.of_layout(X, codes, self.classes, self.layout, self.spec, sample_weight, **self._costs)

    def _parts(self) -> Iterator[Chain]:
        return map(self.part, self.trained)

    def primal(self, weights: npt.ArrayLike) -> float:
        """The objective, by a pass over all partitions."""
        w = self._checked(weights)
        return sum(part.primal(w) - self.penalty(w) for part in self._parts()) + self.penalty(w)

    def gradient(self, weights: npt.ArrayLike) -> tuple[float, npt.NDArray[np.float64]]:
        """The objective and its gradient, without an l1 penalty, by a pass over all partitions."""
        if self.l1 > 0:
            raise TypeError(f"{self.name} has no gradient where there is an l1 penalty; leave l1 out.")
        w = self._checked(weights)
        value, gradient = self.penalty(w), self.l2 * w
        for part in self._parts():
            found, slope = part.gradient(w)
            value += found - self.penalty(w)
            gradient += slope - self.l2 * w
        return value, gradient

    def core_with(self, needs: frozenset[str]) -> Any:
        """Refused: there is no compiled problem of all partitions."""
        raise TypeError(f"{self.name} is compiled partition by partition; {self.instead}.")

    def with_l2(self, l2: float) -> PartitionedChain:
        """The same folder under another penalty."""
        other = copy(self)
        other._pose(self.spec.but(l2=l2))
        return other

    def with_l1(self, l1: float) -> PartitionedChain:
        """The same folder under another l1 penalty."""
        other = copy(self)
        other._pose(self.spec.but(l1=l1))
        return other

    def _content(self) -> list[Any]:
        return [self.l2, self.l1, self.data.path, id(self.data), self.classes, self.layout.transitions, self._costs]


class _Layouts:
    """The weights of all partitions: where only observed pairs have one, those of any partition."""

    def __init__(self, spec: ChainSpec, n_labels: int, rules: Any) -> None:
        self._spec, self._n_labels, self._rules = spec, n_labels, rules
        self._union: ChainLayout | None = None
        self._waiting: list[ChainLayout] = []

    def add(self, part: Partition) -> None:
        spec, named = self._spec, self._union
        observed = "observed" in (spec.state_features, spec.transitions, spec.bigram_features)
        if named is not None and not observed:
            return
        found = ChainLayout.from_data(part.X, part.codes, self._n_labels, spec, constraints=self._rules)
        if named is None:
            self._union = found
            return
        self._waiting.append(found)
        # A union costs as much as all that it holds: so it is made when as much waits.
        if sum(layout.dimension for layout in self._waiting) > named.dimension:
            self._unite()

    def union(self) -> ChainLayout:
        self._unite()
        assert self._union is not None
        return self._union

    def _unite(self) -> None:
        assert self._union is not None
        self._union = self._union.joined(self._waiting)
        self._waiting = []
