r"""Column files, as of the CoNLL shared tasks: one token a line, a blank line between sentences.

::

    Confidence NN B-NP
    in         IN B-PP

Columns are separated by white space, or by one given separator. A line of a different number of columns
than the first is an error and not a guess. No line is a comment unless you say so: ``#`` is a word in such files. White
space means ASCII white space, so that a word may hold a no-break space. The core does the reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import IO, Any, Literal

from dualfield import _core
from dualfield.features.templates.tokens import Tokens
from dualfield.io.atomic import PathLike
from dualfield.io.column_layout import column_layout
from dualfield.io.content import Progress, open_text, read_content

__all__ = ["Sentence", "parse_tokens", "read_columns", "read_tokens", "write_columns"]

_BLANKS = " \t\n\r\f\v"
_SPLIT = re.compile(f"[{_BLANKS}]+")


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


def read_tokens(
    path_or_file: PathLike | IO[Any],
    *,
    format: Literal["columns", "conllu"] = "columns",
    separator: str | None = None,
    comment: str | None = None,
    docstart: Literal["drop", "keep"] = "drop",
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Tokens:
    r"""Read a column file as numbers, without a Python object per token.

    Parameters
    ----------
    path_or_file : str, path, or file
        A path, ``"-"`` for standard input, or an open text or binary file; gzip is unpacked wherever it is found.
    format : {"columns", "conllu"}
        "conllu" is Universal Dependencies' format: ten columns separated by tabs, lines that begin with ``#``
        skipped, and so are ranges of words (1-2) and empty nodes (1.1).
    separator : str, optional
        What stands between two columns, such as a tab; by default any run of white space.
    comment : str, optional
        Lines that begin with it are skipped; by default none are, since ``#`` is a word in many files.
    docstart : {"drop", "keep"}
        Whether lines whose first column is ``-DOCSTART-`` are skipped, or are tokens.
    encoding : str
        Of the bytes; a byte order mark is skipped.
    progress : function, optional
        Called between pieces of the text, with the number of bytes read and of all. What it raises ends the reading.

    Returns
    -------
    tokens : Tokens
        At least one sentence.

    Raises
    ------
    ValueError
        With file name and line: a line with another number of columns than the first, bytes that are not in
        the given encoding, a file without sentences, a damaged gzip file.

    Examples
    --------
    >>> import io
    >>> tokens = read_tokens(io.StringIO("the DT\ncat NN\n\nit PRP\n"))
    >>> tokens.n_sentences, tokens.column(0), tokens.lines.tolist()
    (2, ['the', 'cat', 'it'], [1, 4])
    """
    column_layout(format, separator, comment, docstart)
    name, content = read_content(path_or_file, encoding)
    layout = {"format": format, "separator": separator, "comment": comment, "docstart": docstart}
    tokens = parse_tokens(name, content, 1, progress, **layout)
    if tokens is None:
        raise ValueError(f"{name} has no sentences; expected one token a line and a blank line between sentences.")
    return tokens


def parse_tokens(
    name: str, content: bytes, first_line: int, progress: Progress | None = None, **layout: Any
) -> Tokens | None:
    """What :func:`read_tokens` returns, of UTF-8 bytes that begin on some line; None where there is no sentence."""
    try:
        tokens, _ = _core.read_columns(
            content, **column_layout(**layout), keep=0, tolerant=False, first_line=first_line, progress=progress
        )
    except ValueError as error:
        raise ValueError(f"{name}, {error}") from None
    return Tokens(tokens) if tokens.n_sentences else None


def read_columns(
    path_or_file: PathLike | IO[Any], *, separator: str | None = None, encoding: str = "utf-8"
) -> list[Sentence]:
    r"""Read the sentences of a column file as Python strings.

    :func:`read_tokens` reads more formats in a fraction of the memory.

    Parameters
    ----------
    path_or_file, separator, encoding
        As in :func:`read_tokens`. No line is skipped but blank ones.

    Returns
    -------
    sentences : list of Sentence
        Each a list of tuples of str, none empty, all rows of the same width.

    Raises
    ------
    ValueError
        As :func:`read_tokens` does.

    Examples
    --------
    >>> import io
    >>> read_columns(io.StringIO("the DT\ncat NN\n\nit PRP\n"))
    [[('the', 'DT'), ('cat', 'NN')], [('it', 'PRP')]]
    """
    tokens = read_tokens(path_or_file, separator=separator, docstart="keep", encoding=encoding)
    return [Sentence(rows, line) for rows, line in zip(tokens.rows(), tokens.lines.tolist(), strict=True)]


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
    with open_text(file, encoding) as text:
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
