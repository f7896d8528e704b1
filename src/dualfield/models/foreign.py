"""Tables of other programs' model formats, for ``ChainModel.export`` and the commands.

Each format has a line with the function of :mod:`dualfield.models` that writes or reads it. The function is imported
when it is needed. A format to read is recognised by its first bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from dualfield.io.atomic import PathLike
from dualfield.io.content import CRFSUITE, first_bytes

__all__ = ["READERS", "WRITERS", "is_model_file", "reader_of", "writer_of"]

WRITERS: dict[str, str] = {
    "crfsuite": "write_crfsuite_model",
    "wapiti": "write_wapiti_model",
    "crfpp": "write_crfpp_model",
}

# The first bytes of a file, and the function that reads it.
READERS: dict[bytes, str] = {
    CRFSUITE: "read_crfsuite_model",
    b"#mdl#": "read_wapiti_model",
    b"version: ": "read_crfpp_model",
    **{b"\x80" + bytes([protocol]): "read_pickled_crf" for protocol in range(2, 6)},
}


_LOOKED_AT = 4096  # bytes: of a packed file fewer may unpack to nothing


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


def is_model_file(path: PathLike) -> bool:
    """Whether the file begins as a model file of this package does."""
    return _begins_model_file(first_bytes(path, 9))


def _begins_model_file(begin: bytes) -> bool:
    return begin[8:9] == b"{" and b"\0" in begin[:8]  # the length of a header, then the header, which is JSON


def reader_of(path: PathLike) -> Callable[..., Any] | None:
    """The function that reads the file as another program's model, called with the path; None where it is none."""
    begin = first_bytes(path, _LOOKED_AT)
    if _begins_model_file(begin):
        return None
    if begin[:1] == b"x":  # joblib packs by zlib
        try:
            begin = zlib.decompressobj().decompress(begin, 16)
        except zlib.error:
            return None
    for first, name in READERS.items():
        if begin.startswith(first):
            read: Callable[..., Any] = getattr(import_module("dualfield.models"), name)
            return read
    return None
