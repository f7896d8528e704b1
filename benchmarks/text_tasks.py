"""The presets ``ner`` and ``pos`` on three public tasks: how good, how fast, in how much memory, and proven how well.

========  ==================================================  ======  ======  =========================
task      what                                                preset  labels  measure
========  ==================================================  ======  ======  =========================
dutch     CoNLL-2002 Dutch names, tested on ``ned.testb``     ner     9       F1 of whole entities
bio       JNLPBA-2004 names in abstracts on molecular biology ner     11      F1 of whole entities
pos       Penn tags of UD English EWT                         pos     49      share of tokens
========  ==================================================  ======  ======  =========================

Each is what a user types: ``dualfield train``, from the packed file to the model, in a process of its own; seconds and
memory are the process's, its start included. Presets and penalties were chosen on ``ned.testa``, on the last tenth of
JNLPBA's training sentences and on EWT's development part; ``--development`` trains and tests so. ``--crfsuite`` trains
CRFsuite (L-BFGS, its default stopping) on the same attribute strings, with the same penalty and the pairs seen in
training, and scores it in the same way; this takes far longer.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/text_tasks.py [TASK ...] [--crfsuite]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.processes import run

HELD_OUT = 0.1  # of JNLPBA's training sentences, which come without a development part


@dataclass(frozen=True)
class Task:
    """Files below the data folder, and what ``dualfield train`` is told besides."""

    preset: str
    l2: float
    train: str
    test: str
    development: str | None
    pairs: str = "all"
    options: tuple[str, ...] = ()


TASKS = {
    "dutch": Task("ner", 0.5, "conll2002/ned.train.gz", "conll2002/ned.testb.gz", "conll2002/ned.testa.gz"),
    "bio": Task("ner", 2.0, "jnlpba2004/Genia4ERtask1.iob2.gz", "jnlpba2004/Genia4EReval1.iob2.gz", None),
    "pos": Task(
        "pos",
        1.0,
        "ud_english_ewt/en_ewt-ud-train.conllu.gz",
        "ud_english_ewt/en_ewt-ud-test.conllu.gz",
        "ud_english_ewt/en_ewt-ud-dev.conllu.gz",
        "observed",  # 49 labels: all pairs are 22 million weights
        ("--format", "conllu", "--label-column", "5"),
    ),
}


def main() -> None:
    if sys.argv[1:2] == ["--run"]:  # inside a process of its own
        found = {"score": score, "crfsuite": crfsuite}[sys.argv[2]](*sys.argv[3:])
        print(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"which of {', '.join(TASKS)}; default: all")
    parser.add_argument("--crfsuite", action="store_true", help="also CRFsuite, on the same attributes")
    parser.add_argument("--development", action="store_true", help="test on what presets and penalties were chosen by")
    parser.add_argument("--pairs", choices=("all", "observed"), help="other pairs with a weight than the task's")
    parser.add_argument("--l2", type=float, help="another penalty than the chosen one")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tasks) - set(TASKS))
    if unknown:
        parser.error(f"there is no task {unknown[0]!r}; expected some of {', '.join(TASKS)}.")
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    columns = f"{'task':7}{'program':11}{'pairs':>9}{'l2':>6}{'score':>9}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}"
    print(f"{columns}  certificate")
    results = []
    for name in arguments.tasks or TASKS:
        with tempfile.TemporaryDirectory() as folder:
            for result in measure(name, arguments, Path(folder)):
                results.append(result)
                print_line(result)
    print(f"load after: {os.getloadavg()[0]:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def measure(name: str, arguments: argparse.Namespace, folder: Path) -> Any:
    task = TASKS[name]
    l2 = str(task.l2 if arguments.l2 is None else arguments.l2)
    train, test = files(task, arguments.development, folder)
    model, script = str(folder / "model.safetensors"), [sys.executable, __file__, "--run"]
    pairs = arguments.pairs or task.pairs
    command = [sys.executable, "-m", "dualfield", "train", train, "--features", task.preset, "--l2", l2]
    command += ["--state-features", pairs, "--transitions", pairs]
    trained = run([*command, *task.options, "--quiet", "-o", model])
    found = json.loads(run([*script, "score", model, test])["output"])
    yield {"task": name, "program": "dualfield", "pairs": pairs, "l2": l2, **trained, **found}
    if arguments.crfsuite:
        used = run([*script, "crfsuite", model, train, test, l2])
        found = json.loads(used["output"].splitlines()[-1])
        yield {"task": name, "program": "CRFsuite", "pairs": "observed", "l2": l2, **used, **found}


def files(task: Task, development: bool, folder: Path) -> tuple[str, str]:
    given = os.environ.get("DUALFIELD_DATA")
    needed = [task.train, (task.development or task.train) if development else task.test]
    for name in needed:
        if not given or not (Path(given) / name).exists():
            sys.exit(f"Set DUALFIELD_DATA to the folder of the data sets; this benchmark reads {name} in it.")
    train, test = (str(Path(given or "") / name) for name in needed)
    if train != test:
        return train, test
    with gzip.open(train, "rt", encoding="utf-8") as file:
        sentences = [part.strip("\n") for part in file.read().split("\n\n") if part.strip()]
    cut = int(len(sentences) * (1 - HELD_OUT))
    for name, part in (("train", sentences[:cut]), ("test", sentences[cut:])):
        (folder / name).write_text("\n\n".join(part) + "\n", encoding="utf-8")
    return str(folder / "train"), str(folder / "test")


# ---- inside processes of their own ------------------------------------------------------------------------


def score(model: str, test: str) -> dict:
    """Scores of a dualfield model, and its certificate."""
    from dualfield import ChainCRF
    from dualfield.cli.column_features import read_for_eval, recipe_of

    crf = ChainCRF.load(model)
    recipe = recipe_of(crf)
    X, labels = read_for_eval(test, crf, recipe, recipe.layout, "utf-8")
    return {**scores(labels.tolist(), crf.predict(X)), "gap": crf.solution_.relative_gap}


def crfsuite(model: str, train: str, test: str, l2: str) -> dict:
    """CRFsuite on the attributes of a dualfield model's recipe."""
    import pycrfsuite

    from dualfield import ChainCRF
    from dualfield.cli.column_features import read_labelled, recipe_of

    recipe = recipe_of(ChainCRF.load(model))

    def strings(path: str) -> Any:
        tokens = read_labelled(path, recipe, recipe.layout, "utf-8")
        for i, labels in enumerate(tokens.labels(recipe.label).tolist()):
            yield recipe.template.strings(tokens[i : i + 1].with_columns(recipe.columns)), labels

    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.0, "c2": float(l2) / 2}, verbose=False)
    for sequence, labels in strings(train):
        trainer.append(sequence, labels)
    path = model + ".crfsuite"
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    true, predicted = [], []
    for sequence, labels in strings(test):
        true.append(labels)
        predicted.append(tagger.tag(sequence))
    return scores(true, predicted)


def scores(true: list, predicted: list) -> dict:
    from dualfield.metrics import are_chunk_tags, chunk_scores, token_accuracy

    if are_chunk_tags({label for sequence in true for label in sequence}):
        found = chunk_scores(true, predicted)
        return {"score": found.f1, "precision": found.precision, "recall": found.recall}
    return {"score": token_accuracy(true, predicted)}


def print_line(result: dict) -> None:
    certificate = f"{result['gap']:.1e}" if "gap" in result else "none"
    print(
        f"{result['task']:7}{result['program']:11}{result['pairs']:>9}{result['l2']:>6}{result['score']:9.4f}"
        f"{result['cpu']:8.0f}{result['wall']:8.0f}{result['memory'] / 1e6:9.0f}  {certificate}",
        flush=True,
    )


if __name__ == "__main__":
    main()
