"""Data for the fuzzers of the public interface: small problems that are sound, and the same with something wrong.

Half of what is drawn is sound, so that a program comes past the first check; the other half has one hostile value or is
hostile as a whole. Everything depends on the generator alone, so a seed gives the same program again.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

REALS: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, -0.0, 0.0, 1.0, -1.0, 1e16, 1e154, 1e-16, 0.5),
    *(True, None, "1", "", b"1", [], [1.0], (), {}, np.nan, np.float32(0.5), np.float64("nan"), np.array(1.0)),
    *(np.array([1.0]), np.array([]), 10**400, -1, 0, 2**62, complex(1, 1), object()),
)
INTEGERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 2**31 - 1, 2**31, 2**62, 2**63, 2**64, -(2**62), 10**30, True, False, None, 1.0, 1.5, math.nan),
    *("2", b"2", [2], np.int8(2), np.uint64(2), np.array(2), np.array([2, 3]), object()),
)
WORDS: tuple[Any, ...] = (
    *("a", "b", "c", "", " ", "\t", "\n", "\0", "a\0", "\ud800", "é", "\U0001f600", "a" * 5000, "w=1", "%x[0,0]", ":"),
    *(None, 3, 2.5, b"a", True, math.nan, ("a",), object()),
)


def one_of(random: Random, *choices: Any) -> Any:
    return random.choice(choices)


def real(random: Random, *sound: float) -> Any:
    """One of the sound numbers, or something else."""
    return random.choice(REALS) if random.random() < 0.15 else random.choice(sound)


def integer(random: Random, *sound: int) -> Any:
    return random.choice(INTEGERS) if random.random() < 0.12 else random.choice(sound)


def word(random: Random, *sound: Any) -> Any:
    return random.choice(WORDS) if random.random() < 0.1 else random.choice(sound)


def count(random: Random, *sound: int) -> Any:
    """For numbers of iterations: none so large that the work would be endless because it was asked for."""
    hostile = (0, -1, True, None, 1.0, 1.5, math.nan, "2", [2], -(2**62), np.int8(2))
    return random.choice(hostile) if random.random() < 0.1 else random.choice(sound)


# ---- arrays -------------------------------------------------------------------------------------------------------


def matrix(random: Random, rows: int, columns: int) -> Any:
    """Numbers of a normal distribution, in one of the ways in which an array can lie in memory."""
    values = np.random.default_rng(random.randrange(2**32)).normal(size=(rows, columns))
    if random.random() < 0.15 and values.size:
        values *= random.choice([1e-300, 1e-12, 1e6, 1e150, 1e300])
    if random.random() < 0.2 and values.size:
        values.flat[random.randrange(values.size)] = random.choice([math.nan, math.inf, 1e308, -1e308, -0.0, 5e-324])
    return shaped(random, values)


def shaped(random: Random, values: Any) -> Any:
    """The same numbers, lying in memory in another way, or of another type."""
    way = random.randrange(24)
    if way == 0:
        return np.asfortranarray(values)
    if way == 1:
        return values.astype(">f8")
    if way == 2:
        return values.astype(np.float32)
    if way == 3:  # misaligned
        room = np.zeros(values.nbytes + 1, np.uint8)
        return np.frombuffer(room[1:].data, values.dtype).reshape(values.shape)
    if way == 4:
        return np.repeat(values, 2, axis=0)[::2]
    if way == 5:
        return values[::-1]
    if way == 6:
        values.flags.writeable = False
        return values
    if way == 7:
        return values.astype(object)
    if way == 8:
        return values.tolist()
    if way == 9 and values.ndim == 2:
        return sparse.csr_array(values)
    if way == 10 and values.ndim == 2:
        return random.choice([sparse.csc_array, sparse.coo_array])(values)
    if way == 11:
        return np.sign(values).astype(np.int8)
    if way == 12:
        return values > 0
    return values if way < 22 else broken(random, values)


def broken(random: Random, values: Any) -> Any:
    return random.choice(
        (
            *(None, "text", 3.0, [], np.array(1.0), values.ravel(), values[None], values[:0], values.astype("U8")),
            *(np.zeros(values.shape, complex), np.ma.masked_invalid(values), object(), np.zeros(values.shape, "M8[s]")),
        )
    )


def damaged(random: Random, nested: Any) -> Any:
    """A list of lists with one place changed, removed or repeated; the same list most of the time."""
    if random.random() < 0.7 or not isinstance(nested, list):
        return nested
    kind = random.randrange(7)
    if kind == 0 or not nested:
        return random.choice([None, "text", 3, [], {}, np.array([]), object()])
    at = random.randrange(len(nested))
    if kind == 1:
        return nested[:at] + nested[at + 1 :]
    if kind == 2:
        return nested[: at + 1] + nested[at:]
    if kind == 3:
        return [*nested[:at], random.choice([None, [], "a", 3, {}, object(), np.zeros((0, 2))]), *nested[at + 1 :]]
    if kind == 4:
        return tuple(nested)
    inner = nested[at]
    return [*nested[:at], damaged(random, inner) if isinstance(inner, list) else inner, *nested[at + 1 :]]


# ---- sequences ----------------------------------------------------------------------------------------------------


def lengths(random: Random) -> list[int]:
    most = random.choice([1, 2, 6, 40])
    return [random.randint(1, most) for _ in range(random.choice([1, 2, 3, 5, 12]))]


def sequences(random: Random, sizes: list[int], width: int) -> Any:
    """X of a chain: lists of words, dicts, or matrices."""
    kind = random.randrange(4)
    if kind == 0:
        return damaged(random, [matrix(random, size, width) for size in sizes])
    words = [f"w{n}" for n in range(width)]
    if kind == 1:
        keys = lambda: word(random, *words) if random.random() < 0.3 else random.choice(words)  # noqa: E731
        return damaged(random, [[{_key(keys()): _value(random) for _ in range(3)} for _ in range(s)] for s in sizes])
    return damaged(
        random, [[[_rare(random, words) for _ in range(random.randrange(4))] for _ in range(s)] for s in sizes]
    )


def _key(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bytes, tuple, bool, type(None))) else "w0"


def _rare(random: Random, words: list[str]) -> Any:
    return random.choice(WORDS) if random.random() < 0.01 else random.choice(words)


def _value(random: Random) -> Any:
    return random.choice(REALS) if random.random() < 0.01 else random.choice([1.0, 0.5, True, "x", "y", 2])


def label_names(random: Random) -> list[Any]:
    """Mostly two to four labels of one kind, as the names of chunks where that matters."""
    kind = random.randrange(8)
    if kind == 0:
        return [random.choice(WORDS) for _ in range(3)]
    if kind == 1:
        return ["only"]
    if kind == 2:
        return ["O", "B-X", "I-X", "B-Y", "I-Y"]
    if kind == 3:
        return list(range(random.choice([2, 3, 9, 20])))
    if kind == 4:
        return [0, -1, 2**31, 2**62]
    return ["N", "V", "é", "a\ud800"][: random.choice([2, 3, 4])]


def labels(random: Random, sizes: list[int], names: list[Any]) -> Any:
    y = [[random.choice(names) for _ in range(size)] for size in sizes]
    if random.random() < 0.2:
        return damaged(random, y)
    return [np.array(row) for row in y] if random.random() < 0.1 and all(isinstance(n, str) for n in names) else y


def weights(random: Random, n: int) -> Any:
    """Sample weights."""
    if random.random() < 0.6:
        return None
    values = [random.choice([1.0, 2.0, 0.5]) for _ in range(n)]
    if random.random() < 0.5:
        values[random.randrange(n)] = random.choice([0.0, math.nan, math.inf, -1.0, 1e308, 1e-308, 5e-324, -0.0])
    sound = (values, np.array(values))
    return random.choice(sound if random.random() < 0.8 else (sound[1][:-1], "text", 3.0, np.zeros(n), [*values, 1.0]))


# ---- graphs -------------------------------------------------------------------------------------------------------


def edges(random: Random, nodes: int) -> Any:
    """Loops, duplicates and numbers that name no node among them, sometimes."""
    drawn = [[random.randrange(nodes), random.randrange(nodes)] for _ in range(random.randrange(2 * nodes))]
    if random.random() < 0.8:
        drawn = [list(pair) for pair in {tuple(sorted(pair)) for pair in drawn} if pair[0] != pair[1]]
    if random.random() < 0.08:
        drawn.append(random.choice([[-1, 0], [0, nodes], [0, 2**31], [2**62, 0], [0], [0, 1, 2], [0.5, 1], None]))
    if random.random() < 0.1:
        return random.choice([None, [], np.zeros((0, 2)), "text", np.zeros((2, 0)), 3])
    try:
        return np.array(drawn, dtype=random.choice([np.int64, np.int32, np.int8, float])).reshape(-1, 2)
    except (ValueError, TypeError, OverflowError):
        return drawn


def graphs(random: Random, sizes: list[int], width: int) -> Any:
    """X of a graph: (features, edges) or (features, edges, edge features)."""
    X: list[Any] = []
    of_edges = random.random() < 0.2
    for size in sizes:
        ends = edges(random, size)
        parts = [matrix(random, size, width), ends]
        if of_edges:
            parts.append(matrix(random, len(ends) if hasattr(ends, "__len__") else 1, 2))
        X.append(tuple(parts))
    return damaged(random, X)


def images(random: Random, sizes: list[int], width: int) -> Any:
    return damaged(
        random,
        [
            matrix(random, size, width * (1 + size % 3)) if random.random() < 0.5 else _cube(random, size, width)
            for size in sizes
        ],
    )


def _cube(random: Random, size: int, width: int) -> Any:
    values = np.random.default_rng(random.randrange(2**32)).normal(size=(size, 1 + size % 4, width))
    if random.random() < 0.1:
        values.flat[0] = math.nan
    return values
