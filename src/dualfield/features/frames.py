"""Sequences as other packages keep them: tables with a sentence column, Hugging Face's datasets, spaCy's documents.

These packages are not imported. A table is recognised by its columns, a dataset by its records and the names of its
labels, a document by its tokens. Any other object that has these is taken too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dualfield.features.sequences.encoded import Encoded
from dualfield.features.sequences.encoding import encode
from dualfield.features.templates.presets import preset_template
from dualfield.features.templates.template import Template

__all__ = ["Labelled", "encode_dataset", "encode_docs", "encode_frame"]

Labels = list[list[str | int | None]]


class Labelled(NamedTuple):
    """Encoded sequences, and the labels of their positions; None where no label was asked for."""

    X: Encoded
    y: Labels | None


def encode_frame(
    frame: Any,
    group: str,
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    features: str | Template | None = None,
) -> Labelled:
    """Encode a table with a row for each token and a column that says to which sentence it belongs.

    Parameters
    ----------
    frame : pandas or Polars DataFrame, PyArrow Table, or dict of lists
        Rows of one sentence stand together.
    group : str
        The column of sentences: a new value begins a new one. A missing value means the sentence of the row above.
    columns : sequence of str, optional
        The columns that make attributes, the word first; by default all but ``group`` and ``label``.
    label : str, optional
        The column of labels; a missing label is None, unknown.
    features : str or Template, optional
        A preset such as "ner", or a template, applied to the columns. By default each column is an attribute by the
        conventions of dicts: a string makes ``column:string``, a number is the value of ``column``, and a missing value
        makes none.

    Returns
    -------
    X, y : Labelled
        What ``fit`` takes; ``y`` is None without ``label``.

    Raises
    ------
    ValueError, TypeError
        With the column or row at fault: a column that is not there, a sentence that goes on after another.

    Examples
    --------
    >>> table = {"sentence": [1, 1, 2], "word": ["the", "cat", "it"], "tag": ["D", "N", "P"]}
    >>> X, y = encode_frame(table, group="sentence", label="tag")
    >>> X.lengths.tolist(), X.vocabulary.names, y
    ([2, 1], ['word:the', 'word:cat', 'word:it'], [['D', 'N'], ['P']])
    """
    names = _column_names(frame)
    chosen = [name for name in names if name not in (group, label)] if columns is None else list(columns)
    for name in (group, *chosen, *([] if label is None else [label])):
        if name not in names:
            raise ValueError(f"the table has no column {name!r}; its columns are {', '.join(map(repr, names))}.")
    if not chosen:
        raise ValueError("no column is left to make attributes of; name some by columns=[...].")
    bounds = _sentence_bounds(_listed(frame, group), group)
    values = [_listed(frame, name) for name in chosen]
    spans = list(zip(bounds, [*bounds[1:], len(values[0])], strict=True))
    y: Labels | None = None
    if label is not None:
        labels = [None if _is_missing(value) else value for value in _listed(frame, label)]
        y = [labels[begin:end] for begin, end in spans]
    if features is None:
        return Labelled(encode(_dicts(chosen, values, spans)), y)
    texts = [_texts(name, column) for name, column in zip(chosen, values, strict=True)]
    rows = (list(zip(*(column[begin:end] for column in texts), strict=True)) for begin, end in spans)
    return Labelled(_template(features, len(chosen)).encode(rows), y)


def encode_dataset(
    dataset: Any, features: str | Template, *, tokens: str | Sequence[str] = "tokens", label: str | None = None
) -> Labelled:
    """Encode a data set with a record for each sentence, as Hugging Face's ``datasets`` have them.

    Parameters
    ----------
    dataset : datasets.Dataset, or iterable of dicts
        Records with lists. It is read record by record, so it may be streamed.
    features : str or Template
        A preset such as "ner", or a template.
    tokens : str or sequence of str
        The column of words, or several, the words first. Numbers of a ``ClassLabel`` become its names.
    label : str, optional
        The column of labels. Numbers of a ``ClassLabel`` become its names; −100 is None, unknown.

    Returns
    -------
    X, y : Labelled
        What ``fit`` takes; ``y`` is None without ``label``.

    Examples
    --------
    >>> records = [{"tokens": ["the", "cat"], "tags": ["D", "N"]}, {"tokens": ["it"], "tags": ["P"]}]
    >>> X, y = encode_dataset(records, "pos", label="tags")
    >>> X.lengths.tolist(), y
    ([2, 1], [['D', 'N'], ['P']])
    """
    columns = [tokens] if isinstance(tokens, str) else list(tokens)
    known = getattr(dataset, "features", None) or {}
    names = {column: _class_names(known.get(column)) for column in (*columns, label)}
    y: Labels = []

    def rows() -> Iterator[list[tuple[str, ...]]]:
        for number, record in enumerate(dataset):
            place = f"record {number}"
            lists = [_named(_field(record, name, place), names[name], f"{place}, {name!r}") for name in columns]
            if label is not None:
                y.append(_named(_field(record, label, place), names[label], f"{place}, {label!r}"))
            lengths = {len(found) for found in (*lists, *y[-1:])}
            if len(lengths) > 1:
                raise ValueError(f"{place} has lists of different lengths, {sorted(lengths)}; expected one a token.")
            yield [tuple("" if value is None else str(value) for value in row) for row in zip(*lists, strict=True)]

    X = _template(features, len(columns)).encode(rows())
    return Labelled(X, None if label is None else y)


def encode_docs(
    docs: Iterable[Any], features: str | Template, *, attributes: Sequence[str] = ("text",), label: str | None = None
) -> Labelled:
    """Encode spaCy's documents, a sequence for each sentence where they have sentences, else for each document.

    Parameters
    ----------
    docs : iterable of spacy.tokens.Doc
        As from ``nlp.pipe(texts)``, of which one is in memory at a time. Documents without tokens are refused.
    features : str or Template
        A preset such as "ner", or a template.
    attributes : sequence of str
        The attributes of a token that are its columns, such as ``("text", "pos_")``.
    label : str, optional
        The attribute that is the label, such as ``"tag_"``; ``"ent"`` gives the tags of entities, as in ``B-ORG``.

    Returns
    -------
    X, y : Labelled
        What ``fit`` takes; ``y`` is None without ``label``.
    """
    y: Labels = []

    def rows() -> Iterator[list[tuple[str, ...]]]:
        for doc in docs:
            has_sentences = hasattr(doc, "has_annotation") and doc.has_annotation("SENT_START")
            for sentence in doc.sents if has_sentences else [doc]:
                if label is not None:
                    y.append([_entity_tag(token) if label == "ent" else getattr(token, label) for token in sentence])
                yield [tuple(str(getattr(token, name)) for name in attributes) for token in sentence]

    X = _template(features, len(attributes)).encode(rows())
    return Labelled(X, None if label is None else y)


def _template(features: str | Template, n_columns: int) -> Template:
    return features if isinstance(features, Template) else preset_template(features, n_columns)


def _column_names(frame: Any) -> list[str]:
    if isinstance(frame, Mapping):
        names = list(frame)
    elif hasattr(frame, "collect") and hasattr(frame, "lazy"):
        raise TypeError("the frame is lazy, so it has no rows yet; give frame.collect().")
    elif hasattr(frame, "column_names"):
        names = list(frame.column_names)
    elif hasattr(frame, "columns"):
        names = list(frame.columns)
    else:
        raise TypeError(f"the frame is of type {type(frame).__name__}; expected a table with named columns.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the table has two columns {twice!r}; rename one.")
    return names


def _listed(frame: Any, name: str) -> list[Any]:
    """A column as Python objects."""
    column = frame[name]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            found: list[Any] = getattr(column, method)()
            return found
    return list(column)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' own missing value."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _sentence_bounds(groups: list[Any], name: str) -> list[int]:
    """Where sentences begin."""
    if not groups:
        raise ValueError("the table has no rows; expected at least one.")
    if _is_missing(groups[0]):
        raise ValueError(f"row 0 has no value of {name!r}, so its sentence is unknown; fill it in.")
    bounds: list[int] = []
    begun: dict[Any, int] = {}
    current: Any = None
    for row, value in enumerate(groups):
        if _is_missing(value) or (bounds and value == current):
            continue
        if value in begun:
            raise ValueError(
                f"row {row} goes on with the sentence {value!r} of row {begun[value]} after another sentence; put the "
                f"rows of a sentence together, for example by sorting the table by {name!r}."
            )
        begun[value], current = row, value
        bounds.append(row)
    return bounds


def _dicts(names: list[str], values: list[list[Any]], spans: list[tuple[int, int]]) -> Iterator[list[dict[str, Any]]]:
    for begin, end in spans:
        rows = zip(*(column[begin:end] for column in values), strict=True)
        yield [
            {str(name): value for name, value in zip(names, row, strict=True) if not _is_missing(value)} for row in rows
        ]


def _texts(name: str, column: list[Any]) -> list[str]:
    """A column as strings; one that is missing is empty."""
    return ["" if _is_missing(value) else str(value) for value in column]


def _class_names(feature: Any) -> list[str] | None:
    """The names of a ``ClassLabel``, or of a list of them."""
    if isinstance(feature, list) and feature:
        feature = feature[0]
    feature = getattr(feature, "feature", feature)
    names = getattr(feature, "names", None)
    return None if names is None else list(names)


def _field(record: Any, name: str, place: str) -> Any:
    if not isinstance(record, Mapping) or name not in record:
        raise ValueError(f"{place} has no column {name!r}; name the columns by tokens=... and label=....")
    return record[name]


def _named(values: Iterable[Any], names: list[str] | None, place: str) -> list[Any]:
    """The values, numbers of a class label by their names; −100, which stands for no label, as None."""
    if names is None:
        return [None if value == -100 else value for value in values]
    found: list[Any] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif value is None or value in (-1, -100):
            found.append(None)
        elif 0 <= value < len(names):
            found.append(names[value])
        else:
            raise ValueError(f"{place} has the label {value}; expected 0 to {len(names) - 1}, one of {names[:3]}, ….")
    return found


def _entity_tag(token: Any) -> str | None:
    """The tag of an entity; None if the document has not been searched for entities."""
    if not token.ent_iob_:
        return None
    return "O" if token.ent_iob_ == "O" else f"{token.ent_iob_}-{token.ent_type_}"
