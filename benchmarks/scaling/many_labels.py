"""Many labels of which few pairs occur: the cost of inference against the number of pairs.

    python benchmarks/scaling/many_labels.py [--labels 400] [--pairs 1000 2500 5000 10000] [--sequences 2000]
        [--json benchmarks/results/many_labels.json]

Generated sequences of 20 positions walk along randomly chosen pairs of labels; pairs seen in training have a weight.
Each problem is solved twice: as it is by default, which passes over transitions without a weight, and with all pairs of
labels looked at. CPU microseconds a position, one thread: a pass of OEG (of four, with the confirmation at the end), an
objective with its gradient, decoding. Objectives after four passes must agree to 1e-9.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.results import environment
from dualfield import OEG, fields, solve

LENGTH, PASSES = 20, 4
WORK = ("pass of OEG", "gradient", "decoding")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=400)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 2500, 5000, 10_000])
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    before = environment()
    print(f"load before: {before['load']}; {arguments.labels} labels")
    print(f"{'pairs':>8}{'':>12}{'OEG':>8}{'gradient':>10}{'decoding':>10}")
    rows: list[dict[str, Any]] = []
    for pairs in arguments.pairs:
        X, y = walks(arguments.labels, pairs, arguments.sequences)
        few = fields.Chain(X, y, state_features="observed", transitions="observed")
        lines = {name: measure(field) for name, field in (("few pairs", few), ("all pairs", of_all_pairs(few)))}
        for name, (objective, *seconds) in lines.items():
            shown = "".join(
                f"{1e6 * value / few.encoded.n_positions:>{width}.1f}" for value, width in seconds_of(seconds)
            )
            print(f"{len(few.layout.transitions):>8}{name:>12}{shown}", flush=True)
            if abs(objective - lines["few pairs"][0]) > 1e-9 * objective:
                raise SystemExit(f"The objectives differ: {objective} and {lines['few pairs'][0]}.")
        ratios = np.divide(lines["all pairs"][1:], lines["few pairs"][1:])
        print(f"{'':>20}" + "".join(f"{value:>{width}.1f}" for value, width in seconds_of(ratios)) + " times less")
        rows.append(
            {
                "labels": arguments.labels,
                "positions": few.encoded.n_positions,
                "pairs": len(few.layout.transitions),
                "seconds": dict(zip(WORK, lines["few pairs"][1:], strict=True)),
                "times_less": dict(zip(WORK, ratios.tolist(), strict=True)),
            }
        )
    if len(rows) > 1:
        logarithms = np.log([(row["pairs"], row["seconds"]["gradient"]) for row in rows])
        print(f"a gradient grows as pairs to the power of {np.polyfit(*logarithms.T, 1)[0]:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"environment": before, "rows": rows}, indent=1) + "\n")


def seconds_of(values: Any) -> zip[tuple[Any, int]]:
    return zip(values, (8, 10, 10), strict=True)


def walks(labels: int, pairs: int, sequences: int) -> tuple[list[Any], list[Any]]:
    """Sequences along given pairs of labels; a word tells of its label, more or less."""
    random = np.random.default_rng(0)
    after: list[list[int]] = [[int(random.integers(labels))] for _ in range(labels)]
    for pair in random.choice(labels * labels, size=max(0, pairs - labels), replace=False).tolist():
        after[pair // labels].append(pair % labels)
    X, y = [], []
    for _ in range(sequences):
        walk = [int(random.integers(labels))]
        while len(walk) < LENGTH:
            walk.append(int(random.choice(after[walk[-1]])))
        X.append(
            [[f"word={7 * k + random.integers(7)}", f"kind={k // 10}", f"any={random.integers(99)}"] for k in walk]
        )
        y.append(walk)
    return X, y


def of_all_pairs(field: fields.Chain) -> fields.Chain:
    """The same problem with all pairs of labels looked at."""
    other = field.with_l2(field.l2)
    other.layout = replace(field.layout, sparse=False)
    return other.with_l2(field.l2)


def measure(field: fields.Chain) -> tuple[float, float, float, float]:
    """The objective after some passes; CPU seconds of a pass, a gradient and decoding."""
    solution, passes = timed(lambda: solve(field, OEG(), tol=1e-12, max_passes=PASSES, random_state=0))
    _, gradient = timed(lambda: field.gradient(solution.weights))
    _, decoding = timed(lambda: field.core.decode(solution.weights, 0, field.n_blocks))
    return solution.primal, passes / PASSES, gradient, decoding


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


if __name__ == "__main__":
    main()
