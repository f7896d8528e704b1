"""The data of one rank: some pieces of the whole, under the numbers of the whole.

A piece is a partition of a folder, or some sequences that an engine holds for us. It has a name, which stays the same
when the piece goes to another rank, so that what a checkpoint has of it can be found again.

The partitions of a folder have common numbers already. Pieces from elsewhere are encoded one by one, each under numbers
of its own; then the ranks merge their names and labels.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import check_sample_weight
from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode
from dualfield.labels.encoded_labels import distinct_labels, label_type, sorted_classes
from dualfield.nested import bounds_of
from dualfield.partitions import Partition, PartitionedData
from dualfield.partitions.folder import joined
from dualfield.partitions.names import Names, sorted_union
from dualfield.partitions.numbering import joined_entries, used_names
from dualfield.ranks import Communicator

__all__ = ["EncodedPiece", "Share", "encoded_piece", "share_of_folder", "share_of_pieces", "shared_out"]

Int64Array = npt.NDArray[np.int64]


class Share(NamedTuple):
    """What one rank trains on.

    ``part`` has all sequences of the rank. The piece ``names[k]`` has those from ``bounds[k]`` to ``bounds[k + 1]``.
    """

    part: Partition
    classes: npt.NDArray[Any]
    names: list[str]
    bounds: Int64Array


class EncodedPiece(NamedTuple):
    """Some sequences with attribute numbers and labels of their own."""

    X: Encoded
    labels: list[Any]
    codes: npt.NDArray[np.int32]
    sample_weight: npt.NDArray[np.float64] | None


def shared_out(sizes: Sequence[int], n_ranks: int) -> list[list[int]]:
    """The numbers of the pieces of each rank, so that all ranks have about as much.

    Examples
    --------
    >>> shared_out([5, 3, 3, 1], 2)
    [[0, 3], [1, 2]]
    """
    ranks: list[list[int]] = [[] for _ in range(n_ranks)]
    least = [(0, rank) for rank in range(n_ranks)]
    for number in sorted(range(len(sizes)), key=lambda number: (-sizes[number], number)):
        size, rank = least[0]
        heapq.heapreplace(least, (size + sizes[number], rank))
        ranks[rank].append(number)
    return [sorted(numbers) for numbers in ranks]


def share_of_folder(data: PartitionedData, numbers: Sequence[int]) -> Share:
    """Some partitions of a folder, in memory."""
    parts = [data[number] for number in numbers]
    bounds = bounds_of(np.array([len(part.X) for part in parts]))
    return Share(joined(parts), data.classes, [data.names[number] for number in numbers], bounds)


def encoded_piece(given: Any) -> EncodedPiece | None:
    """``(X, y)`` or ``(X, y, sample_weight)`` as ``fit`` takes them, encoded; None where there are no sequences."""
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise TypeError(f"it is {given!r:.60}; expected (X, y) or (X, y, sample_weight).")
    if hasattr(given[0], "__len__") and len(given[0]) == 0:
        return None
    X = encode(given[0])
    if X.dense is not None:
        raise ValueError("X has dense columns, which ranks cannot share out; leave them out.")
    labels, codes = distinct_labels(given[1], X.lengths)
    weights = None
    if len(given) == 3 and given[2] is not None:
        # The weights of one piece may all be zero: a one beside them says that this is no mistake.
        checked = check_sample_weight(np.append(np.asarray(given[2], np.float64).ravel(), 1.0), len(X) + 1, "sequence")
        weights = None if checked is None else checked[:-1]
    return EncodedPiece(X, labels, codes, weights)


def share_of_pieces(communicator: Communicator, pieces: Mapping[str, EncodedPiece | None], min_count: int = 1) -> Share:
    """The pieces of this rank under the numbers of all ranks, which must all call this; empty pieces are left out."""
    held = {name: piece for name, piece in pieces.items() if piece is not None}
    told = communicator.all_gather(_kind(communicator, list(held.values())))
    communicator.together(lambda: _check_alike(told))
    classes = sorted_classes({label for kind in told for label in kind.labels}, told[0].label_kind)
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    codes = [np.array([code_of[label] for label in piece.labels], np.int32)[piece.codes] for piece in held.values()]
    Xs = [piece.X for piece in held.values()]
    X = _merged(communicator, Xs, min_count, "attributes")
    if told[0].bigrams is not None:
        X = X.with_bigrams(
            _merged(communicator, [X.bigrams for X in Xs if X.bigrams is not None], min_count, "bigrams")
        )
    weights = None
    if any(piece.sample_weight is not None for piece in held.values()):
        each = [np.ones(len(p.X)) if p.sample_weight is None else p.sample_weight for p in held.values()]
        weights = np.concatenate(each)
    part = Partition(X, np.concatenate(codes), weights)
    return Share(part, classes, list(held), bounds_of(np.array([len(X) for X in Xs])))


class _Kind(NamedTuple):
    """What the pieces of a rank are."""

    labels: set[Any]
    label_kind: type | None
    columns: int | None
    bigrams: int | None  # -1: bigrams with names


def _kind(communicator: Communicator, pieces: list[EncodedPiece]) -> _Kind:
    def found() -> _Kind:
        if not pieces:
            raise ValueError(
                f"rank {communicator.rank} has no sequences, since its pieces are empty or it has none; start fewer "
                "ranks, or cut the data into more pieces."
            )
        kinds = [_kind_of(piece) for piece in pieces]
        _check_alike(kinds)
        return kinds[0]._replace(labels={label for kind in kinds for label in kind.labels})

    return communicator.together(found)


def _kind_of(piece: EncodedPiece) -> _Kind:
    def width(X: Encoded) -> int | None:
        return len(X.vocabulary) if isinstance(X.vocabulary, NumberedColumns) else None

    pairs = piece.X.bigrams
    bigrams = None if pairs is None else -1 if width(pairs) is None else width(pairs)
    return _Kind(set(piece.labels), label_type(type(piece.labels[0])), width(piece.X), bigrams)


def _check_alike(kinds: Sequence[_Kind]) -> None:
    """Refuse pieces that are of different kinds."""
    first = kinds[0]
    for kind in kinds:
        if kind.label_kind is not first.label_kind:
            raise TypeError("the labels of some pieces are strings and of others integers; give labels of one type.")
        if kind.columns != first.columns:
            shown = ["names" if found is None else f"{found:,} columns" for found in (first.columns, kind.columns)]
            raise ValueError(f"the attributes of some pieces are {shown[0]}, of others {shown[1]}; give all alike.")
        if kind.bigrams != first.bigrams:
            raise ValueError("the bigrams of the pieces differ: give all pieces bigrams of one kind, or none.")


def _merged(communicator: Communicator, Xs: list[Encoded], min_count: int, what: str) -> Encoded:
    """Encoded pieces as one, under attribute numbers that all ranks share."""
    offsets = bounds_of(np.concatenate([X.lengths for X in Xs]))
    if isinstance(Xs[0].vocabulary, NumberedColumns):
        arrays = joined_entries(Xs, [X.indices for X in Xs])
        merged = Encoded(offsets, arrays["indptr"], arrays["indices"], arrays.get("values"), Xs[0].vocabulary)
        if min_count == 1:
            return merged
        counts = communicator.all_reduce(merged.counts())
        return merged.restrict(counts >= min_count)
    found = [used_names(X) for X in Xs]
    own, numbers = sorted_union([names for names, _ in found])
    text, bounds, mine = _numbered(communicator, own, min_count, what)
    indices = []
    for X, (_, used), number in zip(Xs, found, numbers, strict=True):
        of_attribute = np.full(len(X.vocabulary), -1, np.int64)
        of_attribute[used] = mine[number]
        indices.append(of_attribute[X.indices])
    arrays = joined_entries(Xs, indices)
    vocabulary = Vocabulary.from_arrays(text, bounds)
    return Encoded(offsets, arrays["indptr"], arrays["indices"].astype(np.int32), arrays.get("values"), vocabulary)


def _numbered(
    communicator: Communicator, own: Names, min_count: int, what: str
) -> tuple[npt.NDArray[np.uint8], Int64Array, Int64Array]:
    """The names of all ranks, and the number there of each of this rank's names; -1: left out."""
    lists = communicator.gather(own)
    told: Any = None
    if lists is not None:
        union, numbers = sorted_union(lists)
        kept = np.flatnonzero(union.counts >= min_count)
        final = np.full(len(union.counts), -1, np.int64)
        final[kept] = np.arange(len(kept))
        names = union.chosen(kept)
        told = names.text, names.bounds, [final[number] for number in numbers]
    text, bounds, mine = communicator.broadcast(told)
    if len(bounds) == 1 and min_count > 1 and what == "attributes":
        raise ValueError(f"No attribute occurs {min_count} times or more; lower min_count.")
    return text, bounds, mine[communicator.rank]
