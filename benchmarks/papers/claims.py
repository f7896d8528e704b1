"""How a claim about the order of methods is judged, by fixed rules, from results.

* *fewer*: to a level of relative suboptimality, A needs fewer updates (or oracle calls) than B, which needs 5 % more at
  least;
* *similar*: the two numbers differ by a factor of at most 1.5;
* *reaches*: a run comes within a level in the passes it was given, or fails to.

Between evaluations the logarithm of the suboptimality is taken as linear. A run that has not reached a
level needs more than it was given; where that does not settle the matter there is no answer. Where a run was repeated
with other seeds, an answer is one that all of them give. The verdict: "holds" if every answer is yes, "does not hold"
if none is, "holds partly" otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from statistics import median_high

import numpy as np

from benchmarks.papers.results import Row

__all__ = ["ORACLE_CALLS", "UPDATES", "Claim", "Run", "needed"]

LEVELS = (1e-2, 1e-3, 1e-4, 1e-6)
MARGIN, SIMILAR = 1.05, 1.5
UPDATES, ORACLE_CALLS = "updates", "oracle_calls"


@dataclass(frozen=True)
class Run:
    """A curve with its name and the optimum that it is measured against; ``others`` are those of other seeds."""

    name: str
    task: str
    result: Row
    optimum: float
    others: tuple[Row, ...] = ()

    @property
    def seeds(self) -> list[Run]:
        """The runs of all seeds, this one first."""
        return [replace(self, result=result, others=()) for result in (self.result, *self.others)]

    @property
    def suboptimality(self) -> np.ndarray:
        """(P − P*)/P* at each evaluation; never below 1e-9, what rounding leaves."""
        primal = np.array(self.result["curve"]["primal"], dtype=float)
        return np.where(np.isfinite(primal), np.maximum((primal - self.optimum) / abs(self.optimum), 1e-9), np.inf)

    def column(self, name: str, each_block: bool = False) -> np.ndarray:
        """A column of the curve; in multiples of the number of blocks if asked for."""
        values = np.array(self.result["curve"][name], dtype=float)
        return values / self.result["blocks"] if each_block else values

    @property
    def best(self) -> float:
        """The smallest suboptimality seen."""
        return float(self.suboptimality.min())


def needed(run: Run, level: float, unit: str = UPDATES) -> float | None:
    """How many updates or oracle calls, in multiples of n, until within a level; None if it was not reached.

    Of several seeds, the median.
    """
    found = [_needed(one, level, unit) for one in run.seeds]
    middle = median_high(math.inf if count is None else count for count in found)
    return middle if middle < math.inf else None


def _needed(run: Run, level: float, unit: str) -> float | None:
    values, counts = run.suboptimality, run.column(unit, each_block=True)
    below = np.flatnonzero(values <= level)
    if not len(below):
        return None
    k = int(below[0])
    if k == 0 or not math.isfinite(values[k - 1]):
        return float(counts[k])
    share = math.log(values[k - 1] / level) / math.log(values[k - 1] / values[k])
    return float(counts[k - 1] + share * (counts[k] - counts[k - 1]))


@dataclass
class Claim:
    """A sentence of a paper, and the answers found; ``where`` is its section or figure."""

    text: str
    where: str
    answers: list[tuple[str, bool | None]] = field(default_factory=list)

    def answer(self, text: str, yes: bool | None) -> None:
        self.answers.append((text, yes))

    def fewer(self, a: Run | None, b: Run | None, unit: str = UPDATES, levels: Iterable[float] = LEVELS) -> None:
        """Does A need fewer than B?"""
        self._compare("fewer", a, b, unit, levels, MARGIN, math.inf)

    def similar(self, a: Run | None, b: Run | None, unit: str = UPDATES, levels: Iterable[float] = LEVELS) -> None:
        """Do A and B need about as many?"""
        self._compare("about as many", a, b, unit, levels, 1 / SIMILAR, SIMILAR)

    def reaches(self, run: Run | None, level: float, expected: bool = True) -> None:
        """Does a run come within a level, or fail to, if that is expected?"""
        if run is None:
            return
        found = {one.best <= level for one in run.seeds}
        how = "reaches" if found == {True} else "does not reach" if found == {False} else "with some seeds reaches"
        best = ", ".join(f"{one.best:.1e}" for one in run.seeds)
        self.answer(
            f"{run.task}: {run.name} {how} {level:g}: best {best} in {run.result['passes']} passes",
            found == {expected} if len(found) == 1 else None,
        )

    def _compare(
        self, what: str, a: Run | None, b: Run | None, unit: str, levels: Iterable[float], least: float, most: float
    ) -> None:
        if a is None or b is None:
            return
        for level in levels:
            (low_a, high_a), (low_b, high_b) = _range(a, level, unit), _range(b, level, unit)
            if math.isinf(high_a) and math.isinf(high_b):
                continue  # neither reached it: nothing to compare
            low = low_b / high_a if high_a < math.inf else 0.0
            high = high_b / low_a if low_a > 0 else math.inf
            inside, outside = least <= low and high <= most, high < least or low > most
            text = f"{a.task}, to {level:g}: {a.name} {_shown(a, level, unit)} n {unit.replace('_', ' ')}, "
            text += f"{b.name} {_shown(b, level, unit)} n ({what}?)"
            self.answer(text, inside if inside != outside else None)

    @property
    def verdict(self) -> str:
        settled = [yes for _, yes in self.answers if yes is not None]
        if not settled:
            return "not settled" if self.answers else "not measured"
        word = "holds" if all(settled) else "holds partly" if any(settled) else "does not hold"
        left = len(self.answers) - len(settled)
        return f"{word} ({sum(settled)} of {len(settled)} answers are yes" + (f", {left} not settled)" if left else ")")

    def lines(self) -> list[str]:
        """The claim, its answers and the verdict as text."""
        shown = {True: "yes", False: "no", None: "not settled"}
        return [
            f"{self.where}: {self.text}",
            *(f"    {text}: {shown[yes]}" for text, yes in self.answers),
            f"  {self.verdict}",
        ]


def _range(run: Run, level: float, unit: str) -> tuple[float, float]:
    """The least and the most that a run may need to a level, over its seeds."""
    counts = [_needed(one, level, unit) for one in run.seeds]
    given = [float(one.column(unit, each_block=True)[-1]) for one in run.seeds]
    least = min(most if count is None else count for count, most in zip(counts, given, strict=True))
    return least, max(math.inf if count is None else count for count in counts)


def _shown(run: Run, level: float, unit: str) -> str:
    found, (least, most) = needed(run, level, unit), _range(run, level, unit)
    if found is None:
        return f"> {run.column(unit, each_block=True)[-1]:.0f}"
    if len(run.seeds) == 1:
        return f"{found:.1f}"
    return f"{found:.1f} ({least:.1f} to {most:.1f})" if most < math.inf else f"{found:.1f} ({least:.1f} or more)"
