"""Le Priol et al. 2018, Figures 4 and 6, section 6.4: SDCA against OEG and SAG, by oracle calls and by updates.

python benchmarks/papers/le_priol_2018/figure_4_6_comparison.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell
from benchmarks.papers.claims import ORACLE_CALLS, UPDATES, Claim
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.methods import again, cells_of

METHODS = ("SDCA-GAP", "SAG-NUS*", "SDCA", "OEG", "SAG-NUS", "OEG-GAP")
SPARSE = ("conll", "ner", "pos")
MOST = {"ocr": 100, "conll": 60, "ner": 40, "pos": 50}  # oracle calls / n that the panels show


class Comparison(Figure):
    name = "le_priol_2018_figure_4_6"
    title = "Le Priol et al. 2018, Figures 4 and 6: SDCA, OEG and SAG"

    def cells(self, quick: bool) -> list[Cell]:
        cells = cells_of(METHODS, DATASETS, quick)
        return cells if quick else [*cells, *again(cell for cell in cells if not cell.slow)]

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(8, rows=2)
        for column, dataset in enumerate(DATASETS):
            shown.compare(panels[column], METHODS, dataset, ORACLE_CALLS, MOST[dataset])
            shown.compare(panels[4 + column], METHODS, dataset, UPDATES)
        shown.save(figure)

    def judge(self, shown: Shown) -> list[Claim]:
        run = shown.run
        on_par = Claim("By oracle calls SDCA-GAP is on par with SAG-NUS* on OCR", "6.4")
        on_par.similar(run("SDCA-GAP", "ocr"), run("SAG-NUS*", "ocr"), ORACLE_CALLS)
        faster = Claim("By oracle calls SDCA-GAP is much faster than SAG-NUS* on the sparse data sets", "6.4")
        same = Claim("Uniform SDCA and OEG need roughly the same number of updates", "6.4")
        ahead = Claim("With gap sampling SDCA outperforms OEG by a margin", "6.4")
        dense = Claim("On OCR SDCA and SDCA-GAP need more updates than SAG-NUS", "6.4")
        dense.fewer(run("SAG-NUS", "ocr"), run("SDCA", "ocr"))
        dense.fewer(run("SAG-NUS", "ocr"), run("SDCA-GAP", "ocr"))
        sparse = Claim("On the three sparse data sets SDCA-GAP needs fewer updates than SAG-NUS and SAG-NUS*", "6.4")
        star = Claim("By updates SAG-NUS*, which skips line searches, appears worse than SAG-NUS", "Figure 4")
        comparable = Claim("SDCA with uniform sampling performs comparably with OEG and SAG", "Introduction")
        oeg_gap = Claim("Gap sampling helps OEG too, which the paper leaves open", "7")
        for dataset in DATASETS:
            same.similar(run("SDCA", dataset), run("OEG", dataset))
            ahead.fewer(run("SDCA-GAP", dataset), run("OEG", dataset))
            star.fewer(run("SAG-NUS", dataset), run("SAG-NUS*", dataset))
            comparable.similar(run("SDCA", dataset), run("SAG-NUS", dataset))
            oeg_gap.fewer(run("OEG-GAP", dataset), run("OEG", dataset))
        for dataset in SPARSE:
            faster.fewer(run("SDCA-GAP", dataset), run("SAG-NUS*", dataset), ORACLE_CALLS)
            sparse.fewer(run("SDCA-GAP", dataset), run("SAG-NUS", dataset))
            sparse.fewer(run("SDCA-GAP", dataset), run("SAG-NUS*", dataset))
        return [on_par, faster, same, comparable, ahead, dense, sparse, star, oeg_gap]


if __name__ == "__main__":
    main(Comparison())
