"""SDCA, as published or with gap sampling."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[4]))
from benchmarks.papers.benchopt.chain_solver import ChainSolver
from dualfield.solvers import SDCA


class Solver(ChainSolver):
    """As in the experiments of Le Priol et al. (2018)."""

    name = "SDCA"
    parameters: ClassVar = {"sampling": ["gap", "uniform"]}

    def method(self) -> SDCA:
        return SDCA(
            sampling=self.sampling, non_uniformity=0.8, permutation_every=0, subprecision=0.001, accelerate=False
        )
