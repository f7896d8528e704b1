r"""JSON lines: one sequence a line, as an object.

::

    {"tokens": ["the", "cat"], "labels": ["DET", "NOUN"]}
    {"features": [["w=the"], {"w": "cat", "length": 3}], "labels": ["DET", "NOUN"], "weight": 2}

``tokens`` are strings, or lists of strings if a token has several columns; a template makes attributes of them.
``features`` are attributes already: at every position a list of strings, or an object by python-crfsuite's conventions.
``labels`` are strings, there for all sequences or for none, and ``weight`` is the sequence's weight in training. Other
keys mean nothing here, and tagging passes them on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from dualfield.features.sequences.encoded import Encoded
from dualfield.features.sequences.encoding import encode
from dualfield.features.templates.tokens import Tokens
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.io.atomic import PathLike
from dualfield.io.content import Progress, open_text, read_content
from dualfield.labels.encoded_labels import EncodedLabels

__all__ = [
    "JsonSequences",
    "attribute_lists",
    "parse_json_line",
    "parse_json_lines",
    "read_json_lines",
    "write_json_lines",
]

Kind = Literal["tokens", "features"]
_MOST_NESTED = 100
_TOLD_EVERY = 1 << 20  # bytes, that progress is told of


@dataclass(frozen=True)
class JsonSequences:
    """The sequences of a file.

    Parameters
    ----------
    kind : {"tokens", "features"}
        What the sequences are.
    sequences : list
        Of rows of strings, one tuple a token, or of features.
    labels : list of lists of str, or None
        If the file has them.
    weights : array, shape (n_sequences,), or None
        None if all are 1.
    name : str
        Of the file.
    lines : list of int
        Line of each sequence, from 1.
    """

    kind: Kind
    sequences: list[Any]
    labels: list[list[str]] | None
    weights: npt.NDArray[np.float64] | None
    name: str = field(default="the file", compare=False)
    lines: list[int] = field(default_factory=list, compare=False)

    def __len__(self) -> int:
        return len(self.sequences)

    def tokens(self) -> Tokens:
        """Tokens with the columns of the file and then, if there are labels, the label."""
        if self.kind != "tokens":
            raise ValueError(f"{self.name} has features, not tokens, so there is nothing to make tokens of.")
        rows = self.sequences
        if self.labels is not None:
            rows = [
                [(*row, label) for row, label in zip(*pair, strict=True)]
                for pair in zip(rows, self.labels, strict=True)
            ]
        return Tokens.from_rows(rows)

    def encoded(self, vocabulary: Vocabulary | NumberedColumns | None = None) -> Encoded:
        """The features, encoded as :func:`dualfield.features.encode` does; a mistake is named with its line."""
        if self.kind != "features":
            raise ValueError(f"{self.name} has tokens, not features; make features of them by a template.")
        try:
            return encode(self.sequences, vocabulary)
        except (TypeError, ValueError):
            first = self._first_refused(vocabulary)
            try:
                encode([self.sequences[first]], vocabulary)
            except (TypeError, ValueError) as error:
                text = str(error).replace(" of sequence 0", "")
                raise ValueError(f"{self.name}, line {self.lines[first]}: {text}") from None
            raise

    def _first_refused(self, vocabulary: Vocabulary | NumberedColumns | None) -> int:
        """The first sequence that cannot be encoded, if one cannot be by itself, found by halving."""
        begin, end = 0, len(self.sequences)
        while end - begin > 1:
            middle = (begin + end) // 2
            try:
                encode(self.sequences[begin:middle], vocabulary)
                begin = middle
            except (TypeError, ValueError):
                end = middle
        return begin

    def check_labelled(self) -> list[list[str]]:
        """The labels; raises ValueError if the file has none."""
        if self.labels is None:
            raise ValueError(f'{self.name} has no labels; add "labels": [...] to every line.')
        return self.labels

    def encoded_labels(self) -> EncodedLabels:
        """The labels as numbers."""
        return EncodedLabels.from_lists(self.check_labelled())


def read_json_lines(
    path_or_file: PathLike | IO[Any], *, encoding: str = "utf-8", progress: Progress | None = None
) -> JsonSequences:
    r"""Read the sequences of a JSON lines file.

    Parameters
    ----------
    path_or_file : str, path, or file
        A path, ``"-"`` for standard input, or an open text or binary file; gzip is unpacked wherever it is found.
    encoding : str
        Of the bytes; a byte order mark is skipped.
    progress : function, optional
        Called between pieces of the text, with the number of bytes read and of all. What it raises ends the reading.

    Returns
    -------
    sequences : JsonSequences
        At least one; blank lines are skipped.

    Raises
    ------
    ValueError
        With file name and line: what is not as the head of this module says.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO('{"tokens": ["the", "cat"], "labels": ["D", "N"]}\n')
    >>> read_json_lines(file).tokens().rows()
    [[('the', 'D'), ('cat', 'N')]]
    """
    name, content = read_content(path_or_file, encoding)
    found = parse_json_lines(name, content, progress=progress)
    if found is None:
        raise ValueError(f"{name} has no sequences; expected one JSON object a line.")
    return found


def parse_json_lines(
    name: str, content: bytes, first_line: int = 1, progress: Progress | None = None
) -> JsonSequences | None:
    """What :func:`read_json_lines` returns, of UTF-8 bytes that begin on a line of a file; None where all is blank."""
    parsed: list[tuple[int, dict[str, Any], Kind]] = []
    done, told = 0, _TOLD_EVERY
    for number, line in enumerate(content.split(b"\n"), first_line):
        done += len(line) + 1
        if progress is not None and done >= told:
            told = done + _TOLD_EVERY
            progress(min(done, len(content)), len(content))
        if not line.strip():
            continue
        record, kind = parse_json_line(name, number, line)
        if parsed:
            before, first, first_kind = parsed[0]
            if kind != first_kind:
                raise ValueError(f'{name}, line {number}: expected "{first_kind}" as on line {before}, found "{kind}".')
            if ("labels" in record) != ("labels" in first):
                found = ("labels", "none") if "labels" in record else ("no labels", "some")
                raise ValueError(f"{name}, line {number}: it has {found[0]} but line {before} has {found[1]}.")
            if kind == "tokens" and len(record[kind][0]) != len(first[kind][0]):
                raise ValueError(
                    f"{name}, line {number}: expected tokens of {len(first[kind][0])} columns as on line {before}, "
                    f"found {len(record[kind][0])}."
                )
        parsed.append((number, record, kind))
    if not parsed:
        return None
    kind = parsed[0][2]
    records = [record for _, record, _ in parsed]
    weights = np.array([float(record.get("weight", 1.0)) for record in records])
    return JsonSequences(
        kind,
        [record[kind] for record in records],
        [record["labels"] for record in records] if "labels" in records[0] else None,
        None if (weights == 1.0).all() else weights,
        name,
        [number for number, _, _ in parsed],
    )


def parse_json_line(name: str, number: int, line: bytes) -> tuple[dict[str, Any], Kind]:
    """One object, checked, and what it has; tokens become tuples, one string for each column."""
    place = f"{name}, line {number}"
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{place}: byte 0x{error.object[error.start]:02x} is not valid utf-8; give the file's own encoding (on the "
            "command line --encoding), from which it is converted."
        ) from None
    except RecursionError:
        raise _nested(place) from None
    except ValueError as error:
        raise ValueError(f"{place}: it is no JSON ({str(error).rstrip('.')}).") from None
    if line.count(b"[") + line.count(b"{") > _MOST_NESTED:
        _check_nesting(place, record)
    if b"\\ud" in line.lower():
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(f"{place}: it holds a lone surrogate, which is no character; replace it.") from None
    if not isinstance(record, dict):
        raise ValueError(f"{place}: expected a JSON object, found {_shown(record)}.")
    kinds: list[Kind] = [kind for kind in ("tokens", "features") if kind in record]
    if len(kinds) != 1:
        raise ValueError(f'{place}: expected either "tokens" or "features", found {"both" if kinds else "neither"}.')
    kind = kinds[0]
    sequence = record[kind]
    if not isinstance(sequence, list) or not sequence:
        raise ValueError(f'{place}: expected "{kind}" to be a list that is not empty, found {_shown(sequence)}.')
    if kind == "tokens":
        record[kind] = [_row(place, index, token) for index, token in enumerate(sequence)]
        for index, row in enumerate(record[kind]):
            if len(row) != len(record[kind][0]):
                raise ValueError(
                    f"{place}: token {index} has {len(row)} columns but token 0 has {len(record[kind][0])}."
                )
    if "labels" in record:
        _check_labels(place, record["labels"], len(sequence))
    weight = record.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= sys.float_info.max:
        raise ValueError(f'{place}: expected "weight" to be a finite number, not negative, found {_shown(weight)}.')
    return record, kind


def write_json_lines(
    sequences: Iterable[Sequence[Any]],
    file: PathLike | IO[str],
    *,
    kind: Kind,
    labels: Iterable[Sequence[str]] | None = None,
    weights: npt.ArrayLike | None = None,
    encoding: str = "utf-8",
) -> None:
    """Write sequences as JSON lines.

    Parameters
    ----------
    sequences : iterable of sequences
        Of tokens, strings or tuples of strings, or of features, lists of strings or dicts.
    file : str, path, or text file
        A path is written whole or not at all, packed if it ends in ``.gz``; ``"-"`` is standard output.
    kind : {"tokens", "features"}
        What the sequences are.
    labels : iterable of sequences of str, optional
        A label for each position.
    weights : array, shape (n_sequences,), optional
        Weights of the sequences.
    encoding : str
        For a path.

    Raises
    ------
    ValueError
        If a line could not be read back, with its number.

    Examples
    --------
    >>> write_json_lines([["the", ("cat")]], "-", kind="tokens", labels=[["D", "N"]])
    {"tokens": ["the", "cat"], "labels": ["D", "N"]}
    """
    listed = list(sequences)
    named = None if labels is None else list(labels)
    numbers = None if weights is None else np.asarray(weights, dtype=np.float64).tolist()
    for what, given in (("labels", named), ("weights", numbers)):
        if given is not None and len(given) != len(listed):
            raise ValueError(f"there are {len(listed)} sequences but {what} for {len(given)}; give one for each.")
    with open_text(file, encoding) as text:
        for index, sequence in enumerate(listed):
            record: dict[str, Any] = {kind: [_plain(kind, position) for position in sequence]}
            if named is not None:
                record["labels"] = list(named[index])
            if numbers is not None and numbers[index] != 1:
                record["weight"] = numbers[index]
            line = json.dumps(record, ensure_ascii=False)
            parse_json_line("what was given", index + 1, line.encode(errors="surrogatepass"))
            text.write(line + "\n")


def attribute_lists(X: Encoded) -> list[list[Any]]:
    """Encoded sequences as features: lists of names where all values are 1, else dicts from name to value."""
    if isinstance(X.vocabulary, NumberedColumns):
        raise TypeError("the attributes of X are columns of arrays, which have no names.")
    if X.bigrams is not None:
        raise ValueError(
            'X has bigram attributes, for which "features" have no place; leave them out, as X.with_bigrams(None) does.'
        )
    if X.dense is not None:
        raise ValueError(
            'X has dense columns, for which "features" have no place; leave them out, as X.with_dense(None) does.'
        )
    names = [X.vocabulary.names[number] for number in X.indices.tolist()]
    bounds = X.indptr.tolist()
    positions: list[Any] = [names[a:b] for a, b in pairwise(bounds)]
    if X.values is not None:
        values = X.values.tolist()
        positions = [
            dict(zip(position, values[a:b], strict=True))
            for position, (a, b) in zip(positions, pairwise(bounds), strict=True)
        ]
    return [positions[a:b] for a, b in pairwise(X.offsets.tolist())]


def _plain(kind: Kind, position: Any) -> Any:
    """A token of one column is a string."""
    if kind == "tokens" and not isinstance(position, str):
        return position[0] if len(position) == 1 else list(position)
    return position


def _row(place: str, index: int, token: Any) -> tuple[str, ...]:
    row = (token,) if isinstance(token, str) else token
    if not isinstance(row, list | tuple) or not row or not all(isinstance(cell, str) for cell in row):
        raise ValueError(f"{place}: expected token {index} to be a string or a list of strings, found {_shown(token)}.")
    return tuple(row)


def _check_labels(place: str, labels: Any, length: int) -> None:
    if not isinstance(labels, list):
        raise ValueError(f'{place}: expected "labels" to be a list, found {_shown(labels)}.')
    if len(labels) != length:
        raise ValueError(f"{place}: expected {length} labels, one for each position, found {len(labels)}.")
    for index, label in enumerate(labels):
        if not isinstance(label, str):
            raise ValueError(f"{place}: expected label {index} to be a string, found {_shown(label)}.")


def _check_nesting(place: str, record: Any) -> None:
    """Refuse objects that nest too deeply: on them Python's own functions would run out of stack."""
    level = [record]
    for _ in range(_MOST_NESTED):
        inner = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return
    raise _nested(place)


def _nested(place: str) -> ValueError:
    return ValueError(f"{place}: its lists and objects nest deeper than {_MOST_NESTED}; flatten them.")


def _shown(value: Any) -> str:
    return f"{json.dumps(value, ensure_ascii=False):.40}"
