"""The pages as the tests of this folder read them: prose without code, and what stands in code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}

_FENCED = re.compile(r"^( *)(```+)(.*?)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# A span of code ends in its paragraph. Two backticks around it allow one inside.
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
# A line that begins a paragraph of its own: an item of a list.
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.) ", re.MULTILINE)
_MARK = re.compile(r"^(?:[-*+]|\d+\.) ")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
# A sentence ends where a capital letter or code follows, in brackets or not; "et al. 2018" goes on.
_END = re.compile(r"(?<=[.!?])[\")*]* +(?=[\"(*]*[A-Z])")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The language and the content of each fenced block."""
    for block in _FENCED.finditer(text):
        yield block[3].strip(), block[4]


def without_blocks(text: str) -> str:
    """Everything but fenced blocks and comments."""
    return _COMMENT.sub("", _FENCED.sub("\n", text))


def spans(text: str) -> Iterator[str]:
    """What stands in code within prose, on one line each."""
    for span in _SPAN.finditer(without_blocks(text)):
        yield " ".join(span[2].split())


def sentences(text: str) -> Iterator[str]:
    """The sentences of the prose: no headings, tables, blocks; a span of code is one word, "Code"."""
    text = _SPAN.sub("Code", without_blocks(text))
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(("#", "|", "$$"))]
    lines = ["" if line.startswith("    ") else line for line in lines]
    for paragraph in re.split(r"\n\s*\n", _ITEM.sub("\n\n", "\n".join(lines))):
        plain = _LINK.sub(r"\1", " ".join(paragraph.split()))
        yield from (sentence for sentence in _END.split(_MARK.sub("", plain)) if sentence)
