"""Writes ``character_runs.hpp``: ``python core/text/make_character_runs.py > core/text/character_runs.hpp``.

The kinds are Python's, so the table is of the Unicode version that this Python has (``unicodedata.unidata_version``). A
change of version changes what shapes and tests of words say, so it is a decision of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

WIDTH = 120  # of a line

HEAD = """\
// Which code points beyond ASCII are of which kind, as of Unicode {version}: a run of code points a row.
//
// Written by make_character_runs.py from Python's unicodedata: upper, lower, digit, letter and space are str.isupper,
// islower, isdigit, isalpha and isspace, punctuation is the categories P and S. tests/core/test_characters.py holds
// every code point against it.
#pragma once

#include <cstdint>

namespace dualfield::text {{

enum class Kind : std::uint8_t {{ other, upper, lower, digit, letter, space, punctuation, upper_lower, lower_upper }};

// Code points first .. last; lower case is to_lower further on. In an alternating run the letters take turns, and an
// upper one has its lower one next to it.
struct CharacterRun {{
    char32_t first, last;
    Kind kind;
    std::int32_t to_lower;
}};

namespace runs {{
constexpr Kind U = Kind::upper, L = Kind::lower, D = Kind::digit, A = Kind::letter, S = Kind::space,
               P = Kind::punctuation, UL = Kind::upper_lower, LU = Kind::lower_upper;

// clang-format off
constexpr CharacterRun kRuns[] = {{
"""

TAIL = """\
};
// clang-format on
}  // namespace runs

inline constexpr auto& kCharacterRuns = runs::kRuns;

}  // namespace dualfield::text
"""


class Run(NamedTuple):
    """Code points ``first`` to ``last`` of one kind; their lower case is ``to_lower`` further on."""

    first: int
    last: int
    kind: str
    to_lower: int

    def __str__(self) -> str:
        return f"{{0x{self.first:X}, 0x{self.last:X}, {self.kind}, {self.to_lower}}}"


def kind_of(code: int) -> str:
    """The kind of a code point; empty for any other."""
    character = chr(code)
    if character.isupper():
        return "U"
    if character.islower():
        return "L"
    if character.isdigit():
        return "D"
    if character.isalpha():
        return "A"
    if character.isspace():
        return "S"
    return "P" if unicodedata.category(character)[0] in "PS" else ""


def to_lower(code: int) -> int:
    """How much further on the lower case is; 0 where it is no single code point."""
    lower = chr(code).lower()
    return ord(lower) - code if len(lower) == 1 else 0


def character_runs() -> list[Run]:
    """Runs from the first code point on, each as long as it can be: letters that take turns, or all of one kind."""
    codes = [code for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000 and kind_of(code)]
    singles = [Run(code, code, kind_of(code), to_lower(code)) for code in codes]
    found: list[Run] = []
    at = 0
    while at < len(singles):
        first = singles[at]
        joined = takes_turns if at + 1 < len(singles) and takes_turns(first, singles[at + 1]) else are_alike
        end = at + 1
        while end < len(singles) and joined(singles[end - 1], singles[end]):
            end += 1
        kind, distance = first.kind, first.to_lower
        if joined is takes_turns:
            kind, distance = ("UL" if first.kind == "U" else "LU"), 0
        found.append(Run(first.first, singles[end - 1].last, kind, distance))
        at = end
    return found


def are_alike(one: Run, other: Run) -> bool:
    """Whether two code points are neighbours, of one kind and as far from their lower case."""
    return other.first == one.last + 1 and one[2:] == other[2:]


def takes_turns(one: Run, other: Run) -> bool:
    """Whether two code points are neighbours, and one an upper letter that has its lower one next to it."""
    pair = (one[2:], other[2:])
    return other.first == one.last + 1 and pair in ((("U", 1), ("L", 0)), (("L", 0), ("U", 1)))


def lines(runs: list[Run]) -> Iterator[str]:
    """The runs as rows of the table, as many in a line as fit."""
    line = "   "
    for run in runs:
        shown = f" {run},"
        if len(line) + len(shown) > WIDTH:
            yield line
            line = "   "
        line += shown
    yield line


def header() -> str:
    """The whole file."""
    version = unicodedata.unidata_version.split(".")[0]
    return HEAD.format(version=version) + "\n".join(lines(character_runs())) + "\n" + TAIL


if __name__ == "__main__":
    print(header(), end="")
