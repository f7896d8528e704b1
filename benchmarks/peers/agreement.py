"""One model by two programs: dualfield and CRFsuite, both to the optimum, on the tasks of ``text_tasks.py``.

The same attributes, those of the preset, and the same weights: the (attribute, label) and (label, label) pairs seen in
training, and no others, as CRFsuite has no bias, begin and end weights. Both minimise ``l2/2 ‖w‖² + Σ −log p(y | x)``,
where CRFsuite's c2 is l2/2. That has one minimum, so weights, labels and scores must agree as far as both are
converged: dualfield is to prove a relative distance of 1e-6, CRFsuite's L-BFGS stops when ten iterations gain less
than 1e-8. Printed for each:

* the objective, computed by dualfield at the weights of both, and how far above the proven lower bound it is;
* CRFsuite's own figure of its objective is checked against that;
* F1 of whole entities or share of tokens, CRFsuite's as its own tagger labels, and how many labels differ.

``--causes`` adds what makes two models look different: CRFsuite stopped by its own rule, and dualfield with the weights
that ``ChainCRF`` has by default. ``--every 3`` trains on every third sentence, the first included: CRFsuite needs long.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/peers/agreement.py [TASK ...] [--causes] [--every N]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.tasks import Test, data_file, from_columns
from benchmarks.text_tasks import TASKS
from dualfield import fields, solve
from dualfield.features import Tokens, preset_template
from dualfield.io import read_tokens
from dualfield.io.json_lines import attribute_lists
from dualfield.models import read_crfsuite_model

FORM = 1  # the column of CoNLL-U that the preset sees
OBSERVED: dict[str, Any] = {"state_features": "observed", "transitions": "observed"}
TIGHT = {"delta": 1e-8, "period": 10, "epsilon": 1e-7, "max_iterations": 20_000}
TOLERANCE = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"which of {', '.join(TASKS)}; default: all")
    parser.add_argument("--causes", action="store_true", help="also models that differ, one thing at a time")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="train on every N-th sentence")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tasks) - set(TASKS))
    if unknown:
        parser.error(f"there is no task {unknown[0]!r}; expected some of {', '.join(TASKS)}.")
    if arguments.every < 1:
        parser.error(f"--every takes a whole number from 1; found {arguments.every}.")
    results = []
    for name in arguments.tasks or TASKS:
        results.append({"task": name, "every": arguments.every, **compare(name, arguments.every, arguments.causes)})
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def compare(name: str, every: int, causes: bool) -> dict[str, Any]:
    task = TASKS[name]
    train, test = tokens(name, task.train)[::every], tokens(name, task.test)
    template = preset_template(task.preset, train.n_columns - 1)
    field, test_set = from_columns(template, train, test, task.l2, **OBSERVED)
    sizes = {"sentences": len(train), "tokens": train.n_tokens, "labels": len(field.classes)}
    sizes |= {"weights": field.dimension, "l2": task.l2}
    print(f"\n{name}: " + ", ".join(f"{key} {value:,}" for key, value in sizes.items()), flush=True)
    print(f"{'':44}{'objective':>14}{'above bound':>13}{'passes':>8}{'CPU s':>8}{'score':>9}")
    rows: list[dict[str, Any]] = []

    def show(program: str, objective: float, bound: float, passes: int, seconds: float, labels: Any) -> None:
        gap, scores = objective / bound - 1, test_set.scores_of(labels)
        row = {"program": program, "objective": objective, "gap": gap, "passes": passes, "cpu": seconds, **scores}
        rows.append(row)
        score = scores.get("f1", scores["accuracy"])
        print(f"{program:44}{objective:14.4f}{gap:13.1e}{passes:8d}{seconds:8.0f}{score:9.4f}", flush=True)

    def ours(program: str, problem: fields.Chain, tol: float) -> Any:
        solution = solve(problem, tol=tol, max_passes=5000, random_state=0)
        labels = test_set.labels(problem, solution.weights)
        show(program, solution.primal, solution.dual, solution.passes, solution.cpu_seconds, labels)
        return solution, labels

    def theirs(program: str, options: dict[str, Any]) -> Any:
        found = crfsuite(field, test_set, options)
        own, checked = found["loss"], field.primal(found["weights"])
        if abs(own - checked) > 1e-5:  # it prints six decimals
            sys.exit(f"{name}: CRFsuite's objective is {own!r} where dualfield's is {checked!r}; expected the same.")
        show(program, checked, best.dual, found["passes"], found["cpu"], found["labels"])
        return found

    best, labels = ours("dualfield, the same weights", field, TOLERANCE)
    same = theirs("CRFsuite", TIGHT)
    differing = sum(a != b for pair in zip(labels, same["labels"], strict=True) for a, b in zip(*pair, strict=True))
    distance = float(np.abs(best.weights - same["weights"]).max())
    print(f"largest difference of a weight {distance:.1e}; {differing} of {test.n_tokens:,} labels differ", flush=True)
    if causes:
        theirs("CRFsuite, stopped by its own rule", {})
        ours("dualfield, stopped at 1e-3", field, 1e-3)
        for extra in ({"bias"}, {"begin", "end"}, {"bias", "begin", "end"}):
            options = {part: part in extra for part in ("bias", "begin", "end")}
            problem = fields.Chain(field.encoded, train.labels(), task.l2, **OBSERVED, **options)
            ours(f"dualfield, and {', '.join(sorted(extra))} weights", problem, TOLERANCE)
    return {**sizes, "rows": rows, "largest_difference": distance, "differing_labels": differing}


def tokens(name: str, path: str) -> Tokens:
    """What the preset sees of a file, and the label last."""
    task = TASKS[name]
    found = read_tokens(data_file(path), format=task.format)
    return found if task.label_column is None else found.with_columns([FORM, task.label_column - 1])


def crfsuite(field: fields.Chain, test: Test, options: dict[str, Any]) -> dict[str, Any]:
    """CRFsuite's weights in the order of the field's, the labels of its tagger, and how training went."""
    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.0, "c2": field.l2 / 2, **options}, verbose=False)
    labels = field.classes[field.codes].tolist()
    for sequence, (a, b) in zip(attribute_lists(field.encoded), pairwise(field.encoded.offsets.tolist()), strict=True):
        trainer.append(sequence, labels[a:b])
    before = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        trainer.train(path)
        seconds = time.process_time() - before
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        predicted = [tagger.tag(sequence) for sequence in attribute_lists(test.X)]
        weights = in_order_of(field, read_crfsuite_model(path))
    iterations = trainer.logparser.iterations
    return {
        "weights": weights,
        "labels": predicted,
        "loss": iterations[-1]["loss"],
        "passes": len(iterations),
        "cpu": seconds,
    }


def in_order_of(field: fields.Chain, crf: Any) -> np.ndarray:
    """The weights of a model as the field numbers them, which must have the same pairs."""
    parts = crf.layout_.split(crf.weights_)
    number = {name: n for n, name in enumerate(field.encoded.vocabulary.names)}
    attribute = np.array([number[name] for name in crf.vocabulary_.names])
    label = np.searchsorted(field.classes, crf.classes_)
    state = sparse.coo_matrix(parts["state"])
    moved = sparse.csr_matrix((state.data, (attribute[state.row], label[state.col])), shape=state.shape)
    moved.sort_indices()
    starts, labels = field.layout.rows
    transitions = np.zeros((len(label), len(label)))
    transitions[np.ix_(label, label)] = parts["transitions"]
    seen = np.flatnonzero(transitions)
    same = (moved.indptr, starts), (moved.indices, labels), (seen, field.layout.transitions)
    if not all(np.array_equal(a, b) for a, b in same):
        sys.exit("CRFsuite has weights for other pairs than dualfield; expected those seen in training.")
    return np.concatenate([moved.data, transitions.ravel()[seen]])


if __name__ == "__main__":
    main()
