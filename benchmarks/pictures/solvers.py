"""The pictures of docs/explanation/how-the-solvers-work.md, from runs on 2,000 generated sentences.

* ``two_sides``: the objective and the lower bound of one run of OEG, which close in on the optimum;
* ``gap_sampling``: which sentences hold the duality gap, how often they are drawn, and what that saves;
* ``convergence``: five solvers, by distance to the optimum.

Nothing is timed but the passes of the last, whose CPU time is printed. It takes about a minute and needs no data.

    python benchmarks/pictures/solvers.py [--sentences N] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.pictures.themes import PICTURES, Theme, draw_both
from dualfield import LBFGS, SDCA, fields, solve
from dualfield.datasets import travel_sentences
from dualfield.features import extract_all
from dualfield.solvers import OEG, SAG, SGD, Solver

PASSES = 60
COMPARED: dict[str, Solver] = {"OEG": OEG(), "SDCA": SDCA(), "SAG": SAG(), "SGD": SGD(), "L-BFGS": LBFGS()}
SAMPLED: dict[str, Solver] = {"by gaps": OEG(), "uniformly": OEG(sampling="uniform")}
PARTS = 10  # of the sentences, by their gaps
Curve = list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=2000, help="how many to train on (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where to put the pictures")
    arguments = parser.parse_args()
    field = problem(arguments.sentences)
    optimum = solve(field, tol=1e-7, random_state=0).dual
    draw_two_sides(field, arguments.folder)
    draw_gap_sampling(field, optimum, arguments.folder)
    draw_convergence(field, optimum, arguments.folder)


def problem(sentences: int) -> fields.Chain:
    """Named entities in generated sentences, with the attributes of the preset ``ner`` and ``l2 = 1``."""
    made = travel_sentences(sentences, seed=0)
    X = extract_all("ner", [[(word,) for word, _ in sentence] for sentence in made])
    return fields.Chain(X, [[label for _, label in sentence] for sentence in made], l2=1.0)


def run(field: fields.Chain, solver: Solver, tol: float, max_passes: int = PASSES) -> tuple[Curve, Any]:
    """The objective after each pass, and the solution."""
    curve: Curve = []
    callback = lambda progress: curve.append(progress.primal())  # noqa: E731
    return curve, solve(field, solver, tol=tol, max_passes=max_passes, random_state=0, callbacks=callback)


# ---- the two sides -----------------------------------------------------------------------------------------


def draw_two_sides(field: fields.Chain, folder: Path) -> None:
    objective, solution = run(field, OEG(refresh_every=1), 1e-4)  # every pass computes its bound afresh
    bound = solution.history["dual"]
    passes = np.arange(1, len(objective) + 1)

    def fill(figure: Any, theme: Theme) -> None:
        axes = figure.subplots()
        axes.fill_between(passes, bound, objective, color=theme.blue, alpha=0.15, linewidth=0)
        axes.plot(passes, objective, color=theme.blue, linewidth=2.5, marker="o")
        axes.plot(passes, bound, color=theme.orange, linewidth=2.5, marker="s", linestyle="--")
        axes.annotate("objective  P(w)", (passes[0], objective[0]), (12, 0), color=theme.blue, **_BESIDE)
        axes.annotate("lower bound  D(μ)", (passes[1], bound[1]), (14, -12), color=theme.orange, **_BESIDE)
        end = f"gap {100 * solution.relative_gap:.1g} %:\nproven"
        axes.annotate(end, (passes[-1], bound[-1]), (-70, -34), color=theme.ink, **_BESIDE)
        axes.set(xlabel="passes over the data", ylim=(0, 1.12 * max(objective)))
        axes.set_xticks(passes)
        axes.grid(axis="y")

    draw_both("two_sides", 270, fill, folder)


_BESIDE: dict[str, Any] = {"textcoords": "offset points", "va": "center", "weight": "bold"}


# ---- gap sampling ------------------------------------------------------------------------------------------


def shares(field: fields.Chain) -> np.ndarray:
    """What part of the gap each tenth of the sentences holds after the first pass, the largest gaps first."""
    state = solve(field, SDCA(accelerate=False), tol=1e-12, max_passes=1, random_state=0).state
    gaps = np.sort(state.arrays()["recorded"])[::-1]
    return np.array([part.sum() for part in np.array_split(gaps, PARTS)]) / gaps.sum()


def draw_gap_sampling(field: fields.Chain, optimum: float, folder: Path) -> None:
    held = shares(field)
    follow = SDCA().non_uniformity
    drawn = follow * held + (1 - follow) / PARTS
    curves = {name: run(field, solver, 1e-5)[0] for name, solver in SAMPLED.items()}
    print(f"the tenth with the largest gaps holds {held[0]:.0%} of the gap after the first pass")

    def fill(figure: Any, theme: Theme) -> None:
        above, below = figure.subplots(2, 1, gridspec_kw={"height_ratios": (1, 1)})
        places = np.arange(PARTS)
        above.bar(places, 100 * held, color=theme.blue, label="share of the gap")
        above.plot(places, 100 * drawn, "o", color=theme.orange, markersize=7, label="share of the next draws")
        above.set_title("After one pass, by tenths of the sentences", loc="left", weight="bold")
        above.set_xticks([0, PARTS - 1], ["hardest", "easiest"])
        above.yaxis.set_major_formatter("{x:.0f} %")
        above.legend(frameon=False, loc="upper right")
        colours = {"by gaps": theme.blue, "uniformly": theme.soft}
        for name, curve in curves.items():
            distance = np.array(curve) / optimum - 1
            below.semilogy(np.arange(1, len(curve) + 1), distance, color=colours[name], linewidth=2.5)
        _end_labels(below, {name: np.array(curve) / optimum - 1 for name, curve in curves.items()}, colours)
        below.set_title("OEG with blocks drawn by gaps or uniformly", loc="left", weight="bold")
        _distance_axes(below)

    draw_both("gap_sampling", 470, fill, folder)


# ---- the comparison ----------------------------------------------------------------------------------------


def draw_convergence(field: fields.Chain, optimum: float, folder: Path) -> None:
    distances = {}
    for name, solver in COMPARED.items():
        curve, solution = run(field, solver, 1e-5)
        distances[name] = np.array(curve) / optimum - 1
        milliseconds = 1000 * solution.cpu_seconds / solution.passes
        print(
            f"{name}: {solution.passes} passes, {distances[name][-1]:.1e} above the optimum, {milliseconds:.0f} ms each"
        )

    def fill(figure: Any, theme: Theme) -> None:
        axes = figure.subplots()
        colours = {
            "OEG": theme.blue,
            "SDCA": theme.green,
            "SAG": theme.purple,
            "SGD": theme.soft,
            "L-BFGS": theme.orange,
        }
        for name, distance in distances.items():
            axes.semilogy(np.arange(1, len(distance) + 1), distance, color=colours[name], linewidth=2.5)
        _end_labels(axes, distances, colours)
        _distance_axes(axes)

    draw_both("convergence", 330, fill, folder)


def _end_labels(axes: Any, distances: dict[str, np.ndarray], colours: dict[str, str]) -> None:
    """The name of each curve at its end."""
    for name, distance in distances.items():
        at = (len(distance), distance[-1])
        axes.annotate(name, at, (6, 0), color=colours[name], annotation_clip=False, **_BESIDE)
    axes.set_xlim(0, 1.25 * max(map(len, distances.values())))


def _distance_axes(axes: Any) -> None:
    axes.set(xlabel="passes over the data", ylabel="above the optimum", ylim=(1e-6, 3))
    axes.set_yticks([1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5], ["100 %", "10 %", "1 %", "0.1 %", "0.01 %", "0.001 %"])
    axes.minorticks_off()
    axes.grid(axis="y")


if __name__ == "__main__":
    main()
