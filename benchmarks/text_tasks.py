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
JNLPBA's training sentences and on EWT's development part; ``--development`` trains and tests so. The same attributes in
CRFsuite: ``benchmarks/peers/agreement.py``.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/text_tasks.py [TASK ...] [--json benchmarks/results/text_tasks.json]
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

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.papers.results import environment
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
    format: str = "columns"
    label_column: int | None = None  # from 1; None: the last

    @property
    def options(self) -> list[str]:
        label = [] if self.label_column is None else ["--label-column", str(self.label_column)]
        return ["--format", self.format, *label]


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
        "conllu",
        5,
    ),
}


def main() -> None:
    if sys.argv[1:2] == ["--run"]:  # inside a process of its own
        print(json.dumps(score(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"which of {', '.join(TASKS)}; default: all")
    parser.add_argument("--development", action="store_true", help="test on what presets and penalties were chosen by")
    parser.add_argument("--pairs", choices=("all", "observed"), help="other pairs with a weight than the task's")
    parser.add_argument("--l2", type=float, help="another penalty than the chosen one")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tasks) - set(TASKS))
    if unknown:
        parser.error(f"there is no task {unknown[0]!r}; expected some of {', '.join(TASKS)}.")
    before = environment()
    print(f"load before: {before['load']}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    columns = f"{'task':7}{'pairs':>9}{'l2':>6}{'score':>9}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}"
    print(f"{columns}  certificate")
    results = []
    for name in arguments.tasks or TASKS:
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(name, arguments, Path(folder)))
            print_line(results[-1])
    print(f"load after: {os.getloadavg()[0]:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"environment": before, "tasks": results}, indent=1) + "\n")


def measure(name: str, arguments: argparse.Namespace, folder: Path) -> dict:
    task = TASKS[name]
    l2 = str(task.l2 if arguments.l2 is None else arguments.l2)
    train, test = files(task, arguments.development, folder)
    model = str(folder / "model.safetensors")
    pairs = arguments.pairs or task.pairs
    command = [sys.executable, "-m", "dualfield", "train", train, "--features", task.preset, "--l2", l2]
    command += ["--state-features", pairs, "--transitions", pairs]
    trained = run([*command, *task.options, "--quiet", "-o", model])
    found = json.loads(run([sys.executable, __file__, "--run", model, test])["output"])
    used = {name: trained[name] for name in ("cpu", "wall", "memory")}
    return {
        "task": name,
        "preset": task.preset,
        "pairs": pairs,
        "l2": l2,
        "tested_on": Path(test).name,
        **used,
        **found,
    }


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


def score(model: str, test: str) -> dict:
    """Scores of a model, and its certificate; in a process of its own, so that the caller stays small."""
    from dualfield import ChainCRF
    from dualfield.metrics import are_chunk_tags, chunk_scores, token_accuracy
    from dualfield.models.recipe import recipe_of
    from dualfield.tagging.reading import read_for_eval

    crf = ChainCRF.load(model)
    recipe = recipe_of(crf.column_features_)
    data = read_for_eval(test, crf, recipe, recipe.layout, "utf-8")
    true, predicted, gap = data.y.tolist(), crf.predict(data.X), crf.solution_.relative_gap
    if are_chunk_tags({label for sequence in true for label in sequence}):
        found = chunk_scores(true, predicted)
        return {"score": found.f1, "precision": found.precision, "recall": found.recall, "gap": gap}
    return {"score": token_accuracy(true, predicted), "gap": gap}


def print_line(result: dict) -> None:
    print(
        f"{result['task']:7}{result['pairs']:>9}{result['l2']:>6}{result['score']:9.4f}{result['cpu']:8.0f}"
        f"{result['wall']:8.0f}{result['memory'] / 1e6:9.0f}  {result['gap']:.1e}",
        flush=True,
    )


if __name__ == "__main__":
    main()
