"""A dual method on partitions that are in memory one at a time; the compiled side is ``core/solvers/dual/``.

Each partition has a field and a run of its own, made when it is its turn and dropped after. The runs hand on the
weights and the proximal centre (``common_state.hpp``), and what they keep of their blocks waits in
:class:`BlockStates`. Partitions come in a random order. In most passes those with larger gaps come more often, as
blocks do within them. The certificate is that of one run over all blocks: its sums are added up over partitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.memory import available_memory, check_memory
from dualfield.solvers.base import Bound, Run
from dualfield.solvers.block_states import BlockStates
from dualfield.solvers.common_state import CommonStateRun

if TYPE_CHECKING:
    from dualfield.solvers.dual import DualSolver

__all__ = ["PartitionedRun"]

_OF_A_BLOCK = 64  # bytes beside the duals: its entropy, gaps, step and place in the order
_FEWER = "have fewer attributes, such as by a larger min_count"
_SHARE = 0.5  # of the memory that is available, which the states may take


class PartitionedRun(CommonStateRun):
    """A dual method at work on a :class:`~dualfield.fields.PartitionedChain`."""

    def __init__(self, solver: DualSolver, field: Field, seed: int, single: bool) -> None:
        vectors = (4 if field.l1 > 0 else 2) * 8 + (8 if solver.accelerate else 0)  # confirmed too; two centres
        check_memory(vectors * field.dimension, f"{field.dimension:,} weights and what goes with them", _FEWER)
        super().__init__(solver, field, seed, int(solver._options(field, seed, single)["threads"]))
        self._parts, self._seed, self._single = self.field.trained, seed, single
        self._random = np.random.default_rng(seed)
        self._states: BlockStates | None = None
        self._totals = np.zeros((len(self._parts), 3))  # entropies, recorded gaps, and what steps left of them
        self._idle = np.zeros(len(self._parts), dtype=int)  # visits in a row that moved nothing
        self._visits: list[int] = []  # what is left of the pass
        self._at: int | None = None  # the partition at work
        self._left = 0  # updates of the visit
        self._counts = dict.fromkeys(("updates", "oracle_calls", "evaluations", "steps"), 0.0)
        self._marks = dict(self._counts)
        self._written = 0
        self._phase: list[Callable[[float], bool]] = []  # what is left of the confirming pass

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        self._phase = []
        if self._at is None:
            if not self._visits:
                self._begin_pass()
            self._begin_visit(self._visits.pop())
        if not self._run.started:
            if self._run.start(seconds):
                self._left = self._run.left_in_pass
            return False
        wanted = self._left if max_updates is None else min(self._left, max_updates)
        self._left -= self._run.run(wanted, seconds)
        if self._run.diverged:
            self._diverged = True
        elif self._left > 0:
            return False
        self._end_visit()
        if self._visits and not self._diverged:
            return False
        self._look()
        return True

    def _begin_pass(self) -> None:
        entropies, recorded, _ = self._totals.sum(axis=0)
        if self.passes_done > 0:
            self._common.end_pass(recorded, entropies)
        self._visits = self._random.permutation(self._drawn()).tolist()

    def _drawn(self) -> npt.NDArray[np.int64]:
        """Which partitions the next pass visits, and how often.

        As blocks are drawn, so many updates on average fall to a partition: those drawn uniformly, its share of all
        blocks, and the others, its share of all gaps. The numbers of visits are the next integers.
        """
        n, solver = len(self._parts), self.solver
        every, uniform = int(solver.permutation_every), solver.sampling == "uniform"
        gaps = self._totals[:, 1]
        if uniform or self.passes_done == 0 or (every and self.passes_done % every == 0) or not gaps.sum() > 0:
            return np.arange(n)
        blocks = np.array([self.field.data.sequence_counts[part] for part in self._parts], float)
        share = float(solver.non_uniformity)
        visits = (1 - share) + share * gaps / gaps.sum() * blocks.sum() / blocks
        ends = np.floor(np.cumsum(visits) + self._random.uniform())
        return np.repeat(np.arange(n), np.diff(ends, prepend=0).astype(int)) if ends[-1] >= 1 else np.arange(n)

    def _begin_visit(self, at: int) -> None:
        self._run = self._bound_run(at)
        self._run.take(self._common)
        self._at, self._left = at, self._run.left_in_pass

    def _bound_run(self, at: int) -> Any:
        """The run of a partition, with the state that it left."""
        part = self.field.part(self._parts[at])
        run = self.solver.bind(part, self._seed, self._single)
        if self._states is None:
            self._states = self._room_for_states(part)
        if at in self._states:
            run.restore_blocks(self._states.load(at))
        return run

    def _room_for_states(self, part: Any) -> BlockStates:
        """In memory, or on the disk where they would take more than half of what is there."""
        share = self.field.data.n_positions / part.encoded.n_positions
        duals = (4 if self._single else 8) * self.solver.kept_numbers(part) * share
        n_bytes = int(duals) + _OF_A_BLOCK * self.field.n_blocks
        available = available_memory()
        on_disk = available is not None and n_bytes > _SHARE * available
        return BlockStates(len(self._parts), self.field.data.path if on_disk else None, n_bytes)

    def _end_visit(self) -> None:
        run, at = self._run, self._at
        assert at is not None
        run.give_back(self._common)
        self._count(run)
        self._idle[at] = self._idle[at] + 1 if run.step_total == 0 else 0
        self._keep(at, run)
        self._at = self._run = None

    def _keep(self, at: int, run: Any) -> None:
        assert self._states is not None
        self._totals[at] = run.totals
        self._states.save(at, run.save_blocks())

    def _count(self, run: Any) -> None:
        found = (run.updates, run.oracle_calls, run.evaluations, run.step_total)
        for name, more in zip(self._counts, found, strict=True):
            self._counts[name] += more

    def _look(self) -> None:
        entropies, _, remaining = self._totals.sum(axis=0)
        excess, self._dual = self._common.look(entropies)
        self._gap, self._true_gap = remaining + excess, math.nan
        self._diverged = self._diverged or not math.isfinite(self._dual)

    def confirm(self, seconds: float) -> bool:
        if not self._phase:
            self._phase = self._confirming()
        if self._phase[-1](seconds):
            self._phase.pop()
        return not self._phase

    def _confirming(self) -> list[Callable[[float], bool]]:
        """The steps of the confirming pass, the last one first; each works for about some seconds, true when done."""
        if self._at is not None:  # in the middle of a pass
            self._left = 0
            self._end_visit_early()
        self._common.begin_confirmation()
        places = range(len(self._parts))
        gathering = [self._on_partition(at, lambda run, s: bool(run.gather(s, self._common)), False) for at in places]
        judging = [self._on_partition(at, lambda run, s: bool(run.judge(s, self._common)), True) for at in places]
        steps = [*gathering, self._between, *judging, self._after]
        return steps[::-1]

    def _end_visit_early(self) -> None:
        """A visit that was not completed counts as one."""
        if self._run.started:
            self._end_visit()
        else:
            self._run.give_back(self._common)
            self._at = self._run = None

    def _on_partition(self, at: int, work: Callable[[Any, float], bool], adopts: bool) -> Callable[[float], bool]:
        run: Any = None

        def step(seconds: float) -> bool:
            nonlocal run
            if run is None:
                run = self._started_run(at)
            if not work(run, seconds):
                return False
            if adopts:
                run.adopt_judged()
                self._keep(at, run)
                self._counts["oracle_calls"] += run.oracle_calls
            run = None
            return True

        return step

    def _started_run(self, at: int) -> Any:
        run = self._bound_run(at)
        if not run.started:
            run.take(self._common)
            while not run.start(1.0):
                pass
            run.give_back(self._common)
            self._keep(at, run)
        return run

    def _between(self, _: float) -> bool:
        self._common.end_gathering()
        return True

    def _after(self, _: float) -> bool:
        self._bound = Bound(*self._common.certificate())
        self._common.adopt()
        self._look()
        self._true_gap = self._bound.gap
        return True

    @property
    def stalled(self) -> bool:
        """Whether no block of any partition moves any more."""
        return bool((self._idle >= 2).all())

    @property
    def updates(self) -> int:
        return int(self._counts["updates"]) + (self._run.updates if self._run is not None else 0)

    @property
    def oracle_calls(self) -> int:
        return int(self._counts["oracle_calls"]) + (self._run.oracle_calls if self._run is not None else 0)

    @property
    def _holder(self) -> Any:
        return self._common if self._run is None else self._run

    def record(self) -> dict[str, float]:
        now = dict(self._counts)
        updates, _, evaluations, steps = (now[name] - self._marks[name] for name in now)
        written = self._states.written if self._states is not None else 0
        self._marks, before, self._written = now, self._written, written
        return {
            "dual": self._dual,
            "gap_estimate": self._gap,
            "true_gap": self._true_gap,
            "mean_step": steps / max(updates, 1),
            self.evaluations_column: evaluations / max(updates, 1),
            "bytes_written": float(written - before),
        }

    @property
    def note(self) -> str:
        if self._states is None:
            return ""
        where = f"in a file in {self.field.data.path}, since they do not fit" if self._states.on_disk else "in memory"
        precision = "float32" if self._single else "float64"
        count = len(self._parts)
        one = "The one partition was in memory" if count == 1 else f"Of {count} partitions one was in memory at a time"
        return f"{one}; the duals were kept {where}, in {precision}"

    @property
    def remark(self) -> str:
        from dualfield.solvers.dual import FINEST

        return f"duals in float32 end at gaps of {FINEST:g}; memory='float64' goes on" if self._single else ""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Refused: the state may not fit into memory."""
        raise TypeError(
            f"the state of a run on partitions cannot be saved; go on with it in this process, by "
            f"solve(..., state=solution.state), or keep the weights. ({self.field.data.path})"
        )

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> Run:
        """Refused, as :meth:`arrays` is."""
        raise TypeError("the state of a run on partitions cannot be restored from arrays; start afresh.")
