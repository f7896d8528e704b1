"""What a pass of the default solver must do on CoNLL-2000 chunking, what the machine can do, and what the pass takes.

Counted is one pass of OEG that visits every block once (``permutation_every=1``), with one trial a step, all pairs.
With N positions, E entries (attributes of positions), B distinct (block, attribute) pairs, n blocks and C = N K + n
K² numbers of potentials:

=============  ========================================  ==============================================
work           floating-point operations                 bytes
=============  ========================================  ==============================================
scores         2 E K                                     8 E K weights, 4 E indices
exponentials   28 C                                      in cache
messages       4 (N − n) K² forward and backward         in cache
edge sums      2 (N − n) K²                              in cache
counts         2 E K at most                             4 E indices
weights        2 B K                                     16 B K weights read and written, 8 B targets
step           20 C (mixture, products, differences)     16 C: potentials and marginals, float32, twice
=============  ========================================  ==============================================

The machine: flops of a matrix product in NumPy, bytes a second of a sum over an array beyond the caches, and of rows
of K weights fetched in the order of this data set's attributes, which is what scores must do. One thread. The
roofline of the pass is the larger of flops over peak and bytes over bandwidth, with the rows at the rate of rows.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/scaling/roofline.py [--quick] [--json benchmarks/results/roofline.json]

``--quick`` takes generated chains, and needs no data.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is there
import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.results import environment
from benchmarks.scaling.generated import chains
from benchmarks.tasks import conll
from dualfield import OEG, fields

EXP_FLOPS, STEP_FLOPS = 28, 20


def seconds_of(work: Callable[[], Any], repeats: int) -> float:
    """The fastest of some runs, in CPU time."""
    laps = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        laps.append(time.process_time() - before)
    return min(laps)


def counts(field: fields.Chain) -> dict[str, float]:
    """Flops and bytes by the formulas above."""
    encoded, K, n = field.encoded, len(field.classes), field.n_blocks
    N, E = encoded.n_positions, len(encoded.indices)
    block_of = np.repeat(np.repeat(np.arange(n), encoded.lengths), np.diff(encoded.indptr))
    B = len(np.unique(block_of * np.int64(len(encoded.vocabulary)) + encoded.indices))
    C = N * K + n * K * K
    return {
        "positions": N,
        "entries": E,
        "pairs": B,
        "numbers": C,
        "flops": 2 * E * K * 2 + EXP_FLOPS * C + 6 * (N - n) * K * K + 2 * B * K + STEP_FLOPS * C,
        "row_bytes": 8 * E * K + 16 * B * K,
        "other_bytes": 8 * E + 8 * B + 16 * C,
    }


def machine(field: fields.Chain, quick: bool) -> dict[str, float]:
    size = 300 if quick else 1500
    A = np.random.default_rng(0).random((size, size))
    array = np.ones(2_000_000 if quick else 40_000_000)
    out = np.empty_like(A)
    K = len(field.classes)
    weights = np.ones((len(field.encoded.vocabulary), K))
    piece = 4096  # rows that stay in the nearest cache
    rows = np.empty((piece, K))
    indices = field.encoded.indices[: 4_000_000 // piece * piece]

    def fetch() -> None:
        for start in range(0, len(indices) - piece + 1, piece):
            np.take(weights, indices[start : start + piece], axis=0, out=rows, mode="clip")

    fetched = len(indices) // piece * piece
    return {
        "flops": 2 * size**3 / seconds_of(lambda: np.matmul(A, A, out=out), 5),
        "stream": array.nbytes / seconds_of(lambda: array.sum(), 5),
        "rows": 8 * K * fetched / seconds_of(fetch, 3) if fetched else float("nan"),
    }


def pass_seconds(field: fields.Chain) -> float:
    """Of a pass after the first that visits every block once; the fastest of three."""
    run = OEG(permutation_every=1).start(field, 0)

    def advance() -> None:
        while not run.advance(1e9):
            pass

    advance()
    return seconds_of(advance, 3)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="generated chains, seconds")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args(given)
    before = environment()
    field = chains(500, 20, 22, 10, 20_000) if arguments.quick else conll()[0]
    needs, can = counts(field), machine(field, arguments.quick)
    takes = pass_seconds(field)
    bounds = {
        "flops": needs["flops"] / can["flops"],
        "bytes": needs["row_bytes"] / can["rows"] + needs["other_bytes"] / can["stream"],
    }
    ratio = takes / max(bounds.values())
    rows, other = needs["row_bytes"] / 1e9, needs["other_bytes"] / 1e9
    of_sum = takes / sum(bounds.values())
    print(
        f"load: {os.getloadavg()[0]:.2f}; the machine: {can['flops'] / 1e9:.1f} Gflop/s in a matrix product, "
        f"{can['stream'] / 1e9:.1f} GB/s in a sum, {can['rows'] / 1e9:.1f} GB/s in rows of weights"
    )
    print(
        f"a pass needs {needs['flops'] / 1e9:.2f} Gflop, {bounds['flops']:.3f} s, and {rows:.2f} GB of rows and "
        f"{other:.2f} GB else, {bounds['bytes']:.3f} s"
    )
    print(f"it takes {takes:.3f} CPU s: {ratio:.2f} times the larger, {of_sum:.2f} times their sum")
    if arguments.json:
        found = {"needs": needs, "machine": can, "bounds": bounds, "seconds": takes, "ratio": ratio}
        arguments.json.write_text(json.dumps({"environment": before, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
