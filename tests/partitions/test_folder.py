"""A folder is checked when it is opened, a partition when it is looked at; what is wrong is said in a sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield.partitions import open_partitions, write_partitions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    X = [[[f"w={i}"], ["x"]] for i in range(6)]
    y = [["A", "B"], ["B", "C"]] * 3
    write_partitions([(X, y)], tmp_path / "data", positions=4)
    return tmp_path / "data"


def test_arrays_stay_on_the_disk(folder: Path) -> None:
    data = open_partitions(folder)
    part = data[1]
    owner: Any = part.X.indices
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    assert isinstance(owner, np.memmap)
    assert not part.X.indices.flags.writeable
    assert len(data) == 3
    assert "3 partitions, 6 sequences, 12 positions" in repr(data)


def manifest(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        plain = json.loads(path.read_text())
        plain.update(changes)
        path.write_text(json.dumps(plain))

    return change


def record(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        plain = json.loads(path.read_text())
        plain["partitions"][1].update(changes)
        path.write_text(json.dumps(plain))

    return change


def cut_short(folder: Path) -> None:
    path = folder / "part-00001" / "indices.npy"
    path.write_bytes(path.read_bytes()[:-4])


def other_array(name: str, array: Any) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / name, array)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda folder: shutil.rmtree(folder / "part-00002"),
            "part-00002/offsets.npy is missing, so the folder is not",
        ),
        (lambda folder: (folder / "part-00000" / "labels.npy").unlink(), "part-00000/labels.npy is missing"),
        (lambda folder: (folder / "vocabulary_text.npy").unlink(), "vocabulary_text.npy is missing"),
        (cut_short, "part-00001/indices.npy is damaged or was cut short"),
        (lambda folder: (folder / "part-00001" / "labels.npy").write_bytes(b""), "labels.npy is damaged or was cut"),
        (lambda folder: (folder / "part-00001" / "labels.npy").write_bytes(b"x" * 200), "labels.npy is damaged"),
        (other_array("part-00001/labels.npy", np.array([None] * 4)), "labels.npy is damaged or was cut short"),
        (other_array("part-00001/labels.npy", np.zeros(4)), "says 4 numbers of int32 in .*, but it has float64"),
        (other_array("vocabulary_offsets.npy", np.array([1, 2])), "vocabulary_.*npy is damaged"),
        (lambda folder: (folder / "manifest.json").unlink(), "has no manifest.json, so it is no folder of partitions"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json is damaged: it is no JSON"),
        (manifest(format="x"), "is not the manifest of a folder of partitions"),
        (manifest(version=2), "the layout of version 2, and this package reads version 1; install a newer"),
        (manifest(version="1"), "damaged: its version is '1'"),
        (manifest(classes=["B", "A"]), "damaged: its classes are not two or more different labels in order"),
        (manifest(classes=["A", 1]), "damaged: its classes"),
        (manifest(attributes={"names": 3}), "says 3 names, but vocabulary_.*.npy has 7"),
        (manifest(attributes={"names": -1}), "damaged: attributes is -1"),
        (manifest(bigrams={"columns": 3}), "bigram_indptr.npy is missing"),
        (manifest(partitions=[]), "it lists no partitions"),
        (manifest(column_features=3), "neither an object nor null"),
        (record(sequences=0), "partition part-00001 has no sequences, and an empty partition trains nothing"),
        (record(sequences=5), "says 6 numbers of int64 in part-00001/offsets.npy, but it has int64 of shape .3,."),
        (record(positions=True), "positions of partition part-00001 is True"),
        (record(name="../x"), "the name of partition 1 is '../x'"),
        (record(name="part-00000"), "it lists a partition twice"),
        (record(values=True), "values.npy is missing"),
        (record(colour=1), "entry 1 of its partitions is not one of"),
    ],
)
def test_a_damaged_folder_is_refused_when_it_is_opened(folder: Path, damage: Any, message: str) -> None:
    damage(folder)
    with pytest.raises(ValueError, match=message):
        open_partitions(folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (other_array("part-00001/indices.npy", np.array([0, 9, 0, 1], np.int32)), "attribute numbers must be 0 to 6"),
        (other_array("part-00001/offsets.npy", np.array([0, 0, 4])), "sequence 0 is empty"),
        (other_array("part-00001/indptr.npy", np.array([0, 2, 1, 3, 4])), "indptr must not decrease"),
        (other_array("part-00001/labels.npy", np.array([0, 1, 2, 3], np.int32)), "its labels run from 0 to 3, of 3"),
    ],
)
def test_damaged_content_is_refused_when_the_partition_is_looked_at(folder: Path, damage: Any, message: str) -> None:
    damage(folder)
    data = open_partitions(folder)
    assert len(data[0].X) == 2
    with pytest.raises(ValueError, match=f"partition part-00001 of .* is damaged: {message}"):
        data[1]


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError, match="does not exist; expected one that 'dualfield encode'"):
        open_partitions(tmp_path / "nothing")
    with pytest.raises(NotADirectoryError, match="is a file; expected one"):
        open_partitions(tmp_path / "file")
