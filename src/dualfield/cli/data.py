"""Files of every format as encoded sequences, in the way that the model remembers.

A file either has tokens, of which a :class:`~dualfield.cli.column_features.Recipe` makes attributes, or it has the
attributes themselves: :class:`Given`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from dualfield import features, io
from dualfield.cli.column_features import read_by_template, read_labelled
from dualfield.io.content import is_crfsuite_model
from dualfield.models.recipe import Layout, Recipe, recipe_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dualfield.features import Encoded, Tokens, Vocabulary
    from dualfield.labels import EncodedLabels
    from dualfield.models.chain_model import ChainModel

__all__ = [
    "GIVEN",
    "GIVEN_BY_CRFSUITE",
    "Given",
    "Labelled",
    "input_of",
    "layout_of",
    "load_model",
    "names_of",
    "read_for_eval",
    "read_for_training",
    "read_given",
]

GIVEN = ("attributes", "jsonl")
GIVEN_BY_CRFSUITE = {"attributes": "attributes"}  # what a model of CRFsuite remembers


class Given(NamedTuple):
    """The file has the attributes: a line of CRFsuite's format, or the features of JSON lines."""

    format: str

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for the model file."""
        return {"attributes": self.format}


class Labelled(NamedTuple):
    """What a labelled file gives."""

    X: Encoded
    y: EncodedLabels
    source: Recipe | Given
    tokens: Tokens | None = None
    weights: npt.NDArray[np.float64] | None = None


def load_model(path: str) -> ChainModel:
    """A model of this package, or of CRFsuite."""
    from dualfield.models.chain_model import ChainModel
    from dualfield.models.crfsuite_model import read_crfsuite_model

    return read_crfsuite_model(path) if is_crfsuite_model(path) else ChainModel.load(path)


def input_of(plain: object, format: str | None, bigrams: bool) -> Recipe | Given:
    """How a model reads files, from what it remembers; ``format`` is what the user asks for.

    ``bigrams`` says whether it has weights for bigram attributes.
    """
    if isinstance(plain, dict) and set(plain) == {"attributes"} and plain["attributes"] in GIVEN:
        given = Given(format or plain["attributes"])
    elif plain is None and format is not None:
        given = Given(format)
    else:
        return recipe_of(plain)
    if given.format not in GIVEN:
        raise ValueError(
            f"the model was trained on attributes, which a file of format {format!r} does not have; give one of format "
            "attributes or jsonl."
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
) -> Layout:
    """How the file is laid out: as in training, but for what the options say."""
    if isinstance(source, Given):
        layout = Layout(source.format, separator, comment, docstart or "drop")
    else:
        layout = source.layout.but_for(separator, comment, docstart, format)
        if layout.format == "attributes":
            raise ValueError("the model makes its attributes of tokens; an attribute file has none.")
    if layout.format in ("attributes", "jsonl"):
        layout.check_bare()
        if docstart is not None:
            raise ValueError(f"--docstart is for column files; leave it out with --format {layout.format}.")
    return layout


def names_of(crf: ChainModel) -> Vocabulary:
    """The names of the model's attributes."""
    if not isinstance(crf.vocabulary_, features.Vocabulary):
        raise ValueError("the model was trained on arrays, so it does not know attributes by name.")
    return crf.vocabulary_


def read_for_training(
    path: str,
    features: str | None,
    syntax: str,
    layout: Layout,
    encoding: str,
    *,
    label_column: int | None = None,
    min_count: int = 1,
    hash_bits: int | None = None,
    gazetteers: Iterable[str] = (),
) -> Labelled:
    """Read a labelled file; ``features`` is a preset or a template file, ``label_column`` counts from 1."""
    if layout.format in GIVEN:
        layout.check_bare()
    if layout.format == "attributes":
        _check_given(path, features, label_column, hash_bits, gazetteers)
        return read_given(path, layout.format, encoding)
    tokens, weights = None, None
    if layout.format == "jsonl":
        data = io.read_json_lines(path, encoding=encoding)
        if data.kind == "features":
            _check_given(path, features, label_column, hash_bits, gazetteers)
            return Labelled(data.encoded(), data.encoded_labels(), Given("jsonl"), None, data.weights)
        data.check_labelled()
        tokens, weights = data.tokens(), data.weights
    if features is None:
        raise ValueError(f"{path} has tokens; give --features, which says how they become attributes.")
    made = read_by_template(
        path,
        features,
        syntax,
        layout,
        encoding,
        label_column=label_column,
        min_count=min_count,
        hash_bits=hash_bits,
        gazetteers=gazetteers,
        tokens=tokens,
    )
    return Labelled(made.X, made.y, made.recipe, made.tokens, weights)


def read_for_eval(path: str, crf: ChainModel, source: Recipe | Given, layout: Layout, encoding: str) -> Labelled:
    """Read a labelled file and keep the attributes that the model knows."""
    if isinstance(source, Recipe):
        tokens = read_labelled(path, source, layout, encoding)
        return Labelled(
            source.attributes(tokens, crf),
            tokens.labels(source.label),
            source,
            tokens,
        )
    return read_given(path, source.format, encoding, names_of(crf))


def read_given(path: str, format: str, encoding: str, vocabulary: Vocabulary | None = None) -> Labelled:
    """Read a labelled file that has the attributes themselves."""
    if format == "attributes":
        X, y, weights = io.read_weighted_attributes(path, vocabulary=vocabulary, encoding=encoding)
        return Labelled(X, y, Given(format), None, weights)
    data = io.read_json_lines(path, encoding=encoding)
    return Labelled(data.encoded(vocabulary), data.encoded_labels(), Given(format), None, data.weights)


def _check_given(
    path: str, features: str | None, label_column: int | None, hash_bits: int | None, gazetteers: Iterable[str]
) -> None:
    given = {
        "--features": features is not None,
        "--label-column": label_column is not None,
        "--hash-bits": hash_bits is not None,
        "--gazetteer": bool(list(gazetteers)),
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(f"{name} is for files of tokens, but {path} has the attributes themselves; leave it out.")
