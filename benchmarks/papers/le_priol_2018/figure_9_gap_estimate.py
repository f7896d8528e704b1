"""Le Priol et al. 2018, Figure 9 and section 6.3: the sum of the recorded gaps against the true duality gap.

python benchmarks/papers/le_priol_2018/figure_9_gap_estimate.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Curve, Optimum
from benchmarks.papers.claims import Claim, Run
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.figures import SEQUENCE
from benchmarks.papers.harness import AXES, Figure, Shown, main
from benchmarks.papers.methods import FEWER_PASSES, QUICK_PASSES, sdca

FRACTIONS = {0.8: sdca("gap"), 1.0: sdca("gap", 1.0), 0.5: sdca("gap", 0.5)}
WEAK = 0.01


class GapEstimate(Figure):
    name = "le_priol_2018_figure_9"
    title = "Le Priol et al. 2018, Figure 9: the estimated duality gap over the true one"

    def cells(self, quick: bool) -> list[Cell]:
        def curve(dataset: str, share: float, l2: float = 1.0) -> Cell:
            return Curve(dataset, FRACTIONS[share], QUICK_PASSES if quick else FEWER_PASSES[dataset], l2)

        first = [cell for name in DATASETS for cell in (Optimum(name), curve(name, 0.8))]
        others = [curve(name, share) for name in ("ner", "ocr") for share in (1.0, 0.5)]
        return [*first, *others, Optimum("ocr", WEAK), curve("ocr", 0.8, WEAK)]

    @staticmethod
    def ratio(run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Updates / n, and the estimate over P − D, as long as the gap is above what rounding leaves."""
        true = run.column("primal") - run.column("dual")
        told = true > 1e-9 * abs(run.optimum)
        return run.column("updates", each_block=True)[told], (run.column("gap_estimate")[told] / true[told])

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(4, rows=2)
        for axes, (name, dataset) in zip(panels, DATASETS.items(), strict=True):
            drawn = [(f"fraction {share:g}", shown.solver(FRACTIONS[share], name, "")) for share in (0.8, 1.0, 0.5)]
            if name == "ocr":
                drawn.append((f"fraction 0.8, l2 = {WEAK:g}", shown.solver(FRACTIONS[0.8], name, "", WEAK)))
            for (label, run), style in zip(drawn, (SEQUENCE[3], SEQUENCE[1], SEQUENCE[2], SEQUENCE[4]), strict=False):
                if run is not None:
                    x, y = self.ratio(run)
                    axes.semilogy(x, y, label=label, markevery=max(1, len(x) // 12), **style)
            axes.set_yticks([1 / 64, 1 / 16, 1 / 4, 1 / 2, 1, 2, 4], ["1/64", "1/16", "1/4", "1/2", "1", "2", "4"])
            axes.axhspan(0.5, 2.0, color="#999999", alpha=0.2, linewidth=0)
            axes.set(xlabel=AXES["updates"], ylabel="estimated gap / true gap", title=dataset.title)
        shown.save(figure)

    def tables(self, shown: Shown) -> list[str]:
        """How uneven the recorded gaps are: by χ² gap sampling may gain on uniform sampling, equation (25)."""
        lines = ["non-uniformity χ(g) of the recorded gaps, fraction 0.8, after 1, 5, 10 passes and at the end"]
        for name in DATASETS:
            run = shown.solver(FRACTIONS[0.8], name, "")
            if run is not None:
                chi = run.result["history"]["chi"]
                at = " ".join(f"{chi[min(k, len(chi)) - 1]:6.2f}" for k in (1, 5, 10))
                lines.append(f"  {name:6s} {at} {chi[-1]:6.2f}")
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        claim = Claim("The estimate always remains within a factor 2 of the true duality gap", "6.3, Figure 9")
        settled = Claim("the same from the third pass on, without the first steep descent", "6.3, Figure 9")
        beyond = Claim("the same at l2 = 0.01, where the paper did not look", "beyond the paper")
        for name, dataset in DATASETS.items():
            for share, solver in FRACTIONS.items():
                run = shown.solver(solver, name, "")
                if run is not None:
                    _, ratios = self.ratio(run)
                    text = f"{dataset.title}, fraction {share:g}: {ratios.min():.2f} to {ratios.max():.2f}"
                    claim.answer(text, within_two(ratios))
                    later = ratios[2:]
                    text = f"{dataset.title}, fraction {share:g}: {later.min():.2f} to {later.max():.2f}"
                    settled.answer(text, within_two(later))
        run = shown.solver(FRACTIONS[0.8], "ocr", "", WEAK)
        if run is not None:
            _, ratios = self.ratio(run)
            text = f"OCR, fraction 0.8: {ratios.min():.3f} to {ratios.max():.2f}"
            beyond.answer(text, within_two(ratios))
        return [claim, settled, beyond]


def within_two(ratios: np.ndarray) -> bool:
    return bool(ratios.min() >= 0.5 and ratios.max() <= 2.0)


if __name__ == "__main__":
    main(GapEstimate())
