"""L-BFGS."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[4]))
from benchmarks.papers.benchopt.chain_solver import ChainSolver
from dualfield.solvers import LBFGS


class Solver(ChainSolver):
    """With ten corrections, the default."""

    name = "L-BFGS"
    parameters: ClassVar = {"corrections": [10]}

    def method(self) -> LBFGS:
        return LBFGS(corrections=self.corrections)
