"""What Vishwanathan et al. (2006) claim about the order of the solvers on base NP chunking, measured and judged.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/orderings.py

Each comparison is printed with its numbers and a yes or no. The claims of Le Priol et al. and Schmidt et al. are judged
in ``benchmarks/papers``. Runs are measured as in ``compare.py``.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.solvers.compare import Report, Trace, add_limits, trace
from benchmarks.tasks import TASKS
from dualfield.driver import Progress
from dualfield.solvers import LBFGS, SGD, SMD, Perceptron


def answer(text: str, yes: bool) -> None:
    print(f"  {text}: {'yes' if yes else 'no'}", flush=True)


def smd(report: Report, max_passes: int, seed: int) -> None:
    """On base NP chunking, batches of 8, SMD ends at a better F1 than SGD with the same first gain 0.1, at that of
    L-BFGS, and gets there in a fraction of its passes; the perceptron ends lowest (Vishwanathan et al. 2006, 4.1).
    """
    n_passes, points = min(max_passes, 100), (1, 2, 5, 10, 30, 100)
    problem, test = TASKS["base-np"](1.0)
    optimum = report.optimum("base-np", problem)
    solvers = (SMD(eta=0.1), SGD(eta=0.1, batch_size=8), LBFGS(corrections=5), Perceptron(average=False))

    def f1(progress: Progress) -> dict[str, float]:
        return {"f1": test.scores(problem, progress.weights())["f1"]}

    runs = []
    for solver in solvers:
        run = trace("base-np", problem, solver, optimum, max_passes=n_passes, seed=seed, measure=f1)
        runs.append(report.keep(run))
        print(f"\n  {run.solver}")
        if isinstance(solver, SMD | SGD):
            every = math.ceil(problem.n_blocks / solver.batch_size / 8)
            first = trace(
                "base-np",
                problem,
                solver,
                optimum,
                max_passes=1,
                seed=seed,
                callback_every=every,
                measure=f1,
            )
            report.keep(first)
            print("  F1 in eighths of the first pass:  " + "  ".join(f"{value:.4f}" for value in first.curve["f1"]))
        seen = [passes for passes in points if passes <= len(run.curve["f1"])]
        print("  passes: F1, suboptimality:  " + "   ".join(_score(run, passes) for passes in seen), flush=True)
    meta, plain, batch_run, perceptron = (np.array(run.curve["f1"]) for run in runs)
    print()
    answer(f"F1 at the end: SMD {meta[-1]:.4f} more than SGD {plain[-1]:.4f}", meta[-1] > plain[-1])
    answer(
        f"suboptimality at the end: SMD {runs[0].curve['suboptimality'][-1]:.1e} less than SGD "
        f"{runs[1].curve['suboptimality'][-1]:.1e}",
        runs[0].curve["suboptimality"][-1] < runs[1].curve["suboptimality"][-1],
    )
    answer(f"F1 at the end: SMD {meta[-1]:.4f} within 0.001 of L-BFGS {batch_run[-1]:.4f}", _close(meta, batch_run))
    goal = batch_run[-1] - 0.001
    needed = [int(np.argmax(curve >= goal)) + 1 if (curve >= goal).any() else math.inf for curve in (meta, batch_run)]
    answer(f"passes to {goal:.4f}: SMD {needed[0]}, less than a fifth of L-BFGS {needed[1]}", needed[0] * 5 < needed[1])
    answer(f"F1 at the end: perceptron {perceptron[-1]:.4f} less than SGD {plain[-1]:.4f}", perceptron[-1] < plain[-1])


def _score(run: Trace, passes: int) -> str:
    return f"{passes}: {run.curve['f1'][passes - 1]:.4f}, {run.curve['suboptimality'][passes - 1]:.1e}"


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(abs(a[-1] - b[-1]) <= 0.001)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_limits(parser)
    parser.set_defaults(max_passes=100)
    arguments = parser.parse_args()
    report = Report(arguments.json)
    smd(report, arguments.max_passes, arguments.seed)
    report.end()


if __name__ == "__main__":
    main()
