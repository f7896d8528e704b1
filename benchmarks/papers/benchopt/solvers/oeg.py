"""OEG with gap sampling, plain and accelerated."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[4]))
from benchmarks.papers.benchopt.chain_solver import ChainSolver
from dualfield.solvers import OEG


class Solver(ChainSolver):
    """Exponentiated gradient on the dual."""

    name = "OEG"
    parameters: ClassVar = {"accelerate": [True, False]}

    def method(self) -> OEG:
        return OEG(accelerate=self.accelerate)
