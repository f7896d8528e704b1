"""Le Priol et al. 2018, section 4: how much the start of the marginals matters to SDCA.

python benchmarks/papers/le_priol_2018/section_4_start.py [--quick] [--budget SECONDS] [--plot-only]

Equation (21) mixes ε of the uniform distribution into the truth; ε = "auto" is the one of largest dual value.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Curve, Optimum
from benchmarks.papers.claims import Claim, Run, needed
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.figures import SEQUENCE, plot
from benchmarks.papers.harness import AXES, DISTANCE, Figure, Shown, main
from benchmarks.papers.methods import QUICK_PASSES, sdca

STARTS = {
    "(21), ε chosen": sdca("gap"),
    "uniform": sdca("gap", init="uniform"),
    "(21), ε = 0.1": sdca("gap", epsilon=0.1),
    "(21), ε = 1e-6": sdca("gap", epsilon=1e-6),
}
TASKS = ("ocr", "ner")
LEVEL = 1e-3


class Start(Figure):
    name = "le_priol_2018_section_4"
    title = "Le Priol et al. 2018, section 4: starts of SDCA-GAP"

    def cells(self, quick: bool) -> list[Cell]:
        passes = QUICK_PASSES if quick else 40
        cells: list[Cell] = []
        for dataset in TASKS:
            cells += [Optimum(dataset), *(Curve(dataset, solver, passes) for solver in STARTS.values())]
        return cells

    def runs(self, shown: Shown, dataset: str) -> dict[str, Run]:
        found = {name: shown.solver(solver, dataset, name) for name, solver in STARTS.items()}
        return {name: run for name, run in found.items() if run is not None}

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(len(TASKS))
        for axes, dataset in zip(panels, TASKS, strict=True):
            for (name, run), style in zip(self.runs(shown, dataset).items(), reversed(SEQUENCE[:4]), strict=False):
                x = run.column("updates", each_block=True)
                inside = x <= 40
                plot(axes, x[inside], run.suboptimality[inside], style, name)
            axes.set(xlabel=AXES["updates"], ylabel=DISTANCE, title=DATASETS[dataset].title)
        shown.save(figure, legend="start")

    def judge(self, shown: Shown) -> list[Claim]:
        claim = Claim("The initialisation can significantly influence the performance: by half and more", "4")
        for dataset in TASKS:
            to = {name: needed(run, LEVEL) for name, run in self.runs(shown, dataset).items()}
            reached = {name: value for name, value in to.items() if value is not None}
            if len(reached) > 1:
                listed = ", ".join(f"{name} {value:.1f}" for name, value in reached.items())
                failed = [name for name, value in to.items() if value is None]
                listed += "".join(f", {name} not reached" for name in failed)
                spread = max(reached.values()) / min(reached.values())
                text = f"{DATASETS[dataset].title}, updates / n to {LEVEL:g}: {listed}"
                claim.answer(text, bool(failed) or spread >= 1.5)
        return [claim]


if __name__ == "__main__":
    main(Start())
