"""Le Priol et al. 2018, Table 1: the data sets, theirs and ours.

python benchmarks/papers/le_priol_2018/table_1_datasets.py [--quick] [--budget SECONDS] [--plot-only]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Sizes
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.harness import Figure, Shown, main

ROWS = {
    "d": "dimension of the weights",
    "n": "sequences",
    "N": "positions",
    "K": "labels",
    "A": "attributes",
    "a": "most attributes of a position",
    "GiB": "pairwise marginals, GiB",
}


class Datasets(Figure):
    name = "le_priol_2018_table_1"
    title = "Le Priol et al. 2018, Table 1: the data sets, the paper's / ours"

    def cells(self, quick: bool) -> list[Cell]:
        return [Sizes(name) for name in DATASETS]

    def tables(self, shown: Shown) -> list[str]:
        found = {name: shown.result(Sizes(name)) for name in DATASETS}
        lines = [f"{'':34s}" + "".join(f"{dataset.title[:22]:>26s}" for dataset in DATASETS.values())]
        for row, text in ROWS.items():
            cells = []
            for name, dataset in DATASETS.items():
                sizes = found[name]
                ours = "" if sizes is None else f"{sizes[row]:,.4g}" if row == "GiB" else f"{sizes[row]:,.0f}"
                cells.append(f"{dataset.published[row]:,.7g} / {ours}")
            lines.append(f"{row:4s}{text:30s}" + "".join(f"{cell:>26s}" for cell in cells))
        return lines


if __name__ == "__main__":
    main(Datasets())
