"""A field as arrays for the GPU: plain NumPy, nothing of CUDA.

All weights of a chain are rows of one table with K numbers each: attributes, then bias, begin and end, which become
attributes of all, first and last positions; then the K rows of the transitions. What constraints forbid is ``-inf`` in
the table, and what has no weight is zero. ``slots`` says where in the table each weight is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.cuda import MOST_LABELS
from dualfield.fields import Chain, Multiclass

__all__ = ["CHUNK", "Gathering", "Problem", "check_field", "problem_of"]

CHUNK = 256  # positions of an attribute that one warp adds up
_DENSE = 0.25  # the share of entries from which on the matrix is kept dense

IntArray = npt.NDArray[np.integer[Any]]


class Gathering(NamedTuple):
    """The entries of a sparse matrix by attribute, in chunks; see ``kernels/attributes.cu``."""

    position: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64] | None
    start: npt.NDArray[np.int64]  # of each chunk, and the end
    out: npt.NDArray[np.int32]
    part_start: npt.NDArray[np.int64]  # of each frequent attribute's parts, and the end
    part_attribute: npt.NDArray[np.int32]


class Problem(NamedTuple):
    """A training problem of chains, or of points, where ``offsets`` is None."""

    n_labels: int
    n_rows: int  # of attributes, with bias, begin and end
    dense: npt.NDArray[np.float64] | None  # (P, n_dense): the first rows, where the matrix is dense
    start: npt.NDArray[np.int64]
    attribute: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64] | None
    offsets: npt.NDArray[np.int64] | None
    truth: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64] | None
    allowed: npt.NDArray[np.bool_] | None
    table: npt.NDArray[np.float64] | None  # what the table holds where there is no weight; None: zeros
    slots: IntArray

    @property
    def n_positions(self) -> int:
        """How many positions there are."""
        return len(self.truth)

    @property
    def table_size(self) -> int:
        """How many numbers the table has."""
        return (self.n_rows + self.n_labels) * self.n_labels

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return len(self.slots)

    def truth_pairs(self) -> npt.NDArray[np.float64]:
        """How often each pair of true labels follows each other, by the weights of the sequences, (K, K)."""
        counts = np.zeros(self.n_labels * self.n_labels)
        if self.offsets is not None:
            inner = np.ones(self.n_positions, dtype=bool)
            inner[self.offsets[:-1][np.diff(self.offsets) > 0]] = False
            after = np.flatnonzero(inner)
            flat = self.truth[after - 1].astype(np.int64) * self.n_labels + self.truth[after]
            weight = None
            if self.weight is not None:
                weight = np.repeat(self.weight, np.diff(self.offsets))[after]
            counts += np.bincount(flat, weight, len(counts))
        return counts.reshape(self.n_labels, self.n_labels)

    def gathering(self) -> Gathering:
        """The sparse entries by attribute."""
        positions = np.repeat(np.arange(self.n_positions, dtype=np.int32), np.diff(self.start))
        order = np.argsort(self.attribute, kind="stable")
        counts = np.bincount(self.attribute, minlength=self.n_rows)
        ends = np.cumsum(counts)
        chunks = -(-counts // CHUNK)
        owner = np.repeat(np.arange(self.n_rows), chunks)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(chunks) - chunks, chunks)
        start = (ends - counts)[owner] + CHUNK * number
        several = chunks[owner] > 1
        out = owner.copy()
        out[several] = -1 - np.arange(np.count_nonzero(several))
        frequent = np.flatnonzero(chunks > 1)
        return Gathering(
            positions[order],
            None if self.value is None else self.value[order],
            np.concatenate([start, [len(order)]]).astype(np.int64),
            out.astype(np.int32),
            np.concatenate([[0], np.cumsum(chunks[frequent])]).astype(np.int64),
            frequent.astype(np.int32),
        )


def check_field(field: Any) -> None:
    """Refuse a field that has no kernels, by name."""
    if type(field) not in (Chain, Multiclass):
        raise TypeError(f"{field.name} cannot be trained on a GPU; only chains and points can: leave device out.")
    chain = isinstance(field, Chain)
    refused = (
        (field.l1 > 0, f"the penalty l1={field.l1:g}", "l1"),
        (chain and field.candidates is not None, "partial labels", ""),
        (chain and field.costs is not None, "class_weight and costs", "them"),
        (chain and field.encoded.bigrams is not None, "bigram attributes", "them"),
        (chain and field.encoded.dense is not None, "dense columns beside attributes", "them"),
        (getattr(field, "standard", None) is not None, "standardised columns", "standardize"),
        (field.centre is not None, "a penalty about given weights", ""),
    )
    for present, what, option in refused:
        if present:
            way_out = f"leave {option} out, or leave device out" if option else "leave device out"
            raise TypeError(f"A GPU does not train with {what} yet; {way_out} to train on the CPU.")
    if len(field.classes) > MOST_LABELS:
        raise ValueError(
            f"there are {len(field.classes)} labels; on a GPU there may be at most {MOST_LABELS}: merge rare labels, "
            "or leave device out."
        )


def problem_of(field: Any) -> Problem:
    """The arrays of a field of chains or of points."""
    check_field(field)
    return _of_chain(field) if isinstance(field, Chain) else _of_points(field)


def _of_chain(field: Any) -> Problem:
    encoded, layout, K = field.encoded, field.layout, field.layout.n_labels
    A, rules = layout.n_attributes, layout.constraints
    lengths = np.diff(encoded.offsets)
    begin, end = encoded.offsets[:-1][lengths > 0], encoded.offsets[1:][lengths > 0] - 1
    n_positions = len(field.codes)
    extra: dict[str, npt.NDArray[np.int64]] = {}
    for name, where in (("bias", np.arange(n_positions)), ("begin", begin), ("end", end)):
        ruled = name != "bias" and rules is not None
        if getattr(layout, name) or ruled:
            extra[name] = where.astype(np.int64)
    start, attribute, value = _with_rows(encoded.indptr, encoded.indices, encoded.values, A, list(extra.values()))
    n_rows = A + len(extra)
    # Where weights are, in the order of the layout: states, transitions, bias, begin, end.
    if layout.rows is None:
        slots = [np.arange(A * K)]
    else:
        starts, labels = layout.rows
        slots = [np.repeat(np.arange(A, dtype=np.int64) * K, np.diff(starts)) + labels]
    slots.append(n_rows * K + layout.transitions.astype(np.int64))
    for number, name in enumerate(extra):
        if getattr(layout, name):
            slots.append((A + number) * K + np.arange(K))
    table = None
    if rules is not None:
        table = np.zeros((n_rows + K, K))
        table[n_rows:][~rules.transitions] = -np.inf
        table[A + list(extra).index("begin")][~rules.begin] = -np.inf
        table[A + list(extra).index("end")][~rules.end] = -np.inf
        table = table.ravel()
    return Problem(
        K,
        n_rows,
        None,
        start,
        attribute,
        value,
        np.asarray(encoded.offsets, dtype=np.int64),
        np.asarray(field.codes, dtype=np.int32),
        field.sample_weight,
        field.allowed,
        table,
        np.concatenate(slots),
    )


def _of_points(field: Any) -> Problem:
    rows, K, n = field.rows, len(field.classes), field.rows.shape[0]
    A = rows.shape[1]
    bias = field.dimension > A * K
    dense = rows.toarray() if rows.nnz >= _DENSE * n * A else None
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    if dense is not None:
        indptr, indices, data = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0)
    values = None if (data == 1).all() else data
    start, attribute, value = _with_rows(indptr, indices, values, A, [np.arange(n)] if bias else [])
    return Problem(
        K,
        A + bias,
        dense,
        start,
        attribute,
        value,
        None,
        np.asarray(field.codes, dtype=np.int32),
        field.sample_weight,
        None,
        None,
        np.arange((A + bias) * K),
    )


def _with_rows(
    indptr: IntArray,
    indices: IntArray,
    values: npt.NDArray[Any] | None,
    first_row: int,
    extra: list[npt.NDArray[np.int64]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64] | None]:
    """A sparse matrix with further columns, each 1 at the given positions."""
    counts = np.diff(indptr).astype(np.int64)
    total = counts.copy()
    for where in extra:
        total[where] += 1
    start = np.concatenate([[0], np.cumsum(total)]).astype(np.int64)
    attribute = np.empty(start[-1], dtype=np.int32)
    value = None if values is None else np.ones(start[-1])
    inner = np.arange(len(indices), dtype=np.int64) + np.repeat(start[:-1] - np.asarray(indptr[:-1], np.int64), counts)
    attribute[inner] = indices
    if value is not None and values is not None:
        value[inner] = values
    place = start[:-1] + counts
    for number, where in enumerate(extra):
        attribute[place[where]] = first_row + number
        place[where] += 1
    return start, attribute, value
