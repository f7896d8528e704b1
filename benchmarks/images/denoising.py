"""Denoising binary images: solvers on one loopy objective, and what to train on.

    python benchmarks/images/denoising.py [--json benchmarks/results/denoising.json]

The experiment of Vishwanathan et al. (2006), section 5.1, on shapes that ``make_denoising`` draws (theirs are not to
be had): 40 images of 64 × 64 pixels to train on, 10 to test. As in the paper, a pixel of intensity ``s_i`` has the
features ``[1, s_i]`` and an edge ``[1, |s_i − s_j|]``; with ``y = ±1`` the potentials are ``y_i θ·h_i`` and ``y_i y_j
θ·h_ij``; and the prior has ``σ = 1``. Our labels have a weight vector each, so ``w = ±θ`` and ``‖w‖² = 2‖θ‖²``: their σ
is ``l2 = 1/2`` on nodes, and ``edge_l2 = 1`` on edges, which have one parameter a feature.

*Solvers*: the objective with loopy belief propagation, above the least value found, and the errors on test pixels after
some passes of SGD, SMD, annealed SGD (batches of one image) and L-BFGS. As in the paper, all begin at the weights of
logistic regression with 0.5 for the edges; the last line shows what becomes of L-BFGS without that. A step of SMD takes
four times the inference of one of SGD.

*Criteria*: errors on test pixels by what was trained on (``criteria.py`` says what), each by L-BFGS; and of the
pseudo-likelihood under other penalties of its edges.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.images.criteria import CRITERIA, Record, error, measure, print_table
from dualfield import LBFGS, Progress, SoftmaxRegression, fields, solve
from dualfield.datasets import Images, make_denoising
from dualfield.features import encode_grids
from dualfield.solvers import SGD, SMD, Solver

L2, EDGE_L2 = 0.5, 1.0
EDGE_START = 0.5
CHECKPOINTS = (1, 2, 5, 10, 20, 50)
# The paper's first gain for belief propagation; the others had the least objective after ten passes, of five or six
# gains tried by hand for each method on these images.
PUBLISHED_GAIN = 1e-4
FROM_ZERO = "L-BFGS, from zero"
SOLVERS: dict[str, Solver] = {
    "SGD, gain 1e-4": SGD(eta=PUBLISHED_GAIN),
    "SMD, gain 1e-4": SMD(eta=PUBLISHED_GAIN, meta=10 * PUBLISHED_GAIN, decay=0.9, batch_size=1),
    "annealed SGD, 1e-4/t": SGD(eta=PUBLISHED_GAIN, schedule="annealed"),
    "SGD, gain 3e-4": SGD(eta=3e-4),
    "SMD, gain 3e-4": SMD(eta=3e-4, meta=3e-3, decay=0.9, batch_size=1),
    "annealed SGD, 1e-2/t": SGD(eta=1e-2, schedule="annealed"),
    "L-BFGS": LBFGS(),
    FROM_ZERO: LBFGS(),
}
EDGE_PENALTIES = (1.0, 1e2, 1e3, 1e4, 1e5, 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=40, help="training images (default: %(default)s)")
    parser.add_argument("--test", type=int, default=10, help="test images (default: %(default)s)")
    parser.add_argument("--max-passes", type=int, default=CHECKPOINTS[-1], help="of each solver (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the images and of the sampling")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    record = Record(arguments.json)
    images = make_denoising(arguments.train, arguments.test, random_state=arguments.seed)
    compare_solvers(images, arguments.max_passes, arguments.seed, record)
    compare_criteria(images, record)
    record.end()


# ---- solvers on the loopy objective -----------------------------------------------------------------------


def compare_solvers(images: Images, max_passes: int, seed: int, record: Record) -> None:
    grids = encode_grids(images.X_train, edge_features=images.edge_features_train)
    problem = fields.Graph(grids, images.y_train, L2, edge_l2=EDGE_L2, inference="bp", edge_weights="ising")
    test, _ = problem.inference.compile(
        problem.layout.arguments(grids.encoding.apply(images.X_test, images.edge_features_test).graphs)
    )
    true = np.concatenate([labels.ravel() for labels in images.y_test])
    start = paper_start(images, problem)

    def errors(weights: np.ndarray) -> float:
        return float((test.marginals(weights, 0, test.blocks).argmax(axis=1) != true).mean())

    traces = {}
    for name, solver in SOLVERS.items():
        print(f"  {name} ...", file=sys.stderr, flush=True)
        first = np.zeros_like(start) if name == FROM_ZERO else start
        traces[name] = trace(problem, solver, first, errors, max_passes, seed)
    least = min(point["objective"] for curve in traces.values() for point in curve["points"])
    record.keep(
        "solvers",
        {"least": least, "start": {"objective": problem.primal(start), "error": errors(start)}, "traces": traces},
    )
    print(
        f"\nSolvers on the objective with belief propagation: its value above {least:.2f}, the least found, and the "
        f"errors on\ntest pixels (%) after so many passes. At the start: {problem.primal(start) - least:.1f}, "
        f"{100 * errors(start):.2f} %.\n"
    )
    passes = [number for number in CHECKPOINTS if number <= max_passes]
    rows = []
    for name, curve in traces.items():
        # a solver that is done stays where it is
        reached = [max(p["passes"] for p in curve["points"] if p["passes"] <= number) for number in passes]
        at = {point["passes"]: point for point in curve["points"]}
        cells = [f"{at[number]['objective'] - least:.1f}  {100 * at[number]['error']:.2f}" for number in reached]
        rows.append([name, *cells, f"{curve['cpu_seconds'] / max(curve['passes'], 1):.2f}"])
    print_table(["solver", *map(str, passes), "CPU s a pass"], rows)


def paper_start(images: Images, problem: fields.Graph) -> np.ndarray:
    """Nodes by logistic regression, edges 0.5, in the order of the field's weights."""
    pixels = np.concatenate([X.reshape(-1, X.shape[2]) for X in images.X_train])
    labels = np.concatenate([y.ravel() for y in images.y_train])
    logistic = SoftmaxRegression(l2=L2, bias=False, tol=1e-6, random_state=0).fit(pixels, labels)
    layout = problem.layout
    return np.concatenate([logistic.coef_.T.ravel(), np.full(layout.n_edge_features, EDGE_START / layout.edge_scale)])


def trace(problem: fields.Graph, solver: Solver, start: np.ndarray, errors: Any, max_passes: int, seed: int) -> dict:
    """The curve of one solver: objective and test errors at the checkpoints, and at its end."""
    points: list[dict[str, float]] = []

    def look(passes: int, weights: np.ndarray) -> None:
        points.append({"passes": passes, "objective": problem.primal(weights), "error": errors(weights)})

    def at_checkpoints(progress: Progress) -> None:
        if progress.passes in CHECKPOINTS:
            look(progress.passes, progress.weights())

    # only L-BFGS knows when there is nothing left to gain
    tol = 1e-9 if isinstance(solver, LBFGS) else 0.0
    found = solve(problem, solver, tol, max_passes, callbacks=[at_checkpoints], random_state=seed, start=start)
    if not points or points[-1]["passes"] != found.passes:
        look(found.passes, found.weights)
    return {"points": points, "passes": found.passes, "cpu_seconds": found.cpu_seconds, "message": found.message}


# ---- what to train on -------------------------------------------------------------------------------------


def compare_criteria(images: Images, record: Record) -> None:
    results = []
    for criterion in CRITERIA:
        # the mean field's objective has jumps, on which L-BFGS may go on for long without gain
        limit = 30 if criterion == "mean_field" else 200
        result = measure(images, criterion, L2, EDGE_L2, edge_weights="ising", tol=1e-4, max_passes=limit)
        results.append(result)
    record.keep(
        "criteria",
        [
            {
                **result.numbers(),
                "error": error(result.predicted, images.y_test),
                "edge_weights": [float(cell) for cell in edge_cells(result.model) if cell],
            }
            for result in results
        ],
    )
    print("\nWhat was trained on, and its errors on test pixels\n")
    print_table(
        ["criterion", "errors %", "edge θ: 1", "|s_i − s_j|", "passes", "CPU s", "certificate", "status"],
        [
            [
                result.criterion,
                f"{100 * error(result.predicted, images.y_test):.2f}",
                *edge_cells(result.model),
                str(result.passes),
                f"{result.cpu_seconds:.1f}",
                result.certificate,
                result.status,
            ]
            for result in results
        ],
    )
    print("\nThe pseudo-likelihood under other penalties of its edges\n")
    sweep = [
        (penalty, measure(images, "pseudo_likelihood", L2, penalty, edge_weights="ising", tol=1e-4))
        for penalty in EDGE_PENALTIES
    ]
    record.keep(
        "edge_l2",
        [
            {"edge_l2": penalty, **result.numbers(), "error": error(result.predicted, images.y_test)}
            for penalty, result in sweep
        ],
    )
    print_table(
        ["edge_l2", "errors %", "edge θ: 1", "|s_i − s_j|", "passes", "certificate"],
        [
            [
                f"{penalty:g}",
                f"{100 * error(result.predicted, images.y_test):.2f}",
                *edge_cells(result.model),
                str(result.passes),
                result.certificate,
            ]
            for penalty, result in sweep
        ],
    )


def edge_cells(model: Any) -> list[str]:
    """The weights of both edge features for equal labels, where there are edges."""
    if not hasattr(model, "edge_weights_"):
        return ["", ""]
    return [f"{matrix[0, 0]:.3f}" for matrix in model.edge_weights_]


if __name__ == "__main__":
    main()
