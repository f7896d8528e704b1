"""The frame of all figures and tables: cells are measured into a results file, and all that is shown comes from there.

How to add a figure: write a file such as ``le_priol_2018/figure_2_samplers.py`` with a subclass of :class:`Figure`,

* ``name``, the stem of its files, and ``title``; ``store``, the results file it shares with other figures;
* ``cells(quick)``: what it needs, in order of value, see ``cells.py``; measured ones are not measured again;
* ``draw(shown)``: draw from ``shown.run(method, dataset)`` and the like; return nothing and save with ``shown.save``;
* ``judge(shown)``: the paper's claims with the answers, see ``claims.py``; ``tables(shown)`` for lines of text;

and ``main(TheFigure())`` at its end; list it in ``everything.py``. Data sets are in ``datasets.py``, solvers in
``methods.py``, colours and markers in ``figures.py``. Then

    python benchmarks/papers/le_priol_2018/figure_2_samplers.py [--quick] [--budget SECONDS] [--plot-only]

measures what is missing and writes ``benchmarks/results/NAME.png`` and ``NAME.txt``; with ``--quick``, on cut data and
with few passes, into ``build/papers-quick``. A run that is interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.papers.cells import Cell, Curve, Optimum, Workbench
from benchmarks.papers.claims import Claim, Run
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.figures import STYLES, new_figure, plot, save_figure, shared_legend
from benchmarks.papers.methods import OTHER_SEEDS, QUICK_PASSES, label_with_step, method_cell
from benchmarks.papers.results import Results, Row

__all__ = ["AXES", "DISTANCE", "QUICK_PASSES", "Figure", "Shown", "arguments", "main", "run"]

ROOT = Path(__file__).parents[2]
AXES = {"updates": "parameter updates / n", "oracle_calls": "oracle calls / n (effective passes)"}
DISTANCE = "(P − P*) / P*"


class Figure(ABC):
    """A figure or table of a paper."""

    name: ClassVar[str]
    title: ClassVar[str]
    store: ClassVar[str] = "chains"

    @abstractmethod
    def cells(self, quick: bool) -> list[Cell]:
        """What it shows, the most telling first."""

    def draw(self, shown: Shown) -> None:  # noqa: B027 - a table draws nothing
        """Draw what has been measured."""

    def tables(self, shown: Shown) -> list[str]:
        """What has been measured, as lines of text."""
        return []

    def judge(self, shown: Shown) -> list[Claim]:
        """What the paper says, and what was found."""
        return []


class Shown:
    """The results as a figure sees them: what is missing is None and is left out."""

    def __init__(self, figure: Figure, bench: Workbench, folder: Path) -> None:
        self.figure, self.bench, self.folder = figure, bench, folder
        self.quick = bench.quick

    def result(self, cell: Cell) -> Row | None:
        """The result of a cell, cut short or not."""
        row = self.bench.results.get(self.bench.key(cell))
        return None if row is None else row["result"]

    def curve(self, cell: Cell, name: str) -> Run | None:
        """A curve, with its optimum, and what other seeds gave."""
        result = self.result(cell)
        optimum = self.result(Optimum(cell.dataset, getattr(cell, "l2", 1.0)))
        if result is None or optimum is None:
            return None
        title = DATASETS[cell.dataset].title
        repeated = [replace(cell, seed=seed) for seed in OTHER_SEEDS] if isinstance(cell, Curve) else []
        others = tuple(other for repeat in repeated if (other := self.result(repeat)) is not None)
        return Run(label_with_step(name, result), title, result, float(optimum["optimum"]), others)

    def run(self, method: str, dataset: str, l2: float = 1.0) -> Run | None:
        """The curve of a method of ``methods.py``."""
        return self.curve(method_cell(method, dataset, self.quick, l2), method)

    def solver(self, solver: str, dataset: str, name: str, l2: float = 1.0) -> Run | None:
        """The curve of a solver given as an expression."""
        return self.curve(Curve(dataset, solver, l2=l2), name)

    def compare(self, axes: Any, methods: Iterable[str], dataset: str, unit: str, most: float | None = None) -> None:
        """Draw the suboptimality of methods against updates or oracle calls, up to so many n of them."""
        for method in methods:
            run = self.run(method, dataset)
            if run is not None:
                x = run.column(unit, each_block=True)
                inside = x <= (most or x[-1])
                plot(axes, x[inside], run.suboptimality[inside], STYLES[method], method)
        axes.set(xlabel=AXES[unit], ylabel=DISTANCE, title=DATASETS[dataset].title)

    def panels(self, count: int, rows: int = 1) -> tuple[Any, list[Any]]:
        return new_figure(count, rows)

    def save(self, figure: Any, suffix: str = "", legend: str | None = None) -> None:
        """Write a picture, with one legend below, under a heading if there is one."""
        shared_legend(figure, legend)
        if self.quick:
            stand_ins = any(cell.missing_files() for cell in self.figure.cells(True))
            data = "cut data" if not stand_ins else "generated data in place of the papers'"
            figure.suptitle(f"quick: {data}, few passes", fontsize=7)
        save_figure(figure, self.folder / f"{self.figure.name}{suffix}.png")


def run(figures: Sequence[Figure], options: argparse.Namespace) -> bool:
    """Measure what the figures need, in order, and show them; whether nothing is left to measure."""
    quick = options.quick
    folder = ROOT / "build" / "papers-quick" if quick else ROOT / "benchmarks" / "results"
    benches: dict[str, Workbench] = {}
    for figure in figures:
        if figure.store not in benches:
            path = options.results or folder / f"{figure.store}.jsonl"
            benches[figure.store] = Workbench(Results(path), quick, options.budget)
    todo = [(benches[figure.store], cell) for figure in figures for cell in figure.cells(quick)]
    # one seed of everything before a second of anything
    todo = sorted(dict.fromkeys(todo), key=lambda entry: (getattr(entry[1], "seed", 0), entry[1].slow))
    missing = [(bench, cell) for bench, cell in todo if not bench.known(cell)]
    complete = True
    if not options.plot_only:
        if options.datasets:
            missing = [(bench, cell) for bench, cell in missing if cell.dataset in options.datasets]
        print(f"{len(todo)} cells, {len(missing)} to measure", flush=True)
        complete = _measure(missing, quick)
    for figure in figures:
        _show(figure, Shown(figure, benches[figure.store], folder))
    return complete and all(bench.known(cell) for bench, cell in todo)


def _measure(missing: list[tuple[Workbench, Cell]], quick: bool) -> bool:
    for number, (bench, cell) in enumerate(missing, 1):
        if bench.left <= 0:
            print(f"The budget is spent: {len(missing) - number + 1} cells are left for another run.", flush=True)
            return False
        if not quick and (files := cell.missing_files()):
            sys.exit(
                f"Set DUALFIELD_DATA to the folder of the data sets, with {', '.join(files)} in it; or use --quick."
            )
        if bench.known(cell):  # a P* that a curve has asked for meanwhile
            continue
        print(f"[{number}/{len(missing)}] {cell} ...", end=" ", flush=True)
        start = time.monotonic()
        result = bench.measure(cell)
        print(f"{time.monotonic() - start:.1f} s, {_summary(result)}", flush=True)
    return True


def _summary(result: Row) -> str:
    if "status" in result:
        how = "cut short" if result["cut"] else result["status"]
        return f"{how} after {result['passes']} passes, P = {result['curve']['primal'][-1]:.6g}"
    numbers = [(name, value) for name, value in result.items() if isinstance(value, int | float)]
    return ", ".join(f"{name} {value:.6g}" for name, value in numbers[:3])


def _show(figure: Figure, shown: Shown) -> None:
    if all(shown.result(cell) is None for cell in figure.cells(shown.quick)):
        print(f"\n==== {figure.title}: nothing has been measured")
        return
    shown.folder.mkdir(parents=True, exist_ok=True)
    figure.draw(shown)
    lines = [figure.title, *figure.tables(shown)]
    for claim in figure.judge(shown):
        lines += ["", *claim.lines()]
    text = "\n".join(lines) + "\n"
    print(f"\n==== {text}", flush=True)
    (shown.folder / f"{figure.name}.txt").write_text(text)


def arguments(description: str | None) -> argparse.Namespace:
    """The options that figures have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="cut or generated data and few passes, into build/")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds for all measurements together")
    parser.add_argument("--plot-only", action="store_true", help="measure nothing, show what is known")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="measure on these only")
    parser.add_argument("--results", type=Path, help="another results file")
    return parser.parse_args()


def main(*figures: Figure) -> None:
    """The command line of a figure, or of some that belong together."""
    run(figures, arguments(sys.modules["__main__"].__doc__))
