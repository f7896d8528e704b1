"""All figures and tables of the papers on chains, the most telling first.

    python benchmarks/papers/everything.py [--quick] [--budget SECONDS] [--plot-only]

With ``--quick`` all of it takes minutes: cut data (or generated data, where DUALFIELD_DATA is not set) and few passes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.harness import Figure, arguments, run
from benchmarks.papers.le_priol_2018.figure_2_samplers import Samplers
from benchmarks.papers.le_priol_2018.figure_3_fractions import Fractions
from benchmarks.papers.le_priol_2018.figure_4_6_comparison import Comparison
from benchmarks.papers.le_priol_2018.figure_7_test_error import TestError
from benchmarks.papers.le_priol_2018.figure_8_one_newton_step import OneNewtonStep
from benchmarks.papers.le_priol_2018.figure_9_gap_estimate import GapEstimate
from benchmarks.papers.le_priol_2018.section_4_start import Start
from benchmarks.papers.le_priol_2018.section_6_2_line_search import LineSearch
from benchmarks.papers.le_priol_2018.section_6_4_sparsity import Sparsity
from benchmarks.papers.le_priol_2018.table_1_datasets import Datasets
from benchmarks.papers.schmidt_2015.figure_1_training import Training
from benchmarks.papers.schmidt_2015.section_1_weak_regularisation import WeakRegularisation
from benchmarks.papers.schmidt_2015.section_4_test_error import TestError as SchmidtTestError
from benchmarks.papers.schmidt_2015.section_5_svrg_saga import Relatives

FIGURES: list[Figure] = [
    Datasets(),
    Samplers(),
    Comparison(),
    TestError(),
    Sparsity(),
    Fractions(),
    GapEstimate(),
    OneNewtonStep(),
    LineSearch(),
    Start(),
    WeakRegularisation(),
    Relatives(),
    Training(),
    SchmidtTestError(),
]


def main() -> None:
    options = arguments(__doc__)
    if not run(FIGURES, options):
        print("Not everything has been measured: run it again to go on.")


if __name__ == "__main__":
    main()
