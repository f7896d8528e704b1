"""Le Priol et al. 2018, section 6.2: how precise the line search must be, and what it costs.

python benchmarks/papers/le_priol_2018/section_6_2_line_search.py [--quick] [--budget SECONDS] [--plot-only]

The share of the time is that of the line search in an update, timed at one update in sixteen; it depends on the
machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Curve, Optimum
from benchmarks.papers.claims import Claim
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.figures import SEQUENCE, plot
from benchmarks.papers.harness import AXES, DISTANCE, Figure, Shown, main
from benchmarks.papers.methods import FEWER_PASSES, QUICK_PASSES, sdca

PRECISIONS = {precision: sdca("gap", subprecision=precision) for precision in (0.001, 0.1, 0.01, 1e-6)}
SHOWN = ("ocr", "ner", "conll", "pos")


class LineSearch(Figure):
    name = "le_priol_2018_section_6_2"
    title = "Le Priol et al. 2018, section 6.2: precision and cost of the line search of SDCA-GAP"

    def cells(self, quick: bool) -> list[Cell]:
        cells: list[Cell] = []
        for dataset in SHOWN:
            passes = QUICK_PASSES if quick else FEWER_PASSES[dataset]
            # The largest task takes long, and one more precision is enough there.
            chosen = [PRECISIONS[p] for p in ((0.001, 0.01) if dataset == "pos" else PRECISIONS)]
            cells += [Optimum(dataset), *(Curve(dataset, solver, passes) for solver in chosen)]
        return cells

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(4, rows=2)
        for axes, (name, dataset) in zip(panels, DATASETS.items(), strict=True):
            for precision, style in zip(sorted(PRECISIONS, reverse=True), SEQUENCE, strict=False):
                run = shown.solver(PRECISIONS[precision], name, "")
                if run is not None:
                    x = run.column("updates", each_block=True)
                    plot(axes, x, run.suboptimality, style, f"{precision:g}")
            axes.set(xlabel=AXES["updates"], ylabel=DISTANCE, title=dataset.title)
        shown.save(figure, legend="sub-precision")

    def tables(self, shown: Shown) -> list[str]:
        lines = ["evaluations of the line search an update / share of the time of an update, means over the run"]
        for name in DATASETS:
            for precision in sorted(PRECISIONS, reverse=True):
                run = shown.solver(PRECISIONS[precision], name, "")
                if run is not None:
                    evaluations, share = self.cost(run.result["history"])
                    lines.append(f"  {name:6s} {precision:<8g} {evaluations:5.2f}   {100 * share:5.1f} %")
        return lines

    @staticmethod
    def cost(history: dict[str, list[float]]) -> tuple[float, float]:
        share = np.array(history["line_search_share"], dtype=float)
        return float(np.mean(history["line_search_evaluations"])), float(np.nanmean(share))

    def judge(self, shown: Shown) -> list[Claim]:
        same = Claim("With a sub-precision of 0.01 or less SDCA converges with the same rate", "6.2")
        two = Claim("Reaching 0.01 or 0.001 takes 2 iterations on average (evaluations here, 1.5 to 3.5)", "6.2")
        third = Claim("These take about 30 % of the running time: between 20 and 40 %", "6.2")
        for name, dataset in DATASETS.items():
            runs = {p: shown.solver(solver, name, f"{p:g}") for p, solver in PRECISIONS.items()}
            same.similar(runs[0.01], runs[0.001])
            same.similar(runs[0.01], runs[1e-6])
            for precision in (0.01, 0.001):
                run = runs[precision]
                if run is not None:
                    evaluations, share = self.cost(run.result["history"])
                    place = f"{dataset.title}, {precision:g}"
                    two.answer(f"{place}: {evaluations:.2f}", 1.5 <= evaluations <= 3.5)
                    third.answer(f"{place}: {100 * share:.0f} %", 0.2 <= share <= 0.4)
        return [same, two, third]


if __name__ == "__main__":
    main(LineSearch())
