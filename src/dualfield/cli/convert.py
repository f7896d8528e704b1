"""``dualfield convert``: models of CRFsuite, and files of sequences from one format to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dualfield import io
from dualfield.cli.column_features import label_of, read_by_template
from dualfield.cli.data import Given, Labelled, load_model, read_given
from dualfield.cli.options import (
    Comment,
    ConfigFile,
    DocStart,
    DropDocStart,
    Encoding,
    Format,
    LabelColumn,
    Separator,
    Syntax,
    TemplateSyntax,
    say,
)
from dualfield.features.templates.presets import PRESETS
from dualfield.io.atomic import check_writable
from dualfield.io.content import is_crfsuite_model
from dualfield.models.recipe import Layout

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dualfield.features import Tokens

__all__ = ["convert"]


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="CRFsuite model, or file of sequences; - is standard input.")
    ],
    target: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; packed if it ends in .gz.")],
    from_format: Annotated[Format | None, typer.Option("--from", help="Format of IN; a model needs none.")] = None,
    to_format: Annotated[Format | None, typer.Option("--to", help="Format of OUT; a model needs none.")] = None,
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
    """Convert a model of CRFsuite to a model file, or labelled sequences to another format.

    Column files, CoNLL-U and JSON lines hold tokens; --features makes attributes of them, for CRFsuite's attribute
    files or for JSON lines. Nothing turns attributes back into tokens.

    Example: dualfield convert chunker.crfsuite chunker.safetensors

    Example: dualfield convert train.txt train.crfsuite --from columns --to attributes --features chunking
    """
    if target != "-":
        check_writable(target)
    if source != "-" and is_crfsuite_model(source):
        _convert_model(source, target, from_format or to_format)
        return
    if from_format is None or to_format is None:
        raise ValueError(f"{source} is no CRFsuite model; to convert sequences, give their formats by --from and --to.")
    if to_format.value == "conllu":
        raise ValueError("CoNLL-U is read, not written: it has columns that no other format has; convert to columns.")
    layout = Layout(from_format.value, separator, comment, docstart.value)
    if layout.format in ("attributes", "jsonl"):
        layout.check_bare()
    content = _read(source, layout, encoding, features, template_syntax.value, label_column)
    if isinstance(content, TokenFile):
        _write_tokens(content, source, target, to_format.value)
        say(f"{len(content.tokens):,} sentences, {content.tokens.n_tokens:,} tokens written to {target}")
    else:
        _write_attributes(content, source, target, to_format.value)
        say(f"{len(content.X):,} sequences, {content.X.n_positions:,} positions written to {target}")


def _convert_model(source: str, target: str, format: Format | None) -> None:
    if format is not None:
        raise ValueError(f"{source} is a CRFsuite model; --from and --to are for sequences, leave them out.")
    if target == "-":
        raise ValueError("a model is written to a file; give its name instead of -.")
    crf = load_model(source)
    crf.save(target)
    say(
        f"{len(crf.vocabulary_):,} attributes, {len(crf.classes_)} labels, {len(crf.weights_):,} weights "
        f"written to {target}"
    )


class TokenFile(NamedTuple):
    """Tokens, which of their columns is the label if there is one, and the weights of the sentences."""

    tokens: Tokens
    label: int | None
    weights: npt.NDArray[np.float64] | None


def _read(
    path: str, layout: Layout, encoding: str, features: str | None, syntax: str, label_column: int | None
) -> TokenFile | Labelled:
    content: TokenFile | Labelled
    if layout.format == "attributes":
        content = read_given(path, layout.format, encoding)
    elif layout.format == "jsonl":
        data = io.read_json_lines(path, encoding=encoding)
        if data.kind == "features":
            content = Labelled(data.encoded(), data.encoded_labels(), Given("jsonl"), None, data.weights)
        else:
            tokens = data.tokens()
            content = TokenFile(tokens, None if data.labels is None else tokens.n_columns - 1, data.weights)
    else:
        tokens = layout.read(path, encoding)
        alone = tokens.n_columns == 1 and label_column is None  # words without labels
        content = TokenFile(tokens, None if alone else label_of(path, tokens, layout, label_column), None)
    if features is None:
        return content
    if not isinstance(content, TokenFile):
        raise ValueError(f"--features makes attributes of tokens, but {path} has the attributes; leave it out.")
    if content.label is None:
        raise ValueError(f"{path} has no labels, which files of attributes need.")
    made = read_by_template(
        path, features, syntax, layout, encoding, label_column=content.label + 1, tokens=content.tokens
    )
    if made.X.bigrams is not None:
        raise ValueError(
            f"{features}: {str(made.recipe.template.bigrams[0])!r} makes attributes of pairs of labels, for which "
            "files of attributes have no place; make it a unigram, or leave it out."
        )
    return Labelled(made.X, made.y, made.recipe, None, content.weights)


def _write_attributes(content: Labelled, source: str, target: str, to: str) -> None:
    if to == "attributes":
        io.write_attributes(content.X, content.y, target, sample_weight=content.weights)
    elif to == "jsonl":
        from dualfield.io.json_lines import attribute_lists

        sequences, labels = attribute_lists(content.X), content.y.tolist()
        io.write_json_lines(sequences, target, kind="features", labels=labels, weights=content.weights)
    else:
        raise ValueError(f"{source} gives attributes, of which no column file can be made; convert to another format.")


def _write_tokens(content: TokenFile, source: str, target: str, to: str) -> None:
    tokens, label = content.tokens, content.label
    if to == "attributes":
        raise ValueError(f"{source} has tokens; give --features, which says how they become attributes.")
    columns = [column for column in range(tokens.n_columns) if column != label]
    if to == "jsonl":
        rows, labels = tokens.with_columns(columns).rows(), None if label is None else tokens.labels(label).tolist()
        io.write_json_lines(rows, target, kind="tokens", labels=labels, weights=content.weights)
        return
    if content.weights is not None:
        raise ValueError(f"the sequences of {source} have weights, for which a column file has no place.")
    rows = tokens.with_columns(columns if label is None else [*columns, label]).rows()
    io.write_columns(rows, target, separator="\t")
