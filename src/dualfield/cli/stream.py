"""Tagging a stream: whole sentences as they arrive, each line again with its label.

Lines pass through as they are, comments and all. A sentence that cannot be read is reported and passed on without
labels, unless the user is strict: the next one is likely to be fine. Of CRFsuite's attributes only labels are written,
as CRFsuite does, so there a sequence that cannot be read ends the stream.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from dualfield import _core
from dualfield.cli.column_features import Layout, Recipe
from dualfield.cli.data import Given, names_of
from dualfield.estimators import ChainCRF
from dualfield.features import Tokens
from dualfield.io import atomic_write
from dualfield.io.attributes import parse_attributes
from dualfield.io.columns import column_layout
from dualfield.io.content import GZIP, is_utf8
from dualfield.io.json_lines import JsonSequences, parse_json_line

__all__ = ["Counts", "open_sink", "tag_attributes", "tag_json_lines", "tag_stream"]

_CHUNK = 1 << 20


class Counts(NamedTuple):
    """How many sentences were labelled, and how many passed on without labels."""

    labelled: int
    passed_on: int


def tag_stream(
    path: str,
    sink: IO[bytes],
    crf: ChainCRF,
    recipe: Recipe,
    layout: Layout,
    encoding: str,
    strict: bool,
    report: Callable[[str], None],
) -> Counts:
    """Write the lines of a file, ``"-"`` for standard input, with their labels; say what could not be read."""
    name = _shown(path)
    fewest, most = recipe.widths
    options = column_layout(layout.format, layout.separator, layout.comment, layout.docstart)
    options |= {"fewest": fewest, "most": most, "keep": fewest, "tolerant": not strict}
    separator = "\t" if layout.format == "conllu" else layout.separator or " "
    endings = {label: f"{separator}{label}".encode() for label in crf.classes_.tolist()}
    encode = _encoder(encoding)
    first_line, labelled, passed_on = 1, 0, 0
    with _open_source(path) as source:
        for chunk in _whole_sentences(_utf8_pieces(name, source, encoding)):
            try:
                found, faults = _core.read_columns(chunk, first_line=first_line, **options)
            except ValueError as error:
                raise ValueError(f"{name}, {error}") from None
            for line, message in faults:
                report(f"{name}, line {line}: {message}")
            lines = chunk.split(b"\n")
            if found.n_sentences:
                predicted = crf.predict(recipe.attributes(Tokens(found), crf))
                labels = (label for sequence in predicted for label in sequence)
                for line, label in zip((found.lines - first_line).tolist(), labels, strict=True):
                    text = lines[line]
                    lines[line] = text[:-1] + endings[label] + b"\r" if text.endswith(b"\r") else text + endings[label]
            if lines[-1]:
                lines.append(b"")  # the last line of a file may lack its end
            sink.write(encode(b"\n".join(lines)))
            sink.flush()
            first_line += chunk.count(b"\n")
            labelled += found.n_sentences
            passed_on += len(faults)
    if labelled + passed_on == 0:
        raise ValueError(f"{name} has no sentences; expected one token a line and a blank line between sentences.")
    if labelled == 0:
        columns = f"{fewest} columns" if fewest == most else f"{fewest} columns, or {most} with a label"
        raise ValueError(f"no sentence of {name} could be labelled; the model was trained on {columns}.")
    return Counts(labelled, passed_on)


def tag_attributes(path: str, sink: IO[bytes], crf: ChainCRF, encoding: str) -> Counts:
    """Write the labels of an attribute file, one a line, a blank line after each sequence."""
    name = _shown(path)
    vocabulary, encode = names_of(crf), _encoder(encoding)
    first_line, labelled = 1, 0
    with _open_source(path) as source:
        for chunk in _whole_sentences(_utf8_pieces(name, source, encoding)):
            X, _, _ = parse_attributes(name, chunk, vocabulary, first_line)
            first_line += chunk.count(b"\n")
            if len(X) == 0:
                continue
            text = "".join("\n".join(map(str, labels)) + "\n\n" for labels in crf.predict(X))
            sink.write(encode(text.encode()))
            sink.flush()
            labelled += len(X)
    if labelled == 0:
        raise ValueError(f"{name} has no sequences; expected lines of a label and attributes with tabs between them.")
    return Counts(labelled, 0)


def tag_json_lines(
    path: str,
    sink: IO[bytes],
    crf: ChainCRF,
    how: Recipe | Given,
    encoding: str,
    strict: bool,
    report: Callable[[str], None],
) -> Counts:
    """Write every object again, with the labels that the model gives as ``"predicted"``."""
    name, encode = _shown(path), _encoder(encoding)
    labelled = passed_on = 0
    with _open_source(path) as source:
        for number, line in enumerate(_lines(_utf8_pieces(name, source, encoding)), 1):
            if line.strip():
                try:
                    line = _tagged(name, number, line, crf, how)
                    labelled += 1
                except ValueError as error:
                    if strict:
                        raise
                    report(str(error))
                    passed_on += 1
            sink.write(encode(line + b"\n"))
            sink.flush()
    if labelled + passed_on == 0:
        raise ValueError(f"{name} has no sequences; expected one JSON object a line.")
    if labelled == 0:
        raise ValueError(f"no sequence of {name} could be labelled.")
    return Counts(labelled, passed_on)


def _tagged(name: str, number: int, line: bytes, crf: ChainCRF, how: Recipe | Given) -> bytes:
    record, kind = parse_json_line(name, number, line)
    place = f"{name}, line {number}"
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


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of a stream as soon as they are whole."""
    pending = b""
    for piece in pieces:
        *whole, pending = (pending + piece).split(b"\n")
        yield from whole
    if pending:
        yield pending


def _shown(path: str) -> str:
    return "standard input" if path == "-" else path


@contextmanager
def open_sink(path: str) -> Iterator[IO[bytes]]:
    """Standard output for ``"-"``, else a file that appears when all is well, packed if it ends in ``.gz``."""
    if path == "-":
        yield sys.stdout.buffer
    else:
        with atomic_write(path, "wb") as file:
            if not path.endswith(".gz"):
                yield file
                return
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]


@contextmanager
def _open_source(path: str) -> Iterator[Any]:
    """The bytes of a file or of standard input, unpacked."""
    if path == "-":
        yield _unpacked(getattr(sys.stdin, "buffer", sys.stdin), path)
    else:
        with open(path, "rb") as file:
            yield _unpacked(file, path)


def _unpacked(file: Any, path: str) -> Any:
    stream = file if hasattr(file, "peek") else io.BufferedReader(file)
    packed = path.endswith(".gz") or stream.peek(len(GZIP))[: len(GZIP)] == GZIP
    return gzip.GzipFile(fileobj=stream) if packed else stream


def _utf8_pieces(name: str, source: Any, encoding: str) -> Iterator[bytes]:
    """What is available, again and again, in UTF-8. Bytes that are none stay wrong, for the reader to see."""
    decoder = None if is_utf8(encoding) else codecs.getincrementaldecoder(encoding)("surrogateescape")
    begun = False
    try:
        while True:
            piece = source.read1(_CHUNK)
            last = not piece
            if decoder is not None:
                piece = decoder.decode(piece, final=last).encode("utf-8", "surrogatepass")
            if not begun and piece:
                begun, piece = True, piece.removeprefix(codecs.BOM_UTF8)
            if piece:
                yield piece
            if last:
                return
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{name} is not a whole gzip file ({error}); unpack it anew or drop the .gz suffix."
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not in {encoding} ({error.reason}); give --encoding.") from error


def _encoder(encoding: str) -> Callable[[bytes], bytes]:
    """Back from UTF-8 to the encoding of the file."""
    if is_utf8(encoding):
        return lambda text: text
    encoder = codecs.getincrementalencoder(encoding)("surrogateescape")
    return lambda text: encoder.encode(text.decode("utf-8", "surrogatepass"))


def _whole_sentences(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes, cut only after blank lines."""
    pending = b""
    for piece in pieces:
        pending += piece
        cut = _after_last_blank_line(pending)
        if cut:
            yield pending[:cut]
            pending = pending[cut:]
    if pending:
        yield pending


def _after_last_blank_line(text: bytes) -> int:
    end = text.rfind(b"\n") + 1
    while end > 0:
        begin = text.rfind(b"\n", 0, end - 1) + 1
        if not text[begin:end].strip():
            return end
        end = begin
    return 0
