"""Wapiti's regular expressions as Python writes them, on ASCII, é and 漢, and as a matcher that tries one way after the
other: what the core is held against."""

from __future__ import annotations

import re
from functools import partial

PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
CLASSES = {
    "d": "0-9",
    "l": "a-zé",
    "u": "A-Z",
    "a": "A-Za-zé漢",
    "w": "A-Za-z0-9é漢",
    "p": PUNCTUATION,
    "s": r" \t\n\r\f\v",
}


def pythons(pattern: str) -> str:
    """The same expression as Python writes it: stars take as little as they can."""
    out, at = "", 0
    if pattern.startswith("^"):
        out, at = r"\A", 1
    while at < len(pattern):
        c = pattern[at]
        if c == "$" and at + 1 == len(pattern):
            return out + r"\Z"
        if c == "\\":
            at += 1
            c = pattern[at]
            inside = CLASSES.get(c.lower()) if c.isalpha() else None
            piece = re.escape(c) if inside is None else f"[{'^' if c.isupper() else ''}{inside}]"
        else:
            piece = r"[\s\S]" if c == "." else re.escape(c)
        at += 1
        if pattern[at : at + 1] == "*":
            piece, at = piece + "*?", at + 1
        elif pattern[at : at + 1] == "?":
            piece, at = piece + "?", at + 1
        out += piece
    return out


def search(pattern: str, text: str) -> tuple[int, int] | None:
    """The first match of a pattern of plain characters, dots, stars and question marks, by trying all ways in order."""
    anchored, at_end = pattern.startswith("^"), pattern.endswith("$")
    items = re.findall(r"[^*?][*?]?", pattern.removeprefix("^").removesuffix("$"))
    for begin in range(1 if anchored else len(text) + 1):
        end = _match(items, text, begin, at_end)
        if end is not None:
            return begin, end
    return None


def _match(items: list[str], text: str, at: int, at_end: bool) -> int | None:
    """Where a match of the items ends that begins here, in the way that it prefers."""
    if not items:
        return None if at_end and at < len(text) else at
    item, rest = items[0], items[1:]
    fits = at < len(text) and item[0] in (".", text[at])
    taken = partial(_match, items if item[1:] == "*" else rest, text, at + 1, at_end)
    left_out = partial(_match, rest, text, at, at_end)
    for allowed, way in {
        "": [(fits, taken)],
        "*": [(True, left_out), (fits, taken)],  # as few as the rest allows
        "?": [(fits, taken), (True, left_out)],
    }[item[1:]]:
        end = way() if allowed else None
        if end is not None:
            return end
    return None
