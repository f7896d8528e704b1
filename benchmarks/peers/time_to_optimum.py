"""How long each program needs to come within 1e-3 of the optimum: the rows of the README's chart.

Four comparisons, each on one objective with the same attributes and the same weights, on one thread:

* ``chunking``: CoNLL-2000 chunking, ``l2 = 1``, the pairs seen in training; beside CRFsuite;
* ``chunking-all``: the same with all pairs; beside CRFsuite and Wapiti, which has no other choice of weights;
* ``pos``: Penn tags (49 labels), ``l2 = 1``, the pairs seen in training; beside CRFsuite;
* ``tutorial``: Dutch names with the attributes and the penalties of sklearn-crfsuite's tutorial, ``c1 = c2 = 0.1``;
  beside CRFsuite, whose tutorial stops it after 100 iterations.

A row of ``benchmarks/results/time_to_optimum.jsonl`` has the CPU seconds from encoded data to the first pass within
1e-2, 1e-3 and 1e-4 (relative) of the optimum P*, a certified lower bound of dualfield's. For dualfield there are the
seconds to a certified 1e-3 too. A run replaces the rows that it measures. ``benchmarks/pictures/time_to_optimum.py``
draws the chart from that file alone.

Wapiti is a program in C, which is not installed with the peers. Its source is in the sdist ``libwapiti`` on PyPI:

    pip download --no-deps --no-binary :all: libwapiti && tar xf libwapiti-*.tar.gz && make -C libwapiti-*/cwapiti

Its row is measured where ``wapiti`` is on the PATH, or is the program that ``--wapiti`` names; otherwise the row stays
as it is, and the benchmark says so. For the tutorial CRFsuite's losses are those of ``elastic_net_crfsuite.jsonl``, and
only its seconds an iteration are measured.

The full run takes about half an hour and wants a machine that does nothing else. ``--every 20`` trains on every
20th sentence, for a look, and then writes into ``build/time_to_optimum.jsonl`` (the tutorial is left out).

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/peers/time_to_optimum.py [TASK ...] [--wapiti PROGRAM] [--every N]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.results import Results, environment
from benchmarks.peers import conll2000, elastic_net, presets

LEVELS = (1e-2, 1e-3, 1e-4)
ROOT = Path(__file__).parents[2]
STORE = ROOT / "benchmarks" / "results" / "time_to_optimum.jsonl"
Curve = list[tuple[float, float]]  # CPU seconds and objective after each pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"which of {', '.join(TASKS)}; default: all")
    parser.add_argument("--wapiti", metavar="PROGRAM", default="wapiti", help="Wapiti's executable")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="train on every N-th sentence")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tasks) - set(TASKS))
    if unknown:
        parser.error(f"there is no task {unknown[0]!r}; expected some of {', '.join(TASKS)}.")
    if arguments.every < 1:
        parser.error(f"--every takes a whole number from 1; found {arguments.every}.")
    store = Results(STORE if arguments.every == 1 else ROOT / "build" / STORE.name)
    for task in arguments.tasks or TASKS:
        if task == "tutorial" and arguments.every > 1:
            print("tutorial: left out, since CRFsuite's stored losses are those of all sentences", flush=True)
            continue
        before = environment()
        for program, result in TASKS[task](arguments):
            store.put({"kind": "time to optimum", "task": task, "program": program}, result, before)
            reached = ", ".join(f"{level}: {at[0]:.2f} s ({at[1]})" for level, at in result["reached"].items() if at)
            print(f"{task}, {program}: {reached}; load {before['load']} before", flush=True)
    print(f"wrote {store.path}")


def row(curve: Curve, optimum: float, bound: float | None = None, **more: Any) -> dict[str, Any]:
    """The levels that a curve reaches, as CPU seconds and passes; None for those that it does not reach."""
    if min(objective for _, objective in curve) < (optimum if bound is None else bound) * (1 - 1e-8):
        sys.exit("An objective is below the proven lower bound: the programs do not have the same objective.")
    reached = {f"{level:g}": conll2000.first_within(curve, optimum, level) for level in LEVELS}
    return {"optimum": optimum, "passes": len(curve), "reached": reached, **more}


# ---- the comparisons ---------------------------------------------------------------------------------------


def chunking(mode: str, arguments: argparse.Namespace) -> Iterable[tuple[str, dict[str, Any]]]:
    def measured(program: str) -> dict[str, Any]:
        return conll2000.in_own_process(program, mode, "auto", arguments.every)

    optimum = measured("optimum")["optimum"]
    ours = measured("dualfield")
    yield "dualfield", row(ours["curve"], optimum, certified=ours["certified"], f1=ours["f1"])
    theirs = measured("crfsuite")
    yield "crfsuite", row(theirs["curve"], optimum, version=version("python-crfsuite"), f1=theirs["f1"])
    if mode == "all":
        program = shutil.which(arguments.wapiti)
        if program is None:
            print(f"Wapiti: there is no program {arguments.wapiti!r}, so its row stays as it is; see --help.")
        else:
            yield "wapiti", row(wapiti(program, optimum, arguments.every), optimum, version=wapiti_version(program))


def parts_of_speech(arguments: argparse.Namespace) -> Iterable[tuple[str, dict[str, Any]]]:
    options = argparse.Namespace(pairs="observed", every=arguments.every)
    ours = presets.in_own_process("dualfield", "pos", options)
    yield "dualfield", row(ours["curve"], ours["optimum"], certified=ours["certified"])
    theirs = presets.in_own_process("crfsuite", "pos", options)
    yield "crfsuite", row(theirs["curve"], ours["optimum"], version=version("python-crfsuite"))


def tutorial(arguments: argparse.Namespace) -> Iterable[tuple[str, dict[str, Any]]]:
    ours = elastic_net.in_own_process("dualfield", "dutch", "tutorial", 0)
    optimum, bound = ours["optimum"], ours["bound"]  # which elastic_net.py takes for P* where it is within 1e-4
    yield "dualfield", row(ours["curve"], optimum, bound, certified=ours["certified"], f1=ours["f1"])
    theirs = elastic_net.in_own_process("crfsuite", "dutch", "tutorial", 30)
    losses = elastic_net.traced("dutch", "tutorial")
    curve = [(theirs["seconds_an_iteration"] * n, loss) for n, loss in enumerate(losses, 1)]
    stopped = {"cpu_seconds": curve[99][0], "above_optimum": losses[99] / optimum - 1}
    yield "crfsuite", row(curve, optimum, bound, version=version("python-crfsuite"), after_100=stopped)


TASKS = {
    "chunking": lambda arguments: chunking("observed", arguments),
    "chunking-all": lambda arguments: chunking("all", arguments),
    "pos": parts_of_speech,
    "tutorial": tutorial,
}


def version(package: str) -> str:
    from importlib.metadata import version

    return f"{package} {version(package)}"


# ---- Wapiti ------------------------------------------------------------------------------------------------


def wapiti_version(program: str) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"v?(\d+(\.\d+)+)", said.stdout + said.stderr)
    return f"Wapiti {found[1]}" if found else "Wapiti"


def wapiti(program: str, optimum: float, every: int) -> Curve:
    """L-BFGS of Wapiti on ready-made attributes, until it is within the last level of the optimum.

    Without a pattern file, a token is a line of observations: ``u...`` meets the label, ``b`` the pair of labels. A
    development set of one sentence keeps Wapiti from labelling the training data after each iteration.
    """
    X, y, _, _ = conll2000.load(every)
    with tempfile.TemporaryDirectory() as folder:
        train, one = Path(folder) / "train.txt", Path(folder) / "one.txt"
        for path, count in ((train, len(X)), (one, 1)):
            with path.open("w", encoding="utf-8") as file:
                for attributes, labels in zip(X[:count], y[:count], strict=True):
                    for names, label in zip(attributes, labels, strict=True):
                        file.write(" ".join(["b", *(f"u{name}" for name in names), label]) + "\n")
                    file.write("\n")
        options = "train --algo l-bfgs --rho1 0 --rho2 1 --nthread 1 --maxiter 2000 --stopwin 2001 --objwin 2001"
        command = [program, *options.split(), "--devel", str(one), str(train), str(Path(folder) / "model")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                return read_progress(process, optimum * (1 + LEVELS[-1]))
            finally:
                process.kill()


def read_progress(process: subprocess.Popen[str], target: float) -> Curve:
    """Wapiti's CPU seconds, from the line that says training begins, and objective after each iteration."""
    began, curve, said = None, [], []
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        if line.startswith("* Train the model"):
            began = cpu_seconds(process.pid)
        found = re.match(r"\s*\[\s*\d+\]\s+obj=\s*([0-9.]+)", line)
        if found and began is not None:
            curve.append((cpu_seconds(process.pid) - began, float(found[1])))
            if curve[-1][1] <= target:
                break
    if not curve:
        sys.exit("Wapiti did no iteration. It said:\n" + "".join(said)[-2000:])
    return curve


def cpu_seconds(process: int) -> float:
    """What a process has used so far, in the hundredths of a second that Linux counts."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
