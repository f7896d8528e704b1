"""What threads gain by the clock: OEG and SAG to a certified 1e-3, and 15 gradients of L-BFGS.

The repeats alternate; the fastest of each counts. Times mean something on an idle machine only.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/threads.py [conll conll-observed ner ...] [--threads 2] [--repeats 2]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.tasks import TASKS
from dualfield import LBFGS, OEG, Solution, solve
from dualfield.fields import Field
from dualfield.solvers import SAG, Solver


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["conll", "conll-observed", "ner"], help="of tasks.py")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores")
    for task in options.tasks:
        field, _ = TASKS[task](1.0)
        for kind, passes in ((OEG, 500), (LBFGS, 15), (SAG, 500)):
            pairs = [
                [timed(field, kind(n_jobs=n), passes) for n in (1, options.threads)] for _ in range(options.repeats)
            ]
            (alone, one), (shared, several) = (min(runs, key=lambda run: run[0]) for runs in zip(*pairs, strict=True))
            print(
                f"{task:15s}{kind.name:6s}1 thread {alone:6.2f} s, {one.passes} passes; {options.threads} threads "
                f"{shared:6.2f} s, {several.passes} passes: {alone / shared:.2f} times as fast",
                flush=True,
            )


def timed(field: Field, solver: Solver, max_passes: int) -> tuple[float, Solution]:
    start = time.perf_counter()
    solution = solve(field, solver, tol=1e-3, max_passes=max_passes, random_state=0)
    return time.perf_counter() - start, solution


if __name__ == "__main__":
    main()
