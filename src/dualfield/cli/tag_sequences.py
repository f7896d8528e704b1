"""Tagging files of attributes and JSON lines, a sequence at a time.

Of CRFsuite's attributes only labels are written, as CRFsuite does, so there a sequence that cannot be read, or is too
long, ends the stream; of JSON lines it is passed on without labels, unless the user is strict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import IO

from dualfield.cli.chunks import MOST_TOKENS, Chunk, too_long, whole_lines, whole_sentences
from dualfield.cli.data import Given, names_of
from dualfield.cli.stream import Counts, encoder, open_source, put, shown, utf8_pieces
from dualfield.features import Tokens
from dualfield.io.attributes import parse_attributes
from dualfield.io.json_lines import JsonSequences, parse_json_line
from dualfield.models.chain_model import ChainModel
from dualfield.models.recipe import Recipe

__all__ = ["tag_attributes", "tag_json_lines"]


def tag_attributes(path: str, sink: IO[bytes], crf: ChainModel, encoding: str) -> Counts:
    """Write the labels of an attribute file, one a line, a blank line after each sequence."""
    name = shown(path)
    vocabulary, encode = names_of(crf), encoder(encoding)
    first_line, labelled = 1, 0
    with open_source(path) as source:
        for chunk, over, _ in whole_sentences(utf8_pieces(name, source, encoding)):
            if over:
                raise ValueError(f"{name}, line {first_line}: {too_long('a blank line')}")
            X, _, _ = parse_attributes(name, chunk, vocabulary, first_line)
            first_line += chunk.count(b"\n")
            if len(X) == 0:
                continue
            text = "".join("\n".join(map(str, labels)) + "\n\n" for labels in crf.predict(X))
            put(sink, encode(text.encode()))
            labelled += len(X)
    if labelled == 0:
        raise ValueError(f"{name} has no sequences; expected lines of a label and attributes with tabs between them.")
    return Counts(labelled, 0)


def tag_json_lines(
    path: str,
    sink: IO[bytes],
    crf: ChainModel,
    how: Recipe | Given,
    encoding: str,
    strict: bool,
    report: Callable[[str], None],
) -> Counts:
    """Write every object again, with the labels that the model gives as ``"predicted"``."""
    name, encode = shown(path), encoder(encoding)
    number, labelled, passed_on = 1, 0, 0
    with open_source(path) as source:
        for line, over, begins in _lines(utf8_pieces(name, source, encoding)):
            if begins or (line.strip() and not over):
                try:
                    if over:
                        raise ValueError(f"{name}, line {number}: {too_long('a line break')}")
                    line = _tagged(name, number, line, crf, how) + b"\n"
                    labelled += 1
                except ValueError as error:
                    if strict:
                        raise
                    report(str(error))
                    passed_on += 1
            put(sink, encode(line))
            number += line.count(b"\n")
    if labelled + passed_on == 0:
        raise ValueError(f"{name} has no sequences; expected one JSON object a line.")
    if labelled == 0:
        raise ValueError(f"no sequence of {name} could be labelled.")
    return Counts(labelled, passed_on)


def _tagged(name: str, number: int, line: bytes, crf: ChainModel, how: Recipe | Given) -> bytes:
    record, kind = parse_json_line(name, number, line)
    place = f"{name}, line {number}"
    if len(record[kind]) > MOST_TOKENS:
        raise ValueError(f"{place}: {too_long('a line break')}")
    if isinstance(how, Given):
        if kind != "features":
            raise ValueError(f'{place}: expected "features", on which the model was trained, found "tokens".')
        X = JsonSequences(kind, [record[kind]], None, None, name, [number]).encoded(names_of(crf))
    else:
        if kind != "tokens":
            raise ValueError(f'{place}: expected "tokens", on which the model was trained, found "features".')
        X = how.attributes(Tokens.from_rows([_unlabelled(place, record[kind], how)]), crf)
    predicted = crf.predict(X)[0]
    original = json.loads(line)
    return json.dumps({**original, "predicted": predicted}, ensure_ascii=False).encode()


def _unlabelled(place: str, rows: list[tuple[str, ...]], recipe: Recipe) -> list[tuple[str, ...]]:
    """Rows as the template numbers their columns: those of training, without a label that is last."""
    expected = recipe.widths[0]
    if len(rows[0]) != expected:
        raise ValueError(f"{place}: expected tokens of {expected} columns as in training, found {len(rows[0])}.")
    return rows


def _lines(pieces: Iterator[bytes]) -> Iterator[Chunk]:
    """The lines of a stream as soon as they are whole, and those that are too long part by part."""
    for chunk in whole_lines(pieces):
        if chunk.over:
            yield chunk
        else:
            yield from (Chunk(line + b"\n") for line in chunk.text.split(b"\n")[:-1])
