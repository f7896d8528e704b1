"""sklearn-crfsuite's tutorial by sklearn-crfsuite and by the drop-in, side by side.

The task is the tutorial's: names in CoNLL-2002 (here the Dutch part, 15,806 sentences), its attributes, and
``CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)``. Each program runs in a
process of its own. Printed: the loss that training ends with, CPU seconds of ``fit``, F1 of whole names on ``testb``.

``--generated N`` then trains both on N small problems drawn at random, penalties from 1e-3 to 10 and iterations from 20
to 200 among them. The loss of the drop-in must be at most (1 + 1e-4) times the original's each time.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/peers/tutorial.py [--generated 200]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.peers.elastic_net import read

SETTINGS = {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "all_possible_transitions": True}
WORSE = 1e-4  # the largest share by which the drop-in's loss may exceed the original's
ASKED = 8  # times less CPU


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=int, default=0, metavar="N", help="small problems to compare on as well")
    parser.add_argument("--run", choices=("dualfield", "crfsuite"), help=argparse.SUPPRESS)  # in a process of its own
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(tutorial(arguments.run)))
        return
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    found = {}
    for program in ("dualfield", "crfsuite"):
        command = [sys.executable, __file__, "--run", program]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[program] = json.loads(done.stdout.splitlines()[-1])
        row = found[program]
        print(
            f"{program}: loss {row['loss']:.3f}, {row['cpu']:.2f} CPU s, {row['passes']} passes, F1 {row['f1']:.4f}, "
            f"{row['weights']:,} weights that are not zero",
            flush=True,
        )
    ours, theirs = found["dualfield"], found["crfsuite"]
    print(
        f"loss: {ours['loss'] / theirs['loss'] - 1:+.1e} beside the original's (at most {WORSE:g} asked); "
        f"{theirs['cpu'] / ours['cpu']:.1f} times less CPU ({ASKED} asked)",
        flush=True,
    )
    failed = ours["loss"] > theirs["loss"] * (1 + WORSE)
    if arguments.generated:
        failed = not all_as_good(arguments.generated) or failed
    sys.exit(1 if failed else 0)


def crf_class(program: str) -> Any:
    if program == "dualfield":
        from dualfield.compat import sklearn_crfsuite
    else:
        import sklearn_crfsuite
    return sklearn_crfsuite.CRF


def loss_of(crf: Any) -> float:
    solution = getattr(getattr(crf, "chain_crf_", None), "solution_", None)
    return float(crf.training_log_.last_iteration["loss"] if solution is None else solution.primal)


def tutorial(program: str) -> dict[str, Any]:
    from dualfield.metrics import chunk_scores

    X, y = read("dutch", "train")
    X_test, y_test = read("dutch", "test")
    crf = crf_class(program)(algorithm="lbfgs", **SETTINGS)
    before = time.process_time()
    crf.fit(X, y)
    cpu = time.process_time() - before
    predicted = [list(labels) for labels in crf.predict(X_test)]
    return {
        "loss": loss_of(crf),
        "cpu": cpu,
        "passes": len(crf.training_log_.iterations),
        "f1": chunk_scores(y_test, predicted).f1,
        "weights": len(crf.state_features_) + len(crf.transition_features_),
    }


def all_as_good(n: int) -> bool:
    worst, bad = -1.0, 0
    for seed in range(n):
        X, y, options = problem(seed)
        losses = {}
        for program in ("dualfield", "crfsuite"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of convergence: what counts is the loss
                losses[program] = loss_of(crf_class(program)(algorithm="lbfgs", **options).fit(X, y))
        worse = losses["dualfield"] / losses["crfsuite"] - 1
        worst = max(worst, worse)
        if worse > WORSE:
            bad += 1
            print(f"problem {seed}, {options}: loss {worse:+.1e} beside the original's", flush=True)
    print(f"{n} generated problems: {bad} worse by more than {WORSE:g}; the largest difference is {worst:+.1e}")
    return bad == 0


def problem(seed: int) -> tuple[list[Any], list[list[str]], dict[str, Any]]:
    """Sequences of words that a chain of labels has made, some of them noise; penalties and iterations."""
    random = np.random.default_rng(seed)
    labels, words = int(random.integers(2, 9)), int(random.integers(10, 400))
    chain = random.dirichlet(np.full(labels, 0.3), size=labels)
    speech = random.dirichlet(np.full(words, 0.05), size=labels)
    X, y = [], []
    for _ in range(int(random.integers(10, 120))):
        state, sequence, truth = int(random.integers(labels)), [], []
        for _ in range(int(random.integers(1, 15))):
            state = int(random.choice(labels, p=chain[state]))
            word = int(random.choice(words, p=speech[state]) if random.random() < 0.8 else random.integers(words))
            sequence.append({"word": f"w{word}", "stem": f"s{word // 5}", "even": word % 2 == 0, "size": word / words})
            truth.append(f"L{state}")
        X.append(sequence)
        y.append(truth)
    y[0][0] = "L0" if any(label != "L0" for labels_ in y for label in labels_) else "L1"
    options = {
        "c1": float(10 ** random.uniform(-3, 1)),
        "c2": float(10 ** random.uniform(-3, 1)),
        "max_iterations": int(random.integers(20, 200)),
        "all_possible_transitions": bool(random.random() < 0.5),
        "all_possible_states": bool(random.random() < 0.3),
    }
    return X, y, options


if __name__ == "__main__":
    main()
