"""A stream in chunks: whole lines, or whole sentences, as soon as they are there.

A piece of the stream is looked at once and pieces are joined once, so reading is linear in the length of the stream,
whatever the pieces are. A sentence is held until its end is seen, so it must not be endless: one over ``LONGEST`` bytes
or ``MOST_TOKENS`` lines comes out part by part, marked as too long, and memory stays bounded. Where chunks are cut
depends on the pieces; which sentences are too long does not, as long as no piece is longer than a sentence may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["LONGEST", "MOST_TOKENS", "Chunk", "after_last_blank_line", "too_long", "whole_lines", "whole_sentences"]

LONGEST = 1 << 24  # bytes of a sentence: a novel has a million
MOST_TOKENS = 1_000_000


class Chunk(NamedTuple):
    """Some whole lines or sentences, or a part of one that is too long."""

    text: bytes
    over: bool = False  # whether it is a part of one that is too long
    begins: bool = False  # whether it is the first part


def too_long(end: str) -> str:
    """What to say of a sentence that is too long; ``end`` is what sentences end with."""
    return (
        f"the sentence that begins here has more than {LONGEST:,} bytes or {MOST_TOKENS:,} tokens; cut it into shorter "
        f"ones, each with {end} after it."
    )


def whole_lines(pieces: Iterator[bytes]) -> Iterator[Chunk]:
    """The same bytes, cut only at the ends of lines; the last line gets an end if it has none."""
    return _whole(map(Chunk, pieces), lambda text: text.find(b"\n") + 1, lambda text: text.rfind(b"\n") + 1, b"\n")


def whole_sentences(pieces: Iterator[bytes]) -> Iterator[Chunk]:
    """The same bytes, cut only after blank lines. A line that is too long itself counts as not blank."""
    return _whole(whole_lines(pieces), _after_first_blank_line, after_last_blank_line, b"")


def _whole(
    pieces: Iterator[Chunk], after_first: Callable[[bytes], int], after_last: Callable[[bytes], int], ending: bytes
) -> Iterator[Chunk]:
    """The same bytes, cut only where a unit (a line, a sentence) ends.

    ``after_first`` and ``after_last`` find where the text after the first and the last unit begins, 0: no unit ends.
    ``ending`` is what the last unit of the stream lacks where its end was not seen.
    """
    begun: list[bytes] = []  # of the last unit, whose end has not been seen
    size, n_lines, over = 0, 0, False
    for piece, endless, _ in pieces:
        end = 0 if endless else after_first(piece)
        first = piece[:end] if end else piece  # of the unit that has begun
        size, n_lines = size + len(first), n_lines + first.count(b"\n")
        if over:
            yield Chunk(first, over=True)
        elif endless or size > LONGEST or n_lines > MOST_TOKENS:
            over = True
            yield Chunk(b"".join([*begun, first]), over=True, begins=True)
            begun = []
        else:
            begun.append(first)
        if not end:
            continue
        last = after_last(piece)
        if begun or last > end:
            yield Chunk(b"".join([*begun, piece[end:last]]))
        rest = piece[last:]
        begun, size, n_lines, over = [rest], len(rest), rest.count(b"\n"), False
    if size and not over:
        yield Chunk(b"".join([*begun, ending]))
    elif over and ending:
        yield Chunk(ending, over=True)


def after_last_blank_line(text: bytes, least: int = 0, most: int | None = None) -> int:
    """Where the text after the last blank line begins; 0 where none ends behind ``least``, up to ``most``."""
    end = text.rfind(b"\n", 0, most) + 1
    while end > least:
        begin = text.rfind(b"\n", 0, end - 1) + 1
        if not text[begin:end].strip():
            return end
        end = begin
    return 0


def _after_first_blank_line(text: bytes) -> int:
    begin = 0
    while end := text.find(b"\n", begin) + 1:
        if not text[begin:end].strip():
            return end
        begin = end
    return 0
