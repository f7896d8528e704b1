"""Many labels of which few pairs occur: the cost of inference against the number of pairs.

    python benchmarks/scaling/many_labels.py [--labels 400] [--pairs 1000 2500 5000 10000] [--sequences 2000]
        [--json benchmarks/results/many_labels.json]
    python benchmarks/scaling/many_labels.py --types 200
    python benchmarks/scaling/many_labels.py --labels 500 --all-transitions

Generated sequences of 20 positions walk along randomly chosen pairs of labels; pairs seen in training have a weight.
Each problem is solved twice: as it is by default, which passes over transitions without a weight, and with all pairs of
labels looked at. CPU microseconds a position, one thread: a pass of OEG (of four, with the confirmation at the end), an
objective with its gradient, decoding, marginals. Objectives after four passes must agree to 1e-9.

With --types the labels are B-x and I-x of so many types, and O; the same problem is solved without rules and under the
rules of BIO, by either way. With --all-transitions every transition has a weight; OEG is left out.
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
WORK = ("pass of OEG", "gradient", "decoding", "marginals")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=400)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 2500, 5000, 10_000])
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--types", type=int)
    parser.add_argument("--json", type=Path, help="also write the results of walks here")
    parser.add_argument("--all-transitions", action="store_true")
    arguments = parser.parse_args()
    labels = 2 * arguments.types + 1 if arguments.types else arguments.labels
    before = environment()
    print(f"load before: {before['load']}; {labels} labels")
    print(f"{'pairs':>8}{'':>20}" + "".join(f"{name:>{width}}" for name, width in COLUMNS))
    if arguments.all_transitions:
        return of_all_transitions(labels, arguments.sequences)
    if arguments.types:
        return under_rules(arguments.types, arguments.sequences)
    rows = of_walks(labels, arguments.pairs, arguments.sequences)
    if arguments.json:
        arguments.json.write_text(json.dumps({"environment": before, "rows": rows}, indent=1) + "\n")


def of_walks(labels: int, numbers_of_pairs: list[int], sequences: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for pairs in numbers_of_pairs:
        X, y = walks(labels, pairs, sequences)
        few = fields.Chain(X, y, state_features="observed", transitions="observed")
        lines = shown({"few pairs": few, "all pairs": of_all_pairs(few)})
        ratios = np.divide(lines["all pairs"][1:], lines["few pairs"][1:])
        print(f"{'':>28}" + columns(ratios) + " times less")
        rows.append(
            {
                "labels": labels,
                "positions": few.encoded.n_positions,
                "pairs": len(few.layout.transitions),
                "seconds": dict(zip(WORK, lines["few pairs"][1:], strict=True)),
                "times_less": dict(zip(WORK, ratios.tolist(), strict=True)),
            }
        )
    if len(rows) > 1:
        logarithms = np.log([(row["pairs"], row["seconds"]["gradient"]) for row in rows])
        print(f"a gradient grows as pairs to the power of {np.polyfit(*logarithms.T, 1)[0]:.2f}")
    return rows


def under_rules(types: int, sequences: int) -> None:
    X, y = spans(types, sequences)
    options = {"state_features": "observed", "transitions": "observed"}
    few = fields.Chain(X, y, **options)
    ruled = fields.Chain(X, y, constraints="bio", **options)
    lines = shown({"few pairs, no rules": few}) | shown({"few pairs": ruled, "all pairs": of_all_pairs(ruled)})
    for name in ("few pairs, no rules", "all pairs"):
        print(f"{name:>28}" + columns(np.divide(lines[name][1:], lines["few pairs"][1:])) + " times few pairs")


def of_all_transitions(labels: int, sequences: int) -> None:
    """At random weights: a gradient, decoding and marginals."""
    X, y = walks(labels, 10 * labels, sequences)
    field = fields.Chain(X, y, state_features="observed", transitions="all")
    weights = np.random.default_rng(0).normal(size=field.dimension)
    _, gradient = timed(lambda: field.gradient(weights))
    _, decoding = timed(lambda: field.core.decode(weights, 0, field.n_blocks))
    _, marginals = timed(lambda: field.core.marginals(weights, 0, field.n_blocks))
    costs = columns([1e6 * value / field.encoded.n_positions for value in (np.nan, gradient, decoding, marginals)])
    print(f"{len(field.layout.transitions):>8}{'all transitions':>20}{costs}")


def shown(problems: dict[str, fields.Chain]) -> dict[str, tuple[float, ...]]:
    """Prints what is measured of each way to solve a problem."""
    lines = {name: measure(field) for name, field in problems.items()}
    first = next(iter(lines.values()))[0]
    for (name, (objective, *seconds)), field in zip(lines.items(), problems.values(), strict=True):
        costs = columns([1e6 * value / field.encoded.n_positions for value in seconds])
        print(f"{len(field.layout.transitions):>8}{name:>20}{costs}", flush=True)
        if abs(objective - first) > 1e-9 * first:
            raise SystemExit(f"The objectives differ: {objective} and {first}.")
    return lines


COLUMNS = (("OEG", 8), ("gradient", 10), ("decoding", 10), ("marginals", 10))


def columns(values: Any) -> str:
    shown = [f"{value:>{width}.1f}" for value, (_, width) in zip(values, COLUMNS, strict=True)]
    return "".join(shown).replace("nan", "   ")


def spans(types: int, sequences: int) -> tuple[list[Any], list[Any]]:
    """Sequences of spans in BIO. After a type come a few types; a word tells of its label, more or less."""
    random = np.random.default_rng(0)
    after = random.integers(types, size=(types, 8))
    X, y = [], []
    for _ in range(sequences):
        labels: list[str] = []
        kind = int(random.integers(types))
        while len(labels) < LENGTH:
            labels += ["O"] * int(random.integers(2)) + [f"B-{kind}"] + [f"I-{kind}"] * int(random.integers(3))
            kind = int(random.choice(after[kind]))
        y.append(labels[:LENGTH])
        X.append(
            [
                [f"word={label}{random.integers(7)}", f"kind={label[:4]}", f"any={random.integers(99)}"]
                for label in y[-1]
            ]
        )
    return X, y


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


def measure(field: fields.Chain) -> tuple[float, ...]:
    """The objective after some passes; CPU seconds of a pass, a gradient, decoding and marginals."""
    solution, passes = timed(lambda: solve(field, OEG(), tol=1e-12, max_passes=PASSES, random_state=0))
    _, gradient = timed(lambda: field.gradient(solution.weights))
    _, decoding = timed(lambda: field.core.decode(solution.weights, 0, field.n_blocks))
    _, marginals = timed(lambda: field.core.marginals(solution.weights, 0, field.n_blocks))
    return solution.primal, passes / PASSES, gradient, decoding, marginals


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


if __name__ == "__main__":
    main()
