"""Loopy belief propagation: sweeps a second on grids, and how the cost grows with the number of edges.

A sweep updates every message once. Potentials are random; times are CPU seconds on one thread, the best of three.

    python benchmarks/graphs/propagation.py [--picture FILE.png]
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from dualfield.features import grid_edges
from dualfield.oracles import belief_propagation, tree_reweighted

SIDES = (10, 20, 50, 100, 200, 400)
MANY = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", help="also draw CPU seconds a sweep against edges; needs Matplotlib")
    picture = parser.parse_args().picture
    print(f"load before: {os.getloadavg()[0]:.2f}\n")
    print(f"{'grid':>11} {'labels':>7} {'edges':>8} {'BP sweeps/s':>12} {'ns a message':>13} {'TRW sweeps/s':>13}")
    curves: dict[int, list[tuple[int, float]]] = {}
    for labels in (2, 5, 21):
        for side in SIDES:
            if side * labels > 2000:
                continue
            edges = grid_edges(side, side)
            plain, reweighted = (
                seconds_a_sweep(side, labels, edges, run) for run in (belief_propagation, tree_reweighted)
            )
            curves.setdefault(labels, []).append((len(edges), plain))
            print(
                f"{side:>5}x{side:<5} {labels:>7} {len(edges):>8} {1 / plain:>12.0f} "
                f"{plain / (2 * len(edges)) * 1e9:>13.1f} {1 / reweighted:>13.0f}",
                flush=True,
            )
    for labels, points in curves.items():
        x, y = np.log(np.array(points).T)
        print(f"{labels} labels: seconds a sweep grow like edges^{np.polyfit(x, y, 1)[0]:.2f}")
    if picture:
        draw(curves, picture)


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


def draw(curves: dict[int, list[tuple[int, float]]], path: str) -> None:
    """Both axes logarithmic: linear growth is a line of slope 1."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
    for labels, points in curves.items():
        axes.loglog(*zip(*points, strict=True), marker="o", label=f"{labels} labels")
    axes.set(xlabel="edges", ylabel="CPU seconds a sweep", title="Loopy belief propagation on grids")
    axes.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
