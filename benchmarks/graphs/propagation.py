"""Loopy belief propagation: sweeps a second on grids, and how the cost grows with the number of edges.

A sweep updates every message once. Potentials are random; times are CPU seconds on one thread, the best of three.
``benchmarks/pictures/propagation.py`` draws them from the results file.

    python benchmarks/graphs/propagation.py [--json benchmarks/results/propagation.json]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.results import environment
from dualfield.features import grid_edges
from dualfield.oracles import belief_propagation, tree_reweighted

LABELS = (2, 5, 21)
SIDES = (10, 20, 50, 100, 200, 400)
MANY = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the results here")
    path, before = parser.parse_args().json, environment()
    print(f"load before: {before['load']}\n")
    print(f"{'grid':>11} {'labels':>7} {'edges':>8} {'BP sweeps/s':>12} {'ns a message':>13} {'TRW sweeps/s':>13}")
    rows: list[dict[str, Any]] = []
    for labels in LABELS:
        for side in SIDES:
            if side * labels > 2000:
                continue
            edges = grid_edges(side, side)
            plain, reweighted = (
                seconds_a_sweep(side, labels, edges, run) for run in (belief_propagation, tree_reweighted)
            )
            rows.append({"labels": labels, "side": side, "edges": len(edges), "bp": plain, "trw": reweighted})
            print(
                f"{side:>5}x{side:<5} {labels:>7} {len(edges):>8} {1 / plain:>12.0f} "
                f"{plain / (2 * len(edges)) * 1e9:>13.1f} {1 / reweighted:>13.0f}",
                flush=True,
            )
    exponents = {labels: exponent([row for row in rows if row["labels"] == labels]) for labels in LABELS}
    for labels, power in exponents.items():
        print(f"{labels} labels: seconds a sweep grow like edges^{power:.2f}")
    if path:
        path.write_text(
            json.dumps({"environment": before, "seconds a sweep": rows, "exponents": exponents}, indent=1) + "\n"
        )


def exponent(rows: list[dict[str, Any]]) -> float:
    """The power of the number of edges that the seconds of a sweep grow with, by least squares on logarithms."""
    edges, seconds = np.log([(row["edges"], row["bp"]) for row in rows]).T
    return float(np.polyfit(edges, seconds, 1)[0])


def seconds_a_sweep(side: int, labels: int, edges: np.ndarray, run: object) -> float:
    """CPU seconds of one sweep, by the difference between calls with many sweeps and calls with one."""
    random = np.random.default_rng(0)
    node, edge = random.normal(size=(side * side, labels)), 3.0 * random.normal(size=(len(edges), labels, labels))
    calls = max(1, int(2e5 / (len(edges) * labels)))

    def measured(sweeps: int) -> tuple[float, int]:
        before = time.process_time()
        for _ in range(calls):
            found = run(node, edges, edge, max_sweeps=sweeps, tol=1e-300)  # type: ignore[operator]
        return (time.process_time() - before) / calls, found.sweeps

    def difference() -> float:
        (long, many), (short, few) = measured(MANY), measured(1)
        return (long - short) / (many - few)

    return min(difference() for _ in range(3))


if __name__ == "__main__":
    main()
