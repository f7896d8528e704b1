"""Le Priol et al. 2018, Figure 2 and section 6.3: sampling schemes of SDCA on OCR, 80 % of the draws by the scheme.

python benchmarks/papers/le_priol_2018/figure_2_samplers.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Curve, Optimum
from benchmarks.papers.claims import Claim, Run
from benchmarks.papers.figures import STYLES, plot
from benchmarks.papers.harness import AXES, DISTANCE, Figure, Shown, main
from benchmarks.papers.methods import PASSES, QUICK_PASSES, again, sdca

SCHEMES = {
    "gap": sdca("gap"),
    "uniform": sdca("uniform"),
    "importance": sdca("importance"),
    "max": sdca("max"),
    "gap × importance": sdca("gap*importance"),
}
REFRESHED = "SDCA(sampling='max', permutation_every=0, refresh_every=10, subprecision=0.001, accelerate=False)"


class Samplers(Figure):
    name = "le_priol_2018_figure_2"
    title = "Le Priol et al. 2018, Figure 2: sampling schemes of SDCA on OCR"

    def cells(self, quick: bool) -> list[Cell]:
        passes = QUICK_PASSES if quick else PASSES["ocr"]
        runs = [Curve("ocr", solver, passes) for solver in SCHEMES.values()]
        return [Optimum("ocr"), *runs, Curve("ocr", REFRESHED, passes), *([] if quick else again(runs))]

    def draw(self, shown: Shown) -> None:
        figure, (axes,) = shown.panels(1)
        for name, run in self.runs(shown).items():
            plot(axes, run.column("updates", each_block=True), run.suboptimality, STYLES[name], name)
        axes.set(xlabel=AXES["updates"], ylabel=DISTANCE, title="SDCA on OCR")
        shown.save(figure)

    def runs(self, shown: Shown) -> dict[str, Run]:
        found = {name: shown.solver(solver, "ocr", name) for name, solver in SCHEMES.items()}
        return {name: run for name, run in found.items() if run is not None}

    def judge(self, shown: Shown) -> list[Claim]:
        runs = self.runs(shown)
        gap, uniform, importance = (runs.get(name) for name in ("gap", "uniform", "importance"))
        best = Claim("Gap sampling gives the best performance", "6.3, Figure 2")
        for name in ("uniform", "importance", "gap × importance", "max"):
            best.fewer(gap, runs.get(name))
        worse = Claim("Importance performs worse than Uniform", "6.3")
        worse.fewer(uniform, importance)
        product = Claim("Gap × importance performs worse than Gap", "6.3")
        product.fewer(gap, runs.get("gap × importance"))
        fails = Claim("Max sampling fails to converge: it is not robust to stale gaps", "6.3")
        fails.reaches(runs.get("max"), 1e-4, expected=False)
        stale = Claim("Stale gaps are why: with all gaps refreshed every ten passes Max comes closer", "5.3, 6.3")
        refreshed, stuck = shown.solver(REFRESHED, "ocr", "max, refreshed"), runs.get("max")
        if refreshed is not None and stuck is not None:
            text = f"OCR: best {refreshed.best:.1e} refreshed, {stuck.best:.1e} not (ten times closer?)"
            stale.answer(text, 10 * refreshed.best <= stuck.best)
        return [best, worse, product, fails, stale]


if __name__ == "__main__":
    main(Samplers())
