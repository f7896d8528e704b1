"""What is measured: a cell is one measurement on one data set, known by its key.

* :class:`Optimum`: a certified lower bound on the optimum P* of a task.
* :class:`Curve`: a solver's run, looked at after each of the first twelve passes, then more and more seldom: objective,
  test error, gap, updates, oracle calls.
* :class:`Tuned`: the same with the step size among powers of ten that ends lowest, as Schmidt et al. (2015) choose it.
* :class:`Sizes`: what a data set is like.

A cell that another figure has measured already is not measured again, whatever its name there. Curves hold objectives,
not distances from P*, so that a better P* serves old curves too.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.papers.datasets import DATASETS, Dataset, Problem
from benchmarks.papers.results import Results, Row, environment
from benchmarks.solvers.compare import parse_solver, trace
from dualfield import solve
from dualfield.driver import Progress

__all__ = ["Cell", "Curve", "GeneratedCell", "Optimum", "Sizes", "Tuned", "Workbench"]


class Workbench:
    """Data sets, the last of which stays in memory, the results, and the time that is left."""

    def __init__(self, results: Results, quick: bool = False, budget: float = math.inf) -> None:
        self.results, self.quick = results, quick
        self._end = time.monotonic() + budget
        self._loaded: tuple[str, Problem] | None = None

    @property
    def left(self) -> float:
        """Seconds until the budget is spent."""
        return self._end - time.monotonic()

    def problem(self, dataset: str) -> Problem:
        return self.load(DATASETS[dataset])

    def load(self, task: Dataset) -> Problem:
        """A task that need not be one of ``DATASETS``."""
        if self._loaded is None or self._loaded[0] != task.name:
            self._loaded = None
            self._loaded = task.name, task.load(self.quick)
        return self._loaded[1]

    def key(self, cell: Cell) -> Row:
        """The cell's key, with what really stands behind the data set's name."""
        return {**cell.key(), "data": cell.source(self.quick)}

    def known(self, cell: Cell) -> bool:
        row = self.results.get(self.key(cell))
        return row is not None and cell.satisfied_by(row["result"])

    def measure(self, cell: Cell) -> Row:
        """Measure it and write it down."""
        before = environment()
        result = cell.measure(self)
        self.results.put(self.key(cell), result, before | {"load_after": environment()["load"]})
        return result

    def optimum(self, dataset: str, l2: float) -> float:
        """P*, measured now if need be."""
        cell = Optimum(dataset, l2)
        if not self.known(cell):
            self.measure(cell)
        row = self.results.get(self.key(cell))
        assert row is not None
        return float(row["result"]["optimum"])


class Cell(ABC):
    """One measurement; a frozen dataclass whose fields, but for its limits, are its key."""

    kind: ClassVar[str]
    dataset: Any  # the name of one

    @abstractmethod
    def key(self) -> Row:
        """What tells it from other cells."""

    @abstractmethod
    def measure(self, bench: Workbench) -> Row:
        """The result, as plain data."""

    def satisfied_by(self, result: Row) -> bool:
        """Whether an earlier result will do."""
        return not result.get("cut")

    @property
    def task(self) -> Dataset:
        """What stands behind the data set's name."""
        return DATASETS[self.dataset]

    @property
    def slow(self) -> bool:
        """Whether it comes after all others."""
        return self.task.slow

    def source(self, quick: bool) -> str:
        """Where the data come from."""
        return "files" if not quick else "files, cut" if self.task.available else "generated"

    def missing_files(self) -> tuple[str, ...]:
        """The files of the data folder that it cannot do without, if they are not there."""
        return () if self.task.available else self.task.files


class GeneratedCell(Cell):
    """A measurement on generated data, which needs no files; small data in quick mode."""

    @property
    def slow(self) -> bool:
        return False

    def source(self, quick: bool) -> str:
        return "generated, small" if quick else "generated"

    def missing_files(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Optimum(Cell):
    """A lower bound on P*: the dual value of a run certified to 1e-8, or to 1e-5 where l2 < 0.1."""

    dataset: str
    l2: float = 1.0
    kind: ClassVar[str] = "optimum"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "l2": self.l2}

    def measure(self, bench: Workbench) -> Row:
        field = bench.problem(self.dataset).under(self.l2)
        # accelerated OEG, the fastest to a certificate at any l2
        found = solve(field, "auto", tol=_certified(self.l2), max_passes=20_000, random_state=0)
        return {"optimum": found.dual, "relative_gap": found.relative_gap, "blocks": field.n_blocks}

    def __str__(self) -> str:
        return f"{self.dataset}, l2 = {self.l2:g}: P*"


@dataclass(frozen=True)
class Curve(Cell):
    """A solver's run, given as an expression such as ``SAG(sampling='nus*')``; it ends within 1e-7 of P*."""

    dataset: str
    solver: str
    passes: int = 50
    l2: float = 1.0
    seed: int = 0
    kind: ClassVar[str] = "curve"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "solver": self.solver, "l2": self.l2, "seed": self.seed}

    def satisfied_by(self, result: Row) -> bool:
        return super().satisfied_by(result) and (
            result["passes"] >= self.passes or result["status"] in ("reached", "diverged", "stalled")
        )

    def measure(self, bench: Workbench) -> Row:
        optimum = bench.optimum(self.dataset, self.l2)
        return follow(bench, self, self.solver, self.passes, optimum)

    def __str__(self) -> str:
        weak = "" if self.l2 == 1 else f", l2 = {self.l2:g}"
        seed = "" if self.seed == 0 else f", seed {self.seed}"
        return f"{self.dataset}{weak}: {self.solver}, {self.passes} passes{seed}"


@dataclass(frozen=True)
class Tuned(Cell):
    """A run with the step size that ends lowest after ``passes`` passes, among the powers of ten.

    ``solver`` has ``{eta}`` where the step goes. From ``first`` the search goes up by factors of ten while that ends
    lower, or else down.
    """

    dataset: str
    solver: str
    passes: int = 30
    first: float = 0.1
    l2: float = 1.0
    seed: int = 0
    kind: ClassVar[str] = "tuned"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "solver": self.solver, "l2": self.l2, "seed": self.seed}

    def satisfied_by(self, result: Row) -> bool:
        return super().satisfied_by(result) and (result["passes"] >= self.passes or result["status"] == "reached")

    def measure(self, bench: Workbench) -> Row:
        optimum = bench.optimum(self.dataset, self.l2)
        tried: dict[float, Row] = {}

        def end(eta: float) -> float:
            if eta not in tried:
                solver = self.solver.format(eta=f"{eta:g}")
                tried[eta] = follow(bench, self, solver, self.passes, optimum)
            value = tried[eta]["curve"]["primal"][-1]
            return value if math.isfinite(value) and tried[eta]["status"] != "diverged" else math.inf

        step = self.first
        for factor in (10.0, 0.1):
            while step > 1e-9 and not any(row["cut"] for row in tried.values()):
                if end(step * factor) >= end(step) and not (math.isinf(end(step)) and factor < 1):
                    break
                step *= factor
            if step != self.first:
                break
        ends = {f"{eta:g}": end(eta) for eta in sorted(tried)}
        return {**tried[step], "eta": step, "ends": ends, "cut": any(row["cut"] for row in tried.values())}

    def __str__(self) -> str:
        return f"{self.dataset}: {self.solver} at its best step, {self.passes} passes"


@dataclass(frozen=True)
class Sizes(Cell):
    """The numbers of Le Priol et al.'s Table 1, and how far sequences share attributes.

    ``common`` is the mean share of a sequence's attributes that another random sequence has too.
    """

    dataset: str
    kind: ClassVar[str] = "sizes"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset}

    def measure(self, bench: Workbench) -> Row:
        field = bench.problem(self.dataset).field
        X = field.encoded
        n_labels, lengths = len(field.classes), X.lengths
        rows = np.repeat(np.arange(len(X)), np.diff(X.indptr[X.offsets]))
        pairs = np.divmod(np.unique(rows * len(X.vocabulary) + X.indices), len(X.vocabulary))
        distinct = np.bincount(pairs[0], minlength=len(X))
        having = np.bincount(pairs[1], minlength=len(X.vocabulary))
        # A random other sequence has attribute j with probability (n_j − 1)/(n − 1).
        chance = (having - 1) / max(len(X) - 1, 1)
        common = np.bincount(pairs[0], weights=chance[pairs[1]], minlength=len(X)) / np.maximum(distinct, 1)
        return {
            "d": field.dimension,
            "n": field.n_blocks,
            "N": X.n_positions,
            "K": n_labels,
            "A": len(X.vocabulary),
            "a": int(np.diff(X.indptr).max()),
            "GiB": float(8 * n_labels**2 * np.sum(lengths - 1)) / 2**30,
            "attributes_a_position": float(np.mean(np.diff(X.indptr))),
            "attributes_a_sequence": float(np.mean(distinct)),
            "common": float(np.mean(common)),
        }

    def __str__(self) -> str:
        return f"{self.dataset}: sizes"


def _certified(l2: float) -> float:
    """How closely P* is known; below 0.1 more would take too long. Curves end at ten times this."""
    return 1e-8 if l2 >= 0.1 else 1e-5


def follow(bench: Workbench, cell: Any, solver: str, passes: int, optimum: float) -> Row:
    """The run of a solver as columns, one entry an evaluation."""
    problem = bench.problem(cell.dataset)
    field = problem.under(cell.l2)
    close_enough = 10 * _certified(cell.l2)

    def also(progress: Progress) -> dict[str, float]:
        return {
            "dual": progress.dual,
            "gap_estimate": progress.gap_estimate,
            "test_error": problem.test_error(progress.weights()),
        }

    run = trace(
        cell.dataset,
        field,
        parse_solver(solver),
        optimum,
        until=close_enough,
        max_passes=passes,
        max_seconds=bench.left,
        seed=cell.seed,
        measure=also,
        passes_to_look_at=lambda done: done <= 12 or (done <= 40 and done % 2 == 0) or done % 5 == 0,
        quiet=True,
    )
    curve = {name: values for name, values in run.curve.items() if name != "suboptimality"}
    reached = run.best() <= close_enough
    return {
        "blocks": field.n_blocks,
        "passes": run.passes,
        "status": "reached" if reached else run.status,
        "cut": run.status == "stopped" and not reached,
        "curve": curve,
        "history": {
            name: run.history[name]
            for name in ("line_search_evaluations", "line_search_share", "chi", "mean_step")
            if name in run.history
        },
    }
