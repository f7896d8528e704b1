"""Solvers on graphs: passes and CPU seconds to a certified 1e-3. What ``solver="auto"`` goes by on graphs.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/graphs.py

Problems: words of letters as paths (``ocr/letter.data.gz``, the first 600 words), snakes with the direction of edges
or with all of their 180 edge features (``snakes/snakes.npz``), and 6 × 6 tiles of noisy drawings, which need no data.
Each with exact inference where tables allow it, and by its pseudo-likelihood. Times leave out encoding.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.tasks import data_file, ocr
from dualfield import SDCA, fields, solve
from dualfield.datasets import load_snakes, make_denoising
from dualfield.features import EncodedGraphs, encode_grids

SOLVERS: dict[str, str | SDCA] = {
    "oeg": "oeg",
    "sdca, plain": SDCA(accelerate=False),
    "sag": "sag",
    "lbfgs": "lbfgs",
}


def problems() -> Iterator[tuple[str, fields.Field]]:
    drawings = make_denoising(n_train=8, n_test=0)
    corners = [(r, c) for r in range(0, 60, 12) for c in range(0, 60, 12)]
    tiles = [x[r : r + 6, c : c + 6] for x in drawings.X_train for r, c in corners]
    labels = [y[r : r + 6, c : c + 6] for y in drawings.y_train for r, c in corners]
    grids = encode_grids(tiles, edge_features="direction")
    for l2 in (1.0, 0.01):
        yield f"tiles, l2 = {l2:g}, exact", fields.Graph(grids, labels, l2)
        yield f"tiles, l2 = {l2:g}, pseudo", fields.PseudoLikelihood(grids, labels, l2)

    words = ocr()[0].encoded[:600]
    letters = ocr()[0].codes[: words.n_positions]
    steps = [np.arange(n - 1) for n in words.lengths]
    paths = EncodedGraphs(
        words.offsets,
        words.indptr,
        words.indices,
        words.values,
        len(words.vocabulary),
        np.concatenate([[0], np.cumsum(words.lengths - 1)]),
        np.concatenate([np.stack([t, t + 1], axis=1) for t in steps]),
        None,
    )
    truth = np.split(letters, words.offsets[1:-1])
    yield "letters, exact", fields.Graph(paths, truth)
    yield "letters, pseudo", fields.PseudoLikelihood(paths, truth)

    snakes = load_snakes(data_file("snakes/snakes.npz").parent)
    directions = encode_grids(snakes.X_train, edge_features="direction")
    yield "snakes, directions, pseudo", fields.PseudoLikelihood(directions, snakes.y_train)
    all_features = encode_grids(snakes.X_train, edge_features=snakes.edge_features_train)
    yield "snakes, pseudo", fields.PseudoLikelihood(all_features, snakes.y_train)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-passes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results here too")
    arguments = parser.parse_args()
    rows = []
    print(f"{'problem':28}{'blocks':>8}{'weights':>9}  " + "".join(f"{name:>16}" for name in SOLVERS))
    for name, field in problems():
        print(f"{name:28}{field.n_blocks:8}{field.dimension:9}  ", end="")
        for called, solver in SOLVERS.items():
            found = solve(field, solver, tol=1e-3, max_passes=arguments.max_passes, random_state=arguments.seed)
            cell = f"{found.passes}, {found.cpu_seconds:.2f} s"
            if found.status != "converged":
                cell = f"gap {found.relative_gap:.0e}"
            print(f"{cell:>16}", end="", flush=True)
            row = {"problem": name, "solver": called, "status": found.status, "passes": found.passes}
            rows.append(row | {"cpu_seconds": found.cpu_seconds, "relative_gap": found.relative_gap})
        print()
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
