"""Stochastic gradients at a given step."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[4]))
from benchmarks.papers.benchopt.chain_solver import ChainSolver
from dualfield.solvers import SGD


class Solver(ChainSolver):
    """Constant steps, plain and averaged."""

    name = "SGD"
    parameters: ClassVar = {"eta": [0.1], "average": [False, True]}

    def method(self) -> SGD:
        return SGD(eta=self.eta, average=self.average)
