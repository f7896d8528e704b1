"""A chunk of a stream in parts, each on a thread of its own: what comes out, and when, is what one thread gives."""

from __future__ import annotations

from itertools import accumulate
from typing import Protocol

from dualfield.tagging.chunks import after_last_blank_line

__all__ = ["InParts", "Tagger"]


class Tagger(Protocol):
    """A model that labels the lines of column files: in the core or, where that does not know the model, in Python."""

    def tag(self, chunk: bytes, first_line: int) -> tuple[bytes, int, list[tuple[int, str]]]:
        """(the lines with their labels, number of sentences, faults)"""


class InParts:
    """A tagger that cuts chunks between sentences and has another, which frees Python's lock, label the parts at once.

    Parameters
    ----------
    tagger : Tagger
        Used by several threads at a time.
    parts : int
        How many parts a chunk becomes at most, and how many threads there are.
    """

    def __init__(self, tagger: Tagger, parts: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._tagger, self._parts = tagger, parts
        self._pool = ThreadPoolExecutor(parts)

    def tag(self, chunk: bytes, first_line: int) -> tuple[bytes, int, list[tuple[int, str]]]:
        """(the lines with their labels, number of sentences, faults)"""
        parts = _cut(chunk, self._parts)
        lines = accumulate((part.count(b"\n") for part in parts[:-1]), initial=first_line)
        done = list(self._pool.map(self._tagger.tag, parts, lines))
        texts, sentences, faults = zip(*done, strict=True)
        return b"".join(texts), sum(sentences), [fault for some in faults for fault in some]


def _cut(chunk: bytes, n_parts: int) -> list[bytes]:
    """The same bytes in about equal parts, cut only after blank lines."""
    parts, begin, before = [], 0, 0
    for part in range(1, n_parts):
        most = len(chunk) * part // n_parts
        end = after_last_blank_line(chunk, before, most)  # the part before has looked at all that is before
        if end > begin:
            parts.append(chunk[begin:end])
            begin = end
        before = most
    return [*parts, chunk[begin:]] if begin < len(chunk) or not parts else parts
