"""``dualfield tag``."""

from __future__ import annotations

from typing import Annotated

import typer

from dualfield.cli.options import (
    AsTrained,
    Comment,
    ConfigFile,
    EmbeddingsFile,
    Encoding,
    FormatAsTrained,
    InputFile,
    Jobs,
    ModelFile,
    Separator,
    say,
)
from dualfield.tagging.answers import Wanted
from dualfield.tagging.tag_file import tag_file

__all__ = ["tag"]


def tag(
    file: InputFile,
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write; - is standard output.")] = "-",
    format: FormatAsTrained = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: AsTrained = None,
    encoding: Encoding = "utf-8",
    embeddings: EmbeddingsFile = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first sentence that cannot be read.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write the probability of each predicted label.")
    ] = False,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Also write the probability of every label at every position.")
    ] = False,
    nbest: Annotated[
        int | None, typer.Option("--nbest", metavar="N", help="Write the N most probable labellings of each sentence.")
    ] = None,
    labels_only: Annotated[bool, typer.Option("--labels-only", help="Leave out what the file has.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write a JSON object a sentence.")] = False,
    tokenize: Annotated[
        bool, typer.Option("--tokenize", help="The file is raw text: cut it into sentences and words.")
    ] = False,
    jobs: Jobs = 1,
    config: ConfigFile = None,
) -> None:
    """Label a file as it is read, from a pipe too.

    Column files: each line again, with the predicted label as a further column. CoNLL-U: the label in its own column.
    JSON lines: each object again, with the labels as "predicted". CRFsuite's attributes: the labels, one a line.

    The file has the columns of the training file, or the first of them, as far as the features need them. A model that
    was trained on CoNLL-U also labels words, one a line.
    Sentences that cannot be read, or have more than 16 MiB or 1,000,000 tokens, are reported and passed on unlabelled;
    with attributes they end the command.

    With --tokenize the file is raw text, and each word is a line with its first character, the one behind its last, and
    its label; both are counted from the beginning of the file. The model must need words alone.

    With --embeddings a sentence that cannot be read ends the command: nobody knows how many rows it has.
    With --labels-only, --nbest or --json the lines of the file are not all written again, so a sentence that cannot be
    read ends the command.

    Example: dualfield tag test.txt -m chunker.safetensors

    Example: dualfield tag test.txt -m chunker.safetensors --probabilities --labels-only

    Example: dualfield tag letter.txt -m names.safetensors --tokenize --json

    Example: dualfield tag large.txt.gz -m chunker.safetensors --jobs 2 -o tagged.txt.gz

    Example: cat new.jsonl | dualfield tag - -m chunker.safetensors --format jsonl > tagged.jsonl
    """
    tag_file(
        file,
        model,
        output,
        format,
        separator,
        comment,
        docstart.value if docstart else None,
        encoding,
        strict,
        jobs,
        report=say,
        wanted=Wanted(probabilities, marginals, nbest, labels_only, as_json),
        tokenize=tokenize,
        embeddings=embeddings,
    )
