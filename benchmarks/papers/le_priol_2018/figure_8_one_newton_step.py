"""Le Priol et al. 2018, Figure 8 and section 6.2: one Newton step in place of the line search.

python benchmarks/papers/le_priol_2018/figure_8_one_newton_step.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Curve, Optimum
from benchmarks.papers.claims import Claim
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.figures import SEQUENCE, plot
from benchmarks.papers.harness import AXES, DISTANCE, Figure, Shown, main
from benchmarks.papers.methods import FEWER_PASSES, QUICK_PASSES, sdca

SEARCHES = {"line search to 0.001": sdca("gap"), "one Newton step": sdca("gap", step="newton-1")}
UNAFFECTED = ("ocr", "conll", "pos")


class OneNewtonStep(Figure):
    name = "le_priol_2018_figure_8"
    title = "Le Priol et al. 2018, Figure 8: SDCA-GAP with one Newton step"

    def cells(self, quick: bool) -> list[Cell]:
        cells: list[Cell] = []
        for dataset in ("ner", "ocr", "conll", "pos"):
            passes = QUICK_PASSES if quick else FEWER_PASSES[dataset]
            cells += [Optimum(dataset), *(Curve(dataset, solver, passes) for solver in SEARCHES.values())]
        return cells

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(4, rows=2)
        for axes, (name, dataset) in zip(panels, DATASETS.items(), strict=True):
            for (label, solver), style in zip(SEARCHES.items(), (SEQUENCE[3], SEQUENCE[1]), strict=True):
                run = shown.solver(solver, name, label)
                if run is not None:
                    plot(axes, run.column("updates", each_block=True), run.suboptimality, style, label)
            axes.set(xlabel=AXES["updates"], ylabel=DISTANCE, title=dataset.title)
        shown.save(figure)

    def judge(self, shown: Shown) -> list[Claim]:
        unaffected = Claim("With one Newton step convergence is not affected on OCR, CONLL and POS", "6.2")
        for dataset in UNAFFECTED:
            full, one = (shown.solver(solver, dataset, label) for label, solver in SEARCHES.items())
            unaffected.similar(full, one)
        fails = Claim("but it fails on NER", "6.2, Figure 8")
        fails.reaches(shown.solver(SEARCHES["one Newton step"], "ner", "one Newton step"), 1e-3, expected=False)
        return [unaffected, fails]


if __name__ == "__main__":
    main(OneNewtonStep())
