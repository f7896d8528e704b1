"""Labelled files of every format as encoded sequences, for training and for evaluation."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dualfield.models.recipe import FileLayout, Given, Recipe
from dualfield.tagging.by_template import Maker
from dualfield.tagging.content import ATTRIBUTES, AttributeFile, attributes_in, tokens_in
from dualfield.tagging.formats import format_named
from dualfield.tagging.task import names_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dualfield.features import Encoded, Tokens, Vocabulary
    from dualfield.io.content import Progress
    from dualfield.labels import EncodedLabels
    from dualfield.models.chain_model import ChainModel

__all__ = [
    "Labelled",
    "read_for_eval",
    "read_for_training",
    "read_given",
    "read_labelled",
]


class Labelled(NamedTuple):
    """What a labelled file gives."""

    X: Encoded
    y: EncodedLabels
    source: Recipe | Given
    tokens: Tokens | None = None
    weights: npt.NDArray[np.float64] | None = None


def read_for_training(
    path: str,
    features: str | None,
    syntax: str,
    layout: FileLayout,
    encoding: str,
    *,
    label_column: int | None = None,
    min_count: int = 1,
    hash_bits: int | None = None,
    gazetteers: Iterable[str] = (),
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Labelled:
    """Read a labelled file; ``features`` is a preset or a template file, ``label_column`` counts from 1."""
    format = format_named(layout.format)
    format.check(layout)
    if path != "-":
        os.stat(path)  # that a file is missing is said before what is missing of it
    of_tokens = {
        "--features": features is not None,
        "--label-column": label_column is not None,
        "--hash-bits": hash_bits is not None,
        "--gazetteer": bool(gazetteers),
    }

    def check(kind: str) -> None:
        for name, is_given in of_tokens.items():
            if is_given and kind == ATTRIBUTES:
                raise ValueError(
                    f"{name} is for files of tokens, but {path} has the attributes themselves; leave it out."
                )
        if features is None and kind != ATTRIBUTES:
            raise ValueError(f"{path} has tokens; give --features, which says how they become attributes.")

    if len(format.holds) == 1:
        check(*format.holds)  # before a large file is read
    maker = None if features is None else Maker(features, syntax, gazetteers)
    content = format.read_telling(progress, path, layout, encoding)
    check(content.holds)
    if isinstance(content, AttributeFile):
        return Labelled(content.X, content.y, Given(format.name), None, content.weights)
    assert maker is not None
    made = maker.make(content, layout, label_column, min_count, hash_bits, n_jobs)
    return Labelled(made.X, made.y, made.recipe, content.tokens, content.weights)


def read_for_eval(
    path: str,
    crf: ChainModel,
    source: Recipe | Given,
    layout: FileLayout,
    encoding: str,
    progress: Progress | None = None,
) -> Labelled:
    """Read a labelled file and keep the attributes that the model knows."""
    if isinstance(source, Given):
        return read_given(path, source, encoding, names_of(crf), progress)
    tokens = read_labelled(path, source, layout, encoding, progress)
    return Labelled(source.attributes(tokens, crf), tokens.labels(source.label), source, tokens)


def read_given(
    path: str,
    source: Given,
    encoding: str,
    vocabulary: Vocabulary | None = None,
    progress: Progress | None = None,
) -> Labelled:
    """Read a labelled file that has the attributes themselves."""
    content = format_named(source.format).read_telling(progress, path, FileLayout(source.format), encoding, vocabulary)
    content = attributes_in(content)
    return Labelled(content.X, content.y, source, None, content.weights)


def read_labelled(
    path: str, recipe: Recipe, layout: FileLayout, encoding: str, progress: Progress | None = None
) -> Tokens:
    """Read a labelled file with the columns of training."""
    tokens = tokens_in(format_named(layout.format).read_telling(progress, path, layout, encoding))
    fewest, most = recipe.widths
    if not fewest <= tokens.n_columns <= most:
        some = f"{tokens.n_columns} column{'' if tokens.n_columns == 1 else 's'}"
        raise ValueError(f"{path} has {some}; expected {most}, those of training and the label.")
    if tokens.n_columns < most:
        raise ValueError(f"{path} has no label column to compare with; use 'dualfield tag'.")
    return tokens
