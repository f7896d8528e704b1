"""The manifest of a folder of partitions: ``manifest.json``, which says what the folder holds, and is written last.

================== ==============================================================================================
``format``         "dualfield partitions"
``version``        of the layout; this package reads 1
``classes``        the labels, sorted: strings, or integers
``attributes``     ``{"names": A}``, the names being in ``vocabulary_*.npy``; or ``{"columns": A}``
``bigrams``        the same of attributes of pairs of labels, in ``bigram_vocabulary_*.npy``; or null
``min_count``      attributes that occur at fewer positions were left out
``column_features`` how a file becomes such data, see :mod:`dualfield.models.recipe`; or null
``partitions``     for each its folder, and how many sequences, positions, entries and bigram entries it has; whether
                   entries have values, and sequences weights
================== ==============================================================================================
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

__all__ = ["FORMAT", "MANIFEST", "VERSION", "Manifest", "PartitionRecord", "read_manifest", "write_manifest"]

FORMAT, VERSION, MANIFEST = "dualfield partitions", 1, "manifest.json"
_MOST = 2**62


class PartitionRecord(NamedTuple):
    """What the manifest says of a partition."""

    name: str
    sequences: int
    positions: int
    entries: int
    bigram_entries: int = 0
    values: bool = False
    bigram_values: bool = False
    weights: bool = False


class Manifest(NamedTuple):
    """What a folder holds."""

    classes: list[str] | list[int]
    attributes: dict[str, int]
    bigrams: dict[str, int] | None
    min_count: int
    column_features: dict[str, Any] | None
    partitions: tuple[PartitionRecord, ...]


def write_manifest(folder: str, manifest: Manifest) -> None:
    """Write the manifest of a folder that holds all else."""
    plain = {**manifest._asdict(), "partitions": [record._asdict() for record in manifest.partitions]}
    with open(os.path.join(folder, MANIFEST), "w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "version": VERSION, **plain}, file, ensure_ascii=True, indent=1)


def read_manifest(folder: str) -> Manifest:
    """The manifest of a folder; ValueError or OSError, in a sentence, where it has none that can be read."""
    path = os.path.join(folder, MANIFEST)
    if not os.path.isdir(folder):
        kind = "is a file" if os.path.exists(folder) else "does not exist"
        error = NotADirectoryError if os.path.exists(folder) else FileNotFoundError
        raise error(f"the folder {folder} {kind}; expected one that 'dualfield encode' or write_partitions has made.")
    if not os.path.isfile(path):
        raise ValueError(
            f"{folder} has no {MANIFEST}, so it is no folder of partitions; make one with 'dualfield encode'."
        )
    try:
        with open(path, encoding="utf-8") as file:
            plain = json.load(file)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is no JSON ({error})") from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise ValueError(f"{path} is not the manifest of a folder of partitions; make one with 'dualfield encode'.")
    version = plain.get("version")
    if type(version) is not int or version < 1:
        raise _damaged(path, f"its version is {version!r:.40}")
    if version > VERSION:
        raise ValueError(
            f"{folder} has the layout of version {version}, and this package reads version {VERSION}; install a newer "
            "dualfield, or make the folder anew."
        )
    try:
        return _checked(plain)
    except (KeyError, TypeError, ValueError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise _damaged(path, what) from None


def _damaged(path: str, what: str) -> ValueError:
    return ValueError(f"{path} is damaged: {what}; make the folder anew.")


def _checked(plain: dict[str, Any]) -> Manifest:
    classes, bigrams, features = plain["classes"], plain["bigrams"], plain["column_features"]
    kinds = set(map(type, classes)) if isinstance(classes, list) else set()
    if len(kinds) != 1 or not kinds <= {str, int} or len(classes) < 2 or sorted(set(classes)) != classes:
        raise ValueError("its classes are not two or more different labels in order")
    if not (features is None or isinstance(features, dict)):
        raise ValueError("its column_features are neither an object nor null")
    if not isinstance(plain["partitions"], list) or not plain["partitions"]:
        raise ValueError("it lists no partitions")
    records = tuple(_record(number, record) for number, record in enumerate(plain["partitions"]))
    if len({record.name for record in records}) < len(records):
        raise ValueError("it lists a partition twice")
    return Manifest(
        classes,
        _vocabulary("attributes", plain["attributes"]),
        None if bigrams is None else _vocabulary("bigrams", bigrams),
        _count("min_count", plain["min_count"], 1),
        features,
        records,
    )


def _vocabulary(name: str, plain: Any) -> dict[str, int]:
    if not isinstance(plain, dict) or len(plain) != 1 or not set(plain) <= {"names", "columns"}:
        raise ValueError(f"its {name} are neither names nor columns")
    return {kind: _count(name, number, 0, 2**31 - 1) for kind, number in plain.items()}


def _record(number: int, plain: Any) -> PartitionRecord:
    if not isinstance(plain, dict) or set(plain) != set(PartitionRecord._fields):
        raise ValueError(f"entry {number} of its partitions is not one of {', '.join(PartitionRecord._fields)}")
    name = plain["name"]
    if not isinstance(name, str) or name != os.path.basename(name) or name in ("", ".", ".."):
        raise ValueError(f"the name of partition {number} is {name!r:.40}")
    for key in ("values", "bigram_values", "weights"):
        if not isinstance(plain[key], bool):
            raise ValueError(f"{key} of partition {name} is {plain[key]!r:.40}")
    if plain["sequences"] == 0:
        raise ValueError(f"partition {name} has no sequences, and an empty partition trains nothing")
    for key in ("sequences", "positions"):
        _count(f"{key} of partition {name}", plain[key], 1)
    for key in ("entries", "bigram_entries"):
        _count(f"{key} of partition {name}", plain[key], 0)
    return PartitionRecord(**plain)


def _count(name: str, value: Any, least: int, most: int = _MOST) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is {value!r:.40}")
    return value
