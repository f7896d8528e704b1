"""Solvers side by side on one task: what each needs to come within given levels of the optimum.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/compare.py ocr --solvers "SDCA()" "OEG()" "SAG(sampling='nus*')" --levels 1e-2 1e-4

The solvers run one after the other in this process, on the same field, with ``tol=0``, so that nothing is confirmed on
the way. After each pass a callback evaluates the objective; the clock leaves callbacks out. A level counts as reached
at the first evaluation where the objective is at most ``(1 + level) · P*``. P* is the *dual* value of a reference run
that is certified to 1e-8 (1e-5 for l2 below 0.1, where every solver is slow): a lower bound on the optimum, so no
solver can profit from it.

``--json FILE`` also writes everything; if FILE is there already, its optima are used again and its runs replaced.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
import dualfield
from benchmarks.memory import peak, reset_peak
from benchmarks.tasks import TASKS
from dualfield import solve
from dualfield.driver import Progress
from dualfield.fields import Field
from dualfield.solvers import BY_CLASS_NAME, LBFGS, Solver

LEVELS = (1e-2, 1e-4, 1e-6)
REFERENCE_PASSES = 20_000
WEAK = 0.1  # below this l2 the dual methods are slow, and L-BFGS gives the reference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=tuple(TASKS))
    parser.add_argument("--solvers", nargs="+", type=solver_argument, required=True, metavar="SOLVER")
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--levels", nargs="+", type=float, default=LEVELS)
    add_limits(parser)
    parser.add_argument("--optimum", type=float, help="P*, if known: no reference run")
    parser.add_argument("--reference", type=solver_argument, help="the solver of the reference run")
    parser.add_argument("--reference-tol", type=float, help="to what P* is certified")
    arguments = parser.parse_args()
    report = Report(arguments.json)
    problem, _ = TASKS[arguments.task](arguments.l2)
    optimum = arguments.optimum
    if optimum is None:
        optimum = report.optimum(arguments.task, problem, arguments.reference, arguments.reference_tol)
    traces = [
        report.keep(
            trace(
                arguments.task,
                problem,
                solver,
                optimum,
                until=min(arguments.levels),
                max_passes=arguments.max_passes,
                max_seconds=arguments.max_seconds,
                seed=arguments.seed,
            )
        )
        for solver in arguments.solvers
    ]
    print_table(traces, arguments.levels)
    report.end()


def add_limits(parser: argparse.ArgumentParser) -> None:
    """The options that every comparison of solvers has."""
    parser.add_argument("--max-passes", type=int, default=200, help="of each solver (default: %(default)s)")
    parser.add_argument("--max-seconds", type=float, default=math.inf, help="CPU seconds of each solver")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the results here; optima found here are used again")


# ---- solvers as text --------------------------------------------------------------------------------------


def parse_solver(text: str) -> Solver:
    """The solver that an expression such as ``SAG(sampling='nus*')`` stands for; nothing else is evaluated.

    Raises
    ------
    ValueError
        If it is not the call of a solver of ``dualfield.solvers`` with literal keyword arguments.
    """
    rule = f"{text!r} is not a solver; expected one of {', '.join(BY_CLASS_NAME)} with literal keyword arguments, "
    rule += "such as SAG(sampling='nus*')."
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.args:
            raise ValueError(rule)
        if call.func.id not in BY_CLASS_NAME or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError(rule)
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except SyntaxError:
        raise ValueError(rule) from None
    try:
        return BY_CLASS_NAME[call.func.id](**options)
    except TypeError as error:
        raise ValueError(f"{text}: {error}") from None


def solver_argument(text: str) -> Solver:
    try:
        return parse_solver(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def spelled(solver: Solver) -> str:
    """An expression for a solver: its name, its sampling, and the parameters that differ from the defaults."""
    options = [
        f"{parameter.name}={getattr(solver, parameter.name)!r}"
        for parameter in fields(solver)  # every solver is a dataclass
        if parameter.name == "sampling" or getattr(solver, parameter.name) != parameter.default
    ]
    return f"{solver.name}({', '.join(options)})"


# ---- measuring --------------------------------------------------------------------------------------------


@dataclass
class Trace:
    """One run of one solver: its curve, one entry per evaluation, and what it took."""

    task: str
    l2: float
    solver: str
    n_blocks: int
    optimum: float
    curve: dict[str, list[float]] = field(default_factory=dict)
    status: str = ""
    passes: int = 0
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)  # the solver's own columns, one entry a pass

    def first_within(self, level: float) -> dict[str, float] | None:
        """The first evaluation within ``level`` of the optimum; None if there is none."""
        for index, suboptimality in enumerate(self.curve.get("suboptimality", [])):
            if suboptimality <= level:
                return {column: values[index] for column, values in self.curve.items()}
        return None

    def best(self) -> float:
        """The smallest suboptimality seen."""
        return min(self.curve.get("suboptimality", []), default=math.inf)


def trace(
    task: str,
    problem: Field,
    solver: Solver,
    optimum: float,
    *,
    until: float = 0.0,
    max_passes: int = 200,
    max_seconds: float = math.inf,
    seed: int = 0,
    callback_every: int | None = None,
    measure: Callable[[Progress], dict[str, float]] | None = None,
    passes_to_look_at: Callable[[int], bool] | None = None,
    quiet: bool = False,
) -> Trace:
    """Run a solver until its objective is within ``until`` of the optimum, and record how it got there.

    ``callback_every`` evaluates within passes too, after every so many updates; ``measure`` adds columns to the curve;
    ``passes_to_look_at`` says after which passes to evaluate, if not after each (and the last);
    ``quiet`` says nothing and leaves out the memory, whose peaks take time to reset.
    """
    if not quiet:
        print(f"  {spelled(solver)} on {task} ...", file=sys.stderr, flush=True)
    run = Trace(task, problem.l2, spelled(solver), problem.n_blocks, optimum)
    level = 0 if quiet else reset_peak()

    def evaluate(progress: Progress) -> bool:
        if passes_to_look_at is not None and progress.passes < max_passes and not passes_to_look_at(progress.passes):
            return progress.cpu_seconds > max_seconds
        if not quiet:
            run.peak_memory = max(run.peak_memory, peak() - level)  # without what evaluating needs
        primal = progress.primal()
        row = {
            "passes": progress.passes,
            "updates": progress.updates,
            "oracle_calls": progress.run.oracle_calls,
            "cpu_seconds": progress.cpu_seconds,
            "primal": primal,
            "suboptimality": (primal - optimum) / abs(optimum) if math.isfinite(primal) else math.inf,
            **(measure(progress) if measure else {}),
        }
        for column, value in row.items():
            run.curve.setdefault(column, []).append(value)
        run.passes, run.cpu_seconds = progress.passes, progress.cpu_seconds
        if not quiet:
            reset_peak()
        return row["suboptimality"] <= until or progress.cpu_seconds > max_seconds

    solution = solve(
        problem,
        solver,
        tol=0.0,
        max_passes=max_passes,
        callbacks=[evaluate],
        callback_every=callback_every,
        random_state=seed,
    )
    run.status = solution.status
    run.history = {name: values.tolist() for name, values in solution.history.items()}
    del solution
    reset_peak()  # the state of the run goes back to the system before the next one starts
    return run


class Report:
    """What is known so far: the optima, and the runs; kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.optima: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self.optima = json.loads(path.read_text())["optima"]
        self.runs: list[Trace] = []
        self.load_before = os.getloadavg()
        print(
            f"load before: {self.load_before[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}; "
            f"{', '.join(f'{name} {version}' for name, version in versions().items())}",
            flush=True,
        )

    def optimum(self, task: str, problem: Field, reference: Solver | None = None, tol: float | None = None) -> float:
        """A certified lower bound on the optimum, from the file or from a run."""
        key = f"{task}, l2 = {problem.l2:g}, {problem.n_blocks} blocks, {problem.dimension} weights"
        if key not in self.optima:
            print(f"  P* of {task}, l2 = {problem.l2:g} ...", file=sys.stderr, flush=True)
            weak = problem.l2 < WEAK
            found = solve(
                problem,
                reference or (LBFGS(corrections=30) if weak else "auto"),
                tol=tol or (1e-5 if weak else 1e-8),
                max_passes=REFERENCE_PASSES,
                random_state=0,
            )
            self.optima[key] = {"dual": found.dual, "relative_gap": found.relative_gap, "message": found.message}
            self.save()
        known = self.optima[key]
        print(f"\n{key}\nP* >= {known['dual']:.6f}, certified to {known['relative_gap']:.1e}", flush=True)
        return float(known["dual"])

    def keep(self, run: Trace) -> Trace:
        self.runs.append(run)
        self.save()
        return run

    def save(self) -> None:
        if self.path is not None:
            content = {
                "versions": versions(),
                "platform": platform.platform(),
                "load": [self.load_before, os.getloadavg()],
                "optima": self.optima,
                "runs": [asdict(run) for run in self.runs],
            }
            self.path.write_text(json.dumps(content, indent=1))

    def end(self) -> None:
        self.save()
        print(f"\nload after: {os.getloadavg()[0]:.2f}", flush=True)


def versions() -> dict[str, str]:
    return {"dualfield": dualfield.__version__, "numpy": np.__version__, "python": platform.python_version()}


# ---- the table --------------------------------------------------------------------------------------------


def print_table(traces: Iterable[Trace], levels: Iterable[float]) -> None:
    """One line for each solver and level, smallest level last."""
    traces = list(traces)
    width = max(len("solver"), *(len(run.solver) for run in traces))
    print(
        f"\n{'solver':{width}}  {'s/pass':>7}  {'peak MB':>7}  {'level':>6}"
        f"  {'passes':>6}  {'updates':>11}  {'oracle calls':>12}  {'CPU s':>8}"
    )
    for run in traces:
        start = f"{run.solver:{width}}  {run.cpu_seconds / max(run.passes, 1):>7.3f}  {run.peak_memory / 1e6:>7.0f}"
        for level in sorted(levels, reverse=True):
            print(f"{start}  {level:>6.0e}  {_cells(run, level)}", flush=True)
            start = " " * len(start)


def _cells(run: Trace, level: float) -> str:
    found = run.first_within(level)
    if found is None:
        return f"not reached in {run.passes} passes, {run.cpu_seconds:.1f} s (best {run.best():.1e}, {run.status})"
    return (
        f"{found['passes']:>6.0f}  {found['updates']:>11,.0f}  {found['oracle_calls']:>12,.0f}"
        f"  {found['cpu_seconds']:>8.2f}"
    )


if __name__ == "__main__":
    main()
