"""The commands. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
import warnings
from enum import Enum
from typing import Annotated, Any

import typer
from rich.console import Console

import dualfield
from dualfield.cli import demo as demonstration
from dualfield.cli.column_features import read_for_model, read_for_training
from dualfield.cli.inspect_model import inspect
from dualfield.cli.report_option import HeldOutFile, ReportFile, plan_report
from dualfield.estimators import ChainCRF
from dualfield.features import PRESETS
from dualfield.io import check_writable, write_columns
from dualfield.metrics import are_chunk_tags, chunk_scores, token_accuracy

__all__ = ["app", "main"]

_BAD_INPUT, _INTERRUPTED = 2, 130

app = typer.Typer(
    help="Conditional random fields, trained to a certificate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(stderr=True, highlight=False)

Preset = Enum("Preset", {name: name for name in PRESETS}, type=str)  # type: ignore[misc]
Pairs = Enum("Pairs", {"all": "all", "observed": "observed"}, type=str)
SolverName = Enum(
    "SolverName",
    {
        "auto": "auto",
        "sdca": "sdca",
        "oeg": "oeg",
        "lbfgs": "lbfgs",
        "sag": "sag",
        "saga": "saga",
        "svrg": "svrg",
        "hybrid": "hybrid",
        "sgd": "sgd",
        "adagrad": "adagrad",
        "smd": "smd",
        "perceptron": "perceptron",
    },
    type=str,
)

InputFile = Annotated[str, typer.Argument(metavar="FILE", help="Column file; .gz is unpacked, - is standard input.")]
ModelFile = Annotated[str, typer.Option("--model", "-m", help="Model file made by train.")]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What separates columns, \\t for a tab; default: any white space.",
        parser=lambda text: text.replace("\\t", "\t"),
    ),
]
Encoding = Annotated[str, typer.Option(help="Character encoding of the file.")]


@app.command()
def train(
    file: InputFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    features: Annotated[Preset, typer.Option(help="How words become attributes.")],
    l2: Annotated[float, typer.Option(help="Strength of the penalty.")] = 1.0,
    tol: Annotated[float, typer.Option(help="Proven relative distance from the optimum to reach.")] = 1e-3,
    max_passes: Annotated[int, typer.Option(help="The most passes over the data.")] = 500,
    solver: Annotated[SolverName, typer.Option(help="Training method.")] = SolverName.auto,
    state_features: Annotated[Pairs, typer.Option(help="Which (attribute, label) pairs have a weight.")] = Pairs.all,
    transitions: Annotated[Pairs, typer.Option(help="Which (label, label) pairs have a weight.")] = Pairs.all,
    min_count: Annotated[int, typer.Option(help="Ignore attributes that occur less often.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    separator: Separator = None,
    encoding: Encoding = "utf-8",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
    report: ReportFile = None,
    held_out: HeldOutFile = None,
) -> None:
    """Train on a column file whose last column is the label.

    Example: dualfield train train.txt --features chunking -o chunker.safetensors
    """
    check_writable(output)
    data, remembered = read_for_training(file, features.value, separator, encoding)
    plan = plan_report(report, held_out, (file, data), remembered, separator, encoding)
    crf = ChainCRF(
        l2=l2,
        solver=solver.value,
        tol=tol,
        max_passes=max_passes,
        state_features=state_features.value,
        transitions=transitions.value,
        min_count=min_count,
        random_state=seed,
        verbose=0 if quiet else 1,
    )
    _say(quiet, f"{len(data.X):,} sentences, {sum(map(len, data.X)):,} tokens read from {file}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the message below says it
        crf.fit(data.X, data.y)
    crf.column_features_ = remembered
    crf.save(output)
    solution = crf.solution_
    _say(
        quiet,
        f"{len(crf.vocabulary_):,} attributes, {len(crf.classes_)} labels, {len(crf.weights_):,} weights",
    )
    _say(quiet, solution.message)
    _say(
        quiet,
        f"{solution.cpu_seconds:.1f} s of CPU time; {os.path.getsize(output) / 1e6:.1f} MB written to {output}",
    )
    if plan is not None:
        _say(quiet, plan.write(crf))
    if quiet and solution.status != "converged":
        _say(False, f"Warning: {solution.message}")
    if solution.status == "interrupted":
        raise typer.Exit(_INTERRUPTED)


@app.command()
def tag(
    file: InputFile,
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write; - is standard output.")] = "-",
    separator: Separator = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Label a column file: each line again, with the predicted label as a further column.

    The file has the columns of the training file, with or without the label.
    Example: dualfield tag test.txt -m chunker.safetensors
    """
    if output != "-":
        check_writable(output)
    crf = ChainCRF.load(model)
    data = read_for_model(file, crf, separator, encoding)
    predicted = crf.predict(data.X)
    rows = (
        [(*row, str(label)) for row, label in zip(sentence, labels, strict=True)]
        for sentence, labels in zip(data.sentences, predicted, strict=True)
    )
    write_columns(rows, output, separator=separator or " ")


@app.command("eval")
def evaluate(file: InputFile, model: ModelFile, separator: Separator = None, encoding: Encoding = "utf-8") -> None:
    """Score a model on a labelled column file: accuracy and, for chunk labels, precision, recall and F1.

    Example: dualfield eval test.txt -m chunker.safetensors
    """
    crf = ChainCRF.load(model)
    data = read_for_model(file, crf, separator, encoding)
    if data.y is None:
        raise ValueError(f"{file} has no label column to compare with; use 'dualfield tag'.")
    known = set(crf.classes_.tolist())
    unseen = sum(label not in known for labels in data.y for label in labels)
    if unseen:
        console.print(
            f"Warning: {unseen} label{'' if unseen == 1 else 's'} of {file} did not occur in training; "
            "counted as errors.",
            markup=False,
            soft_wrap=True,
        )
    predicted = crf.predict(data.X)
    if are_chunk_tags(known.union(*data.y)):
        print(chunk_scores(data.y, predicted))
    else:
        print(f"{sum(map(len, data.y)):,} tokens, {token_accuracy(data.y, predicted):.2%} with the right label")


app.command()(inspect)


@app.command()
def demo(
    sentences: Annotated[int, typer.Option(help="How many sentences to train on.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the sentences and of the sampling.")] = 0,
    report: Annotated[str, typer.Option(metavar="HTML", help="Where to write the report.")] = "dualfield-demo.html",
) -> None:
    """Train on sentences made by the package, show the certificate, tag some that are new, and write a report."""
    demonstration.run(sentences, seed, report)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        print(dualfield.__version__)
        raise typer.Exit


def _say(quiet: bool, text: str) -> None:
    if not quiet:
        console.print(text, markup=False, soft_wrap=True)


def main() -> Any:
    """Run the command line; bad input ends with one sentence and exit code 2."""
    try:
        return app()
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, OSError, LookupError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            text = f"{error.filename}: {error.strerror}."
        console.print(f"Error: {text}", markup=False, soft_wrap=True)
        sys.exit(_BAD_INPUT)
