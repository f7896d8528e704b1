"""Which format a file has, by its name or by how it begins, where the user does not say."""

from __future__ import annotations

import os
import sys
from typing import Any

from dualfield.io.content import first_bytes, is_utf8, naming
from dualfield.tagging.content import shown

__all__ = ["recognised", "recognised_name"]

_ENDINGS = {".conllu": "conllu", ".conll-u": "conllu", ".jsonl": "jsonl", ".ndjson": "jsonl", ".crfsuite": "attributes"}
_LOOKED_AT = 1 << 16  # bytes: some sentences


def recognised_name(path: str) -> str | None:
    """The format that the name of a file stands for; None where it stands for none.

    Examples
    --------
    >>> recognised_name("en_ewt-ud-dev.conllu.gz"), recognised_name("train.txt")
    ('conllu', None)
    """
    ending = os.path.splitext(path.lower().removesuffix(".gz"))[1]
    return _ENDINGS.get(ending)


def recognised(path: str, encoding: str = "utf-8") -> str | None:
    """The format of a file by its name or else its first lines; None where it has no line to tell by.

    CRFsuite's attribute files are known by their names only: their lines could be columns with tabs between them.
    """
    by_name = recognised_name(path)
    is_utf8(encoding)  # refuses what is no encoding of text
    return by_name or _recognised_text(_beginning(path).decode(encoding, "ignore"))


def _recognised_text(text: str) -> str | None:
    for line in text.removeprefix("\ufeff").split("\n"):
        if not line.strip() or _is_comment(line):
            continue
        if line.lstrip().startswith("{") and ('"tokens"' in line or '"features"' in line):
            return "jsonl"
        return "conllu" if _is_conllu(line) else "columns"
    return None


def _is_comment(line: str) -> bool:
    """Whether CoNLL-U would skip it. In column files ``#`` is a word, but one with a label or alone."""
    return line.startswith("# ") and "\t" not in line and len(line.split()) > 2


def _is_conllu(line: str) -> bool:
    """Ten columns with tabs between them; the first is a number, a range of words or an empty node."""
    fields = line.rstrip("\r").split("\t")
    number = fields[0].replace("-", ".").split(".")
    return len(fields) == 10 and len(number) <= 2 and all(part.isdecimal() for part in number)


def _beginning(path: str) -> bytes:
    if path != "-":
        return first_bytes(path, _LOOKED_AT)
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
    if hasattr(stream, "peek"):
        with naming(shown(path)):
            found: bytes = stream.peek(_LOOKED_AT)
        return found
    return b""  # a stream that cannot be looked into
