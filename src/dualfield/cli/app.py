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
from dualfield.cli.column_features import Layout, read_for_eval, read_for_training, recipe_of
from dualfield.cli.inspect_model import inspect
from dualfield.cli.report_option import HeldOutFile, ReportFile, plan_report
from dualfield.cli.stream import open_sink, tag_stream
from dualfield.estimators import ChainCRF
from dualfield.features import PRESETS
from dualfield.io import check_writable
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

Pairs = Enum("Pairs", {"all": "all", "observed": "observed"}, type=str)
Format = Enum("Format", {"columns": "columns", "conllu": "conllu"}, type=str)
DocStart = Enum("DocStart", {"drop": "drop", "keep": "keep"}, type=str)
Syntax = Enum("Syntax", {"crfpp": "crfpp", "wapiti": "wapiti"}, type=str)
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
        "idal": "idal",
        "gdmm": "gdmm",
        "soft_sdca": "soft_sdca",
        "soft_bcfw": "soft_bcfw",
    },
    type=str,
)

InputFile = Annotated[str, typer.Argument(metavar="FILE", help="Column file; gzip is unpacked, - is standard input.")]
ModelFile = Annotated[str, typer.Option("--model", "-m", help="Model file made by train.")]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What separates columns, \\t for a tab; default: any white space.",
        parser=lambda text: text.replace("\\t", "\t"),
    ),
]
Comment = Annotated[str | None, typer.Option(help="Lines that begin so are skipped.")]
AsTrained = Annotated[DocStart | None, typer.Option(help="-DOCSTART- lines; default: as in training.")]
Encoding = Annotated[str, typer.Option(help="Character encoding of the file.")]


@app.command()
def train(
    file: InputFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    features: Annotated[
        str, typer.Option(help=f"How words become attributes: {', '.join(PRESETS)}, or a template file.")
    ],
    template_syntax: Annotated[Syntax, typer.Option(help="Language of the template file.")] = Syntax.crfpp,
    gazetteer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A list of names, one a line, for a preset; repeatable."),
    ] = None,
    l2: Annotated[float, typer.Option(help="Strength of the penalty.")] = 1.0,
    tol: Annotated[float, typer.Option(help="Proven relative distance from the optimum to reach.")] = 1e-3,
    max_passes: Annotated[int, typer.Option(help="The most passes over the data.")] = 500,
    solver: Annotated[SolverName, typer.Option(help="Training method.")] = SolverName.auto,
    state_features: Annotated[Pairs, typer.Option(help="Which (attribute, label) pairs have a weight.")] = Pairs.all,
    transitions: Annotated[Pairs, typer.Option(help="Which (label, label) pairs have a weight.")] = Pairs.all,
    min_count: Annotated[int, typer.Option(help="Ignore attributes that occur less often.")] = 1,
    hash_bits: Annotated[int | None, typer.Option(help="Number attributes by so many bits of a hash.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    format: Annotated[Format, typer.Option(help="Layout of the file.")] = Format.columns,
    label_column: Annotated[
        int | None, typer.Option(help="Column of the label, from 1; default: the last, in CoNLL-U the 4th (UPOS).")
    ] = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: Annotated[DocStart, typer.Option(help="Whether -DOCSTART- lines are dropped.")] = DocStart.drop,
    encoding: Encoding = "utf-8",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
    report: ReportFile = None,
    held_out: HeldOutFile = None,
) -> None:
    """Train on a column file whose last column is the label.

    Example: dualfield train train.txt --features chunking -o chunker.safetensors
    """
    check_writable(output)
    layout = Layout(format.value, separator, comment, docstart.value)
    data = read_for_training(
        file,
        features,
        template_syntax.value,
        layout,
        encoding,
        label_column=label_column,
        min_count=min_count,
        hash_bits=hash_bits,
        gazetteers=gazetteer or (),
    )
    X, y, recipe = data.X, data.y, data.recipe
    plan = plan_report(report, held_out, file, data, encoding)
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
    _say(quiet, f"{len(X):,} sentences, {X.n_positions:,} tokens read from {file}")
    if not recipe.template.transitions:
        _say(quiet, "The template has no plain bigram line; label pairs have weights all the same.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the message below says it
        crf.fit(X, y)
    crf.column_features_ = recipe.to_dict()
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
    comment: Comment = None,
    docstart: AsTrained = None,
    encoding: Encoding = "utf-8",
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first sentence that cannot be read.")] = False,
) -> None:
    """Label a column file: each line again, with the predicted label as a further column.

    The file has the columns of the training file, with or without the label, and is laid out like it unless you say so.
    Sentences that cannot be read are reported and passed on unlabelled.
    Example: dualfield tag test.txt -m chunker.safetensors
    """
    if output != "-":
        check_writable(output)
    crf = ChainCRF.load(model)
    recipe = recipe_of(crf)
    layout = recipe.layout.but_for(separator, comment, docstart.value if docstart else None)
    with open_sink(output) as sink:
        counts = tag_stream(file, sink, crf, recipe, layout, encoding, strict, lambda text: _say(False, text))
    if counts.passed_on:
        total = counts.labelled + counts.passed_on
        _say(False, f"Warning: {counts.passed_on:,} of {total:,} sentences were passed on without labels.")


@app.command("eval")
def evaluate(
    file: InputFile,
    model: ModelFile,
    separator: Separator = None,
    comment: Comment = None,
    docstart: AsTrained = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Score a model on a labelled column file: accuracy and, for chunk labels, precision, recall and F1.

    Example: dualfield eval test.txt -m chunker.safetensors
    """
    crf = ChainCRF.load(model)
    recipe = recipe_of(crf)
    layout = recipe.layout.but_for(separator, comment, docstart.value if docstart else None)
    X, labels = read_for_eval(file, crf, recipe, layout, encoding)
    y = labels.tolist()
    known = set(crf.classes_.tolist())
    unseen = sum(label not in known for sequence in y for label in sequence)
    if unseen:
        console.print(
            f"Warning: {unseen} label{'' if unseen == 1 else 's'} of {file} did not occur in training; "
            "counted as errors.",
            markup=False,
            soft_wrap=True,
        )
    predicted = crf.predict(X)
    if are_chunk_tags(known.union(*y)):
        print(chunk_scores(y, predicted))
    else:
        print(f"{X.n_positions:,} tokens, {token_accuracy(y, predicted):.2%} with the right label")


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
