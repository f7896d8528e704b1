"""A dual method whose blocks are shared out among ranks; the compiled side is ``core/solvers/parallel/workers.hpp``.

Each rank is one worker. It takes steps on its own sequences and sees their effect at once; what the others do it sees
at the next exchange. A pass has :data:`EXCHANGES` of them for each rank, at most :data:`MOST_EXCHANGES`. Weights that
the ranks meet often are exchanged each time, rarer ones less often, and those that one rank alone has once a pass,
since acceleration looks at all weights. Every rank keeps all weights, and makes the same decisions from the same
numbers.

Steps are damped by up to the number of ranks, as if the penalty were so many times as weak. So the first κ of
acceleration is so many times as large as on one rank, at most :data:`MOST_KAPPA` times: more costs passes on 16.

What is exchanged are changes of weights, in float32 unless the tolerance is below :data:`FINE`. The certificate does
not rest on them: a confirming pass adds up ``v(μ)`` of all ranks afresh from their duals, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.memory import check_memory
from dualfield.solvers.base import Bound
from dualfield.solvers.common_state import CommonStateRun

if TYPE_CHECKING:
    from dualfield.solvers.dual import DualSolver

__all__ = ["EXCHANGES", "FINE", "MOST_EXCHANGES", "MOST_KAPPA", "DistributedRun"]

EXCHANGES, MOST_EXCHANGES = 4, 16  # of a pass: for each rank, and at most
FINE = 1e-6  # tolerances below which changes of weights are exchanged in float64
MOST_KAPPA = 8  # times the first κ of one rank
_OTHER_SEED = 7919  # between the random numbers of two ranks

Arrays = dict[str, npt.NDArray[Any]]


class DistributedRun(CommonStateRun):
    """A dual method at work on one rank of a :class:`~dualfield.fields.DistributedChain`."""

    updates_within_passes: ClassVar[bool] = False

    def __init__(self, solver: DualSolver, field: Field, seed: int, tol: float) -> None:
        if solver.n_jobs not in (None, 1):
            raise ValueError(
                f"n_jobs={solver.n_jobs}: a rank trains on one thread; leave n_jobs out, and start more ranks."
            )
        vectors = (4 if field.l1 > 0 else 2) * 8 + (8 if solver.accelerate else 0) + 8
        what = f"{field.dimension:,} weights and what goes with them, on each rank,"
        check_memory(vectors * field.dimension, what, "have fewer attributes, such as by a larger min_count")
        super().__init__(solver, field, seed, 1)
        self._ranks = self.field.communicator
        self._coarse = tol >= FINE
        self._single = solver.single(self.field.share, tol)
        exchanges = min(EXCHANGES * self._ranks.size, MOST_EXCHANGES)
        seed_of_rank = seed + _OTHER_SEED * self._ranks.rank
        self._run = replace(solver, n_jobs=1).bind(self.field.share, seed_of_rank, self._single)
        if not self._run.join(seed_of_rank, exchanges, self._ranks.size, *self.field.owners()):
            raise TypeError(f"{solver.name} cannot share out the weights of {field.name}; use solver='lbfgs'.")
        self._rounds = 0  # of the pass that have been done
        self._lent = False  # whether the run has the common state
        self._totals = np.zeros(_TOTALS)
        self._marks = np.zeros(_TOTALS)
        self._idle = False
        self._sent = 0

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        if not self._run.started:
            self._start()
        if self._rounds == 0:
            self._begin_pass()
        run = self._run
        run.advance_a_round()
        self._rounds += 1
        changes = run.collect(self._coarse)
        if self._rounds < run.rounds_of_a_pass:
            run.spread(self._ranks.all_reduce(changes))
            return False
        both = self._ranks.all_reduce(np.concatenate([changes, run.collect_private(self._coarse)]))
        run.spread(both[: len(changes)])
        run.spread_private(both[len(changes) :])
        self._take_back()
        self._look()
        return True

    def _start(self) -> None:
        blocks = self._run.updates_per_pass
        radius, count = self._ranks.all_reduce(np.array([self._run.first_radius * blocks, blocks], np.float64))
        self._common.begin(radius / count, min(self._ranks.size, MOST_KAPPA))
        self._start_blocks()

    def _start_blocks(self) -> None:
        self._run.take(self._common)
        while not self._run.start(1.0):
            pass
        self._run.give_back(self._common)

    def _begin_pass(self) -> None:
        if self.passes_done > 0:
            self._common.end_pass(self._totals[_RECORDED], self._totals[_ENTROPIES])
        self._run.take(self._common)
        self._lent = True

    def _take_back(self) -> None:
        """The common state returns from the run, at the end of a pass or when nothing goes on."""
        self._run.give_back(self._common)
        self._lent, self._rounds = False, 0

    def _look(self) -> None:
        run = self._run
        counts = [run.updates, run.oracle_calls, run.evaluations, run.step_total, run.stalled, run.diverged]
        acceleration = self._common.save_acceleration().values()
        self._totals = self._ranks.sums_of_agreed([*run.totals, *counts], [self._common.weights(), *acceleration])
        self._idle = bool(self._totals[_STALLED] == self._ranks.size)
        excess, self._dual = self._common.look(self._totals[_ENTROPIES])
        self._gap, self._true_gap = self._totals[_REMAINING] + excess, math.nan
        self._diverged = bool(self._totals[_DIVERGED] > 0) or not math.isfinite(self._dual)

    def confirm(self, seconds: float) -> bool:
        common, run = self._common, self._run
        if not run.started:
            self._start()
        common.begin_confirmation()
        while not run.gather(seconds, common):
            pass
        common.set_gathered(self._ranks.all_reduce(common.gathered()))
        common.end_gathering()
        while not run.judge(seconds, common):
            pass
        common.judged = self._ranks.sums_of_agreed(common.judged, [common.gathered()]).tolist()
        self._bound = Bound(*common.certificate())
        run.adopt_judged()
        common.adopt()
        self._look()
        self._true_gap = self._bound.gap
        return True

    @property
    def stalled(self) -> bool:
        """Whether no sequence of any rank moves any more."""
        return self._idle

    @property
    def updates(self) -> int:
        return int(self._totals[_UPDATES])

    @property
    def oracle_calls(self) -> int:
        return int(self._totals[_ORACLE_CALLS])

    @property
    def _holder(self) -> Any:
        return self._run if self._lent else self._common

    def record(self) -> dict[str, float]:
        now, before = self._totals, self._marks
        self._marks = now
        updates = max(now[_UPDATES] - before[_UPDATES], 1.0)
        sent, self._sent = self._sent, self._ranks.bytes_given
        return {
            "dual": self._dual,
            "gap_estimate": self._gap,
            "true_gap": self._true_gap,
            "mean_step": float((now[_STEPS] - before[_STEPS]) / updates),
            self.evaluations_column: float((now[_EVALUATIONS] - before[_EVALUATIONS]) / updates),
            "bytes_exchanged": float(self._sent - sent),
        }

    @property
    def note(self) -> str:
        exchanged, size = "float32" if self._coarse else "float64", self._ranks.size
        return f"On {size} ranks, which exchanged changes of weights in {exchanged}" if size > 1 else "On one rank"

    @property
    def remark(self) -> str:
        return "duals in float32 end early under weak penalties; memory='float64' goes on" if self._single else ""

    def duals(self, ranges: Sequence[tuple[int, int]]) -> list[Arrays]:
        """The duals of some of this rank's sequences, of each range from a first to before an end, between rounds."""
        if not self._run.started:
            self._start_blocks()
        state, offsets = self._run.save_blocks(), self._run.dual_offsets()
        return [
            {"duals": state["duals"][offsets[first] : offsets[end]], "etas": state["etas"][first:end]}
            for first, end in ranges
        ]

    def acceleration(self) -> Arrays:
        """What acceleration knows, the same on all ranks; between passes, or when nothing goes on."""
        if self._lent:
            self._take_back()
        found: Arrays = self._common.save_acceleration()
        return found

    def restore(  # type: ignore[override]
        self, saved: Sequence[tuple[int, int, Arrays | None]], acceleration: Arrays | None
    ) -> None:
        """Go on from what :meth:`duals` and :meth:`acceleration` gave, before any work; every rank must call it.

        ``saved`` has the ranges of this rank's sequences with their duals; without them a range is as at the start. The
        weights become those of all duals, found by a confirming pass. Acceleration goes on from the first rank that
        knows some.
        """
        self._start()
        state, offsets = self._run.save_blocks(), self._run.dual_offsets()
        for first, end, arrays in saved:
            if arrays is None:
                continue
            places = {"duals": slice(offsets[first], offsets[end]), "etas": slice(first, end)}
            for name, place in places.items():
                if arrays[name].shape != state[name][place].shape:
                    raise ValueError("the saved duals are of other sequences; train anew.")
                state[name][place] = arrays[name]
        self._run.restore_blocks(state)
        self._restore_acceleration(acceleration)
        self.confirm(1.0)

    def _restore_acceleration(self, own: Arrays | None) -> None:
        known = self._ranks.all_gather(own is not None)
        if not any(known):
            return
        giver = known.index(True)
        mine: Arrays = self._common.save_acceleration()
        if self._ranks.rank == giver:
            assert own is not None
            mine = {name: np.asarray(own[name], array.dtype).reshape(array.shape) for name, array in mine.items()}
        else:
            mine = {name: np.zeros_like(array) for name, array in mine.items()}
        self._common.restore_acceleration({name: self._ranks.all_reduce(array) for name, array in mine.items()})

    def arrays(self) -> Arrays:
        """Refused: a rank has a part of the state."""
        raise TypeError(
            "the state of a run on several ranks is not one array; give a folder for checkpoints, from which a run can "
            "be resumed, or keep the weights."
        )


# What is added up over the ranks at the end of a pass.
_ENTROPIES, _RECORDED, _REMAINING, _UPDATES, _ORACLE_CALLS, _EVALUATIONS, _STEPS, _STALLED, _DIVERGED = range(9)
_TOTALS = 9
