"""Nested levels of offsets: what encoded sequences and encoded graphs have in common.

A group (a sequence, a graph) has members (positions, nodes), a member has entries. Each level is an array of bounds:
group ``g`` has the members ``bounds[g] : bounds[g + 1]``. The core relies on these arrays without checking them
again. So they are checked here, and errors use the caller's words, such as sequence or graph.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import frozen

__all__ = [
    "GRAPHS",
    "IMAGES",
    "SEQUENCES",
    "Key",
    "Wording",
    "bounds_of",
    "check_entries",
    "check_offsets",
    "check_values",
    "chosen_groups",
    "gather",
    "integers",
]

Key = int | np.integer[Any] | slice | npt.ArrayLike | tuple[Any, EllipsisType]


class Wording(NamedTuple):
    """What a message calls a group and its members."""

    group: str
    member: str


SEQUENCES, GRAPHS, IMAGES = Wording("sequence", "position"), Wording("graph", "node"), Wording("image", "pixel")


def bounds_of(sizes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The bounds of groups of these sizes."""
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


def gather(
    bounds: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Members of the chosen groups, one group after the other, and the bounds of the groups thus made."""
    sizes = bounds[chosen + 1] - bounds[chosen]
    new_bounds = np.concatenate(([0], np.cumsum(sizes)))
    # member k of new group g is bounds[chosen[g]] + (k - new_bounds[g])
    members = np.arange(new_bounds[-1]) + np.repeat(bounds[chosen] - new_bounds[:-1], sizes)
    return members, new_bounds


def chosen_groups(key: Key, n: int, words: Wording = SEQUENCES) -> npt.NDArray[np.int64]:
    """The group numbers that ``key`` stands for, all within 0 .. n - 1."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]
    if isinstance(key, slice):
        return np.arange(n)[key]
    wanted = np.asarray(key)
    if wanted.size == 0 and wanted.ndim == 1 and wanted.dtype.kind == "f":
        wanted = wanted.astype(np.int64)  # np.asarray([]) is float
    if wanted.dtype == np.bool_ and wanted.shape == (n,):
        return np.flatnonzero(wanted)
    if wanted.dtype.kind not in "iu" or wanted.ndim > 1:
        raise IndexError(
            f"encoded {words.group}s are indexed by an int, a slice, integers, or a boolean mask of shape ({n},); "
            f"found {wanted.dtype} of shape {wanted.shape}."
        )
    wanted = np.atleast_1d(wanted).astype(np.int64)
    outside = (wanted < -n) | (wanted >= n)
    if outside.any():
        raise IndexError(f"{words.group} {wanted[outside][0]} was asked for; expected {-n} to {n - 1}.")
    return np.where(wanted < 0, wanted + n, wanted)


def integers(name: str, array: npt.ArrayLike, dtype: type[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
    """A 1-D array of this type that nobody can change, or a refusal."""
    found = np.asarray(array)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise ValueError(f"{name} must be a 1-D array of integers; found {found.dtype} of shape {found.shape}.")
    limits = np.iinfo(dtype)
    if found.size and not (limits.min <= found.min() and found.max() <= limits.max):
        raise ValueError(f"{name} has a number beyond {limits.min} to {limits.max}, the range of {limits.dtype}.")
    return frozen(found, dtype)


def check_offsets(offsets: npt.NDArray[np.int64], n_members: int, words: Wording = SEQUENCES) -> None:
    """Refuse bounds of groups that do not cover all members, or leave a group empty."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != n_members:
        raise ValueError(
            f"offsets must run from 0 to the number of {words.member}s, {n_members}; "
            f"found {offsets[:1]} to {offsets[-1:]}."
        )
    empty = np.diff(offsets) <= 0
    if empty.any():
        raise ValueError(
            f"{words.group} {np.argmax(empty)} is empty or its offsets decrease; "
            f"expected at least one {words.member} in each."
        )


def check_entries(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    n_attributes: int,
    words: Wording = SEQUENCES,
    *,
    ordered: bool = True,
) -> None:
    """Refuse entries that point nowhere; with ``ordered`` also those not distinct and increasing in a member."""
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError(
            f"indptr must run from 0 to the number of entries, {len(indices)}; found {indptr[:1]} to {indptr[-1:]}."
        )
    if np.any(np.diff(indptr) < 0):
        raise ValueError(f"indptr must not decrease; it does after {words.member} {np.argmax(np.diff(indptr) < 0)}.")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_attributes):
        raise ValueError(
            f"attribute numbers must be 0 to {n_attributes - 1}; found {indices.min()} to {indices.max()}."
        )
    if ordered and len(indices) > 1:
        rising = indices[1:] > indices[:-1]
        begins = indptr[(indptr > 0) & (indptr < len(indices))]
        rising[begins - 1] = True  # a new position may begin anywhere
        if not rising.all():
            position = int(np.searchsorted(indptr, np.argmin(rising), side="right")) - 1
            raise ValueError(
                f"attribute numbers must be distinct and increasing within a {words.member}; those of "
                f"{words.member} {position} are not; sort and merge them, as Encoded.from_entries does."
            )


def check_values(values: npt.NDArray[np.float64] | None, n_entries: int) -> None:
    """Refuse values that are not finite, or not one an entry."""
    if values is None:
        return
    if values.shape != (n_entries,):
        raise ValueError(f"values must have one entry per attribute number, {n_entries}; found shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"values must be finite; entry {np.argmin(np.isfinite(values))} is not.")
