"""Model files: arrays and a description, in the safetensors format.

A file holds named arrays (weights, vocabulary, layout) and, as metadata, a format version and one JSON object that
describes the model. Loading reads numbers and text and runs no code. A file appears whole or not at all.

The format is the size of a header as a 64-bit number, the header, a JSON object that says of each array its type, its
shape and which bytes it has, and these bytes. :func:`read_parts` reads it without NumPy, for programs that start often.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from math import prod
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any, NamedTuple

from dualfield.io.atomic import atomic_write

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

__all__ = ["DAMAGED", "FORMAT_VERSION", "Part", "read_model", "read_parts", "refusal", "write_model"]

FORMAT_VERSION = 2  # the newest; a file has the oldest version that knows all it holds
_MARK = "dualfield model"
# What a description that is not as ``save`` writes it can lead to.
DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
_MOST_HEADER = 100_000_000  # bytes, as in the safetensors library
_CODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U8": "B"}  # of the types that models have
_TYPES = {**{code: name for name, code in _CODES.items()}, "l": "I64"}


class Part(NamedTuple):
    """An array of a model file: its shape, and its numbers as a typed view of the file's bytes."""

    shape: tuple[int, ...]
    numbers: memoryview


def write_model(path: str | os.PathLike[str], arrays: Arrays, description: dict[str, Any], version: int = 1) -> None:
    """Write a model file.

    Parameters
    ----------
    path : str or path
        Where to; a file of that name is replaced.
    arrays : dict of arrays
        The numbers of the model.
    description : dict
        Everything else, of types that JSON has.
    version : int
        Of the format: 2 for a model with bigrams, which readers of version 1 would not understand.
    """
    import numpy as np

    metadata = {"format": _MARK, "format_version": str(version), "model": json.dumps(description)}
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    ordered = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # the wider first: all lie aligned
    for name in ordered:
        array = arrays[name]
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _TYPES[array.dtype.char], "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_write(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in ordered:  # one after the other, as they lie: the model is not there twice
            file.write(np.ascontiguousarray(arrays[name]).data.cast("B") if arrays[name].size else b"")


def read_model(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Read a model file.

    Returns
    -------
    (arrays, description)
        What :func:`write_model` was given.

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged, or was written by a newer version.
    """
    import numpy as np

    parts, description = read_parts(path)
    return {name: np.array(part.numbers).reshape(part.shape) for name, part in parts.items()}, description


def read_parts(path: str | os.PathLike[str]) -> tuple[dict[str, Part], dict[str, Any]]:
    """The same as :func:`read_model`, with views of the file's bytes in place of arrays."""
    shown = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no model file {shown!r}.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{shown!r} is a folder; give a model file.")
    try:
        with open(path, "rb") as file:
            content = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        header = _header(content)
        metadata = header.pop("__metadata__", {})
    except (OSError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
        raise ValueError(f"{shown!r} is not a model file, or it is damaged: {_clause(error)}.") from error
    _check_format(shown, metadata)
    try:
        size = int.from_bytes(content[:8], "little")
        parts = {name: _part(name, entry, content, size) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"{shown!r} is not a model file, or it is damaged: {_clause(error)}.") from error
    try:
        description = json.loads(metadata["model"])
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{shown!r} is damaged: its description cannot be read ({error}).") from error
    if not isinstance(description, dict):
        raise ValueError(f"{shown!r} is damaged: its description is not an object.")
    return parts, description


def refusal(path: str | os.PathLike[str], kind: str, error: BaseException) -> ValueError:
    """The sentence that says why a file is no model of this kind."""
    return ValueError(f"{os.fspath(path)!r} cannot be used as a {kind}: {_clause(error)}.")


def _clause(error: BaseException) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error).rstrip(".")


def _header(content: memoryview) -> dict[str, Any]:
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > min(len(content) - 8, _MOST_HEADER):
        raise ValueError(f"its header would have {size} bytes, of the {len(content)} bytes of the file")
    header = json.loads(bytes(content[8 : 8 + size]))
    if not isinstance(header, dict) or not all(isinstance(entry, dict) for entry in header.values()):
        raise ValueError("its header is not an object of objects")
    end = 0
    for begin, following in sorted(entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"):
        if begin != end or following < begin:
            raise ValueError(f"no array, or more than one, has byte {end} of its data")
        end = following
    if end != len(content) - 8 - size:
        raise ValueError(f"its arrays have {end} bytes, but {len(content) - 8 - size} follow the header")
    return header


def _part(name: str, entry: Mapping[str, Any], content: memoryview, size: int) -> Part:
    begin, end = entry["data_offsets"]
    shape, code = tuple(entry["shape"]), _CODES.get(entry["dtype"])
    if code is None:
        raise ValueError(f"its {name} are of type {entry['dtype']}")
    if not all(type(number) is int and number >= 0 for number in (begin, end, *shape)):
        raise ValueError(f"the place or the shape of its {name} is no whole number")
    numbers = content[8 + size + begin : 8 + size + end]
    if len(numbers) % struct.calcsize(code) or len(numbers) // struct.calcsize(code) != prod(shape):
        raise ValueError(f"its {name} have {len(numbers)} bytes, which do not fit the shape {shape}")
    if (size + begin) % struct.calcsize(code):
        numbers = memoryview(bytes(numbers))  # where the file does not align them
    return Part(shape, numbers.cast(code))  # type: ignore[call-overload]


def _check_format(shown: str, metadata: Mapping[str, Any]) -> None:
    if metadata.get("format") != _MARK:
        raise ValueError(f"{shown!r} is a safetensors file, but not a dualfield model.")
    try:
        version = int(metadata.get("format_version", ""))
    except (ValueError, TypeError):
        raise ValueError(f"{shown!r} is damaged: it has no format version.") from None
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{shown!r} has format version {version}; this version of dualfield reads up to {FORMAT_VERSION}; "
            "update dualfield."
        )
