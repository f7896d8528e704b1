"""Model files that say something else than what was saved, with the checksum that fits: what somebody could make."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

from safetensors.numpy import load, save


def sealed(content: bytes) -> bytes:
    """The file with the checksum of its contents, by docs/reference/model-file.md and not by the code under test."""
    key = b'"checksum":"' if b'"checksum":"' in content else b'"checksum": "'
    begin = content.find(key) + len(key)
    if begin < len(key):
        return content
    before, after = content[:begin], content[begin + 8 :]
    return before + b"%08x" % zlib.crc32(before + b"00000000" + after) + after


def header_of(content: bytes) -> dict[str, Any]:
    """What the header of a file says."""
    header: dict[str, Any] = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    return header


def with_header(content: bytes, header: dict[str, Any]) -> bytes:
    """The file with another header."""
    written = json.dumps(header).encode()
    return sealed(struct.pack("<Q", len(written)) + written + content[8 + struct.unpack("<Q", content[:8])[0] :])


def with_metadata(content: bytes, **changes: str | None) -> bytes:
    """The file with some metadata replaced, or left out where None."""
    header = header_of(content)
    metadata = header["__metadata__"] | changes
    header["__metadata__"] = {name: value for name, value in metadata.items() if value is not None}
    return with_header(content, header)


def described(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The file with a changed description."""
    description = json.loads(header_of(content)["__metadata__"]["model"])
    change(description)
    return with_metadata(content, model=json.dumps(description))


def with_arrays(content: bytes, **changes: Any) -> bytes:
    """The file with some arrays replaced, or left out where None."""
    arrays = {name: array for name, array in (load(content) | changes).items() if array is not None}
    return sealed(save(arrays, metadata=header_of(content)["__metadata__"]))
