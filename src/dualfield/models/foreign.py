"""The table of other programs' model formats: ``ChainModel.export`` and ``dualfield convert`` go by it.

A format has a line: its name, and the function of :mod:`dualfield.models` that writes it, which is imported when
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["WRITERS", "writer_of"]

WRITERS: dict[str, str] = {
    "crfsuite": "write_crfsuite_model",
}


def writer_of(format: str) -> Callable[..., None]:
    """The function that writes models in a format, called with a model and a path.

    Examples
    --------
    >>> writer_of("crfsuite").__name__
    'write_crfsuite_model'
    """
    if not isinstance(format, str) or format not in WRITERS:
        raise ValueError(f"there is no model format {format!r} to write; expected one of {', '.join(WRITERS)}.")
    found: Any = getattr(import_module("dualfield.models"), WRITERS[format])
    write: Callable[..., None] = found
    return write
