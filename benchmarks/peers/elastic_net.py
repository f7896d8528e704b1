"""dualfield beside CRFsuite with ``l1`` and ``l2``, at the penalties that packages and tutorials use.

Two tasks: Dutch names (CoNLL-2002) with the attributes of sklearn-crfsuite's tutorial, and CoNLL-2000 chunking with
the preset's. Both programs get the same attributes and weights: the (attribute, label) pairs seen in training, all
transitions, no bias, begin or end weights; the objective is ``c1 ‖w‖₁ + c2 ‖w‖² + Σ −log p``. One thread.

CPU seconds are counted from encoded data, for

* the value that CRFsuite has after 100 iterations, which is where the tutorial stops it;
* the first pass within 1e-3 and 1e-4 (relative) of the optimum P*, for which dualfield's best lower bound stands, or,
  where a small ``c2`` leaves that bound loose, the smallest objective that a run of five times the passes reaches.

CRFsuite needs hours to reach 1e-3 everywhere. ``--trace`` runs it once and writes its losses, one an iteration, to
``benchmarks/results/elastic_net_crfsuite.jsonl``. Without ``--trace`` the losses are read from there, and CRFsuite runs
``--iterations`` iterations for its seconds an iteration, which the time to each loss is computed from. Its losses must
be those of the trace, and dualfield's objective at its weights must be its loss.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/peers/elastic_net.py [dutch chunking] [--settings tutorial ...] [--trace] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.memory import peak, reset_peak
from benchmarks.peers.conll2000 import first_within

TASKS = ("dutch", "chunking")
# CRFsuite's c1 and c2, with who uses them. Wapiti's rho2 is twice c2.
SETTINGS = {
    "tutorial": (0.1, 0.1),  # sklearn-crfsuite's tutorial, Rasa
    "usaddress": (0.1, 0.01),  # usaddress, probablepeople
    "ingredient-parser": (0.6, 0.5),
    "hazm": (0.4, 0.04),
    "underthesea": (1.0, 0.001),
    "wapiti": (0.5, 0.5e-4),  # Wapiti's defaults
}
TRACES = Path(__file__).parents[1] / "results" / "elastic_net_crfsuite.jsonl"
LONGEST = 2500  # iterations of a trace
ASKED = {"to CRFsuite's value after 100": 8, "to 1e-3": 20}
MEDIAN_ASKED = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"which of {', '.join(TASKS)}; default: both")
    parser.add_argument("--settings", nargs="+", choices=tuple(SETTINGS), default=tuple(SETTINGS), metavar="NAME")
    parser.add_argument("--trace", action="store_true", help="run CRFsuite to 1e-3 and keep its losses")
    parser.add_argument("--iterations", type=int, default=30, help="of CRFsuite, to time it (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--run", choices=tuple(PROGRAMS), help=argparse.SUPPRESS)  # inside a process of its own
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tasks) - set(TASKS))
    if unknown:
        parser.error(f"there is no task {unknown[0]!r}; expected some of {', '.join(TASKS)}.")
    if arguments.run:
        PROGRAMS[arguments.run](arguments.tasks[0], arguments.settings[0], arguments.iterations)
        return
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    results = []
    for task in arguments.tasks or TASKS:
        for setting in arguments.settings:
            if arguments.trace:
                trace(task, setting)
                continue
            ours = in_own_process("dualfield", task, setting, 0)
            theirs = in_own_process("crfsuite", task, setting, arguments.iterations)
            results.append({"task": task, "setting": setting, "dualfield": ours, "crfsuite": theirs})
            show(results[-1])
    if results:
        summarise(results)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def in_own_process(program: str, task: str, setting: str, iterations: int) -> dict[str, Any]:
    command = [sys.executable, __file__, task, "--settings", setting, "--run", program]
    done = subprocess.run([*command, "--iterations", str(iterations)], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# ---- data -------------------------------------------------------------------------------------------------


def read(task: str, part: str) -> tuple[list[Any], list[list[str]]]:
    """Attributes, as both programs take them, and labels of the training or the test part."""
    from benchmarks.tasks import data_file
    from dualfield.features import preset_template
    from dualfield.io import read_tokens
    from dualfield.io.json_lines import attribute_lists

    if task == "dutch":
        tokens = read_tokens(data_file(f"conll2002/ned.{'train' if part == 'train' else 'testb'}.gz"), docstart="keep")
        sentences = tokens.with_columns([0, 1]).rows()
        X = [[token_features(sentence, t) for t in range(len(sentence))] for sentence in sentences]
        return X, tokens.labels().tolist()
    tokens = read_tokens(data_file(f"conll2000/{part}.txt.gz"))
    encoded = preset_template("chunking", 2).encode(tokens.with_columns([0, 1]))
    return attribute_lists(encoded), tokens.labels().tolist()


def token_features(sentence: list[tuple[str, ...]], t: int) -> dict[str, Any]:
    """What sklearn-crfsuite's tutorial on CoNLL-2002 looks at: a word, its neighbours, their parts of speech."""

    def spelling(word: str, tag: str, at: str) -> dict[str, Any]:
        return {
            f"{at}word.lower()": word.lower(),
            f"{at}word.istitle()": word.istitle(),
            f"{at}word.isupper()": word.isupper(),
            f"{at}postag": tag,
            f"{at}postag[:2]": tag[:2],
        }

    word, tag = sentence[t]
    found = {"bias": 1.0, "word[-3:]": word[-3:], "word[-2:]": word[-2:], "word.isdigit()": word.isdigit()}
    found |= spelling(word, tag, "")
    found |= spelling(*sentence[t - 1], "-1:") if t > 0 else {"BOS": True}
    found |= spelling(*sentence[t + 1], "+1:") if t + 1 < len(sentence) else {"EOS": True}
    return found


def make_field(task: str, setting: str) -> Any:
    """The problem with CRFsuite's weights: to it, an attribute of value zero has been seen too."""
    from dualfield import fields
    from dualfield.compat.crfsuite.feature_set import crfsuite_layout, zero_pairs
    from dualfield.features import encode
    from dualfield.labels import encode_labels
    from dualfield.models import ChainSpec

    c1, c2 = SETTINGS[setting]
    X, y = read(task, "train")
    spec = ChainSpec(l2=2 * c2, l1=c1, state_features="observed", bias=False, begin=False, end=False)
    encoded = encode(X)
    classes, codes = encode_labels(y, encoded.lengths)
    layout = crfsuite_layout(
        encoded, codes, len(classes), spec, 0.0, lambda: zero_pairs(X, encoded, codes, len(classes))
    )
    return fields.Chain.of_layout(encoded, codes, classes, layout, spec)


# ---- the two programs -------------------------------------------------------------------------------------


def run_dualfield(task: str, setting: str, _: int) -> None:
    from benchmarks.tasks import Test
    from dualfield import solve
    from dualfield.features import encode

    field = make_field(task, setting)
    before = reset_peak()
    certified = solve(field, tol=1e-3, random_state=0)
    memory = peak() - before
    curve: list[tuple[float, float]] = []  # a run of its own: objectives are evaluated off the clock
    solve(
        field,
        tol=1e-5,
        max_passes=max(60, 2 * certified.passes),
        random_state=0,
        callbacks=[lambda progress: curve.append((progress.cpu_seconds, progress.primal()))],
    )
    best = solve(field, tol=1e-5, max_passes=5 * certified.passes, random_state=0)
    X, y = read(task, "test")
    scores = Test(encode(X, field.encoded.vocabulary), y).scores(field, certified.weights)
    found = {
        "solver": certified.message.split()[0],
        "objective": best.primal,
        "bound": best.dual,
        "optimum": best.dual if best.relative_gap <= 1e-4 else best.primal,
        "weights": field.dimension,
        "curve": curve,
        "certified": certified.cpu_seconds,
        "certified_passes": certified.passes,
        "certified_gap": certified.relative_gap,
        "nonzero": int((certified.weights != 0).sum()),
        "memory": memory,
        **scores,
    }
    print(json.dumps(found))


def run_crfsuite(task: str, setting: str, iterations: int) -> None:
    """A number of iterations, timed; at their end the loss, and dualfield's objective at the same weights."""
    import pycrfsuite

    from dualfield.models import read_crfsuite_model

    trainer = crfsuite_trainer(task, setting, iterations)
    before = reset_peak()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        memory = peak() - before
        model = read_crfsuite_model(path)
    log = trainer.logparser.iterations
    field = make_field(task, setting)
    checked = field.primal(in_order_of(field, model))
    found = {
        "version": pycrfsuite.CRFSUITE_VERSION,
        "seconds_an_iteration": sum(iteration["time"] for iteration in log) / len(log),
        "losses": [iteration["loss"] for iteration in log],
        "checked": checked,
        "memory": memory,
    }
    print(json.dumps(found))


def in_order_of(field: Any, model: Any) -> Any:
    """The weights of a model as the field numbers them; those that the model has left out are zero."""
    import numpy as np
    from scipy import sparse

    parts, n_labels = model.layout_.split(model.weights_), len(field.classes)
    state = sparse.coo_matrix(parts["state"])
    attribute = np.array([field.encoded.vocabulary.index[name] for name in model.vocabulary_.names])
    label = np.searchsorted(field.classes, model.classes_)
    starts, labels = field.layout.rows
    keys = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * n_labels + labels
    weights = np.zeros(field.dimension)
    weights[np.searchsorted(keys, attribute[state.row] * n_labels + label[state.col])] = state.data
    transitions = np.zeros((n_labels, n_labels))
    transitions[np.ix_(label, label)] = parts["transitions"]
    weights[len(keys) : len(keys) + len(field.layout.transitions)] = transitions.ravel()[field.layout.transitions]
    return weights


def crfsuite_trainer(task: str, setting: str, iterations: int) -> Any:
    import pycrfsuite

    class Trainer(pycrfsuite.Trainer):
        def message(self, message: str) -> None:
            if self.logparser.feed(message) == "iteration":
                print(f"{len(self.logparser.iterations)} {self.logparser.last_iteration['loss']!r}", flush=True)

    c1, c2 = SETTINGS[setting]
    options = {"c1": c1, "c2": c2, "max_iterations": iterations, "feature.possible_transitions": True}
    trainer = Trainer("lbfgs", {**options, "period": 10, "delta": 1e-9, "epsilon": 1e-9}, verbose=False)
    for sequence, labels in zip(*read(task, "train"), strict=True):
        trainer.append(sequence, labels)
    return trainer


def run_trace(task: str, setting: str, iterations: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        crfsuite_trainer(task, setting, iterations).train(str(Path(folder) / "model"))


def run_optimum(task: str, setting: str, _: int) -> None:
    from dualfield import solve

    print(json.dumps(solve(make_field(task, setting), tol=1e-5, max_passes=400, random_state=0).primal))


PROGRAMS = {"dualfield": run_dualfield, "crfsuite": run_crfsuite, "trace": run_trace, "optimum": run_optimum}


def trace(task: str, setting: str) -> None:
    """CRFsuite's losses until one is within 1e-3 of an objective that dualfield reached, appended to the file."""
    command = [sys.executable, __file__, task, "--settings", setting, "--iterations", str(LONGEST), "--run"]
    done = subprocess.run([*command, "optimum"], check=True, stdout=subprocess.PIPE, text=True)
    target = json.loads(done.stdout) * (1 + 0.98e-3)
    losses: list[float] = []
    before = time.perf_counter()
    with subprocess.Popen([*command, "trace"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            losses.append(float(line.split()[1]))
            if losses[-1] <= target:
                process.kill()
                break
    c1, c2 = SETTINGS[setting]
    row = {"task": task, "setting": setting, "c1": c1, "c2": c2, "losses": losses}
    with TRACES.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(
        f"{task}, {setting}: {len(losses)} iterations, from {losses[0]:.1f} to {losses[-1]:.3f} "
        f"(wanted {target:.3f}), {time.perf_counter() - before:.0f} s",
        flush=True,
    )


def traced(task: str, setting: str) -> list[float]:
    for line in TRACES.read_text().splitlines():
        row = json.loads(line)
        if (row["task"], row["setting"]) == (task, setting):
            return list(row["losses"])
    sys.exit(f"{TRACES.name} has no losses of CRFsuite for {task} with {setting}; make them with --trace.")


# ---- tables -----------------------------------------------------------------------------------------------


def levels(result: dict[str, Any]) -> list[tuple[str, tuple[float, int] | None, tuple[float, int] | None]]:
    """(what, ours, theirs): CPU seconds and passes to each level; None where it was not reached."""
    ours, theirs = result["dualfield"], result["crfsuite"]
    each, losses = theirs["seconds_an_iteration"], traced(result["task"], result["setting"])
    curve = [(each * n, loss) for n, loss in enumerate(losses, 1)]
    rows = [("to CRFsuite's value after 100", first_within(ours["curve"], losses[99], 0.0), (100 * each, 100))]
    for level in (1e-3, 1e-4):
        found = (first_within(some, ours["optimum"], level) for some in (ours["curve"], curve))
        rows.append((f"to {level:.0e}".replace("e-0", "e-"), *found))
    return rows


def show(result: dict[str, Any]) -> None:
    ours, theirs = result["dualfield"], result["crfsuite"]
    c1, c2 = SETTINGS[result["setting"]]
    losses = traced(result["task"], result["setting"])
    print(
        f"\n{result['task']}, c1 = {c1:g}, c2 = {c2:g} ({result['setting']}): P* = {ours['optimum']:.3f}, "
        f"{ours['weights']:,} weights, of which {ours['nonzero']:,} are not zero; {ours['solver']}"
    )
    for what, a, b in levels(result):
        cells = ["not reached" if x is None else f"{x[0]:.2f} s ({x[1]} passes)" for x in (a, b)]
        ratio = f"{b[0] / a[0]:.1f} times less" if a and b else ""
        if a and not b:
            longest = len(losses) * theirs["seconds_an_iteration"]
            ratio = f"more than {longest / a[0]:.1f} times less (CRFsuite ran {len(losses)} iterations)"
        print(f"{what}: dualfield {cells[0]}, CRFsuite {cells[1]}  {ratio}")
    print(
        f"proven: {ours['certified_gap']:.1e} in {ours['certified']:.2f} s ({ours['certified_passes']} passes); "
        f"peak {ours['memory'] / 1e6:.0f} MB (CRFsuite {theirs['memory'] / 1e6:.0f}); "
        + ", ".join(f"{name} {ours[name]:.4f}" for name in ("f1", "accuracy") if name in ours)
    )
    off = abs(theirs["checked"] / theirs["losses"][-1] - 1)
    again = max(abs(a / b - 1) for a, b in zip(theirs["losses"], losses, strict=False))
    lowest = min(losses)
    print(
        f"CRFsuite's loss and the objective at its weights differ by {off:.1e}; its losses and the trace's by "
        f"{again:.1e}; its lowest loss is {lowest / ours['bound'] - 1:+.1e} beside the lower bound",
        flush=True,
    )
    if off > 1e-6 or again > 1e-6 or lowest < ours["bound"]:
        sys.exit("The two programs do not have the same objective.")


def summarise(results: list[dict[str, Any]]) -> None:
    ratios: dict[str, list[float]] = {}
    for result in results:
        for what, a, b in levels(result):
            if a and b:
                ratios.setdefault(what, []).append(b[0] / a[0])
    print()
    for what, found in ratios.items():
        asked = f" (asked: {ASKED[what]})" if what in ASKED else ""
        print(f"{what}: least {min(found):.1f}{asked}, median {median(found):.1f}, of {len(found)} settings")


if __name__ == "__main__":
    main()
