"""CPU seconds a pass of every solver on every kind of field: did anything become slower?

    python benchmarks/solvers/passes.py --json before.json
    python benchmarks/solvers/passes.py --json after.json --compare before.json

Generated data of fixed size, one thread, under a minute. Of each pair of solver and field that fit, several passes
are timed after a first one, and the fastest half counts. ``--compare FILE`` prints what needs more than 1.15 times as
long as in FILE, and ends with exit code 1 if anything does: measure twice before believing it, and on an idle
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.scaling.generated import chains
from dualfield import Constraints, fields
from dualfield.features import EncodedGraphs, encode_grids
from dualfield.fields import Field
from dualfield.solvers import BY_CLASS_NAME, Solver

SLOWER = 1.15
SECONDS = 0.25  # of timed passes, for each pair
MOST_PASSES = 40
STEPS: dict[str, dict[str, Any]] = {"SGD": {"eta": 0.1}, "SMD": {"eta": 0.01}}  # these have no step of their own


def problems() -> Iterator[tuple[str, Field]]:
    yield "chain, all pairs", chains(n=400, length=15, labels=9, attributes=12, vocabulary=5000)
    seen: dict[str, Any] = {"state_features": "observed", "transitions": "observed"}
    yield "chain, observed", chains(n=400, length=15, labels=9, attributes=12, vocabulary=5000, **seen)
    yield "chain, 49 labels", chains(n=80, length=15, labels=49, attributes=12, vocabulary=2000, **seen)
    rules = Constraints(range(9), end=[])  # forbid nothing, and cost what rules cost
    yield "chain, constraints", chains(n=400, length=15, labels=9, attributes=12, vocabulary=5000, constraints=rules)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2000, 20))
    yield "points", fields.Multiclass(points, np.argmax(points[:, :5] + rng.normal(size=(2000, 5)), axis=1))
    tiles = [rng.normal(size=(5, 5, 2)) for _ in range(60)]
    labels = [(tile[:, :, 0] > 0).astype(int) for tile in tiles]
    grids: EncodedGraphs = encode_grids(tiles)
    yield "graph, junction tree", fields.Graph(grids, labels)
    yield "graph, pseudo-likelihood", fields.PseudoLikelihood(grids, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--compare", type=Path, help="an earlier file")
    parser.add_argument("--quick", action="store_true", help="one timed pass each: does it run?")
    arguments = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores", flush=True)
    found: dict[str, float] = {}
    for name, field in problems():
        cells = []
        for kind in BY_CLASS_NAME.values():
            solver = kind(**STEPS.get(kind.name, {}))
            seconds = seconds_a_pass(solver, field, 0.0 if arguments.quick else SECONDS)
            if seconds is not None:
                found[f"{kind.name} on {name}"] = seconds
                cells.append(f"{kind.name} {1e3 * seconds:.2f}")
        print(f"{name}, ms a pass: " + ", ".join(cells), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    if arguments.compare:
        sys.exit(1 if slower(json.loads(arguments.compare.read_text()), found) else 0)


def seconds_a_pass(solver: Solver, field: Field, enough: float) -> float | None:
    """None where the solver does not take the field."""
    if solver.needs - field.offers:
        return None
    run = solver.start(field, 0)
    laps: list[float] = []
    advance(run)  # the first pass is another one with some solvers
    while len(laps) < MOST_PASSES and not (laps and sum(laps) >= enough) and not run.stalled:
        before = time.process_time()
        advance(run)
        laps.append(time.process_time() - before)
    fastest = sorted(laps)[: max(1, len(laps) // 2)]
    return sum(fastest) / len(fastest) if laps else None


def advance(run: Any) -> None:
    while not run.advance(1e9):
        pass


def slower(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """The pairs that take longer by more than the allowance; each is printed."""
    worse = [name for name in after if name in before and after[name] > SLOWER * before[name]]
    for name in worse:
        print(f"slower: {name}: {1e3 * before[name]:.2f} ms a pass, now {1e3 * after[name]:.2f}")
    both = [after[name] / before[name] for name in after if name in before]
    print(f"{len(worse)} of {len(both)} slower; the mean ratio is {np.exp(np.mean(np.log(both))):.3f}")
    return worse


if __name__ == "__main__":
    main()
