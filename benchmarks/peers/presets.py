"""dualfield beside CRFsuite on Penn tags (49 labels) and Dutch names (9 labels), with the attributes of the presets.

Both programs get the same attribute strings and the same weights: the (attribute, label) and (label, label) pairs
seen in training, or all pairs with ``--pairs all``; no bias, begin or end weights; l2 = 1, one thread, the default
solver. Reported as in ``conll2000.py``: CPU seconds from encoded data to the first pass within 1e-2, 1e-3, 1e-4
(relative) of the optimum P*, which is the lower bound of a dualfield run to a certified 1e-6. Evaluations of the
objective are not on the clock.

CRFsuite needs minutes. ``--every 10`` trains on every tenth sentence, for a look.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/peers/presets.py [pos dutch] [--pairs observed] [--every N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.peers.conll2000 import LEVELS, first_within

NAMES = ("pos", "dutch")
ASKED = 20  # times less CPU time to 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"which of {', '.join(NAMES)}; default: both")
    parser.add_argument("--pairs", choices=("all", "observed"), default="observed", help="which pairs have a weight")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="train on every N-th sentence")
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--run", choices=tuple(PROGRAMS), help=argparse.SUPPRESS)  # inside a process of its own
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tasks) - set(NAMES))
    if unknown:
        parser.error(f"there is no task {unknown[0]!r}; expected some of {', '.join(NAMES)}.")
    if arguments.every < 1:
        parser.error(f"--every takes a whole number from 1; found {arguments.every}.")
    if arguments.run:
        print(json.dumps(PROGRAMS[arguments.run](arguments.tasks[0], arguments.pairs, arguments.every)))
        return
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    results = []
    for task in arguments.tasks or NAMES:
        found = {program: in_own_process(program, task, arguments) for program in PROGRAMS}
        results.append({"task": task, "pairs": arguments.pairs, "every": arguments.every, **found})
        show(results[-1])
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def in_own_process(program: str, task: str, arguments: argparse.Namespace) -> dict[str, Any]:
    options = ["--run", program, "--pairs", arguments.pairs, "--every", str(arguments.every)]
    done = subprocess.run([sys.executable, __file__, task, *options], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def load(task: str, pairs: str, every: int) -> Any:
    from benchmarks.peers.agreement import TASKS, tokens
    from benchmarks.tasks import from_columns
    from dualfield.features import preset_template

    train = tokens(task, TASKS[task].train)[::every]
    template = preset_template(TASKS[task].preset, train.n_columns - 1)
    return from_columns(template, train, train[:1], 1.0, state_features=pairs, transitions=pairs)[0]


def run_dualfield(task: str, pairs: str, every: int) -> dict[str, Any]:
    from dualfield import solve

    field = load(task, pairs, every)
    certified = solve(field, tol=1e-3, random_state=0)
    curve: list[tuple[float, float]] = []  # a run of its own: nothing is confirmed on the way to 1e-5
    solve(
        field,
        tol=1e-5,
        random_state=0,
        callbacks=[lambda progress: curve.append((progress.cpu_seconds, progress.primal()))],
    )
    return {
        "solver": certified.message.split()[0],
        "optimum": solve(field, tol=1e-6, random_state=0, max_passes=2000).dual,
        "blocks": field.n_blocks,
        "tokens": field.encoded.n_positions,
        "labels": len(field.classes),
        "weights": field.dimension,
        "curve": curve,
        "certified": certified.cpu_seconds,
        "certified_passes": certified.passes,
    }


def run_crfsuite(task: str, pairs: str, every: int) -> dict[str, Any]:
    import pycrfsuite

    from dualfield.io.json_lines import attribute_lists

    field = load(task, pairs, every)
    options: dict[str, Any] = {"c1": 0.0, "c2": field.l2 / 2, "max_iterations": 1000}
    if pairs == "all":
        options |= {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer = pycrfsuite.Trainer("lbfgs", options, verbose=False)
    labels = field.classes[field.codes].tolist()
    for sequence, (a, b) in zip(attribute_lists(field.encoded), pairwise(field.encoded.offsets.tolist()), strict=True):
        trainer.append(sequence, labels[a:b])
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
    total, curve = 0.0, []
    for iteration in trainer.logparser.iterations:
        total += iteration["time"]
        curve.append((total, iteration["loss"]))
    return {"solver": "L-BFGS", "curve": curve}


PROGRAMS = {"dualfield": run_dualfield, "crfsuite": run_crfsuite}


def show(result: dict[str, Any]) -> None:
    ours, theirs = result["dualfield"], result["crfsuite"]
    optimum = ours["optimum"]
    print(
        f"\n{result['task']}, {result['pairs']} pairs: {ours['blocks']:,} sentences, {ours['tokens']:,} tokens, "
        f"{ours['labels']} labels, {ours['weights']:,} weights, P* = {optimum:.3f}"
    )
    for level in LEVELS:
        a, b = (first_within(program["curve"], optimum, level) for program in (ours, theirs))
        cells = ["not reached" if x is None else f"{x[0]:.2f} s ({x[1]} passes)" for x in (a, b)]
        ratio = f"{b[0] / a[0]:.1f} times less" if a and b else ""
        asked = f", {ASKED} asked" if ratio and level == 1e-3 else ""
        print(f"to {level:g}: {ours['solver']} {cells[0]}, CRFsuite {cells[1]}  {ratio}{asked}", flush=True)
    print(f"a certified 1e-3: {ours['certified']:.2f} s ({ours['certified_passes']} passes)", flush=True)


if __name__ == "__main__":
    main()
