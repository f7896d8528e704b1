"""Wapiti's regular expressions as Python writes them, on ASCII, é and 漢: what the core is held against."""

from __future__ import annotations

import re

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
