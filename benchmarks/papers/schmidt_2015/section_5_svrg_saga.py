"""Schmidt et al. 2015, section 5: SVRG, which keeps no gradients, and SAGA, beside SAG.

python benchmarks/papers/schmidt_2015/section_5_svrg_saga.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell
from benchmarks.papers.claims import ORACLE_CALLS, UPDATES, Claim
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.methods import cells_of

METHODS = ("SAG-NUS*", "SVRG", "SAGA-NUS*", "SAG")
TASKS = ("ocr", "ner")
MOST = 100  # oracle calls / n


class Relatives(Figure):
    name = "schmidt_2015_section_5"
    title = "Schmidt et al. 2015, section 5: SVRG and SAGA beside SAG"

    def cells(self, quick: bool) -> list[Cell]:
        return cells_of(METHODS, TASKS, quick)

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(2)
        for axes, dataset in zip(panels, TASKS, strict=True):
            shown.compare(axes, METHODS, dataset, ORACLE_CALLS, MOST)
        shown.save(figure)

    def judge(self, shown: Shown) -> list[Claim]:
        less = Claim("SVRG is less effective (the paper: with NUS; ours draws uniformly, so SAG does too)", "5")
        double = Claim("and doubles the computational cost of an iteration: 1.8 to 3 oracle calls an update", "5")
        similar = Claim("SAGA gives similar performance", "5")
        for dataset in TASKS:
            less.fewer(shown.run("SAG", dataset), shown.run("SVRG", dataset), ORACLE_CALLS)
            similar.similar(shown.run("SAGA-NUS*", dataset), shown.run("SAG-NUS*", dataset), ORACLE_CALLS)
            run = shown.run("SVRG", dataset)
            if run is not None:
                calls = run.column(ORACLE_CALLS)[-1] / run.column(UPDATES)[-1]
                double.answer(f"{run.task}: {calls:.2f} oracle calls an update", 1.8 <= calls <= 3)
        return [less, double, similar]


if __name__ == "__main__":
    main(Relatives())
