"""Exact training on graphs: what generality costs on chains, and lattices that are no chains.

1. OCR (``DUALFIELD_DATA``; without it, generated sequences of the same shape) twice, as a ``Chain`` and as a ``Graph``
   whose graphs happen to be chains, with SDCA (not accelerated) and the same seed: CPU seconds to a certified 1e-3, and
   both optima.
2. 50 lattices of 3 x 100 nodes with 3 labels, drawn from a model, to a certified 1e-4 by ``solver="auto"``.
3. How soon a 64 x 64 grid is refused.

    python benchmarks/graphs/exact.py
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from dualfield import SDCA, fields, solve
from dualfield.features import grid_edges
from dualfield.oracles import map_labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    print(f"load before: {os.getloadavg()[0]:.2f}\n")
    chains(seed)
    lattices(seed)
    refusal()


def chains(seed: int) -> None:
    """The same problem as a chain and as a graph."""
    X, y = ocr() if "DUALFIELD_DATA" in os.environ else generated_sequences(seed)
    graphs = [(x, np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))])) for x in X]
    seconds, optima = {}, {}
    for name, field in (
        ("Chain", fields.Chain(X, y, bias=False, begin=False, end=False)),
        ("Graph", fields.Graph(graphs, y)),
    ):
        solution = solve(field, SDCA(accelerate=False), tol=1e-3, random_state=seed)
        seconds[name] = solution.cpu_seconds
        optima[name] = solve(field, "oeg", tol=1e-7, random_state=seed).dual
        print(
            f"{len(X)} chains as {name}: SDCA, certified 1e-3 after {solution.passes} passes and "
            f"{solution.cpu_seconds:.2f} CPU s; optimum {optima[name]:.5f}"
        )
    print(
        f"as a graph: {seconds['Graph'] / seconds['Chain']:.2f} times the CPU time, optimum off by "
        f"{abs(optima['Graph'] / optima['Chain'] - 1):.1e} (relative)\n"
    )


def ocr() -> tuple[list, list]:
    """The training words of OCR: pixels and letters."""
    import tasks

    field, _ = tasks.ocr(1.0)
    encoded = field.encoded
    dense = np.zeros((encoded.offsets[-1], len(encoded.vocabulary)))
    rows = np.repeat(np.arange(len(dense)), np.diff(encoded.indptr))
    dense[rows, encoded.indices] = 1.0 if encoded.values is None else encoded.values
    cuts = encoded.offsets[1:-1]
    return np.split(dense, cuts), [part.tolist() for part in np.split(field.classes[field.codes], cuts)]


def generated_sequences(seed: int) -> tuple[list, list]:
    """Letters whose sparse features are noisy copies of one pattern each."""
    random = np.random.default_rng(seed)
    patterns = random.random((26, 128)) < 0.3
    y = [random.integers(26, size=random.integers(3, 13)) for _ in range(2000)]
    X = [(patterns[labels] ^ (random.random((len(labels), 128)) < 0.2)).astype(float) for labels in y]
    return X, [labels.tolist() for labels in y]


def lattices(seed: int) -> None:
    """Lattices of treewidth 3, labelled by a model with noise."""
    random = np.random.default_rng(seed)
    height, width, labels, d = 3, 100, 3, 5
    edges = grid_edges(height, width)
    node_weights, agree = random.normal(size=(d, labels)), np.eye(labels)
    X, y = [], []
    for _ in range(50):
        features = random.normal(size=(height * width, d))
        noisy = features @ node_weights + random.gumbel(size=(height * width, labels))
        X.append((features, edges))
        y.append(map_labels(noisy, edges, agree).labels)
    field = fields.Graph(X, y)
    solution = solve(field, tol=1e-4, random_state=seed)
    print(
        f"50 lattices of {height} x {width}, {labels} labels, treewidth {field.core.treewidth(0)}: "
        f"{solution.cpu_seconds:.2f} CPU s. {solution.message}\n"
    )


def refusal() -> None:
    """A grid whose tables no machine holds."""
    edges = grid_edges(64, 64)
    before = time.perf_counter()
    try:
        fields.Graph([(np.zeros((64 * 64, 1)), edges)], [np.arange(64 * 64) % 2])
    except ValueError as error:
        print(f"64 x 64 grid, after {time.perf_counter() - before:.3f} s: {error}")


if __name__ == "__main__":
    main()
