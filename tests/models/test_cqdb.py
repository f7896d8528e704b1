"""Tables of strings: every string is found where the format says, whatever the strings are."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.models.cqdb import cqdb, lookup3


def packed(strings: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(strings), np.uint8), np.cumsum([0, *map(len, strings)], dtype=np.int64)


@pytest.mark.parametrize(
    ("string", "expected"),
    [(b"", 0xDEADBEEF), (b"Four score and seven years ago", 0x17770551)],  # as the author of lookup3 gives them
)
def test_the_hash_is_lookup3(string: bytes, expected: int) -> None:
    assert lookup3(*packed([string])).tolist() == [expected]


@given(st.lists(st.binary(max_size=50)))
def test_strings_do_not_change_each_others_hash(strings: list[bytes]) -> None:
    together = lookup3(*packed(strings)).tolist()
    assert together == [lookup3(*packed([string])).tolist()[0] for string in strings]


@given(st.sets(st.binary(max_size=30).map(lambda s: s.replace(b"\0", b"")), max_size=400))
def test_every_string_is_found_by_its_hash_and_by_its_number(strings: set[bytes]) -> None:
    listed = [string + b"\0" for string in sorted(strings)]
    table = cqdb(*packed(listed))
    tag, size, flag, byte_order, count, list_at = struct.unpack_from("<4s5I", table)
    assert (tag, size, flag, byte_order, count) == (b"CQDB", len(table), 0, 0x62445371, len(listed))
    for number, (string, value) in enumerate(zip(listed, lookup3(*packed(listed)).tolist(), strict=True)):
        (record,) = struct.unpack_from("<I", table, list_at + 4 * number)
        assert struct.unpack_from("<2I", table, record) == (number, len(string))
        assert table[record + 8 : record + 8 + len(string)] == string
        begin, places = struct.unpack_from("<2I", table, 24 + 8 * (value % 256))
        place = (value >> 8) % places
        while (found := struct.unpack_from("<2I", table, begin + 8 * place)) != (value, record):
            assert found != (0, 0), string
            place = (place + 1) % places
