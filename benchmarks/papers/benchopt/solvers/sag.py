"""SAG with the three ways of sampling."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[4]))
from benchmarks.papers.benchopt.chain_solver import ChainSolver
from dualfield.solvers import SAG


class Solver(ChainSolver):
    """As in Schmidt et al. (2015)."""

    name = "SAG"
    parameters: ClassVar = {"sampling": ["nus*", "nus", "uniform"]}

    def method(self) -> SAG:
        return SAG(sampling=self.sampling)
