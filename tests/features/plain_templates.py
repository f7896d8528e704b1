"""A template's attributes in plain Python, a string at a time: what the core is held against."""

from __future__ import annotations

import re
from itertools import groupby

from dualfield.features import Cell, Rule, Template, Transform
from tests.core.plain_patterns import pythons

Sentence = list[tuple[str, ...]]


def attributes(template: Template, sentence: Sentence, bigrams: bool = False) -> list[list[str]]:
    rules = template.bigrams if bigrams else template.unigrams
    lists = []
    for t in range(len(sentence)):
        here = [] if bigrams and t == 0 else [_string(rule, template, sentence, t) for rule in rules]
        lists.append([string for string in here if string is not None])
    return lists


def _string(rule: Rule, template: Template, sentence: Sentence, t: int) -> str | None:
    if (rule.where == "first" and t > 0) or (rule.where == "last" and t < len(sentence) - 1):
        return None
    made = ""
    for piece in rule.pieces:
        text = piece if isinstance(piece, str) else _cell(piece, template, sentence, t)
        if text is None:
            return None
        made += text
    return made


def _cell(cell: Cell, template: Template, sentence: Sentence, t: int) -> str | None:
    place = t + cell.offset
    if cell.absolute:
        place = len(sentence) + cell.offset if cell.offset < 0 else cell.offset - 1
    inside = 0 <= place < len(sentence)
    names = next((step for step in cell.transforms if step.operation == "gazetteer"), None)
    if names is not None:
        words = [_transformed(row[cell.column], cell.transforms[:-1]) for row in sentence]
        return _names(words, names)[place] if inside else None
    if inside:
        return _transformed(sentence[place][cell.column], cell.transforms)
    distance = -place if place < 0 else place - len(sentence) + 1
    sign = "-" if place < 0 else "+"
    if template.outside == "crfpp":
        return _transformed(f"_B{sign}{distance}", cell.transforms)
    if template.outside == "wapiti":
        return _transformed(f"_x{sign}{distance if distance < 5 else '#'}", cell.transforms)
    return None


def _transformed(text: str, steps: tuple[Transform, ...]) -> str:
    for step in steps:
        if step.operation == "lower":
            text = text.lower()
        elif step.operation == "shape":
            kinds = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in text)
            text = "".join(list(kinds)[: step.length])
        elif step.operation == "brief_shape":
            whole = _transformed(text, (Transform("shape", len(text) or 1),))
            text = "".join(mark for mark, _ in groupby(whole))[: step.length]
        elif step.operation == "prefix":
            text = text[: step.length]
        elif step.operation == "suffix":
            text = text[-step.length :]
        else:
            found = re.search(pythons(step.pattern), text)
            if step.operation == "test":
                text = "true" if found else "false"
            else:
                text = found[0] if found else ""
    return text


def _names(words: list[str], names: Transform) -> list[str | None]:
    marks: list[str | None] = [None] * len(words)
    t = 0
    while t < len(words):
        longest = max((len(e) for e in names.entries if tuple(words[t : t + len(e)]) == e), default=0)
        marks[t : t + longest] = ["B", *"I" * (longest - 1)] if longest else []
        t += max(longest, 1)
    return marks
