"""What threads gain by the clock: OEG and SAG to a certified 1e-3, 15 gradients of L-BFGS, and prediction.

The repeats alternate; the fastest of each counts. Times mean something on an idle machine only.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/threads.py [conll conll-observed ner ...] [--what OEG ...] [--threads 2] [--repeats 5]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.tasks import TASKS
from dualfield import LBFGS, OEG, solve
from dualfield.fields import Field
from dualfield.solvers import SAG

TRAINED = {kind.name: kind for kind in (OEG, LBFGS, SAG)}
PREDICTION = "prediction"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["conll", "conll-observed", "ner"], help="of tasks.py")
    what = [*TRAINED, PREDICTION]
    parser.add_argument("--what", nargs="*", default=what, choices=what)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores")
    for task in options.tasks:
        field, _ = TASKS[task](1.0)
        for name in options.what:
            timed = predict if name == PREDICTION else train
            pairs = [[timed(field, name, n) for n in (1, options.threads)] for _ in range(options.repeats)]
            (alone, one), (shared, several) = (min(runs) for runs in zip(*pairs, strict=True))
            print(
                f"{task:15s}{name:11s}1 thread {alone:6.3f} s, {one} passes; {options.threads} threads "
                f"{shared:6.3f} s, {several} passes: {alone / shared:.2f} times as fast",
                flush=True,
            )


def train(field: Field, name: str, threads: int) -> tuple[float, int]:
    """Seconds and passes to a certified 1e-3, or those of 15 gradients."""
    max_passes = 15 if name == LBFGS.name else 500
    start = time.perf_counter()
    solution = solve(field, TRAINED[name](n_jobs=threads), tol=1e-3, max_passes=max_passes, random_state=0)
    return time.perf_counter() - start, solution.passes


def predict(field: Field, _: str, threads: int) -> tuple[float, int]:
    """Seconds of one pass over all blocks, the fastest of some; the weights are anything."""
    w = np.random.default_rng(0).normal(size=field.dimension)
    seconds = []
    for _repeat in range(10):
        start = time.perf_counter()
        field.core.decode(w, 0, field.n_blocks, threads)
        seconds.append(time.perf_counter() - start)
    return min(seconds), 1


if __name__ == "__main__":
    main()
