"""``dualfield convert``: models from and to other programs, and files of sequences from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from dualfield.cli.options import (
    Comment,
    ConfigFile,
    DocStart,
    DropDocStart,
    Encoding,
    LabelColumn,
    Separator,
    Syntax,
    TemplateSyntax,
    format_option,
    say,
)
from dualfield.counted import counted
from dualfield.features.templates.presets import PRESETS
from dualfield.io.atomic import check_writable
from dualfield.models.foreign import WRITERS, is_model_file, reader_of
from dualfield.models.recipe import FileLayout
from dualfield.reporting.reading import reading_shown
from dualfield.tagging.by_template import Maker, label_of
from dualfield.tagging.content import AttributeFile, TokenFile
from dualfield.tagging.formats import format_named
from dualfield.tagging.recognition import recognised, recognised_name
from dualfield.tagging.source import load_model

__all__ = ["convert"]


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Model, or file of sequences; - is standard input.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; packed if it ends in .gz.")],
    from_format: Annotated[str | None, format_option("--from", "Format of IN; a model needs none.")] = None,
    to_format: Annotated[
        str | None, format_option("--to", "Format of OUT, for a model another program's.", WRITERS)
    ] = None,
    features: Annotated[
        str | None, typer.Option(help=f"To make attributes of tokens: {', '.join(PRESETS)}, or a template file.")
    ] = None,
    template_syntax: TemplateSyntax = Syntax.crfpp,
    label_column: LabelColumn = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: DropDocStart = DocStart.drop,
    encoding: Encoding = "utf-8",
    config: ConfigFile = None,
) -> None:
    """Convert a model of another program to a model file and back, or labelled sequences to another format.

    Column files, CoNLL-U and JSON lines hold tokens; --features makes attributes of them, for CRFsuite's attribute
    files or for JSON lines. Nothing turns attributes back into tokens.

    Example: dualfield convert chunker.crfsuite chunker.safetensors

    Example: dualfield convert pickled-sklearn-crfsuite.pkl model.safetensors

    Example: dualfield convert chunker.safetensors chunker.crfsuite --to crfsuite

    Example: dualfield convert train.txt train.crfsuite --from columns --to attributes --features chunking
    """
    if target != "-":
        check_writable(target)
    if to_format in WRITERS or (source != "-" and reader_of(source)):
        _convert_model(source, target, from_format, to_format)
        return
    if source != "-" and is_model_file(source):
        raise ValueError(
            f"{source} is a model file of dualfield; give the program that shall read it, --to {' or '.join(WRITERS)}."
        )
    from_format = from_format or recognised(source, encoding)
    to_format = to_format or recognised_name(target)
    if from_format is None or to_format is None:
        raise ValueError(
            f"{source} is no model of another program; to convert sequences, give their formats by --from and --to."
        )
    layout, to = FileLayout(from_format, separator, comment, docstart.value), format_named(to_format)
    format_named(from_format).check(layout)
    content = _read(source, layout, encoding, features, template_syntax.value, label_column)
    if content.holds not in to.holds:
        raise ValueError(
            f"{source} has tokens; give --features, which says how they become attributes."
            if isinstance(content, TokenFile)
            else f"{source} gives attributes, of which no column file can be made; convert to another format."
        )
    to.write(content, target)
    if isinstance(content, TokenFile):
        read = f"{counted(len(content.tokens), 'sentence')}, {counted(content.tokens.n_tokens, 'token')}"
    else:
        read = f"{counted(len(content.X), 'sequence')}, {counted(content.X.n_positions, 'position')}"
    say(f"{read} written to {target}")


def _convert_model(source: str, target: str, from_format: str | None, to_format: str | None) -> None:
    if from_format is not None or not (to_format is None or to_format in WRITERS):
        raise ValueError(
            f"{source} is a model; --from is for sequences, and --to for a model takes {' or '.join(WRITERS)} or, for "
            "a model file of this package, is left out."
        )
    if "-" in (source, target):
        raise ValueError("a model is read from a file and written to a file; give its name instead of -.")
    crf = load_model(source)
    if to_format is None:
        crf.save(target)
    else:
        crf.export(target, to_format)
    say(
        f"{counted(len(crf.vocabulary_), 'attribute')}, {len(crf.classes_)} labels, "
        f"{counted(crf.n_nonzero_weights_, 'weight')} other than zero written to {target}"
    )


def _read(
    path: str, layout: FileLayout, encoding: str, features: str | None, syntax: str, label_column: int | None
) -> TokenFile | AttributeFile:
    maker = None if features is None else Maker(features, syntax)
    with reading_shown() as progress:
        content = format_named(layout.format).read_telling(progress, path, layout, encoding)
    if isinstance(content, TokenFile) and (content.label is not None or label_column is not None):
        content = content._replace(label=label_of(content, layout.format, label_column))
    if maker is None:
        return content
    if isinstance(content, AttributeFile):
        raise ValueError(f"--features makes attributes of tokens, but {path} has the attributes; leave it out.")
    if content.label is None:
        raise ValueError(f"{path} has no labels, which files of attributes need.")
    made = maker.make(content, layout)
    if made.X.bigrams is not None:
        raise ValueError(
            f"{features}: {str(made.recipe.template.bigrams[0])!r} makes attributes of pairs of labels, for which "
            "files of attributes have no place; make it a unigram, or leave it out."
        )
    return AttributeFile(path, made.X, made.y, content.weights)
