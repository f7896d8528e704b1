"""Le Priol et al. 2018, Figure 7 and section 6.4: the test error of SDCA, OEG and SAG.

python benchmarks/papers/le_priol_2018/figure_7_test_error.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell
from benchmarks.papers.claims import Claim
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.figures import STYLES, plot
from benchmarks.papers.harness import AXES, Figure, Shown, main
from benchmarks.papers.methods import cells_of

METHODS = ("SDCA-GAP", "SDCA", "OEG", "SAG-NUS", "SAG-NUS*")
FEW = 10  # passes
NEAR = 0.001  # of the labels


class TestError(Figure):
    name = "le_priol_2018_figure_7"
    title = "Le Priol et al. 2018, Figure 7: test error"

    def cells(self, quick: bool) -> list[Cell]:
        return cells_of(METHODS, DATASETS, quick)

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(4, rows=2)
        for axes, (name, dataset) in zip(panels, DATASETS.items(), strict=True):
            for method in METHODS:
                run = shown.run(method, name)
                if run is not None:
                    x, y = run.column("updates", each_block=True), 100 * run.column("test_error")
                    inside = x <= 2 * FEW
                    plot(axes, x[inside], y[inside], STYLES[method], method, log=False)
            axes.set(xlabel=AXES["updates"], ylabel="test error, % of the labels", title=dataset.title)
        shown.save(figure)

    def tables(self, shown: Shown) -> list[str]:
        lines = ["test error in %: after 1, 3, 10 passes, at the end; the least along the run, and when"]
        for name in DATASETS:
            for method in METHODS:
                run = shown.run(method, name)
                if run is not None:
                    errors, passes = 100 * run.column("test_error"), run.column("passes")
                    at = " ".join(f"{errors[min(k, len(errors)) - 1]:6.2f}" for k in (1, 3, 10))
                    least = int(np.argmin(errors))
                    lines.append(
                        f"  {name:6s} {method:9s} {at} {errors[-1]:6.2f}   {errors[least]:6.2f} at {passes[least]:.0f}"
                    )
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        soon = Claim(
            f"All methods reach maximum accuracy after a few epochs: within 0.1 % after {FEW}", "6.4, Figure 7"
        )
        par = Claim("In terms of test error SDCA is on par with SAG: within 0.1 % after 5 passes", "6.4")
        better = Claim("and a bit better than OEG: lower after 3 passes", "6.4")
        for name, dataset in DATASETS.items():
            runs = {method: shown.run(method, name) for method in METHODS}
            errors = {method: run.column("test_error") for method, run in runs.items() if run is not None}
            for method, values in errors.items():
                after = values[min(FEW, len(values)) - 1]
                text = f"{dataset.title}: {method} {100 * after:.2f} %, at the end {100 * values[-1]:.2f} %"
                soon.answer(text, bool(after <= values[-1] + NEAR))
            if {"SDCA-GAP", "SAG-NUS*", "OEG"} <= set(errors):
                sdca, sag, oeg = (errors[method] for method in ("SDCA-GAP", "SAG-NUS*", "OEG"))
                at = min(5, len(sdca), len(sag)) - 1
                text = f"{dataset.title}: SDCA-GAP {100 * sdca[at]:.2f} %, SAG-NUS* {100 * sag[at]:.2f} %"
                par.answer(text, bool(sdca[at] <= sag[at] + NEAR))
                text = f"{dataset.title}: SDCA-GAP {100 * sdca[2]:.2f} %, OEG {100 * oeg[2]:.2f} %"
                better.answer(text, bool(sdca[2] < oeg[2]))
        return [soon, par, better]


if __name__ == "__main__":
    main(TestError())
