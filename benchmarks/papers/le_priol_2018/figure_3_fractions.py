"""Le Priol et al. 2018, Figure 3 and section 6.3: SDCA on NER with other fractions of gap sampling, the rest uniform.

python benchmarks/papers/le_priol_2018/figure_3_fractions.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Curve, Optimum
from benchmarks.papers.claims import Claim, Run, needed
from benchmarks.papers.figures import SEQUENCE, plot
from benchmarks.papers.harness import AXES, DISTANCE, Figure, Shown, main
from benchmarks.papers.methods import PASSES, QUICK_PASSES, again, sdca

FRACTIONS = {
    0.8: sdca("gap"),
    0.0: sdca("uniform"),
    1.0: sdca("gap", 1.0),
    0.5: sdca("gap", 0.5),
    0.2: sdca("gap", 0.2),
    0.9: sdca("gap", 0.9),
}
REFRESHED = sdca("gap", refresh_every=10)


class Fractions(Figure):
    name = "le_priol_2018_figure_3"
    title = "Le Priol et al. 2018, Figure 3: fractions of gap sampling on NER"

    def cells(self, quick: bool) -> list[Cell]:
        passes = QUICK_PASSES if quick else PASSES["ner"]
        runs = [Curve("ner", solver, passes) for solver in FRACTIONS.values()]
        return [Optimum("ner"), *runs, Curve("ner", REFRESHED, passes), *([] if quick else again(runs))]

    def runs(self, shown: Shown) -> dict[float, Run]:
        found = {share: shown.solver(FRACTIONS[share], "ner", f"{share:g}") for share in sorted(FRACTIONS)}
        return {share: run for share, run in found.items() if run is not None}

    def draw(self, shown: Shown) -> None:
        figure, (axes,) = shown.panels(1)
        for (share, run), style in zip(self.runs(shown).items(), SEQUENCE, strict=False):
            plot(axes, run.column("updates", each_block=True), run.suboptimality, style, f"{share:g}")
        axes.set(xlabel=AXES["updates"], ylabel=DISTANCE, title="SDCA on NER")
        shown.save(figure, legend="fraction of the draws by gap")

    def judge(self, shown: Shown) -> list[Claim]:
        runs = self.runs(shown)
        more = Claim("Increasing the fraction of non-uniform draws only improves the performance", "6.3, Figure 3")
        marginal = Claim("After 0.8 the improvements are marginal: within 10 %", "6.3")
        for level in (1e-3, 1e-4, 1e-6):
            to = {share: needed(run, level) for share, run in runs.items()}
            values = [value for share, value in to.items() if value is not None and share != 0.9]
            if len(values) < 2:
                continue
            shown_values = ", ".join(f"{share:g}: {value:.1f}" for share, value in to.items() if value is not None)
            # two per cent are noise
            rises = all(b <= 1.02 * a for a, b in pairwise(values))
            more.answer(f"updates / n to {level:g} by fraction: {shown_values}", rises)
            most, last = to.get(0.8), to.get(1.0)
            if most is not None and last is not None:
                marginal.answer(f"to {level:g}: 0.8 needs {most:.1f}, 1 needs {last:.1f}", 0.9 <= last / most <= 1.1)
        refresh = Claim("Updating all gaps every ten passes is not needed", "6.3")
        refresh.similar(runs.get(0.8), shown.solver(REFRESHED, "ner", "0.8, all gaps refreshed every ten passes"))
        return [more, marginal, refresh]


if __name__ == "__main__":
    main(Fractions())
