"""``dualfield encode``: labelled files of any size become a folder of partitions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated

import typer

from dualfield.cli.machine import print_json
from dualfield.cli.options import (
    AsJson,
    Comment,
    ConfigFile,
    DocStart,
    DropDocStart,
    Encoding,
    Format,
    Jobs,
    LabelColumn,
    Separator,
    Syntax,
    TemplateSyntax,
    say,
)
from dualfield.counted import counted
from dualfield.features.templates.presets import PRESETS
from dualfield.models.recipe import FileLayout
from dualfield.tagging.by_template import Maker
from dualfield.tagging.content import shown
from dualfield.tagging.labelled_chunks import Chunk, LabelledChunks, expanded
from dualfield.tagging.recognition import recognised

__all__ = ["encode"]

_POSITIONS = 1 << 18


def encode(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Labelled files or patterns such as 'data/*.gz'; - is standard input."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to make; it must not exist.")
    ],
    features: Annotated[
        str | None,
        typer.Option(
            help=f"How tokens become attributes: {', '.join(PRESETS)}, or a template file; not for attribute files."
        ),
    ] = None,
    template_syntax: TemplateSyntax = Syntax.crfpp,
    gazetteer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A list of names, one a line, for a preset; repeatable."),
    ] = None,
    min_count: Annotated[int, typer.Option(help="Leave out attributes that occur at fewer positions.")] = 1,
    hash_bits: Annotated[int | None, typer.Option(help="Number attributes by so many bits of a hash.")] = None,
    positions: Annotated[
        int, typer.Option(help="Tokens of a partition. Training has one partition in memory.")
    ] = _POSITIONS,
    jobs: Jobs = 1,
    format: Format = None,
    label_column: LabelColumn = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: DropDocStart = DocStart.drop,
    encoding: Encoding = "utf-8",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Encode labelled files that do not fit into memory, as a folder that train takes in the place of a file.

    All files have one format. Attributes are counted on the disk, and memory is bounded by a partition, the names of
    the attributes that remain, and some chunks a thread. The folder appears when it is whole.

    Example: dualfield encode train.txt --features chunking -o encoded

    Example: dualfield encode 'news/*.gz' --format columns --features ner --min-count 2 --jobs 2 -o news-encoded
    """
    from dualfield.io.atomic_folder import check_new_folder
    from dualfield.partitions import write_partitions

    check_new_folder(output)
    paths = expanded(files)
    layout = FileLayout(format or _format_of(paths, separator, comment, encoding, quiet), separator, comment)
    maker = None if features is None else Maker(features, template_syntax.value, gazetteer or ())
    chunks = LabelledChunks(
        paths, layout._replace(docstart=docstart.value), encoding, maker, label_column, hash_bits, jobs
    )
    chunks.check()
    data = write_partitions(
        chunks if quiet else _watched(chunks, paths),
        output,
        min_count=min_count,
        positions=positions,
        column_features=lambda: chunks.column_features,
    )
    if not quiet:
        say(
            f"{counted(data.n_sequences, 'sequence')}, {counted(data.n_positions, 'position')}, "
            f"{counted(len(data.vocabulary), 'attribute')} and {len(data.classes)} labels written to {output}, in "
            f"{counted(len(data), 'partition')}"
        )
    if as_json:
        counts = {"sequences": data.n_sequences, "positions": data.n_positions}
        sizes = {"attributes": len(data.vocabulary), "labels": data.classes.tolist(), "partitions": len(data)}
        print_json({"folder": output, "training_data": counts, **sizes})


def _watched(chunks: LabelledChunks, paths: list[str]) -> Iterator[Chunk]:
    """The chunks, under a bar that counts the bytes of the files."""
    from dualfield.reporting.progress import CountBar

    total = sum(os.path.getsize(path) for path in paths if os.path.exists(path))
    if "-" in paths or total == 0:
        yield from chunks
        return
    with CountBar(total, "byte") as bar:
        for chunk in chunks:
            bar.show(min(chunks.bytes_read, total))
            yield chunk
        bar.show(total)


def _format_of(paths: list[str], separator: str | None, comment: str | None, encoding: str, quiet: bool) -> str:
    """The format that all files seem to have."""
    if separator is not None or comment is not None:
        return "columns"
    found = [recognised(path, encoding) or "columns" for path in paths]
    for path, other in zip(paths, found, strict=True):
        if other != found[0]:
            raise ValueError(
                f"{shown(paths[0])} is read as {found[0]}, and {shown(path)} as {other}; give files of one format, or "
                "--format."
            )
    if found[0] != "columns" and not quiet:
        say(f"{shown(paths[0])} is read as {found[0]}; --format says otherwise.")
    return found[0]
