"""Every convergent solver on OCR: passes and CPU seconds to 1e-2, 1e-4 and 1e-6 of P* = 15251.9.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/ocr_table.py

How it is measured: ``compare.py``. A solver that the installed version does not have is named and left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.solvers.compare import LEVELS, Report, add_limits, parse_solver, print_table, trace
from benchmarks.tasks import ocr
from dualfield.solvers import Solver

SOLVERS = (
    "SDCA()",
    "SDCA(accelerate=False)",
    "SDCA(sampling='gap', non_uniformity=0.8, permutation_every=0, accelerate=False)",  # as published
    "SDCA(sampling='uniform', accelerate=False)",
    "SDCA(sampling='importance', non_uniformity=0.8, permutation_every=0, accelerate=False)",
    "SDCA(sampling='gap*importance', non_uniformity=0.8, permutation_every=0, accelerate=False)",
    "OEG(accelerate=False)",
    "OEG()",
    "OEG(sampling='uniform', accelerate=False, step='published')",
    "SAG(sampling='uniform')",
    "SAG(sampling='nus')",
    "SAG(sampling='nus*')",
    "SAGA(sampling='uniform')",
    "SAGA(sampling='nus*')",
    "SVRG()",
    "LBFGS()",
    "Hybrid()",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_limits(parser)
    parser.set_defaults(max_passes=600)
    arguments = parser.parse_args()
    report = Report(arguments.json)
    solvers = available(SOLVERS)
    problem, _ = ocr()
    optimum = report.optimum("ocr", problem)
    traces = [
        report.keep(
            trace(
                "ocr",
                problem,
                solver,
                optimum,
                until=min(LEVELS),
                max_passes=arguments.max_passes,
                max_seconds=arguments.max_seconds,
                seed=arguments.seed,
            )
        )
        for solver in solvers
    ]
    print_table(traces, LEVELS)
    report.end()


def available(expressions: tuple[str, ...]) -> list[Solver]:
    """The solvers among these that this version can make; the others are named."""
    found = []
    for expression in expressions:
        try:
            found.append(parse_solver(expression))
        except ValueError as error:
            print(f"left out: {error}")
    return found


if __name__ == "__main__":
    main()
