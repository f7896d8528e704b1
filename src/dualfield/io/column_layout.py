"""How a column file is laid out, as the core takes it."""

from __future__ import annotations

from typing import Any

__all__ = ["column_layout"]


def column_layout(format: str, separator: str | None, comment: str | None, docstart: str) -> dict[str, Any]:
    """The reader's options as the core takes them; refuses those that make no sense."""
    if format not in ("columns", "conllu"):
        raise ValueError(f"there is no format {format!r}; expected 'columns' or 'conllu'.")
    if docstart not in ("drop", "keep"):
        raise ValueError(f"docstart must be 'drop' or 'keep'; found {docstart!r}.")
    for what, text in (("separator", separator), ("comment", comment)):
        if text is not None and (not text or "\n" in text or not _is_unicode(text)):
            raise ValueError(
                f"the {what} must be a string without line breaks, at least one character; found {text!r:.60}."
            )
        if text is not None and format == "conllu":
            raise ValueError(f"CoNLL-U fixes the {what}; leave it out, or choose the format 'columns'.")
    conllu = format == "conllu"
    return {
        "separator": "\t" if conllu else separator or "",
        "comment": "#" if conllu else comment or "",
        "conllu": conllu,
        "drop_docstart": docstart == "drop",
        "fewest": 10 if conllu else 0,
        "most": 10 if conllu else 0,
    }


def _is_unicode(text: str) -> bool:
    """Whether it holds characters only: arguments may hold bytes that are none, as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
