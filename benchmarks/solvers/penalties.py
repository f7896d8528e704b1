"""CPU seconds to a certified relative 1e-3 for penalties from strong to weak: what ``solver="auto"`` goes by.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/penalties.py [TASK ...]

For each task and penalty, every solver runs until its certificate says 1e-3, or until --max-seconds, and the table says
seconds and passes, or the relative gap that was proven by then. Nothing is evaluated beside.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.tasks import TASKS
from dualfield import Progress, solve
from dualfield.solvers import LBFGS, OEG, SAG, SDCA, Solver

TOL = 1e-3
L2S = (100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
SOLVERS: dict[str, Solver] = {
    "OEG()": OEG(),
    "OEG, plain": OEG(accelerate=False),
    "SDCA()": SDCA(),
    "SDCA, plain": SDCA(accelerate=False),
    "SAG()": SAG(),
    "LBFGS()": LBFGS(),
}
NO_TABLES = ("pos",)  # SDCA would need more memory than most machines have


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}; default: ocr ner conll pos")
    parser.add_argument("--l2", nargs="+", type=float, default=L2S)
    parser.add_argument("--solvers", nargs="+", choices=tuple(SOLVERS), default=tuple(SOLVERS))
    parser.add_argument("--max-seconds", type=float, default=30.0, help="CPU seconds of each run")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.2f}", flush=True)
    results = []
    for task in arguments.tasks or ("ocr", "ner", "conll", "pos"):
        print(f"\n{task}: CPU s (passes) to a certified {TOL:g}, or the gap proven after {arguments.max_seconds:g} s")
        print(f"{'l2':>8}" + "".join(f"{name:>20}" for name in arguments.solvers), flush=True)
        field, _ = TASKS[task](1.0)
        for l2 in arguments.l2:
            print(f"{l2:8g}", end="", flush=True)
            for name in arguments.solvers:
                if task in NO_TABLES and name.startswith("SDCA"):
                    print(f"{'-':>20}", end="", flush=True)
                    continue
                result = measure(field.with_l2(l2), SOLVERS[name], arguments.max_seconds)
                results.append({"task": task, "l2": l2, "solver": name, **result})
                print(f"{result['shown']:>20}", end="", flush=True)
            print()
    print(f"load after: {os.getloadavg()[0]:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def measure(field, solver: Solver, max_seconds: float) -> dict:
    def too_long(progress: Progress) -> bool:
        return progress.cpu_seconds > max_seconds

    found = solve(field, solver, tol=TOL, max_passes=100_000, callbacks=[too_long], random_state=0)
    reached = found.status == "converged"
    shown = f"{found.cpu_seconds:.2f} ({found.passes})" if reached else f"gap {found.relative_gap:.0e}"
    return {
        "reached": reached,
        "cpu_seconds": found.cpu_seconds,
        "passes": found.passes,
        "relative_gap": found.relative_gap,
        "shown": shown,
    }


if __name__ == "__main__":
    main()
