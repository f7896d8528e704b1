"""Writing a folder of partitions from chunks that come one after the other, in bounded memory.

A chunk is encoded by itself, with a vocabulary and label set of its own. Chunks are gathered until they make a
partition, which goes to the disk with numbers that hold within it alone, and its names go to a
:class:`~dualfield.partitions.names.NameCounter`. When the last chunk has come, the names are merged, and each partition
gets the numbers of the whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import check_sample_weight
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.sequences.encoding import encode
from dualfield.given_numbers import check_integer
from dualfield.io.atomic import PathLike
from dualfield.io.atomic_folder import atomic_folder, check_new_folder
from dualfield.labels.encoded_labels import distinct_labels, label_type, sorted_classes
from dualfield.nested import bounds_of
from dualfield.partitions.folder import PartitionedData, open_partitions
from dualfield.partitions.manifest import Manifest, PartitionRecord, write_manifest
from dualfield.partitions.numbering import Numbering

__all__ = ["write_partitions"]

Arrays = dict[str, npt.NDArray[Any]]
_POSITIONS = 1 << 18  # of a partition: with ten attributes each, some 100 MB while it is trained on


def write_partitions(
    chunks: Iterable[tuple[Any, ...]],
    folder: PathLike,
    *,
    min_count: int = 1,
    positions: int = _POSITIONS,
    column_features: Mapping[str, Any] | Callable[[], Mapping[str, Any] | None] | None = None,
) -> PartitionedData:
    """Write labelled sequences as a folder of partitions, of which no more than one or two are in memory at a time.

    Parameters
    ----------
    chunks : iterable of (X, y) or (X, y, sample_weight)
        ``X`` and ``y`` as ``fit`` takes them, each chunk encoded by itself; attributes and labels of all chunks are
        merged. Every label is known. Weights may be None.
    folder : str or path
        The folder to make, which must not exist. It appears when it is whole.
    min_count : int
        Attributes that occur at fewer positions of all chunks are left out.
    positions : int
        A partition has at most so many positions, or a single longer sequence. Training holds one partition in memory
        at a time.
    column_features : mapping or callable, optional
        How a file becomes such data, as plain data for the model; see :mod:`dualfield.models.recipe`. A callable is
        asked after the last chunk.

    Returns
    -------
    data : PartitionedData
        The folder, opened. Names of attributes are numbered in the order of their bytes; those that never have a value
        other than zero are left out.

    Raises
    ------
    TypeError, ValueError
        With the chunk at fault: no sequences, labels that are unknown or of another type, columns where other chunks
        have names. Then there is no folder.

    Examples
    --------
    >>> import tempfile
    >>> chunks = [([[["a"], ["b"]]], [["X", "Y"]]), ([[["c"]]], [["Z"]])]
    >>> with tempfile.TemporaryDirectory() as home:
    ...     data = write_partitions(chunks, f"{home}/data", positions=2)
    >>> len(data), data.classes.tolist(), data.vocabulary.names
    (2, ['X', 'Y', 'Z'], ['a', 'b', 'c'])
    """
    check_integer("min_count", min_count, 1, "a positive integer")
    check_integer("positions", positions, 1, "a positive integer")
    check_new_folder(folder)
    with atomic_folder(folder) as temporary:
        writer = _Writer(temporary, int(min_count), int(positions))
        for number, chunk in enumerate(chunks):
            writer.add(number, chunk)
        features = column_features() if callable(column_features) else column_features
        writer.finish(None if features is None else dict(features))
    return open_partitions(folder)


class _Piece(NamedTuple):
    """Some encoded sequences, their labels under provisional numbers, and their weights."""

    X: Encoded
    codes: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64] | None


class _Writer:
    """The state between two chunks."""

    def __init__(self, folder: str, min_count: int, positions: int) -> None:
        self.folder, self.min_count, self.positions = folder, min_count, positions
        self.spills = os.path.join(folder, "spills")
        os.mkdir(self.spills)
        self.attributes = Numbering("attributes", os.path.join(self.spills, "attributes"), min_count)
        self.bigrams: Numbering | None = None
        self.labels: dict[Any, int] = {}  # provisional numbers, in order of appearance
        self.label_kind: type | None = None
        self.records: list[PartitionRecord] = []
        self.waiting: list[_Piece] = []
        self.n_waiting = 0
        self.any_weight = False

    def add(self, number: int, chunk: tuple[Any, ...]) -> None:
        """Take a chunk, and write the partitions that are full."""
        for piece in _pieces(self._encoded(number, chunk), self.positions):
            if self.waiting and self.n_waiting + piece.X.n_positions > self.positions:
                self._write_waiting()
            self.waiting.append(piece)
            self.n_waiting += piece.X.n_positions
            if self.n_waiting >= self.positions:
                self._write_waiting()

    def _encoded(self, number: int, chunk: tuple[Any, ...]) -> _Piece:
        if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
            raise TypeError(f"chunk {number} is {chunk!r:.40}; expected (X, y) or (X, y, sample_weight).")
        try:
            X = encode(chunk[0])
            if len(X) == 0:
                raise ValueError("X has no sequences; expected at least one; leave the chunk out.")
            if X.dense is not None:
                raise ValueError(
                    "X has dense columns, for which a folder has no place; leave them out, as X.with_dense(None) does."
                )
            labels, codes = distinct_labels(chunk[1], X.lengths)
            weights = None if len(chunk) == 2 else _weights(chunk[2], len(X))
            self.attributes.check(X.vocabulary)
            if not self.records and not self.waiting and X.bigrams is not None:
                self.bigrams = Numbering("bigrams", os.path.join(self.spills, "bigrams"), self.min_count)
            if (self.bigrams is None) != (X.bigrams is None):
                found = "has no bigrams, unlike" if X.bigrams is None else "has bigrams, unlike"
                raise ValueError(f"X {found} the chunks before; give all chunks bigrams or none.")
            if self.bigrams is not None and X.bigrams is not None:
                self.bigrams.check(X.bigrams.vocabulary)
            kind = label_type(type(labels[0]))
            if self.label_kind is not None and kind is not self.label_kind:
                raise TypeError("the labels of y are of another type than those of the chunks before; give one type.")
            self.label_kind = kind
        except (TypeError, ValueError) as error:
            raise type(error)(f"chunk {number}: {error}") from None
        numbers = np.array([self.labels.setdefault(label, len(self.labels)) for label in labels], np.int32)
        return _Piece(X, numbers[codes], weights)

    def _write_waiting(self) -> None:
        """The pieces that wait become a partition, with attribute numbers of its own."""
        pieces, self.waiting, self.n_waiting = self.waiting, [], 0
        Xs = [piece.X for piece in pieces]
        arrays: Arrays = {
            "offsets": bounds_of(np.concatenate([X.lengths for X in Xs])),
            "labels": np.concatenate([piece.codes for piece in pieces]),
            **self.attributes.number(Xs),
        }
        if self.bigrams is not None:
            pairs = self.bigrams.number([X.bigrams for X in Xs if X.bigrams is not None])
            arrays.update({f"bigram_{name}": array for name, array in pairs.items()})
        if any(piece.weights is not None for piece in pieces):
            each = [np.ones(len(piece.X)) if piece.weights is None else piece.weights for piece in pieces]
            arrays["weights"] = np.concatenate(each)
            self.any_weight = self.any_weight or bool(arrays["weights"].any())
        else:
            self.any_weight = True
        name = f"part-{len(self.records):05d}"
        os.mkdir(os.path.join(self.folder, name))
        self.records.append(self._save(name, arrays))

    def finish(self, column_features: dict[str, Any] | None) -> None:
        """Number attributes and labels as in the whole, and write what the folder holds."""
        if self.waiting:
            self._write_waiting()
        if not self.records:
            raise ValueError("there are no chunks; expected at least one, with at least one sequence.")
        classes = sorted_classes(set(self.labels), self.label_kind)
        if not self.any_weight:
            raise ValueError("Every sample_weight is zero; at least one sequence needs a positive weight.")
        code_of = {label: code for code, label in enumerate(classes.tolist())}
        codes = np.array([code_of[label] for label in self.labels], np.int32)
        said = self._save_vocabulary(self.attributes, "vocabulary")
        pairs = None if self.bigrams is None else self._save_vocabulary(self.bigrams, "bigram_vocabulary")
        for number, record in enumerate(self.records):
            home = os.path.join(self.folder, record.name)
            files = [file.removesuffix(".npy") for file in os.listdir(home)]
            arrays = {name: np.load(os.path.join(home, f"{name}.npy")) for name in files}
            arrays["labels"] = codes[arrays["labels"]]
            self.attributes.renumber(number, arrays, "")
            if self.bigrams is not None:
                self.bigrams.renumber(number, arrays, "bigram_")
            self.records[number] = self._save(record.name, arrays)
        shutil.rmtree(self.spills)
        manifest = Manifest(classes.tolist(), said, pairs, self.min_count, column_features, tuple(self.records))
        write_manifest(self.folder, manifest)

    def _save(self, name: str, arrays: Arrays) -> PartitionRecord:
        for array_name, array in arrays.items():
            np.save(os.path.join(self.folder, name, f"{array_name}.npy"), array, allow_pickle=False)
        return PartitionRecord(
            name,
            sequences=len(arrays["offsets"]) - 1,
            positions=len(arrays["labels"]),
            entries=len(arrays["indices"]),
            bigram_entries=len(arrays["bigram_indices"]) if "bigram_indices" in arrays else 0,
            values="values" in arrays,
            bigram_values="bigram_values" in arrays,
            weights="weights" in arrays,
        )

    def _save_vocabulary(self, numbering: Numbering, name: str) -> dict[str, int]:
        said, found = numbering.merge()
        for part, array in found.items():
            np.save(os.path.join(self.folder, f"{name}_{part}.npy"), array, allow_pickle=False)
        return said


def _weights(given: Any, n: int) -> npt.NDArray[np.float64] | None:
    """Weights of the sequences of a chunk; all may be zero, where those of other chunks are not."""
    if given is None:
        return None
    padded = np.append(np.asarray(given, dtype=np.float64).ravel(), 1.0)
    found = check_sample_weight(padded, n + 1, "sequence")
    assert found is not None
    return found[:-1]


def _pieces(chunk: _Piece, positions: int) -> Iterator[_Piece]:
    """The same in pieces of about so many positions."""
    X, offsets = chunk.X, chunk.X.offsets
    first = 0
    while first < len(X):
        last = int(np.searchsorted(offsets, offsets[first] + positions, side="right")) - 1
        last = min(max(last, first + 1), len(X))
        if first == 0 and last == len(X):
            yield chunk
            return
        weights = None if chunk.weights is None else chunk.weights[first:last]
        yield _Piece(X[first:last], chunk.codes[offsets[first] : offsets[last]], weights)
        first = last
