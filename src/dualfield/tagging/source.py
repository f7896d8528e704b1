"""How a model reads files: by a recipe that makes attributes of tokens, or as attributes that the file has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualfield.models.foreign import reader_of
from dualfield.models.recipe import FileLayout, Given, Recipe, recipe_of
from dualfield.tagging.content import ATTRIBUTES, TOKENS
from dualfield.tagging.formats import format_named, names_that_hold
from dualfield.tagging.recognition import recognised, recognised_name

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel

__all__ = ["format_of", "layout_of", "load_model", "source_of"]


def load_model(path: str) -> ChainModel:
    """A model of this package, or of another program that has one."""
    from dualfield.models.chain_model import ChainModel

    model: ChainModel = (reader_of(path) or ChainModel.load)(path)
    return model


def source_of(plain: object, format: str | None, bigrams: bool) -> Recipe | Given:
    """How a model reads files, from what it remembers; ``format`` is what the user asks for.

    ``bigrams`` says whether it has weights for bigram attributes.
    """
    if isinstance(plain, dict) and set(plain) == {"attributes"}:
        given = Given(format or plain["attributes"])
    elif plain is None and format is not None:
        given = Given(format)
    else:
        return recipe_of(plain)
    if ATTRIBUTES not in format_named(given.format).holds:
        raise ValueError(
            f"the model was trained on attributes, which a file of format {format!r} does not have; give one of format "
            f"{names_that_hold(ATTRIBUTES)}."
        )
    if bigrams:
        raise ValueError(
            f"the model has weights for bigram attributes, for which a file of format {given.format} has no place; "
            "predict in Python, by crf.encode(X, bigrams=...)."
        )
    return given


def layout_of(
    source: Recipe | Given,
    format: str | None,
    separator: str | None,
    comment: str | None,
    docstart: str | None,
) -> FileLayout:
    """How the file is laid out: as in training, but for what the options say."""
    if isinstance(source, Given):
        layout = FileLayout(source.format, separator, comment, docstart or "drop")
    else:
        layout = source.layout.but_for(separator, comment, docstart, format)
        if TOKENS not in format_named(layout.format).holds:
            raise ValueError("the model makes its attributes of tokens; an attribute file has none.")
        if layout.format == "conllu" and source.layout.format != "conllu":
            raise ValueError(
                "the model was not trained on CoNLL-U, so it does not know which columns it needs; give a file of "
                f"{source.expected_columns()}, or JSON lines."
            )
    format_named(layout.format).check(layout, docstart)
    return layout


def format_of(file: str, encoding: str, plain: object) -> str | None:
    """The format of a file where the user names none; None: as in training.

    ``plain`` is what the model remembers of files. A name tells more than that does, and that more than the content.
    """
    by_name = recognised_name(file)
    if by_name is not None or not isinstance(plain, dict):
        return by_name
    found, trained = recognised(file, encoding), plain.get("attributes") or plain.get("layout", {}).get("format")
    if found == "jsonl" or (found == "columns" and trained in ("conllu", "jsonl") and "attributes" not in plain):
        return found
    return "conllu" if found == "conllu" == trained else None
