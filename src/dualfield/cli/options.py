"""Options that several commands share, and the values they take. Messages go to standard error."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any

import typer

from dualfield.cli.conduct import BAD_INPUT, INTERRUPTED, NOT_CONVERGED, say
from dualfield.cli.config import read_config
from dualfield.given_numbers import check_integer
from dualfield.solvers import NAMES
from dualfield.tagging.formats import FORMATS
from dualfield.threads import thread_count

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "NOT_CONVERGED",
    "AsJson",
    "AsTrained",
    "Comment",
    "ConfigFile",
    "DocStart",
    "DropDocStart",
    "EmbeddingsFile",
    "Encoding",
    "Engine",
    "Format",
    "FormatAsTrained",
    "InputFile",
    "Jobs",
    "LabelColumn",
    "ModelFile",
    "Separator",
    "SolverName",
    "Syntax",
    "TemplateSyntax",
    "format_option",
    "say",
]

Engine = Enum("Engine", {"mpi": "mpi"}, type=str)
DocStart = Enum("DocStart", {"drop": "drop", "keep": "keep"}, type=str)
Syntax = Enum("Syntax", {"crfpp": "crfpp", "wapiti": "wapiti"}, type=str)
SolverName = Enum("SolverName", {name: name for name in ("auto", *NAMES)}, type=str)  # type: ignore[misc]


def format_option(name: str | None, help: str, further: Iterable[str] = ()) -> Any:
    """An option that takes the name of a format, or one of ``further`` names.

    ``name`` is that of the option, where it is not its parameter's.
    """
    names = (*FORMATS, *further)

    def known(given: str | None) -> str | None:
        if given is None or given in names or given in FORMATS:
            return given
        raise typer.BadParameter(f"there is no format {given!r}; expected one of {', '.join(names)}.")

    return typer.Option(
        *([name] if name else []),
        help=help,
        metavar=f"<{'|'.join(names)}>",
        callback=known,
        autocompletion=lambda: list(names),
    )


def _threads(jobs: int) -> int:
    check_integer("--jobs", jobs, -1 if jobs == -1 else 1, "a positive integer, or -1 for all cores")
    return thread_count(jobs)


InputFile = Annotated[
    str, typer.Argument(metavar="FILE", help="File of sequences; gzip is unpacked, - is standard input.")
]
ModelFile = Annotated[str, typer.Option("--model", "-m", help="Model file made by train, or by CRFsuite.")]
Format = Annotated[str | None, format_option(None, "Layout of the file; default: by its name or first lines.")]
FormatAsTrained = Annotated[
    str | None, format_option(None, "Layout of the file; default: by its name or first lines, or as in training.")
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What separates columns, \\t for a tab; default: any white space.",
        parser=lambda text: text.replace("\\t", "\t"),
    ),
]
TemplateSyntax = Annotated[Syntax, typer.Option(help="Language of the template file.")]
LabelColumn = Annotated[
    int | None, typer.Option(help="Column of the label, from 1; default: the last, in CoNLL-U the 4th (UPOS).")
]
Comment = Annotated[str | None, typer.Option(help="Lines that begin so are skipped.")]
DropDocStart = Annotated[DocStart, typer.Option(help="Whether -DOCSTART- lines are dropped.")]
AsTrained = Annotated[DocStart | None, typer.Option(help="-DOCSTART- lines; default: as in training.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="How many threads; -1 is all cores.", callback=_threads)]
Encoding = Annotated[str, typer.Option(help="Character encoding of the file.")]
EmbeddingsFile = Annotated[
    str | None,
    typer.Option(
        "--embeddings",
        metavar="NPY",
        help="A matrix of numpy.save with a row of numbers for each token of the file, beside its attributes.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for other programs.")]
ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="TOML",
        help="File of options, such as l2 = 0.5; those given here win over it.",
        is_eager=True,
        callback=read_config,
    ),
]
