"""The index of names, as docs/reference/model-file.md describes it: every name is found by it, and no other."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualfield import _core


def arrays_of(names: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(names), np.uint8), np.array([*accumulate(map(len, names), initial=0)])


def hash_of(name: bytes) -> int:
    """FNV-1a, then the finaliser of MurmurHash3: the upper half."""
    h = 14695981039346656037
    for byte in name:
        h = (h ^ byte) * 1099511628211 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor % 2**64
    return (h ^ h >> 33) >> 32


def found(names: list[bytes], index: np.ndarray, name: bytes) -> int:
    """The number of a name; -1 where the index has none."""
    hash_ = hash_of(name)
    homes = len(names) + len(names) // 2 + 1
    for other, number in index[2 * (hash_ * homes >> 32) :].reshape(-1, 2):
        if number < 0 or int(other) % 2**32 > hash_:
            return -1
        if int(other) % 2**32 == hash_ and names[number] == name:
            return int(number)
    return -1


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=20), unique=True, max_size=60), st.lists(st.binary(max_size=20), max_size=10))
def test_names_are_found_and_others_are_not(names: list[bytes], others: list[bytes]) -> None:
    index = _core.name_index(*arrays_of(names))
    assert index.dtype == np.int32
    assert [found(names, index, name) for name in names] == list(range(len(names)))
    assert all(found(names, index, name) == -1 for name in others if name not in names)


def test_many_names_are_found_near_their_homes() -> None:
    names = [f"w[{n % 5}]={n}".encode() for n in range(20_000)]
    index = _core.name_index(*arrays_of(names))
    taken = np.flatnonzero(index[1::2] >= 0)
    assert len(taken) == len(names)
    hashes = index[::2][taken].astype(np.int64) % 2**32
    assert (np.diff(hashes) >= 0).all()
    homes = len(names) + len(names) // 2 + 1
    assert homes <= len(index) // 2 <= homes + 100
    assert (taken - (hashes * homes >> 32)).mean() < 2  # by linear probing with two of three places taken: 1
    assert sorted(index[1::2][taken]) == list(range(len(names)))


@pytest.mark.parametrize(("text", "bounds"), [(b"ab", [0, 1]), (b"ab", [1, 2]), (b"ab", [0, 2, 1, 2]), (b"", [])])
def test_bounds_that_do_not_fit_are_refused(text: bytes, bounds: list[int]) -> None:
    with pytest.raises(ValueError, match="bounds must"):
        _core.name_index(np.frombuffer(text, np.uint8), np.array(bounds, np.int64))
