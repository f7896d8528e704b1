"""dualfield beside CRFsuite on CoNLL-2000 chunking: the yardstick task.

Same attributes, same objective ``Σ −log p + ½‖w‖²`` (l2 = 1, CRFsuite's c2 = 0.5), no bias, begin or end weights,
one thread. Each program runs in a process of its own, one after the other. Reported:

* CPU seconds from encoded data to the first pass at which the objective is within 1e-2, 1e-3, 1e-4 (relative) of
  the optimum P*. dualfield: ``cpu_seconds`` of its history; the objective of each pass is evaluated in a callback,
  which the clock leaves out. CRFsuite: its own iterations; feature generation is not counted;
* CPU seconds to a *certified* 1e-3, which only dualfield has;
* peak memory above the level before training; tagging speed on attributes that are ready; size of the model file;
  F1 and accuracy on the test set.

P* is the lower bound of a dualfield run to a certified 1e-7, so no claim can profit from it.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/peers/conll2000.py [--modes all observed] [--solver oeg]
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

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.memory import peak, reset_peak

MODES = ("all", "observed")
LEVELS = (1e-2, 1e-3, 1e-4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES, help="which pairs have a weight")
    parser.add_argument("--solver", default="auto", help="dualfield's, as ChainCRF takes it (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="train on every N-th sentence, for a look")
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--run", choices=tuple(PROGRAMS), help=argparse.SUPPRESS)  # inside a process of its own
    arguments = parser.parse_args()
    if arguments.every < 1:
        parser.error(f"--every takes a whole number from 1; found {arguments.every}.")
    if arguments.run:
        print(json.dumps(PROGRAMS[arguments.run](arguments.modes[0], arguments.solver, arguments.every)))
        return
    data_folder()
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    results = []
    for mode in arguments.modes:
        optimum = in_own_process("optimum", mode, "auto", arguments.every)["optimum"]
        print(f"\n{mode} pairs: P* = {optimum:.3f}", flush=True)
        for program in ("dualfield", "crfsuite"):
            found = in_own_process(program, mode, arguments.solver, arguments.every)
            results.append({"program": program, "mode": mode, "optimum": optimum, **found})
        print_table([result for result in results if result["mode"] == mode])
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def in_own_process(program: str, mode: str, solver: str, every: int = 1) -> dict:
    command = [sys.executable, __file__, "--run", program, "--modes", mode, "--solver", solver, "--every", str(every)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# ---- the programs -----------------------------------------------------------------------------------------


def run_optimum(mode: str, solver: str, every: int) -> dict:
    X, y, _, _ = load(every)
    return {"optimum": chain_crf(mode, solver, tol=1e-7).fit(X, y).solution_.dual}


def run_dualfield(mode: str, solver: str, every: int) -> dict:
    X, y, X_test, y_test = load(every)
    crf = chain_crf(mode, solver, tol=1e-3)
    encoded = crf.encode(X)
    del X
    level = reset_peak()
    crf.fit(encoded, y)
    memory = peak() - level
    certified = crf.solution_
    tokens = crf.encode(X_test)
    speed = tokens_per_second(lambda: crf.predict(tokens), tokens.n_positions)
    predicted = crf.predict(tokens)
    with tempfile.TemporaryDirectory() as folder:
        crf.save(Path(folder) / "model")
        size = (Path(folder) / "model").stat().st_size
    curve = []  # a run of its own: evaluating every pass needs time and memory that a user would not spend
    chain_crf(mode, solver, tol=1e-5).fit(
        encoded, y, callbacks=[lambda progress: curve.append((progress.cpu_seconds, progress.primal()))]
    )
    return {
        "solver": certified.message.split()[0],  # what "auto" chose
        "curve": curve,
        "certified": certified.cpu_seconds,
        "certified_passes": certified.passes,
        "objective": certified.primal,
        "gap": certified.duality_gap,
        "memory": memory,
        "tokens_per_second": speed,
        "model_bytes": size,
        **scores(y_test, predicted),
    }


def run_crfsuite(mode: str, _solver: str, every: int) -> dict:
    import pycrfsuite

    X, y, X_test, y_test = load(every)
    options = {"c1": 0.0, "c2": 0.5, "max_iterations": 400}
    if mode == "all":
        options |= {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer = pycrfsuite.Trainer("lbfgs", options, verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    level = reset_peak()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        memory, size = peak() - level, os.path.getsize(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        ready = [pycrfsuite.ItemSequence(sequence) for sequence in X_test]
        speed = tokens_per_second(lambda: [tagger.tag(items) for items in ready], sum(map(len, X_test)))
        predicted = [tagger.tag(items) for items in ready]
    total, curve = 0.0, []
    for iteration in trainer.logparser.iterations:
        total += iteration["time"]
        curve.append((total, iteration["loss"]))
    return {
        "solver": "L-BFGS",
        "curve": curve,
        "objective": curve[-1][1],
        "memory": memory,
        "tokens_per_second": speed,
        "model_bytes": size,
        **scores(y_test, predicted),
    }


PROGRAMS = {"optimum": run_optimum, "dualfield": run_dualfield, "crfsuite": run_crfsuite}


# ---- data and measures ------------------------------------------------------------------------------------


def data_folder() -> Path:
    folder = Path(os.environ.get("DUALFIELD_DATA", "")) / "conll2000"
    if not os.environ.get("DUALFIELD_DATA") or not (folder / "train.txt.gz").exists():
        sys.exit("Set DUALFIELD_DATA to the folder that holds conll2000/train.txt.gz and conll2000/test.txt.gz.")
    return folder


def load(every: int = 1) -> tuple[list, list, list, list]:
    """Attribute strings and labels of every N-th training sentence and of the test set."""
    from dualfield.features import extract_all
    from dualfield.io import read_columns

    parts: list[list] = []
    for name in ("train.txt.gz", "test.txt.gz"):
        sentences = read_columns(data_folder() / name)[:: every if name.startswith("train") else 1]
        parts.append(extract_all("chunking", [[row[:-1] for row in sentence] for sentence in sentences]))
        parts.append([[row[-1] for row in sentence] for sentence in sentences])
    return parts[0], parts[1], parts[2], parts[3]


def chain_crf(mode: str, solver: str, tol: float):
    from dualfield import ChainCRF

    return ChainCRF(
        l2=1.0,
        solver=solver,
        tol=tol,
        state_features=mode,
        transitions=mode,
        bias=False,
        begin=False,
        end=False,
        random_state=0,
    )


def scores(true: list, predicted: list) -> dict:
    from dualfield.metrics import chunk_scores

    found = chunk_scores(true, predicted)
    return {"f1": found.f1, "accuracy": found.accuracy}


def tokens_per_second(tag: object, n_tokens: int) -> float:
    """The best of five runs, in CPU time."""
    seconds = []
    for _ in range(5):
        start = time.process_time()
        tag()
        seconds.append(time.process_time() - start)
    return n_tokens / min(seconds)


def first_within(curve: list, optimum: float, level: float) -> tuple[float, int] | None:
    """(CPU seconds, passes) at the first pass within ``level`` of the optimum."""
    for passes, (seconds, objective) in enumerate(curve, 1):
        if objective <= optimum * (1 + level):
            return seconds, passes
    return None


def print_table(results: list[dict]) -> None:
    def reached(result: dict, level: float) -> str:
        found = first_within(result["curve"], result["optimum"], level)
        return "not reached" if found is None else f"{found[0]:.2f} ({found[1]})"

    rows = [
        ("CPU s to 1e-2 (passes)", lambda r: reached(r, 1e-2)),
        ("CPU s to 1e-3 (passes)", lambda r: reached(r, 1e-3)),
        ("CPU s to 1e-4 (passes)", lambda r: reached(r, 1e-4)),
        (
            "CPU s to a certified 1e-3",
            lambda r: f"{r['certified']:.2f} ({r['certified_passes']})" if "certified" in r else "none",
        ),
        ("seconds a pass", lambda r: f"{r['curve'][-1][0] / len(r['curve']):.3f}"),
        ("peak memory above start, MB", lambda r: f"{r['memory'] / 1e6:.0f}"),
        ("tagging, tokens/s", lambda r: f"{r['tokens_per_second']:,.0f}"),
        ("model file, MB", lambda r: f"{r['model_bytes'] / 1e6:.1f}"),
        ("test F1", lambda r: f"{r['f1']:.4f}"),
        ("test accuracy", lambda r: f"{r['accuracy']:.4f}"),
    ]
    print(f"{'':28}" + "".join(f"{result['program'] + ' ' + result['solver']:>18}" for result in results))
    for name, cell in rows:
        print(f"{name:28}" + "".join(f"{cell(result):>18}" for result in results))
    ours, theirs = results
    for level in LEVELS:
        a, b = (first_within(result["curve"], result["optimum"], level) for result in (ours, theirs))
        if a and b:
            print(f"to {level:g}: {b[0] / a[0]:.1f} times less CPU time than CRFsuite L-BFGS")
    print(f"tagging: {ours['tokens_per_second'] / theirs['tokens_per_second']:.1f} times CRFsuite's tokens/s")
    print(f"load after: {os.getloadavg()[0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
