"""The demonstration: train on generated travel sentences, show the certificate, tag new sentences, write a report.

Where python-crfsuite is installed, CRFsuite trains the same weights on the same objective, to compare the time.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from dualfield.solution import Solution

__all__ = ["demo", "run"]

_COLOURS = {"PERSON": "cyan", "CITY": "green", "AIRLINE": "magenta", "DATE": "yellow", "MONEY": "blue"}
_SHOWN = 6
_TOL = 1e-4
# The weights that CRFsuite has: of the pairs seen in training, and no others. Its c2 is half of l2.
_AS_CRFSUITE: dict[str, Any] = {
    "state_features": "observed",
    "transitions": "observed",
    "bias": False,
    "begin": False,
    "end": False,
}


def demo(
    sentences: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many sentences to train on.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the sentences and of the sampling.")] = 0,
    report: Annotated[str, typer.Option(metavar="HTML", help="Where to write the report.")] = "dualfield-demo.html",
) -> None:
    """Train on sentences made by the package, show the certificate, tag some that are new, and write a report.

    Where python-crfsuite is installed, CRFsuite trains the same model beside it.

    Example: dualfield demo --sentences 500
    """
    run(sentences, seed, report)


def run(n_sentences: int, seed: int, report_path: str) -> None:
    """Train, certify, compare, tag and report."""
    from rich.console import Console
    from rich.text import Text

    from dualfield.datasets import travel_sentences
    from dualfield.estimators import ChainCRF
    from dualfield.io import check_writable
    from dualfield.metrics import chunk_scores
    from dualfield.reporting import report

    began = perf_counter()
    console = Console(highlight=False, soft_wrap=True)
    check_writable(report_path)
    train, test = travel_sentences(n_sentences, seed), travel_sentences(500, seed + 1)
    console.print(f"1. Data: {len(train):,} generated sentences with people, cities, airlines, dates and money.")
    (X, y), (X_test, y_test) = _features(train), _features(test)

    console.print(f"2. Training a chain CRF until it is proven to be within {_TOL:.2%} of the optimum:")
    crf = ChainCRF(l2=1.0, tol=_TOL, random_state=seed, verbose=1, **_AS_CRFSUITE).fit(X, y)
    solution = crf.solution_
    console.print(
        f"   objective {solution.primal:.4f}, lower bound on the optimum {solution.dual:.4f}, "
        f"gap {solution.duality_gap:.2g}\n"
        f"   Certificate: {solution.message}\n"
        f"   dualfield: {solution.cpu_seconds:.2f} s of CPU time, {solution.passes} passes, "
        f"{len(crf.weights_):,} weights."
    )
    console.print(Text("   " + _crfsuite(X, y, solution)))

    predicted = crf.predict(X_test)
    scores = chunk_scores(y_test, predicted)
    console.print(
        f"3. On {len(test)} new sentences: F1 {scores.f1:.3f}, {scores.accuracy:.1%} of the tokens right.\n"
        "4. Some of them, as the model reads them (most names were never seen in training):"
    )
    for sentence, labels in list(zip(test, predicted, strict=True))[:_SHOWN]:
        console.print(Text("   ") + _coloured([word for word, _ in sentence], labels))

    words = [[word for word, _ in sentence] for sentence in test]
    try:
        note = "Generated like those of training, but none of them was seen there."
        report(crf, X_test, y_test, report_path, "Names in travel sentences", words=words, note=note)
    except ImportError as error:
        console.print(Text(f"5. No report: {error}"))
    else:
        console.print("5. All of it on one page, with the mistakes and why they happen. Open in a browser:")
        console.print(Text(f"   {Path(report_path).resolve()}"))
    console.print(f"The demonstration took {perf_counter() - began:.0f} s.")


def _crfsuite(X: list[list[list[str]]], y: list[list[str]], ours: Solution) -> str:
    """How long CRFsuite needs to come as close to the optimum, in a sentence."""
    try:
        curve = _crfsuite_curve(X, y)
    except ImportError:
        return "CRFsuite: python-crfsuite is not installed, so there is no comparison; pip install python-crfsuite."
    near = next((n for n, (_, loss) in enumerate(curve) if loss - ours.dual <= _TOL * loss), None)
    if near is None:
        seconds, loss = curve[-1]
        return (
            f"CRFsuite: stopped after {seconds:.2f} s and {len(curve)} iterations, not as close: "
            f"{loss / ours.dual - 1:.2%} above the lower bound."
        )
    seconds = curve[near][0]
    return (
        f"CRFsuite: {seconds:.2f} s to come as close on the same task, {near + 1} iterations "
        f"({seconds / ours.cpu_seconds:.1f} times as long), and it cannot tell how close it is."
    )


def _crfsuite_curve(X: list[list[list[str]]], y: list[list[str]]) -> list[tuple[float, float]]:
    """(CPU seconds since the first iteration began, loss) after each iteration of CRFsuite, as it comes."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.0, "c2": 0.5}, verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model.crfsuite"))
    iterations = trainer.logparser.iterations
    seconds = accumulate(iteration["time"] for iteration in iterations)
    return [(total, iteration["loss"]) for total, iteration in zip(seconds, iterations, strict=True)]


def _features(sentences: list[list[tuple[str, str]]]) -> tuple[list[list[list[str]]], list[list[str]]]:
    from dualfield.features import extract_all

    X = extract_all("ner", [[(word,) for word, _ in sentence] for sentence in sentences])
    return X, [[label for _, label in sentence] for sentence in sentences]


def _coloured(words: list[str], labels: list[str]) -> Text:
    """The sentence with its entities in brackets: [Ada Lovelace PERSON]."""
    from rich.text import Text

    text = Text()
    for t, (word, label) in enumerate(zip(words, labels, strict=True)):
        kind = label.partition("-")[2]
        following = labels[t + 1] if t + 1 < len(labels) else "O"
        begins = kind and not (label.startswith("I-") and t > 0 and labels[t - 1].endswith(f"-{kind}"))
        ends = kind and following != f"I-{kind}"
        text.append(" " if t > 0 else "")
        text.append("[" if begins else "", style="dim")
        text.append(word, style=_COLOURS.get(kind, "") if kind else "")
        text.append(f" {kind}]" if ends else "", style="dim")
    return text
