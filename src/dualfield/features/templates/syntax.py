"""The template files of CRF++ and of Wapiti, read into rules.

Both languages put text and commands such as ``%x[-1,0]`` into a line; the line, with its commands replaced, is the
attribute. What each says about comments, about case and about the sentence's ends differs, and is kept:

* CRF++ (T. Kudo): ``U`` or ``B`` first; ``%x[row,column]`` only; ``#`` is a comment only at the beginning of a line. A
  line that begins otherwise is skipped, with a warning.
* Wapiti (T. Lavergne): ``u``, ``b`` or ``*`` first, in either case; the attribute begins with the lower-case letter;
  ``#`` begins a comment anywhere, also in a regular expression; white space at the end of a line is dropped; there may
  be blanks before the numbers of a command, ``%x[ 0, 0]``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Literal

from dualfield.features.templates.rules import Cell, Rule, lower, match, test

__all__ = ["parse_crfpp", "parse_wapiti"]

_CRFPP_CELL = re.compile(r"%x\[([+-]?[0-9]+),([0-9]+)\]")
_WAPITI_CELL = re.compile(
    r"""%([xXtTmM])\[ (?P<at>@?) [ \t]*(?P<row>[+-]?[0-9]+) , [ \t]*(?P<column>[0-9]+)
        (?: ," (?P<regex> (?: [^"\\] | \\. )* ) " )? \]""",
    re.VERBOSE,
)
_KINDS: dict[str, Literal["unigram", "bigram", "both"]] = {"u": "unigram", "b": "bigram", "*": "both"}
_LONGEST_NUMBER = 6  # digits; longer ones would be far outside anyway


def parse_crfpp(text: str) -> list[Rule]:
    """The rules of a CRF++ template file."""
    rules = []
    for number, line in enumerate(_lines(text), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] not in "UB":
            warnings.warn(
                f"line {number} of the template, {line!r:.80}, begins with neither U nor B, so CRF++ skips it; it is "
                "skipped here too.",
                UserWarning,
                stacklevel=2,
            )
            continue
        pieces = _pieces(line, partial(_crfpp_command, number, line))
        rules.append(Rule(pieces, "unigram" if line[0] == "U" else "bigram"))
    return _some(rules)


def parse_wapiti(text: str) -> list[Rule]:
    """The rules of a Wapiti pattern file."""
    rules = []
    for number, whole in enumerate(_lines(text), start=1):
        line = whole.partition("#")[0].rstrip(" \t\r\f\v")
        if not line:
            continue
        kind = _KINDS.get(line[0].lower())
        if kind is None:
            raise _fault(number, whole, "expected u, b or * first, or # for a comment")
        line = line[0].lower() + line[1:]
        rules.append(Rule(_pieces(line, partial(_wapiti_command, number, line, whole)), kind))
    return _some(rules)


def _lines(text: str) -> list[str]:
    if not isinstance(text, str):
        raise TypeError(f"the template is of type {type(text).__name__}; expected a string, its lines.")
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def _some(rules: list[Rule]) -> list[Rule]:
    if not any(rule.kind != "bigram" for rule in rules):
        raise ValueError("the template has no unigram line; expected at least one, such as U00:%x[0,0].")
    return rules


def _pieces(line: str, command_at: Callable[[int], tuple[Cell, int]]) -> tuple[str | Cell, ...]:
    """The pieces of a line: text, and cells for commands. ``command_at`` reads a command and says where it ends."""
    pieces: list[str | Cell] = []
    at = 0
    while at < len(line):
        percent = line.find("%", at)
        if percent != at:
            pieces.append(line[at : percent if percent >= 0 else len(line)])
        if percent < 0:
            break
        cell, at = command_at(percent)
        pieces.append(cell)
    return tuple(pieces)


def _crfpp_command(number: int, line: str, percent: int) -> tuple[Cell, int]:
    found = _CRFPP_CELL.match(line, percent)
    if found is None:
        raise _fault(number, line, f"expected %x[row,column] at character {percent + 1}")
    return _cell(number, line, found[1], found[2]), found.end()


def _wapiti_command(number: int, line: str, whole: str, percent: int) -> tuple[Cell, int]:
    found = _WAPITI_CELL.match(line, percent)
    command = line[percent + 1 : percent + 2]
    if found is None or (found["regex"] is None) != (command in "xX"):
        if command in ("x", "X"):
            expected = f"%{command}[row,column]"
        elif command and command in "tTmM":
            expected = f'%{command}[row,column,"regular expression"]'
        else:
            expected = "a command %x, %t or %m"
        comment = "; note that # begins a comment" if "#" in whole else ""
        raise _fault(number, whole, f"expected {expected} at character {percent + 1}{comment}")
    try:
        steps = {"x": (), "t": (test,), "m": (match,)}[command.lower()]
        transforms = tuple(step(found["regex"]) for step in steps)
    except ValueError as error:
        raise ValueError(f"line {number} of the template: {error}") from None
    if command.isupper():
        transforms += (lower(),)
    cell = _cell(number, whole, found["row"], found["column"])
    return Cell(cell.column, cell.offset, transforms, absolute=bool(found["at"])), found.end()


def _cell(number: int, line: str, row: str, column: str) -> Cell:
    if max(len(row), len(column)) > _LONGEST_NUMBER:
        raise _fault(number, line, "a row or column number is too long")
    try:
        return Cell(int(column), int(row))
    except ValueError as error:
        raise ValueError(f"line {number} of the template: {error}") from None


def _fault(number: int, line: str, expected: str) -> ValueError:
    return ValueError(f"line {number} of the template, {line!r:.80}: {expected}.")
