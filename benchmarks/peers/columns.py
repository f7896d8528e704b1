"""dualfield beside CRFsuite from a column file to a model, and from a column file to labels: whole processes.

CoNLL-2000 chunking. One side is ``dualfield train`` and ``dualfield tag`` as a user types them; the other is a short
program with python-crfsuite, which makes the same attribute strings in Python (a test checks that they are the same)
and stops by L-BFGS's own rule. Same penalty (l2 = 1, CRFsuite's c2 = 0.5), one thread, one process after the other,
both from the same unpacked files. dualfield also has weights for labels alone and at the two ends of a sentence.
Reported:

* wall and CPU seconds of the whole process, its start included, and the peak of its memory; for CRFsuite also that of a
  program which makes the attributes of all sentences first, in lists as its tutorial does, and then trains (for 3
  iterations, since memory does not grow after that);
* for CRFsuite also the wall seconds from the start of its process to the first iteration within 1e-3 of the optimum
  of its own objective, which it does not know; dualfield stops when it has proved as much;
* the same for tagging the test file, where the start of the process weighs most, and twenty copies of it;
* F1 on the test set, read from the files that both wrote.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/peers/columns.py [--modes observed all]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.processes import run

MODES = ("observed", "all")
LEVEL = 1e-3
COPIES = 20
Row = list[str]


def main() -> None:
    if sys.argv[1:2] == ["--run"]:  # inside a process of its own
        PROGRAMS[sys.argv[2]](*sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES, help="which pairs have a weight")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each tagger; the fastest counts")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpack(folder)
        for mode in arguments.modes:
            found = compare(folder, mode, arguments.repeats)
            results.append({"mode": mode, **found})
            print_table(mode, found)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def unpack(folder: Path) -> None:
    given = os.environ.get("DUALFIELD_DATA")
    for name in ("train.txt", "test.txt"):
        packed = Path(given or "") / "conll2000" / f"{name}.gz"
        if not given or not packed.exists():
            sys.exit("Set DUALFIELD_DATA to the folder that holds conll2000/train.txt.gz and conll2000/test.txt.gz.")
        with gzip.open(packed) as source, open(folder / name, "wb") as sink:
            shutil.copyfileobj(source, sink)
    (folder / "long.txt").write_bytes((folder / "test.txt").read_bytes() * COPIES)


def compare(folder: Path, mode: str, repeats: int) -> dict[str, dict]:
    train, test = str(folder / "train.txt"), str(folder / "test.txt")
    ours, theirs = str(folder / "ours.safetensors"), str(folder / "theirs.crfsuite")
    dualfield, script = [sys.executable, "-m", "dualfield"], [sys.executable, __file__, "--run"]
    pairs = ["--state-features", mode, "--transitions", mode]
    options = ["--features", "chunking", "--tol", str(LEVEL), *pairs, "--quiet"]
    training = {
        "dualfield": run([*dualfield, "train", train, *options, "-o", ours]),
        "crfsuite": run([*script, "crfsuite-train", train, theirs, mode]),
    }
    lists = run([*script, "crfsuite-train", train, str(folder / "lists.crfsuite"), mode, "lists"])
    optimum = json.loads(run([*script, "optimum", train, mode])["output"])
    began = training["crfsuite"]["began"]
    curve = json.loads(training["crfsuite"]["output"].splitlines()[-1])
    within = (moment - began for moment, objective in curve if objective <= optimum * (1 + LEVEL))
    taggers = {
        "dualfield": lambda path: [*dualfield, "tag", path, "-m", ours, "-o"],
        "crfsuite": lambda path: [*script, "crfsuite-tag", path, theirs],
    }
    found = {}
    for program, tagger in taggers.items():
        labelled = str(folder / f"{program}.txt")
        short = min((run([*tagger(test), labelled]) for _ in range(repeats)), key=lambda result: result["wall"])
        f1 = json.loads(run([*script, "score", labelled])["output"])
        long = run([*tagger(str(folder / "long.txt")), labelled])
        found[program] = {"train": training[program], "tag": short, "tag_long": long, "f1": f1}
    found["crfsuite"]["wall_to_level"] = next(within, None)
    found["crfsuite"]["iterations"] = len(curve)
    found["crfsuite"]["memory_of_lists"] = lists["memory"]
    return found


# ---- the peer: what a user of python-crfsuite writes ------------------------------------------------------


def read_sentences(path: str) -> Iterator[list[Row]]:
    rows: list[Row] = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = line.split()
            if row:
                rows.append(row)
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def attributes(sentence: list[Row]) -> list[list[str]]:
    """The strings of the preset ``chunking``."""
    made = []
    for t, _ in enumerate(sentence):
        token = []
        near = {d: sentence[t + d] for d in range(-2, 3) if 0 <= t + d < len(sentence)}
        for d, row in near.items():
            token.append(f"w[{d}]={row[0]}")
            token.append(f"p[{d}]={row[1]}")
            after, second = near.get(d + 1), near.get(d + 2)
            if after:
                if d in (-1, 0):
                    token.append(f"w[{d}]|w[{d + 1}]={row[0]}|{after[0]}")
                token.append(f"p[{d}]|p[{d + 1}]={row[1]}|{after[1]}")
                if second:
                    token.append(f"p[{d}]|p[{d + 1}]|p[{d + 2}]={row[1]}|{after[1]}|{second[1]}")
        if t == 0:
            token.append("__BOS__")
        if t == len(sentence) - 1:
            token.append("__EOS__")
        made.append(token)
    return made


def crfsuite_train(path: str, model: str, mode: str, route: str = "stream") -> None:
    """Trains on sentences as they are read, or on lists of them all."""
    import pycrfsuite

    curve = []

    class Clocked(pycrfsuite.Trainer):
        def message(self, text: str) -> None:
            if text.startswith("Loss:"):
                curve.append((time.monotonic(), float(text.split()[1])))

    options = {"c1": 0.0, "c2": 0.5}
    if mode == "all":
        options |= {"feature.possible_states": True, "feature.possible_transitions": True}
    made = ((attributes(sentence), [row[-1] for row in sentence]) for sentence in read_sentences(path))
    if route == "lists":
        made, options = list(made), options | {"max_iterations": 3}
    trainer = Clocked("lbfgs", options)
    for X, y in made:
        trainer.append(X, y)
    trainer.train(model)
    print(json.dumps(curve))


def crfsuite_tag(path: str, model: str, output: str) -> None:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    with open(output, "w", encoding="utf-8") as sink:
        for sentence in read_sentences(path):
            for row, label in zip(sentence, tagger.tag(attributes(sentence)), strict=True):
                sink.write(f"{' '.join(row)} {label}\n")
            sink.write("\n")


# ---- what neither side is charged for ---------------------------------------------------------------------


def optimum(path: str, mode: str) -> None:
    """A certified lower bound of CRFsuite's objective, so that no claim can profit from it."""
    from dualfield import ChainCRF
    from dualfield.features import preset_template
    from dualfield.io import read_tokens

    tokens = read_tokens(path)
    X = preset_template("chunking", 2).encode(tokens.with_columns([0, 1]))
    crf = ChainCRF(tol=1e-5, state_features=mode, transitions=mode, bias=False, begin=False, end=False, random_state=0)
    print(crf.fit(X, tokens.labels()).solution_.dual)


def score(path: str) -> None:
    from dualfield.metrics import chunk_scores

    sentences = list(read_sentences(path))
    true, predicted = ([[row[column] for row in rows] for rows in sentences] for column in (-2, -1))
    print(chunk_scores(true, predicted).f1)


PROGRAMS: dict[str, Callable[..., None]] = {
    "crfsuite-train": crfsuite_train,
    "crfsuite-tag": crfsuite_tag,
    "optimum": optimum,
    "score": score,
}


def print_table(mode: str, found: dict[str, dict]) -> None:
    ours, theirs = found["dualfield"], found["crfsuite"]
    reached = theirs["wall_to_level"]
    print(f"\n{mode} pairs{'':18}{'dualfield':>12}{'CRFsuite':>12}{'ratio':>8}")

    def line(name: str, a: float, b: float, form: str = ".2f") -> None:
        print(f"{name:30}{a:12{form}}{b:12{form}}{b / a:8.1f}")

    line("training, wall s", ours["train"]["wall"], theirs["train"]["wall"])
    if reached is None:
        print(f"{'CRFsuite within 1e-3 of P*':30}{'':12}{'never':>12}")
    else:
        line("the same, CRFsuite to 1e-3", ours["train"]["wall"], reached)
    line("training, CPU s", ours["train"]["cpu"], theirs["train"]["cpu"])
    line("training, peak MB", ours["train"]["memory"] / 1e6, theirs["train"]["memory"] / 1e6, ".0f")
    line("the same, CRFsuite from lists", ours["train"]["memory"] / 1e6, theirs["memory_of_lists"] / 1e6, ".0f")
    line("tagging, wall s", ours["tag"]["wall"], theirs["tag"]["wall"])
    line("tagging, CPU s", ours["tag"]["cpu"], theirs["tag"]["cpu"])
    line("tagging, peak MB", ours["tag"]["memory"] / 1e6, theirs["tag"]["memory"] / 1e6, ".0f")
    line(f"tagging {COPIES} copies, wall s", ours["tag_long"]["wall"], theirs["tag_long"]["wall"])
    line(f"tagging {COPIES} copies, CPU s", ours["tag_long"]["cpu"], theirs["tag_long"]["cpu"])
    print(f"{'test F1':30}{ours['f1']:12.4f}{theirs['f1']:12.4f}{ours['f1'] - theirs['f1']:+8.4f}")
    print(f"CRFsuite: {theirs['iterations']} iterations; load after: {os.getloadavg()[0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
