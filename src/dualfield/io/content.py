"""The bytes of a file, wherever it is and however it is packed, in UTF-8; and text files that are written whole.

Readers of every format get their bytes here, so gzip, encodings, byte order marks and standard input work alike. Most
files are not packed, so ``gzip`` is imported when one is.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import IO, Any

from dualfield.io.atomic import PathLike, atomic_write

__all__ = [
    "CRFSUITE",
    "GZIP",
    "Progress",
    "first_bytes",
    "gzip_faults",
    "is_crfsuite_model",
    "is_utf8",
    "naming",
    "open_text",
    "read_content",
    "read_packed",
]

GZIP = b"\x1f\x8b"  # the first bytes of a packed file
CRFSUITE = b"lCRF"  # and of a model of CRFsuite

Progress = Callable[[int, int], object]  # told how many bytes have been read, and how many there are


def is_utf8(encoding: str) -> bool:
    """Whether bytes of this encoding need no conversion; refuses an encoding that Python does not know."""
    codec = codecs.lookup(encoding)
    try:
        "a".encode(encoding, "surrogateescape").decode(encoding, "surrogateescape")
    except (LookupError, ValueError):
        raise ValueError(
            f"{encoding!r} is no encoding of text files; give the one that the file has, such as utf-8 or latin-1."
        ) from None
    return codec.name in ("utf-8", "utf-8-sig", "ascii")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Errors of the system on a stream, which has no name of its own, name it so."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = name
        raise


def gzip_faults() -> tuple[type[Exception], ...]:
    """What reading a file raises that is packed, but not whole."""
    import gzip
    import zlib

    return gzip.BadGzipFile, EOFError, zlib.error


def first_bytes(path: PathLike, count: int) -> bytes:
    """With what a file, packed or not, begins; nothing where it cannot be read."""
    try:
        with open(path, "rb") as file:
            first = file.read(count)
        if not first.startswith(GZIP):
            return first
        import gzip

        with gzip.open(path) as content:
            return content.read(count)
    except OSError:
        return b""  # the code that reads the whole file reports the error
    except gzip_faults():
        return b""


def is_crfsuite_model(path: PathLike) -> bool:
    """Whether a file, packed or not, begins like a CRFsuite model."""
    return first_bytes(path, len(CRFSUITE)) == CRFSUITE


def read_packed(path_or_file: PathLike | IO[Any]) -> tuple[str, str | bytes]:
    """Name for messages, and the content, unpacked if it is gzip."""
    try:
        content: str | bytes
        if isinstance(path_or_file, (str, os.PathLike)):
            name = os.fspath(path_or_file)
            if name == "-":
                name = "standard input"
                with naming(name):
                    content = getattr(sys.stdin, "buffer", sys.stdin).read()
            else:
                with open(name, "rb") as file:
                    content = file.read()
        else:
            name = str(getattr(path_or_file, "name", "the file"))
            content = path_or_file.read()
        if isinstance(content, bytes) and (content.startswith(GZIP) or name.endswith(".gz")):
            import gzip

            content = gzip.decompress(content)
    except gzip_faults() as error:
        raise ValueError(
            f"{name} is not a whole gzip file ({error}); unpack it anew or drop the .gz suffix."
        ) from error
    return name, content


def read_content(path_or_file: PathLike | IO[Any], encoding: str) -> tuple[str, bytes]:
    """Name for messages, and the text in UTF-8; whether it is UTF-8 at all is for the reader to see."""
    plain = is_utf8(encoding)
    name, content = read_packed(path_or_file)
    if isinstance(content, str):
        return name, _encoded(name, content.removeprefix("\ufeff"))
    if plain:
        return name, content.removeprefix(codecs.BOM_UTF8)
    try:
        return name, _encoded(name, content.decode(encoding).removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        # what could be decoded before the fault, so that lines are lines in any encoding
        before = error.object[: error.start].decode(encoding, errors="ignore")
        raise ValueError(
            f"{name}, line {before.count(chr(10)) + 1}: byte 0x{error.object[error.start]:02x} is not valid "
            f"{encoding} ({error.reason}); give the file's own encoding (on the command line --encoding), from "
            "which it is converted."
        ) from error


@contextmanager
def open_text(file: PathLike | IO[str], encoding: str = "utf-8") -> Iterator[IO[str]]:
    """A text file to write: an open one, ``"-"`` for standard output, or a path, packed if it ends in ``.gz``.

    A path is written whole or not at all.
    """
    if not isinstance(file, (str, os.PathLike)):
        yield file
    elif os.fspath(file) == "-":
        with naming("standard output"):
            yield sys.stdout
    elif os.fspath(file).endswith(".gz"):
        import gzip

        with (
            atomic_write(file, "wb") as packed,
            gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as stream,
            TextIOWrapper(stream, encoding=encoding, newline="\n") as text,
        ):
            yield text
    else:
        with atomic_write(file, encoding=encoding) as text:
            yield text


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ValueError(
            f"{name}, line {line}: {text[error.start]!r} is a lone surrogate, which is no character; replace it."
        ) from None
