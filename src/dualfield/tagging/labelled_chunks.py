"""Labelled files of any size as encoded chunks, for a folder of partitions.

A file is cut between sequences, and each chunk is read and encoded by itself, on threads where there are some: chunks
come out in the order of the files. At most a few chunks a thread are in memory.
"""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dualfield.models.recipe import FileLayout, Given
from dualfield.tagging.by_template import Maker
from dualfield.tagging.chunks import too_long
from dualfield.tagging.content import ATTRIBUTES, AttributeFile, TokenFile, shown
from dualfield.tagging.format import Format
from dualfield.tagging.formats import format_named
from dualfield.tagging.stream import open_source, utf8_pieces

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dualfield.features import Encoded
    from dualfield.labels import EncodedLabels

__all__ = ["Chunk", "LabelledChunks", "expanded"]

_CHUNK = 1 << 22  # bytes of text
_AHEAD = 2  # chunks a thread that are read before they are asked for

Content = TokenFile | AttributeFile
Result = TypeVar("Result")


class Chunk(NamedTuple):
    """Some sequences of a file: what ``write_partitions`` takes."""

    X: Encoded
    y: EncodedLabels
    weights: npt.NDArray[np.float64] | None


def expanded(patterns: Iterable[str]) -> list[str]:
    """The files that names and patterns such as ``data/*.gz`` stand for, those of a pattern sorted."""
    files: list[str] = []
    for pattern in patterns:
        found = [pattern]
        if not os.path.exists(pattern) and any(sign in pattern for sign in "*?["):
            found = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
            if not found:
                raise FileNotFoundError(f"no file matches {pattern!r}; give the names of files.")
        files += found
    return files


class LabelledChunks:
    """The chunks of several files of one format.

    Parameters
    ----------
    files : list of str
        Their names; ``"-"`` is standard input.
    layout : FileLayout
        How they are laid out.
    encoding : str
        Of their bytes.
    maker : Maker or None
        What makes attributes of tokens.
    label_column : int, optional
        From 1.
    hash_bits : int, optional
        Whether attributes are hashed, and to how many bits.
    jobs : int
        Threads.
    """

    def __init__(
        self,
        files: list[str],
        layout: FileLayout,
        encoding: str,
        maker: Maker | None,
        label_column: int | None = None,
        hash_bits: int | None = None,
        jobs: int = 1,
    ) -> None:
        self._files, self._layout, self._encoding, self._maker = files, layout, encoding, maker
        self._label_column, self._hash_bits, self._jobs = label_column, hash_bits, jobs
        self._format = format_named(layout.format)
        self._format.check(layout)
        self.column_features: dict[str, Any] | None = None  # of the model; known after the first chunk
        self._first = ""  # the file that it comes from
        self.bytes_read = 0  # of the files as they are on the disk

    def __iter__(self) -> Iterator[Chunk]:
        for path in self._files:
            empty = True
            for found in _ordered(self._read(path), self._jobs):
                if found is None:
                    continue
                chunk, features = found
                if self.column_features is None:
                    self.column_features, self._first = features, path
                elif features != self.column_features:
                    raise ValueError(_difference(shown(path), features, shown(self._first), self.column_features))
                empty = False
                yield chunk
            if empty:
                raise ValueError(f"{shown(path)} has no sequences; expected at least one; leave the file out.")

    def _read(self, path: str) -> Iterator[Callable[[], tuple[Chunk, dict[str, Any]] | None]]:
        """What reads and encodes each chunk of a file."""
        format, name = self._format, shown(path)
        if not format.in_pieces:
            yield lambda: self._encoded(format.read(path, self._layout, self._encoding))
            return
        before = self.bytes_read
        with open_source(path) as source:
            stream = getattr(source, "fileobj", source)  # of a packed file, what is packed
            for text, first_line in _large(name, format, utf8_pieces(name, source, self._encoding)):
                if path != "-":
                    self.bytes_read = before + stream.tell()
                yield partial(self._encoded_text, path, text, first_line)

    def _encoded_text(self, path: str, text: bytes, first_line: int) -> tuple[Chunk, dict[str, Any]] | None:
        content = self._format.parse(path, text, self._layout, first_line)
        return None if content is None else self._encoded(content)

    def _encoded(self, content: Content) -> tuple[Chunk, dict[str, Any]]:
        path = shown(content.path)
        if isinstance(content, AttributeFile):
            if self._maker is not None or self._hash_bits is not None or self._label_column is not None:
                raise ValueError(
                    "--features, --hash-bits and --label-column are for files of tokens, but "
                    f"{path} has the attributes themselves; leave them out."
                )
            return Chunk(content.X, content.y, content.weights), Given(self._format.name).to_dict()
        if self._maker is None:
            raise ValueError(f"{path} has tokens; give --features, which says how they become attributes.")
        made = self._maker.make(content, self._layout, self._label_column, 1, self._hash_bits)
        return Chunk(made.X, made.y, content.weights), made.recipe.to_dict()

    def check(self) -> None:
        """Refuse options that do not go with the format, before a large file is read."""
        if self._format.holds == {ATTRIBUTES} and self._maker is not None:
            raise ValueError("--features is for files of tokens, and these have the attributes; leave it out.")
        if ATTRIBUTES not in self._format.holds and self._maker is None:
            raise ValueError("the files have tokens; give --features, which says how they become attributes.")


def _large(name: str, format: Format, pieces: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Whole sequences, some megabytes at a time, and the line on which they begin."""
    waiting: list[bytes] = []
    first_line, size = 1, 0
    for text, over, _ in format.cut(pieces):
        if over:
            line = first_line + sum(part.count(b"\n") for part in waiting)
            raise ValueError(f"{name}, line {line}: {too_long(format.sequence_end)}")
        waiting.append(text)
        size += len(text)
        if size >= _CHUNK:
            joined = b"".join(waiting)
            yield joined, first_line
            first_line, waiting, size = first_line + joined.count(b"\n"), [], 0
    if waiting:
        yield b"".join(waiting), first_line


def _ordered(tasks: Iterator[Callable[[], Result]], jobs: int) -> Iterator[Result]:
    """The results of tasks in their order, some of them on threads ahead of being asked for."""
    if jobs == 1:
        yield from (task() for task in tasks)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as pool:
        running: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                running.append(pool.submit(task))
                if len(running) > _AHEAD * jobs:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _difference(path: str, features: dict[str, Any], first: str, before: dict[str, Any]) -> str:
    """Why one file cannot follow another."""
    if "width" in features and "width" in before and features["width"] != before["width"]:
        return f"{path} has {features['width']} columns, but {first} has {before['width']}; give files of one layout."
    if ("attributes" in features) != ("attributes" in before):
        kinds = ("attributes", "tokens") if "attributes" in features else ("tokens", "attributes")
        return f"{path} has {kinds[0]}, but {first} has {kinds[1]}; give files of one kind."
    return f"{path} is laid out otherwise than {first}; give files of one layout."
