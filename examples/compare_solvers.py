"""Train one model with several solvers, and draw how fast each comes near the optimum.

All minimise the same objective. A long run at the beginning finds its least value, so the picture shows true distances:
by passes over the data, which are much the same on every machine, and by seconds, which are yours.

    pip install "dualfield[examples]"
    python examples/compare_solvers.py PICTURE.png

It prints a table of the passes and seconds until a thousandth above the optimum, and writes the picture.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dualfield import LBFGS, OEG, SDCA, Progress, fields, solve
from dualfield.datasets import travel_sentences
from dualfield.features import encode, extract_all
from dualfield.solvers import SAG, SGD, Solver

SOLVERS: dict[str, Solver] = {
    "OEG": OEG(),
    "SDCA": SDCA(),
    "SDCA as published": SDCA(non_uniformity=0.8, permutation_every=0, accelerate=False),
    "SAG": SAG(),
    "L-BFGS": LBFGS(),
    "SGD": SGD(),
}
CLOSE = 1e-3


def problem(n: int) -> fields.Chain:
    """A chain CRF on made-up sentences."""
    sentences = travel_sentences(n, seed=0)
    X = encode(extract_all("ner", [[(word,) for word, _ in sentence] for sentence in sentences]))
    return fields.Chain(X, [[tag for _, tag in sentence] for sentence in sentences], l2=1.0)


def distances(field: fields.Chain, solver: Solver, optimum: float, passes: int) -> np.ndarray:
    """A row for each pass: passes, seconds, and the relative distance of the objective from its least value."""
    rows: list[tuple[float, float, float]] = []

    def note(progress: Progress) -> None:
        # The objective at the weights of this moment; the seconds that this takes are not counted.
        rows.append((progress.passes, progress.seconds, progress.primal() / optimum - 1))

    solve(field, solver, tol=1e-7, max_passes=passes, callbacks=note, random_state=0)
    return np.array(rows)


def draw(curves: dict[str, np.ndarray], path: Path) -> None:
    """The distances by passes on the left, by seconds on the right."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for column, (axis, label) in enumerate(zip(axes, ("passes over the data", "seconds"), strict=True)):
        for name, rows in curves.items():
            axis.plot(rows[:, column], np.maximum(rows[:, 2], 1e-9), label=name)
        axis.axhline(CLOSE, color="grey", linewidth=0.8, linestyle="--")
        axis.set(xlabel=label, yscale="log", ylim=(1e-7, 10))
    axes[0].set_ylabel("distance from the optimum, relative")
    axes[0].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def main() -> None:
    """Train with every solver, print the table, draw the picture."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} PICTURE.png")
    warnings.simplefilter("ignore")  # the runs end at a number of passes, and say that they did not converge
    field = problem(300)
    best = solve(field, OEG(), tol=1e-10, max_passes=1000, random_state=0)
    optimum = best.primal
    print(f"The least value of the objective is {optimum:.6f}, proven to {best.relative_gap:.0e}.")
    curves = {name: distances(field, solver, optimum, passes=60) for name, solver in SOLVERS.items()}
    draw(curves, Path(sys.argv[1]))

    print(f"\nUntil {CLOSE:g} above the optimum:\n{'solver':20}{'passes':>8}{'seconds':>10}")
    for name, rows in curves.items():
        near = np.flatnonzero(rows[:, 2] <= CLOSE)
        reached = f"{rows[near[0], 0]:8.0f}{rows[near[0], 1]:10.3f}" if len(near) else f"{'not in 60':>18}"
        print(f"{name:20}{reached}")
    print(f"\nNow look at {sys.argv[1]}.")


if __name__ == "__main__":
    main()
