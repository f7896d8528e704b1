"""A folder of partitions, opened: arrays stay on the disk, and the system reads what is looked at.

Each partition is a folder of ``.npy`` files: ``offsets``, ``indptr``, ``indices`` and ``values`` as in
:class:`~dualfield.features.Encoded`, ``labels`` as numbers, ``weights`` of sequences, and ``bigram_*`` for attributes
of pairs of labels. What the manifest says of them is checked when the folder is opened, and their content when a
partition is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import check_sample_weight, frozen
from dualfield.counted import counted
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.io.atomic import PathLike
from dualfield.labels.encoded_labels import EncodedLabels, sorted_classes
from dualfield.memory import check_memory
from dualfield.nested import bounds_of
from dualfield.partitions.manifest import PartitionRecord, read_manifest

__all__ = ["Partition", "PartitionedData", "joined", "open_partitions"]


class Partition(NamedTuple):
    """A part of the data: its sequences, the number of each position's label, and weights of sequences or None."""

    X: Encoded
    codes: npt.NDArray[np.int32]
    sample_weight: npt.NDArray[np.float64] | None


class PartitionedData:
    """Labelled sequences in a folder, part by part: what :func:`open_partitions` returns.

    ``data[k]`` is partition k, ``len(data)`` their number. Nobody may change or shorten the files meanwhile; files that
    are only removed stay readable where a partition is open.

    Attributes
    ----------
    path : str
        The folder.
    classes : array, shape (K,)
        The labels, sorted.
    vocabulary : Vocabulary or NumberedColumns
        The attributes of all partitions.
    bigram_vocabulary : Vocabulary, NumberedColumns or None
        Those of pairs of labels.
    column_features : dict or None
        How a file becomes such data, for ``dualfield tag``.
    min_count : int
        Attributes that occur at fewer positions were left out.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fsdecode(path)
        manifest = read_manifest(self.path)
        self._records = manifest.partitions
        self.min_count, self.column_features = manifest.min_count, manifest.column_features
        self.classes: npt.NDArray[Any] = sorted_classes(set(manifest.classes), type(manifest.classes[0]))
        self.vocabulary = self._vocabulary(manifest.attributes, "vocabulary")
        self.bigram_vocabulary = (
            None if manifest.bigrams is None else self._vocabulary(manifest.bigrams, "bigram_vocabulary")
        )
        for record in self._records:
            self._arrays(record)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def n_sequences(self) -> int:
        """Number of sequences of all partitions."""
        return sum(record.sequences for record in self._records)

    @property
    def n_positions(self) -> int:
        """Number of positions of all partitions."""
        return sum(record.positions for record in self._records)

    @property
    def names(self) -> list[str]:
        """The folder of each partition."""
        return [record.name for record in self._records]

    @property
    def position_counts(self) -> list[int]:
        """Number of positions of each partition."""
        return [record.positions for record in self._records]

    @property
    def sequence_counts(self) -> list[int]:
        """Number of sequences of each partition."""
        return [record.sequences for record in self._records]

    def __repr__(self) -> str:
        return (
            f"PartitionedData({self.path!r}: {counted(len(self), 'partition')}, "
            f"{counted(self.n_sequences, 'sequence')}, {counted(self.n_positions, 'position')}, {self.vocabulary!r})"
        )

    def __iter__(self) -> Iterator[Partition]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, number: int) -> Partition:
        """Partition ``number``, its arrays checked; they are read from the disk when they are looked at."""
        record = self._records[number]
        arrays = self._arrays(record)
        try:
            X = Encoded(arrays["offsets"], arrays["indptr"], arrays["indices"], arrays.get("values"), self.vocabulary)
            if self.bigram_vocabulary is not None:
                indptr, indices = arrays["bigram_indptr"], arrays["bigram_indices"]
                pairs = Encoded(X.offsets, indptr, indices, arrays.get("bigram_values"), self.bigram_vocabulary)
                X = Encoded(X.offsets, X.indptr, X.indices, X.values, self.vocabulary, pairs)
            codes = frozen(arrays["labels"], np.int32)
            if not 0 <= codes.min() <= codes.max() < len(self.classes):
                raise ValueError(f"its labels run from {codes.min()} to {codes.max()}, of {len(self.classes)} classes")
            weights = arrays.get("weights")
            if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
                raise ValueError("a weight of a sequence is negative or no number")
        except ValueError as error:
            raise ValueError(
                f"partition {record.name} of {self.path} is damaged: {str(error).rstrip('.')}; make the folder anew."
            ) from None
        return Partition(X, codes, weights)

    def load(self) -> tuple[Encoded, Any, npt.NDArray[np.float64] | None]:
        """All partitions in memory, as ``X``, ``y`` and ``sample_weight`` of ``fit``.

        Examples
        --------
        >>> import tempfile
        >>> from dualfield.partitions import write_partitions
        >>> with tempfile.TemporaryDirectory() as home:
        ...     data = write_partitions([([[["a"], ["b"]]], [["X", "Y"]])], f"{home}/data")
        ...     X, y, sample_weight = data.load()
        >>> len(X), y.tolist(), sample_weight
        (1, [['X', 'Y']], None)
        """
        entries = sum(record.entries + record.bigram_entries for record in self._records)
        check_memory(16 * entries, f"All of {self.path}", "train on the folder as it is")
        X, codes, weights = joined(list(self))
        weights = None if weights is None else check_sample_weight(weights, len(X), "sequence")
        if self.classes.dtype.kind == "U":
            return X, EncodedLabels(self.classes.tolist(), codes, X.offsets), weights
        return X, [part.tolist() for part in np.split(self.classes[codes], X.offsets[1:-1])], weights

    def _vocabulary(self, said: dict[str, int], name: str) -> Vocabulary | NumberedColumns:
        if "columns" in said:
            return NumberedColumns(said["columns"])
        arrays = [self._array(f"{name}_{part}.npy") for part in ("text", "offsets")]
        try:
            found = Vocabulary.from_arrays(*arrays)
            found.release_table()
        except ValueError as error:
            raise ValueError(f"{self.path}/{name}_*.npy is damaged: {error}") from None
        if len(found) != said["names"]:
            raise self._lie(f"{said['names']:,} names", f"{name}_*.npy has {len(found):,}")
        return found

    def _arrays(self, record: PartitionRecord) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a partition, mapped, of the types and sizes that the manifest says."""
        expected: dict[str, tuple[type[np.generic], int]] = {
            "offsets": (np.int64, record.sequences + 1),
            "indptr": (np.int64, record.positions + 1),
            "indices": (np.int32, record.entries),
            "labels": (np.int32, record.positions),
        }
        if record.values:
            expected["values"] = (np.float64, record.entries)
        if record.weights:
            expected["weights"] = (np.float64, record.sequences)
        if self.bigram_vocabulary is not None:
            expected["bigram_indptr"] = (np.int64, record.positions + 1)
            expected["bigram_indices"] = (np.int32, record.bigram_entries)
            if record.bigram_values:
                expected["bigram_values"] = (np.float64, record.bigram_entries)
        arrays = {}
        for name, (dtype, size) in expected.items():
            file = os.path.join(record.name, f"{name}.npy")
            array = self._array(file)
            if array.dtype != dtype or array.shape != (size,):
                raise self._lie(
                    f"{size:,} numbers of {np.dtype(dtype)} in {file}",
                    f"it has {array.dtype} of shape {array.shape}",
                )
            arrays[name] = array
        return arrays

    def _array(self, file: str) -> npt.NDArray[Any]:
        path = os.path.join(self.path, file)
        try:
            # An empty array cannot be mapped.
            mode: Any = "r" if os.path.getsize(path) > 128 else None
            array = np.load(path, mmap_mode=mode, allow_pickle=False)
        except FileNotFoundError:
            raise ValueError(
                f"{path} is missing, so the folder is not whole; put it back, or make the folder anew."
            ) from None
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} is damaged or was cut short ({error}); make the folder anew.") from None
        array = np.asarray(array)
        if mode is None:
            array.flags.writeable = False
        return array

    def _lie(self, said: str, found: str) -> ValueError:
        return ValueError(f"the manifest of {self.path} says {said}, but {found}; make the folder anew.")


def open_partitions(path: PathLike) -> PartitionedData:
    """Open a folder that :func:`write_partitions` or ``dualfield encode`` has made.

    Parameters
    ----------
    path : str or path
        The folder.

    Returns
    -------
    data : PartitionedData
        What ``fit``, ``solve`` and ``dualfield train`` take in the place of X and y.

    Raises
    ------
    ValueError, OSError
        Where there is no such folder, it is of a newer version, a partition is missing or cut short, or the manifest
        says something else than the files.

    Examples
    --------
    >>> import tempfile
    >>> from dualfield.partitions import write_partitions
    >>> with tempfile.TemporaryDirectory() as home:
    ...     _ = write_partitions([([[["a"], ["b"]]], [["X", "Y"]])], f"{home}/data")
    ...     data = open_partitions(f"{home}/data")
    >>> len(data), data.n_positions, data.classes.tolist()
    (1, 2, ['X', 'Y'])
    """
    return PartitionedData(path)


def joined(parts: Sequence[Partition]) -> Partition:
    """Several parts of the same attributes and labels as one, in memory."""
    X = _joined([part.X for part in parts])
    pairs = [part.X.bigrams for part in parts if part.X.bigrams is not None]
    if pairs:
        X = X.with_bigrams(_joined(pairs))
    weights = None
    if any(part.sample_weight is not None for part in parts):
        each = [np.ones(len(part.X)) if part.sample_weight is None else part.sample_weight for part in parts]
        weights = np.concatenate(each)
    return Partition(X, np.concatenate([part.codes for part in parts]), weights)


def _joined(parts: Sequence[Encoded]) -> Encoded:
    values = None
    if any(part.values is not None for part in parts):
        values = np.concatenate([np.ones(len(p.indices)) if p.values is None else p.values for p in parts])
    sizes = [np.concatenate([np.diff(getattr(part, name)) for part in parts]) for name in ("offsets", "indptr")]
    indices = np.concatenate([part.indices for part in parts])
    return Encoded(bounds_of(sizes[0]), bounds_of(sizes[1]), indices, values, parts[0].vocabulary)
