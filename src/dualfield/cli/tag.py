"""``dualfield tag`` and ``dualfield eval``."""

from __future__ import annotations

from typing import Annotated

import typer

from dualfield.cli.column_features import Layout, Recipe
from dualfield.cli.data import Given, input_of, load_model, read_for_eval
from dualfield.cli.machine import print_json, score_record
from dualfield.cli.options import (
    AsJson,
    AsTrained,
    Comment,
    ConfigFile,
    DocStart,
    Encoding,
    Format,
    FormatAsTrained,
    InputFile,
    ModelFile,
    Separator,
    say,
)
from dualfield.cli.stream import open_sink, tag_attributes, tag_json_lines, tag_stream
from dualfield.io import check_writable
from dualfield.metrics import are_chunk_tags, chunk_scores, token_accuracy

__all__ = ["evaluate", "tag"]


def tag(
    file: InputFile,
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write; - is standard output.")] = "-",
    format: FormatAsTrained = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: AsTrained = None,
    encoding: Encoding = "utf-8",
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first sentence that cannot be read.")] = False,
    config: ConfigFile = None,
) -> None:
    """Label a file as it is read, from a pipe too.

    Column files: each line again, with the predicted label as a further column. JSON lines: each object again, with the
    labels as "predicted". CRFsuite's attributes: the labels, one a line, as CRFsuite does.

    The file has the columns of the training file, with or without the label, and is laid out like it unless you say so.
    Sentences that cannot be read are reported and passed on unlabelled; with attributes they end the command.

    Example: dualfield tag test.txt -m chunker.safetensors

    Example: cat new.jsonl | dualfield tag - -m chunker.safetensors --format jsonl > tagged.jsonl
    """
    if output != "-":
        check_writable(output)
    crf = load_model(model)
    source = input_of(crf, format.value if format else None)
    layout = _layout(source, format, separator, comment, docstart)
    with open_sink(output) as sink:
        if layout.format == "attributes":
            counts = tag_attributes(file, sink, crf, encoding)
        elif layout.format == "jsonl":
            counts = tag_json_lines(file, sink, crf, source, encoding, strict, say)
        else:
            assert isinstance(source, Recipe)
            counts = tag_stream(file, sink, crf, source, layout, encoding, strict, say)
    if counts.passed_on:
        total = counts.labelled + counts.passed_on
        say(f"Warning: {counts.passed_on:,} of {total:,} sentences were passed on without labels.")


def evaluate(
    file: InputFile,
    model: ModelFile,
    format: FormatAsTrained = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: AsTrained = None,
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Score a model on a labelled file: accuracy and, for chunk labels, precision, recall and F1.

    Example: dualfield eval test.txt -m chunker.safetensors --json
    """
    crf = load_model(model)
    source = input_of(crf, format.value if format else None)
    data = read_for_eval(file, crf, source, _layout(source, format, separator, comment, docstart), encoding)
    y = data.y.tolist()
    known = set(crf.classes_.tolist())
    unseen = sum(label not in known for sequence in y for label in sequence)
    if unseen:
        say(
            f"Warning: {unseen} label{'' if unseen == 1 else 's'} of {file} did not occur in training; "
            "counted as errors."
        )
    if data.weights is not None:
        say("Warning: the weights of the sequences are for training; here all count alike.")
    predicted = crf.predict(data.X)
    scores = chunk_scores(y, predicted) if are_chunk_tags(known.union(*y)) else None
    if as_json:
        print_json(score_record(scores, data.X.n_positions, token_accuracy(y, predicted), unseen))
    elif scores is not None:
        print(scores)
    else:
        print(f"{data.X.n_positions:,} tokens, {token_accuracy(y, predicted):.2%} with the right label")


def _layout(
    source: Recipe | Given,
    format: Format | None,
    separator: str | None,
    comment: str | None,
    docstart: DocStart | None,
) -> Layout:
    given = docstart.value if docstart else None
    if isinstance(source, Given):
        layout = Layout(source.format, separator, comment, given or "drop")
    else:
        layout = source.layout.but_for(separator, comment, given, format.value if format else None)
        if layout.format == "attributes":
            raise ValueError("the model makes its attributes of tokens; an attribute file has none.")
    if layout.format in ("attributes", "jsonl"):
        layout.check_bare()
        if docstart is not None:
            raise ValueError(f"--docstart is for column files; leave it out with --format {layout.format}.")
    return layout
