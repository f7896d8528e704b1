"""Labelling a stream: whole sentences as they arrive.

A sentence that cannot be read, or is too long, is reported and passed on without labels, unless the user is strict: the
next one is likely to be fine.
"""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from dualfield.io.atomic import atomic_write
from dualfield.io.content import GZIP, gzip_faults, is_utf8, naming
from dualfield.tagging.chunks import Chunk, too_long
from dualfield.tagging.content import shown
from dualfield.tagging.task import Counts, Task

__all__ = ["Labeller", "label_stream"]

_CHUNK = 1 << 20


# (the lines with their labels, how many sentences were labelled, faults as sentences) of a chunk and its first line.
Labeller = Callable[[bytes, int], tuple[bytes, int, list[str]]]


def label_stream(
    task: Task, cut: Callable[[Iterator[bytes]], Iterator[Chunk]], end: str, label: Labeller, empty: str, hint: str = ""
) -> Counts:
    """Label a file chunk by chunk, and say what could not be read.

    ``cut`` makes the chunks, sentences of which end with ``end``; ``empty`` says what a file without any should have,
    ``hint`` why none could be labelled.
    """
    name, encode = shown(task.file), encoder(task.encoding)
    first_line, labelled, passed_on = 1, 0, 0
    with open_source(task.file) as source, open_sink(task.output) as sink:
        for chunk, over, begins in cut(utf8_pieces(name, source, task.encoding)):
            text, n_sentences, faults = chunk, 0, [f"{name}, line {first_line}: {too_long(end)}"] if begins else []
            if task.strict and faults:
                raise ValueError(faults[0])
            if not over:
                text, n_sentences, faults = label(chunk, first_line)
            for fault in faults:
                task.report(fault)
            put(sink, encode(text))
            first_line += chunk.count(b"\n")
            labelled += n_sentences
            passed_on += len(faults)
        if labelled + passed_on == 0:
            raise ValueError(f"{name} has no {empty}.")
        if labelled == 0:
            raise ValueError(f"no sequence of {name} could be labelled{hint}.")
    return Counts(labelled, passed_on)


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
            import gzip

            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]


def put(sink: IO[bytes], text: bytes) -> None:
    """Write at once, for whoever waits at the other end of a pipe."""
    with naming("standard output" if sink is getattr(sys.stdout, "buffer", None) else "the output"):
        sink.write(text)
        sink.flush()


@contextmanager
def open_source(path: str) -> Iterator[Any]:
    """The bytes of a file or of standard input, unpacked."""
    if path == "-":
        with naming(shown(path)):
            source = _unpacked(getattr(sys.stdin, "buffer", sys.stdin), path)
        yield source
    else:
        with open(path, "rb") as file:
            yield _unpacked(file, path)


def _unpacked(file: Any, path: str) -> Any:
    stream = file if hasattr(file, "peek") else io.BufferedReader(file)
    packed = path.endswith(".gz") or stream.peek(len(GZIP))[: len(GZIP)] == GZIP
    if not packed:
        return stream
    import gzip

    return gzip.GzipFile(fileobj=stream)


def utf8_pieces(name: str, source: Any, encoding: str) -> Iterator[bytes]:
    """What is available, again and again, in UTF-8. Bytes that are none stay wrong, for the reader to see."""
    decoder = None if is_utf8(encoding) else codecs.getincrementaldecoder(encoding)("surrogateescape")
    begun = False
    try:
        while True:
            with naming(name):
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
    except gzip_faults() as error:
        raise ValueError(
            f"{name} is not a whole gzip file ({error}); unpack it anew or drop the .gz suffix."
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not in {encoding} ({error.reason}); give --encoding.") from error


def encoder(encoding: str) -> Callable[[bytes], bytes]:
    """Back from UTF-8 to the encoding of the file."""
    if is_utf8(encoding):
        return lambda text: text
    encoder = codecs.getincrementalencoder(encoding)("surrogateescape")
    return lambda text: encoder.encode(text.decode("utf-8", "surrogatepass"))
