"""CQDB, the tables of strings in CRFsuite's models: from a string to its number and back.

All numbers are 32 bits, little-endian, and places count from the first byte of the table::

    header      CQDB, size, 0, byte order, number of strings, where the list at the end is
    tables      256 pairs: where the hash table is (0: there is none), and how many places it has
    records     for each string: its number, its length, its bytes; the NUL at their end counts
    hash tables places of (hash, where the record is), (0, 0) if empty, two for each string
    list        for each number where its record is

The hash is Bob Jenkins' ``lookup3`` of the bytes with their NUL. Its last eight bits choose the hash table, the others
the place where the search begins; from there it goes on place by place until it finds the string or an empty place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["cqdb", "lookup3"]

_HEADER, _TABLES, _BYTE_ORDER = 24, 256, 0x62445371
_BLOCK = 12  # bytes that the hash takes in at a time

Hashes = npt.NDArray[np.uint32]


def cqdb(text: npt.NDArray[np.uint8], bounds: npt.NDArray[np.int64]) -> bytes:
    """The table of strings that stand one after the other in ``text``, with a NUL at the end of each.

    Parameters
    ----------
    text : array of uint8
        The bytes of all strings.
    bounds : array of int64, shape (n + 1,)
        Where each begins, and where the last ends.
    """
    count, lengths = len(bounds) - 1, np.diff(bounds)
    records = _HEADER + 8 * _TABLES + bounds[:-1] + 8 * np.arange(count)
    hash_tables_at = _HEADER + 8 * _TABLES + len(text) + 8 * count
    content = np.zeros(len(text) + 8 * count, np.uint8)
    within = np.arange(len(text)) + 8 * np.repeat(np.arange(1, count + 1), lengths)
    content[within] = text
    heads = np.stack([np.arange(count), lengths], axis=1).astype("<u4").view(np.uint8).reshape(count, 8)
    content[(bounds[:-1] + 8 * np.arange(count))[:, None] + np.arange(8)] = heads

    hashes = lookup3(text, bounds)
    sizes = 2 * np.bincount(hashes % _TABLES, minlength=_TABLES)
    begins = np.cumsum(sizes) - sizes
    places = np.zeros((2 * count, 2), "<u4")
    taken = _places(hashes, begins, sizes)
    places[taken, 0], places[taken, 1] = hashes, records
    tables = np.stack([np.where(sizes > 0, hash_tables_at + 8 * begins, 0), sizes], axis=1).astype("<u4")
    list_at = hash_tables_at + places.nbytes
    header = np.array([list_at + 4 * count, 0, _BYTE_ORDER, count, list_at if count else 0], "<u4")
    parts = (header, tables, content, places, records.astype("<u4"))
    return b"CQDB" + b"".join(part.tobytes() for part in parts)


def _places(hashes: Hashes, begins: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The place of each string among those of all hash tables.

    All strings try their place at once. Of those that want the same one the first has it, and the others try the next.
    """
    table, wanted = hashes % _TABLES, (hashes >> 8).astype(np.int64)
    free = np.ones(int(sizes.sum()), dtype=bool)
    found = np.empty(len(hashes), np.int64)
    left = np.arange(len(hashes))
    while len(left):
        place = begins[table[left]] + wanted[left] % sizes[table[left]]
        _, first = np.unique(place, return_index=True)
        first = first[free[place[first]]]
        found[left[first]] = place[first]
        free[place[first]] = False
        left = np.delete(left, first)
        wanted[left] += 1
    return found


def lookup3(text: npt.NDArray[np.uint8], bounds: npt.NDArray[np.int64]) -> Hashes:
    """Jenkins' hash ``hashlittle(string, length, 0)`` of every string, all of them at once.

    Examples
    --------
    >>> import numpy as np
    >>> lookup3(np.frombuffer(b"Four score and seven years ago", np.uint8), np.array([0, 30])).tolist() == [0x17770551]
    True
    """
    left, begins = np.diff(bounds), bounds[:-1].copy()
    # A length of 0xffffffff + 1 wraps round, as the hash does.
    state = np.repeat((left + 0xDEADBEEF).astype(np.uint32)[None], 3, axis=0)
    if len(left) == 0:
        return state[2]
    padded = np.concatenate([text, np.zeros(_BLOCK, np.uint8)])

    def take_in(strings: npt.NDArray[np.int64]) -> None:
        """Add the next bytes of these strings, zeros after their end."""
        block = padded[begins[strings][:, None] + np.arange(_BLOCK)]
        block[np.arange(_BLOCK) >= left[strings][:, None]] = 0
        state[:, strings] += block.view("<u4").T

    longer = np.flatnonzero(left > _BLOCK)
    while len(longer):
        take_in(longer)
        state[:, longer] = _mixed(*state[:, longer])
        begins[longer] += _BLOCK
        left[longer] -= _BLOCK
        longer = longer[left[longer] > _BLOCK]
    some = np.flatnonzero(left > 0)
    take_in(some)
    state[2, some] = _final(*state[:, some])
    return state[2]


def _turned(x: Hashes, bits: int) -> Hashes:
    """The bits of x moved to the left, those that fall out put in at the right."""
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _mixed(a: Hashes, b: Hashes, c: Hashes) -> tuple[Hashes, Hashes, Hashes]:
    for bits in (4, 6, 8, 16, 19, 4):
        # one step, after which the three change their names
        a = (a - c) ^ _turned(c, bits)
        c = c + b
        a, b, c = b, c, a
    return a, b, c


def _final(a: Hashes, b: Hashes, c: Hashes) -> Hashes:
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _turned(b, bits)
        a, b, c = b, c, a
    return b
