"""Model files: arrays and a description, in the safetensors format.

A file holds named arrays (weights, vocabulary, layout) and, as metadata, a format version and one JSON object that
describes the model. Loading reads numbers and text and runs no code. A file appears whole or not at all.

The format is the size of a header as a 64-bit number, the header, a JSON object that says of each array its type, its
shape and which bytes it has, and these bytes. :func:`read_parts` reads it without NumPy, for programs that start often.

A file is read into memory once, and its checksum is compared. Later changes of the file do not affect the model in use.
On request the file is mapped instead; its checksum is then not compared, which would read all of it.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import struct
from collections.abc import Mapping
from contextlib import suppress
from math import prod
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dualfield.io.atomic import atomic_write
from dualfield.models.checksum import UNSET, file_checksum, with_checksum

if TYPE_CHECKING:
    import numpy.typing as npt

Arrays = dict[str, "npt.NDArray[Any]"]

__all__ = [
    "DAMAGED",
    "FORMAT_VERSION",
    "Arrays",
    "FileArray",
    "clause",
    "has_checksum",
    "read_model",
    "read_parts",
    "refusal",
    "write_model",
]

FORMAT_VERSION = 4  # what is written: 2 brought bigrams, 3 the checksum, 4 the index of names
_CHECKSUM_SINCE = 3
_MARK = "dualfield model"
# The errors that a damaged description can lead to.
DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
_MOST_HEADER = 100_000_000  # bytes, as in the safetensors library
_CODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U8": "B"}  # of the types that models have
_TYPES = {**{code: name for name, code in _CODES.items()}, "l": "I64"}


class FileArray(NamedTuple):
    """An array of a model file: its shape, and its numbers as a typed view of the file's bytes."""

    shape: tuple[int, ...]
    numbers: memoryview


def write_model(path: str | os.PathLike[str], arrays: Arrays, description: dict[str, Any]) -> None:
    """Write a model file.

    Parameters
    ----------
    path : str or path
        Where to; a file of that name is replaced.
    arrays : dict of arrays
        The numbers of the model.
    description : dict
        Everything else, of types that JSON has.
    """
    import numpy as np

    metadata = {
        "format": _MARK,
        "format_version": str(FORMAT_VERSION),
        "model": json.dumps(description, sort_keys=True),
    }
    header: dict[str, Any] = {"__metadata__": metadata | {"checksum": UNSET}}
    end = 0
    ordered = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # the wider first: all lie aligned
    for name in ordered:
        array = arrays[name]
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _TYPES[array.dtype.char], "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    # as they lie, not put together: the model is not there twice
    contents = [np.ascontiguousarray(arrays[name]).data.cast("B") for name in ordered if arrays[name].size]
    head = with_checksum(len(text).to_bytes(8, "little") + text, contents)
    with atomic_write(path, "wb") as file:
        for part in (head, *contents):
            file.write(part)


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


def read_parts(path: str | os.PathLike[str], mapped: bool = False) -> tuple[dict[str, FileArray], dict[str, Any]]:
    """The same as :func:`read_model`, with views of the file's bytes in place of arrays.

    The bytes are in memory, or ``mapped``: then only the header has been read, and nothing is known of the rest.
    """
    shown = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no model file {shown!r}.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{shown!r} is a folder; give a model file.")
    try:
        with open(path, "rb", buffering=0) as file:
            content = _content(file, mapped)
        header = _header(content)
        metadata = header.pop("__metadata__", {})
    except (OSError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
        raise ValueError(f"{shown!r} is not a model file, or it is damaged: {clause(error)}.") from error
    size = int.from_bytes(content[:8], "little")
    version = _version(shown, metadata)
    if not mapped:
        _check_checksum(shown, version, content, 8 + size)
    try:
        parts = {name: _part(name, entry, content, size) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"{shown!r} is not a model file, or it is damaged: {clause(error)}.") from error
    try:
        description = json.loads(metadata["model"])
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{shown!r} is damaged: its description cannot be read ({error}).") from error
    if not isinstance(description, dict):
        raise ValueError(f"{shown!r} is damaged: its description is not an object.")
    return parts, description


def has_checksum(path: str | os.PathLike[str]) -> bool:
    """Whether a model file that could be read has a checksum, so that its contents have been compared with it."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return file_checksum(file.read(size), ()) is not None


def refusal(path: str | os.PathLike[str], kind: str, error: BaseException) -> ValueError:
    """The sentence that says why a file is no model of this kind."""
    return ValueError(f"{os.fspath(path)!r} cannot be used as a {kind}: {clause(error)}.")


def clause(error: BaseException) -> str:
    """What an error says, to be put into a sentence."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error).rstrip(".")


def _content(file: IO[bytes], mapped: bool) -> memoryview:
    """All bytes of the file, in memory of our own or mapped."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is a device or a pipe, not a file")
    if mapped:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    memory = memoryview(_memory(status.st_size))
    place = 0
    while place < len(memory):
        got = file.readinto(memory[place:])  # type: ignore[attr-defined]
        if not got:
            raise ValueError(f"it has become shorter than {len(memory)} bytes while it was read")
        place += got
    return memory.toreadonly()


def _memory(size: int) -> bytearray | mmap.mmap:
    """Memory for a file; in large pages where the system has them, which take a third of the time of small ones."""
    if size == 0 or not hasattr(mmap, "MADV_HUGEPAGE"):
        return bytearray(size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system built without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


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


def _part(name: str, entry: Mapping[str, Any], content: memoryview, size: int) -> FileArray:
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
    return FileArray(shape, numbers.cast(code))  # type: ignore[call-overload]


def _version(shown: str, metadata: Mapping[str, Any]) -> int:
    """The version of the format; refuses unknown ones."""
    if metadata.get("format") != _MARK:
        raise ValueError(f"{shown!r} is a safetensors file, but not a dualfield model.")
    text = metadata.get("format_version")
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise ValueError(f"{shown!r} is damaged: it has no format version.")
    if int(text) > FORMAT_VERSION:
        raise ValueError(
            f"{shown!r} has format version {text}; this version of dualfield reads up to {FORMAT_VERSION}; "
            "update dualfield."
        )
    return int(text)


def _check_checksum(shown: str, version: int, content: memoryview, head: int) -> None:
    """Refuse contents that differ from what was written; files of the first versions have no checksum."""
    found = file_checksum(bytes(content[:head]), [content[head:]])
    if found is None:
        if version >= _CHECKSUM_SINCE:
            raise ValueError(
                f"{shown!r} is damaged: it lacks the checksum that format version {version} has; "
                "copy the file again, or train the model anew."
            )
        return
    has, should = found
    if has != should:
        raise ValueError(
            f"{shown!r} is damaged: its checksum is {has}, but its contents give {should}; "
            "copy the file again, or train the model anew."
        )
