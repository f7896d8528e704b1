"""How far IDAL comes by default.

The relative distance from the optimum, found by L-BFGS, after so many passes, and what is certified at the end: on
three chains of 100 nodes under three penalties, and on one 20 × 20 grid with two, three and five labels.

    python benchmarks/papers/hu_obozinski_2018/defaults.py [--quick]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dualfield import LBFGS, Progress, fields, solve
from dualfield.features import grid_edges
from dualfield.fields import Field
from dualfield.solvers import IDAL

MESSAGES: dict[str, Any] = {"inference_tol": 1e-10, "max_sweeps": 2000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small problems and few passes")
    defaults(parser.parse_args().quick)


def labelled(size: int, edges: Any, labels: int, random: np.random.Generator) -> tuple[tuple[Any, Any], Any]:
    """A graph with normal node features, and labels that follow these and their neighbours."""
    nodes = random.normal(size=(size, 4))
    scores = nodes @ random.normal(size=(4, labels)) + random.gumbel(size=(size, labels))
    first = scores.argmax(axis=1)
    for a, b in edges:
        scores[a, first[b]] += 0.6
        scores[b, first[a]] += 0.6
    return (nodes, edges), scores.argmax(axis=1)


def defaults(quick: bool) -> None:
    length, side, checkpoints = (20, 6, (10, 20)) if quick else (100, 20, (50, 100, 200, 500))
    random = np.random.default_rng(1)
    path = np.array([(t, t + 1) for t in range(length - 1)])
    X, y = zip(*(labelled(length, path, 3, random) for _ in range(3)), strict=True)
    problems: dict[str, Field] = {
        f"3 chains of {length}, K = 3, l2 = {l2:g}": fields.Graph(list(X), list(y), l2=l2) for l2 in (1.0, 0.1, 0.03)
    }
    for labels in (2, 3, 5):
        graph, truth = labelled(side * side, grid_edges(side, side), labels, np.random.default_rng(1))
        name = f"{side} x {side} grid, K = {labels}, l2 = 1"
        problems[name] = fields.Graph([graph], [truth], inference="trw", **MESSAGES)
    print("\nIDAL as it is by default: relative distance from the optimum after so many passes")
    print(f"{'':34s}" + "".join(f"{passes:>10d}" for passes in checkpoints) + "   certified at the last")
    for name, field in problems.items():
        optimum = solve(field, LBFGS(), tol=1e-12, max_passes=3000).primal
        distances: list[float] = []

        def look(progress: Progress, distances: list[float] = distances, optimum: float = optimum) -> None:
            if progress.passes in checkpoints:
                distances.append(progress.primal() / optimum - 1.0)

        solution = solve(field, IDAL(), tol=0.0, max_passes=checkpoints[-1], callbacks=[look], random_state=0)
        row = "".join(f"{distance:10.1e}" for distance in distances)
        print(f"{name:34s}{row}{solution.relative_gap:10.1e}", flush=True)


if __name__ == "__main__":
    main()
