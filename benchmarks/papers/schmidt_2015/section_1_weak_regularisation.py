"""Schmidt et al. 2015, section 1: OEG degrades without strong regularisation.

python benchmarks/papers/schmidt_2015/section_1_weak_regularisation.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Optimum
from benchmarks.papers.claims import ORACLE_CALLS, Claim
from benchmarks.papers.figures import STYLES, plot
from benchmarks.papers.harness import AXES, DISTANCE, Figure, Shown, main
from benchmarks.papers.methods import method_cell
from benchmarks.papers.schmidt_2015.figure_1_training import at

METHODS = ("OEG", "L-BFGS", "OEG-GAP, accelerated", "OEG-GAP", "SAG-NUS*")
STRENGTHS = (1.0, 0.1, 0.01, 0.001)
POINTS = (30, 60)


class WeakRegularisation(Figure):
    name = "schmidt_2015_section_1"
    title = "Schmidt et al. 2015, section 1: OEG under weak regularisation, on OCR"

    def cells(self, quick: bool) -> list[Cell]:
        return [
            cell
            for l2 in (1.0, 0.01, 0.001, 0.1)  # in order of value
            for cell in (Optimum("ocr", l2), *(method_cell(method, "ocr", quick, l2) for method in METHODS))
        ]

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(4, rows=2)
        for axes, l2 in zip(panels, STRENGTHS, strict=True):
            for method in METHODS:
                run = shown.run(method, "ocr", l2)
                if run is not None:
                    x = run.column(ORACLE_CALLS, each_block=True)
                    inside = x <= max(POINTS)
                    plot(axes, x[inside], run.suboptimality[inside], STYLES[method], method)
            axes.set(xlabel=AXES[ORACLE_CALLS], ylabel=DISTANCE, title=f"OCR, l2 = λn = {l2:g}")
        shown.save(figure)

    def reached(self, shown: Shown, method: str, passes: float) -> dict[float, float]:
        runs = {l2: shown.run(method, "ocr", l2) for l2 in STRENGTHS}
        return {l2: at(run, passes) for l2, run in runs.items() if run is not None}

    def tables(self, shown: Shown) -> list[str]:
        lines = [f"(P − P*)/P* after {POINTS[0]} and {POINTS[1]} effective passes"]
        lines.append(f"  {'l2':22s}" + "".join(f"{l2:>20g}" for l2 in STRENGTHS))
        for method in METHODS:
            both = [self.reached(shown, method, point) for point in POINTS]
            cells = ["  ".join(f"{found[l2]:8.1e}" for found in both) if l2 in both[0] else "" for l2 in STRENGTHS]
            lines.append(f"  {method:22s}" + "".join(f"{cell:>20s}" for cell in cells))
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        claim = Claim("The performance of OEG degrades without strong regularisation", "1")
        mended = Claim("The same of OEG with gap sampling and acceleration", "beyond the paper")
        for method, asked in (("OEG", claim), ("OEG-GAP", claim), ("OEG-GAP, accelerated", mended)):
            found, peer = self.reached(shown, method, POINTS[0]), self.reached(shown, "L-BFGS", POINTS[0])
            strengths = [l2 for l2 in STRENGTHS if l2 in found and l2 in peer]
            if len(strengths) < 2:
                continue
            values = [found[l2] for l2 in strengths]
            listed = ", ".join(f"{value:.1e}" for value in values)
            asked.answer(f"{method}: worse with each smaller l2: {listed}", all(a < b for a, b in pairwise(values)))
            ends = (strengths[0], strengths[-1])
            text = ", ".join(f"{found[l2]:.1e} against {peer[l2]:.1e} at l2 = {l2:g}" for l2 in ends)
            behind = found[ends[0]] < peer[ends[0]] and found[ends[1]] > peer[ends[1]]
            asked.answer(f"{method}: ahead of L-BFGS under strong, behind under weak regularisation: {text}", behind)
        return [claim, mended]


if __name__ == "__main__":
    main(WeakRegularisation())
