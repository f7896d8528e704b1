"""The checksum of a model file: CRC-32 of all its bytes, with the eight digits of the checksum itself taken as zeros.

A CRC-32 differs for any two contents that differ in one bit, or within 32 bits in a row, and zlib, which every Python
has, goes over 60 MB in 15 ms. It finds damage, not forgery: whoever changes a file can compute it anew.

The digits are the value of ``checksum`` in the file's metadata. There they are looked for as text: within a JSON string
every quote has a backslash before it, so nothing but this key looks like it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import Any

__all__ = ["UNSET", "file_checksum", "with_checksum"]

UNSET = "0" * 8
_KEY = re.compile(rb'"checksum"\s*:\s*"([0-9a-f]{8})"')


def file_checksum(head: bytes, rest: Iterable[Any]) -> tuple[str, str] | None:
    """The digits that a file has, and those that it should have; None where it has none.

    Parameters
    ----------
    head : bytes
        The file as far as the end of its header.
    rest : iterable of buffers
        What follows.

    Examples
    --------
    >>> head = with_checksum(b'{"checksum":"00000000"}', [b"abc"])
    >>> head, file_checksum(head, [b"abc"]), file_checksum(head, [b"abd"])
    (b'{"checksum":"7e6d0135"}', ('7e6d0135', '7e6d0135'), ('7e6d0135', 'e0099496'))
    """
    found = _KEY.search(head)
    if found is None:
        return None
    begin, end = found.span(1)
    checksum = zlib.crc32(head[:begin] + UNSET.encode() + head[end:])
    for part in rest:
        checksum = zlib.crc32(part, checksum)
    return found[1].decode(), f"{checksum:08x}"


def with_checksum(head: bytes, rest: Iterable[Any]) -> bytes:
    """The same ``head`` with the right digits, whatever it has."""
    _, right = file_checksum(head, rest) or (None, UNSET)
    return _KEY.sub(lambda found: found[0][:-9] + right.encode() + b'"', head, count=1)
