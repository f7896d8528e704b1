"""What unknown labels cost: Dutch names or chunks with 5 % of the labels unknown, beside a fit with all of them.

    python benchmarks/partial_labels.py [--task conll] [--l2 0.1] [--share 0.2] [--seeds 2] [--lbfgs]

CPU seconds from encoded data to the tolerance 1e-3, F1 on the test set, and the objective reached. With ``--lbfgs``
also by L-BFGS, which minimises the same objective by its gradient.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np
from tasks import TASKS

from dualfield import fields, solve


def main() -> None:
    """Print one row a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=["ner", "conll"], default="ner")
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=0.05, help="of the labels that are unknown")
    parser.add_argument("--seeds", type=int, default=2, help="how many runs")
    parser.add_argument("--lbfgs", action="store_true", help="also by L-BFGS")
    given = parser.parse_args()
    field, test = TASKS[given.task](given.l2)
    random = np.random.default_rng(0)
    codes, offsets = field.codes, field.encoded.offsets.tolist()
    labels = np.where(random.random(len(codes)) < given.share, None, field.classes[codes].astype(object)).tolist()
    y = [labels[a:b] for a, b in pairwise(offsets)]
    print(f"{'labels':8} {'solver':7} {'CPU s':>6} {'passes':>6} {'problems':>8} {'objective':>10} {'F1':>7}")
    for seed in range(given.seeds):
        for name, known in (("all", field), ("partial", None)):
            problem = known or fields.Chain(field.encoded, y, given.l2)
            solution = solve(problem, "oeg", random_state=seed)
            problems = int(solution.history["problem"][-1]) if known is None else 1
            row = f"{solution.cpu_seconds:6.2f} {solution.passes:6} {problems:8} {solution.primal:10.2f}"
            print(f"{name:8} {'OEG':7} {row} {test.scores(problem, solution.weights)['f1']:7.4f}", flush=True)
    if given.lbfgs:
        problem = fields.Chain(field.encoded, y, given.l2)
        solution = solve(problem, "lbfgs")
        row = f"{solution.cpu_seconds:6.2f} {solution.passes:6} {'-':>8} {solution.primal:10.2f}"
        print(f"{'partial':8} {'L-BFGS':7} {row} {test.scores(problem, solution.weights)['f1']:7.4f}")


if __name__ == "__main__":
    main()
