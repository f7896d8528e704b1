r"""Column files, as of the CoNLL shared tasks: one token a line, a blank line between sentences.

::

    Confidence NN B-NP
    in         IN B-PP

Columns are separated by white space, or by one given separator. A line of a different number of columns
than the first is an error and not a guess. No line is a comment: ``#`` is a word in such files. White space
means ASCII white space, so that a word may hold a no-break space.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import IO, Any

from dualfield.io.atomic import PathLike, atomic_write

__all__ = ["Sentence", "read_columns", "write_columns"]

_BLANKS = " \t\n\r\f\v"
_SPLIT = re.compile(f"[{_BLANKS}]+")
_ODD_SPACE = re.compile(rf"[^\S{_BLANKS}]")  # white space to str.split, but not to us


class Sentence(list[tuple[str, ...]]):
    """The rows of one sentence, and the line of the file on which they begin.

    Parameters
    ----------
    rows : iterable of tuples of str
        One tuple of columns per token.
    first_line : int
        Line number of the first row, from 1; row ``i`` stands on line ``first_line + i``. 0 if not from a
        file.

    Examples
    --------
    >>> sentence = Sentence([("the", "DT"), ("cat", "NN")], first_line=7)
    >>> sentence[1], sentence.first_line + 1
    (('cat', 'NN'), 8)
    """

    def __init__(self, rows: Iterable[tuple[str, ...]] = (), first_line: int = 0) -> None:
        super().__init__(rows)
        self.first_line = first_line


def read_columns(
    path_or_file: PathLike | IO[Any], *, separator: str | None = None, encoding: str = "utf-8"
) -> list[Sentence]:
    r"""Read the sentences of a column file.

    Parameters
    ----------
    path_or_file : str, path, or file
        A path, unpacked if it ends in ``.gz``; ``"-"`` for standard input; or an open text or binary file.
    separator : str, optional
        What stands between two columns, such as a tab; by default any run of white space.
    encoding : str
        Of the bytes; a byte order mark is skipped.

    Returns
    -------
    sentences : list of Sentence
        Each a list of tuples of str, none empty, all rows of the same width.

    Raises
    ------
    ValueError
        With file name and line: a line with another number of columns than the first, bytes that are not in
        the given encoding, a file without sentences, a damaged gzip file.

    Examples
    --------
    >>> import io
    >>> read_columns(io.StringIO("the DT\ncat NN\n\nit PRP\n"))
    [[('the', 'DT'), ('cat', 'NN')], [('it', 'PRP')]]
    """
    if separator is not None and (not separator or "\n" in separator):
        raise ValueError(
            f"the separator must be a string without line breaks, at least one character; found {separator!r}."
        )
    name, content = _content(path_or_file, encoding)
    lines = content.removeprefix("\ufeff").split("\n")
    by_pattern = separator is None and _ODD_SPACE.search(content) is not None
    sentences: list[Sentence] = []
    current: list[tuple[str, ...]] = []
    width = 0
    first_seen = 0
    for number, line in enumerate(lines, start=1):
        if by_pattern:
            stripped = line.strip(_BLANKS)
            fields = _SPLIT.split(stripped) if stripped else []
        elif separator is None:
            fields = line.split()
        else:
            fields = line.removesuffix("\r").split(separator) if line.strip(_BLANKS) else []
        if not fields:
            if current:
                sentences.append(Sentence(current, number - len(current)))
                current = []
            continue
        if len(fields) != width:
            if width:
                raise ValueError(
                    f"{name}, line {number}: expected {width} columns as on line {first_seen}, found "
                    f"{len(fields)}; "
                    "mend the line or give the separator."
                )
            width, first_seen = len(fields), number
        current.append(tuple(fields))
    if current:
        sentences.append(Sentence(current, len(lines) + 1 - len(current)))
    if not sentences:
        raise ValueError(f"{name} has no sentences; expected one token a line and a blank line between sentences.")
    return sentences


def write_columns(
    sentences: Iterable[Sequence[Sequence[str]]],
    file: PathLike | IO[str],
    *,
    separator: str = " ",
    encoding: str = "utf-8",
) -> None:
    """Write sentences as a column file that :func:`read_columns` reads back.

    Parameters
    ----------
    sentences : iterable of sequences of rows
        A row is a sequence of column strings, none of which may hold the separator or a line break.
    file : str, path, or text file
        A path is written whole or not at all, packed if it ends in ``.gz``; ``"-"`` is standard output.
    separator : str
        What to put between two columns; with a space, columns may not be empty or hold white space.
    encoding : str
        For a path.

    Raises
    ------
    ValueError
        If a row could not be read back, with its place.

    Examples
    --------
    >>> write_columns([[("the", "DT"), ("cat", "NN")]], "-")
    the DT
    cat NN
    <BLANKLINE>
    """
    if not isinstance(file, (str, os.PathLike)):
        _write_lines(sentences, file, separator)
    elif os.fspath(file) == "-":
        _write_lines(sentences, sys.stdout, separator)
    elif os.fspath(file).endswith(".gz"):
        with (
            atomic_write(file, "wb") as packed,
            gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as stream,
            TextIOWrapper(stream, encoding=encoding, newline="\n") as text,
        ):
            _write_lines(sentences, text, separator)
    else:
        with atomic_write(file, encoding=encoding) as text:
            _write_lines(sentences, text, separator)


def _write_lines(sentences: Iterable[Sequence[Sequence[str]]], file: IO[str], separator: str) -> None:
    for number, sentence in enumerate(sentences):
        if len(sentence) == 0:
            raise ValueError(f"sentence {number} has no rows; expected at least one; leave it out.")
        lines = []
        for index, row in enumerate(sentence):
            line = separator.join(row)
            fields = _SPLIT.split(line) if separator == " " else line.split(separator)
            if fields != list(row) or "" in (fields if separator == " " else (line.strip(_BLANKS),)):
                raise _unreadable(number, index, row, separator)
            if "\n" in line or "\r" in line:
                raise _unreadable(number, index, row, separator)
            lines.append(line)
        file.write("\n".join(lines) + "\n\n")


def _unreadable(number: int, index: int, row: Sequence[str], separator: str) -> ValueError:
    return ValueError(
        f"row {index} of sentence {number}, {tuple(row)!r:.80}, cannot be written with the separator "
        f"{separator!r}: "
        "a column is empty or holds the separator or a line break; replace those characters or "
        "choose another separator."
    )


def _content(path_or_file: PathLike | IO[Any], encoding: str) -> tuple[str, str]:
    """Name for messages, and decoded text."""
    content: str | bytes
    try:
        if isinstance(path_or_file, (str, os.PathLike)):
            name = os.fspath(path_or_file)
            if name == "-":
                name = "standard input"
                content = getattr(sys.stdin, "buffer", sys.stdin).read()
            else:
                with gzip.open(name, "rb") if name.endswith(".gz") else open(name, "rb") as file:
                    content = file.read()
        else:
            name = str(getattr(path_or_file, "name", "the file"))
            content = path_or_file.read()
        if isinstance(content, str):
            return name, content
        return name, content.decode(encoding)
    except UnicodeDecodeError as error:
        # what could be decoded before the fault, so that lines are lines in any encoding
        before = error.object[: error.start].decode(encoding, errors="ignore")
        raise ValueError(
            f"{name}, line {before.count(chr(10)) + 1}: byte 0x{error.object[error.start]:02x} is not valid "
            f"{encoding} ({error.reason}); give the file's own encoding."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{name} is not a whole gzip file ({error}); unpack it anew or drop the .gz suffix."
        ) from error
