"""The table of file formats. Every command that reads or writes sequences goes by it, and so does ``--format``.

A format has a line: its name, and the module whose ``FORMAT`` it is, which is imported when a file asks for it. A
program may add a :class:`~dualfield.tagging.format.Format` of its own.
"""

from __future__ import annotations

from importlib import import_module

from dualfield.tagging.format import Format

__all__ = ["FORMATS", "format_named", "names_that_hold"]

FORMATS: dict[str, str | Format] = {
    "columns": "dualfield.tagging.formats.columns",
    "conllu": "dualfield.tagging.formats.conllu",
    "attributes": "dualfield.tagging.formats.attributes",
    "jsonl": "dualfield.tagging.formats.jsonl",
}


def format_named(name: str) -> Format:
    """The format of a name.

    Examples
    --------
    >>> sorted(format_named("jsonl").holds)
    ['attributes', 'tokens']
    """
    if name not in FORMATS:
        raise ValueError(f"there is no format {name!r}; expected one of {', '.join(FORMATS)}.")
    found = FORMATS[name]
    if isinstance(found, str):
        found = import_module(found).FORMAT
        assert isinstance(found, Format)
        FORMATS[name] = found
    return found


def names_that_hold(kind: str) -> str:
    """The formats of which a file may hold tokens, or attributes, as words."""
    return " or ".join(name for name in FORMATS if kind in format_named(name).holds)
