"""All figures and tables of the papers, the most telling of each first.

    python benchmarks/papers/everything.py [--quick] [--budget SECONDS] [--plot-only]

With ``--quick`` all of it takes minutes: cut data (or generated data, where DUALFIELD_DATA is not set) and few passes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.harness import Figure, arguments, run
from benchmarks.papers.hu_obozinski_2018.comparison import Grid, Multilabel
from benchmarks.papers.hu_obozinski_2018.theorem_1 import TheoremOne
from benchmarks.papers.le_priol_2017.figures_1_and_2_mixtures import Mixtures
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
from benchmarks.papers.optima import Optima
from benchmarks.papers.schmidt_2015.figure_1_training import Training
from benchmarks.papers.schmidt_2015.section_1_weak_regularisation import WeakRegularisation
from benchmarks.papers.schmidt_2015.section_4_test_error import TestError as SchmidtTestError
from benchmarks.papers.schmidt_2015.section_5_svrg_saga import Relatives
from benchmarks.papers.vishwanathan_2006.figures_1_and_2_chains import BaseNP, Bio
from benchmarks.papers.vishwanathan_2006.figures_3_to_6_lattices import DenoisingFigure, StructureFigure
from benchmarks.papers.vishwanathan_2006.hessian_products import HessianProducts
from benchmarks.papers.vishwanathan_2006.section_2_6_free_energies import FreeEnergyTable

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
    Optima(),
    BaseNP(),
    Bio(),
    HessianProducts(),
    FreeEnergyTable(),
    DenoisingFigure(),
    StructureFigure(),
    Mixtures(),
    TheoremOne(),
    Grid(),
    Multilabel(),
]


def main() -> None:
    options = arguments(__doc__)
    if not run(FIGURES, options):
        print("Not everything has been measured: run it again to go on.")


if __name__ == "__main__":
    main()
