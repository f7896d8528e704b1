"""The plain arguments of ``dualfield tag``, read without the library that reads all others.

To import Typer takes longer than to label a file of some thousand sentences, and programs call ``tag`` again and again.
Typer still reads everything else: other options, help, and arguments with mistakes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

__all__ = ["plain_tag"]

_OPTIONS = {"-m": "model", "--model": "model", "-o": "output", "--output": "output"}


def plain_tag(arguments: Sequence[str]) -> tuple[str, str, str] | None:
    """The file, the model and the output of ``tag``; None where there is anything else.

    Examples
    --------
    >>> plain_tag(["tag", "new.txt", "-m", "chunker.safetensors"])
    ('new.txt', 'chunker.safetensors', '-')
    >>> plain_tag(["tag", "new.txt", "-m", "chunker.safetensors", "--strict"]) is None
    True
    """
    if not arguments or arguments[0] != "tag" or "_DUALFIELD_COMPLETE" in os.environ:
        return None
    found: dict[str, str] = {}
    rest = iter(arguments[1:])
    for argument in rest:
        name, value = "file", argument
        if argument in _OPTIONS:
            name, value = _OPTIONS[argument], next(rest, "-?")
        if name in found or (value.startswith("-") and value != "-"):
            return None
        found[name] = value
    if "file" not in found or "model" not in found:
        return None
    return found["file"], found["model"], found.get("output", "-")
