"""Data sets in one file, for machines without network: encoded attributes and labels, and the text of one of them."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tasks import conll, data_file, ner, pos
from dualfield import fields
from dualfield.features import Encoded, NumberedColumns, preset_template
from dualfield.io import read_tokens

__all__ = ["encoded_of", "prepare", "text_tokens"]

SOURCES: dict[str, Callable[[], tuple[fields.Chain, Any]]] = {"conll": conll, "ner": ner, "pos": pos}
_TEXT = "conll2000/train.txt.gz"


def prepare(path: Path) -> None:
    """Write all data sets, from the folder that ``DUALFIELD_DATA`` names."""
    arrays: dict[str, Any] = {"text": np.frombuffer(data_file(_TEXT).read_bytes(), dtype=np.uint8)}
    for name in SOURCES:
        for key, array in _compact(name).items():
            arrays[f"{name}_{key}"] = array
    np.savez_compressed(path, **arrays)


def _compact(name: str) -> dict[str, Any]:
    """The arrays of a data set, each in the shortest type that holds it."""
    field, _ = SOURCES[name]()
    X = field.encoded
    return {
        "lengths": X.lengths.astype(np.uint16),
        "counts": np.diff(X.indptr).astype(np.uint8),
        "indices": X.indices,
        "labels": field.codes.astype(np.uint8),
        "attributes": np.array(len(X.vocabulary)),
    }


def _starts(sizes: Any) -> Any:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


def encoded_of(name: str, path: Path | None) -> tuple[Encoded, list[Any]]:
    """Attributes and labels of a data set, from a prepared file or else from the folder of the data sets."""
    stored: Any = _compact(name) if path is None else _stored(name, path)
    offsets, vocabulary = _starts(stored["lengths"]), NumberedColumns(int(stored["attributes"]))
    X = Encoded(offsets, _starts(stored["counts"]), stored["indices"], None, vocabulary)
    return X, np.split(stored["labels"].astype(np.int64), offsets[1:-1])


def _stored(name: str, path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        return {key.removeprefix(f"{name}_"): file[key] for key in file.files if key.startswith(f"{name}_")}


def text_tokens(path: Path | None) -> tuple[Any, Any]:
    """The tokens of a column file without their labels, and the template that is to make attributes of them."""
    if path is None:
        tokens = read_tokens(data_file(_TEXT))
    else:
        with np.load(path, allow_pickle=False) as file:
            content = gzip.decompress(file["text"].tobytes())
        tokens = read_tokens(io.BytesIO(content))
    return tokens.with_columns(range(tokens.n_columns - 1)), preset_template("chunking", 2)
