"""A folder of partitions holds what the chunks held, whatever their cut; it appears whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualfield import ChainCRF
from dualfield.features import encode
from dualfield.labels import EncodedLabels
from dualfield.partitions import names, open_partitions, write_partitions

Sequences = list[list[Any]]


def generated(n: int, seed: int = 0) -> tuple[Sequences, Sequences]:
    rng = np.random.default_rng(seed)
    X = [[[f"w={rng.integers(40)}", f"é={rng.integers(5)}"] for _ in range(rng.integers(1, 9))] for _ in range(n)]
    return X, [[str(rng.choice(list("ABC"))) for _ in sequence] for sequence in X]


def chunks_of(*given: Any, size: int) -> Iterator[tuple[Any, ...]]:
    for first in range(0, len(given[0]), size):
        yield tuple(part[first : first + size] for part in given)


def content(X: Any) -> list[list[dict[str, float]]]:
    """The attributes of each position by name."""
    values = np.ones(len(X.indices)) if X.values is None else X.values
    entries = [(X.vocabulary.names[a], v) for a, v in zip(X.indices.tolist(), values.tolist(), strict=True)]
    positions = [dict(entries[a:b]) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    return [positions[a:b] for a, b in zip(X.offsets, X.offsets[1:], strict=False)]


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 40), size=st.integers(1, 50), positions=st.integers(1, 100), fan_in=st.integers(2, 4))
def test_the_folder_holds_what_the_chunks_held(
    n: int, size: int, positions: int, fan_in: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    X, y = generated(n)
    y[0][0], y[1][0] = "A", "B"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_FAN_IN", fan_in)
        folder = tmp_path_factory.mktemp("home") / "data"
        data = write_partitions(chunks_of(X, y, size=size), folder, positions=positions)
    found, labels, weights = data.load()
    assert content(found) == content(encode(X))
    assert labels.tolist() == y
    assert weights is None
    assert found.vocabulary.names == sorted(found.vocabulary.names, key=str.encode)
    assert data.n_positions == found.n_positions
    assert all(part.X.n_positions <= max(positions, 8) for part in data)


@pytest.mark.parametrize("positions", [20, 10**6])
def test_rare_attributes_are_those_of_all_chunks(tmp_path: Path, positions: int) -> None:
    X, y = generated(60)
    data = write_partitions(chunks_of(X, y, size=7), tmp_path / "data", min_count=4, positions=positions)
    here = ChainCRF(random_state=0, tol=1e-9).fit(*data.load())
    there = ChainCRF(random_state=0, tol=1e-9, min_count=4).fit(X, y)
    assert sorted(here.vocabulary_.names) == sorted(there.vocabulary_.names)
    assert here.solution_.primal == pytest.approx(there.solution_.primal, rel=1e-8)


def test_no_attribute_often_enough_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No attribute occurs 99 times or more; lower min_count"):
        write_partitions([generated(5)], tmp_path / "data", min_count=99)
    assert list(tmp_path.iterdir()) == []


def test_values_weights_and_bigrams_survive(tmp_path: Path) -> None:
    X = [[{"a": 2.5, "b": 1}, {"c": "x"}], [{"a": 1}], [{"b": -3}, {"a": 0, "d": 1}]]
    pairs = [[["q"], ["p"]], [["p"]], [["q"], ["r"]]]
    y, weights = [["N", "V"], ["N"], ["V", "V"]], [0.0, 2.0, 1.0]
    encoded = encode(X, bigrams=pairs)
    data = write_partitions(
        ((encoded[i : i + 1], y[i : i + 1], weights[i : i + 1]) for i in range(3)), tmp_path / "data", positions=3
    )
    found, labels, given = data.load()
    assert content(found) == content(encoded)
    assert content(found.bigrams) == content(encoded.bigrams)
    assert labels.tolist() == y
    assert given is not None
    assert given.tolist() == weights


def test_integer_labels_and_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(1, 5), 3)) for _ in range(20)]
    y = [rng.integers(-1, 3, size=len(x)) for x in X]
    data = write_partitions(chunks_of(X, y, size=3), tmp_path / "data", positions=10)
    found, labels, _ = data.load()
    assert data.classes.tolist() == [-1, 0, 1, 2]
    assert labels == [labels.tolist() for labels in y]
    assert np.array_equal(found.values, encode(X).values)


def test_rare_columns_have_no_entries(tmp_path: Path) -> None:
    X = [np.array([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0]]), np.array([[1.0, 0.0, 2.0]])]
    data = write_partitions([(X[:1], [["A", "B"]]), (X[1:], [["A"]])], tmp_path / "data", min_count=2)
    assert data.load()[0].indices.tolist() == [0, 2, 0, 0, 2]


def test_generators_and_encoded_labels_are_chunks(tmp_path: Path) -> None:
    X, y = generated(10)
    chunk = ((sequence for sequence in X), EncodedLabels.from_lists(y))
    assert write_partitions([chunk], tmp_path / "data").load()[1].tolist() == y


GOOD = ([[["a"], ["b"]]], [["A", "B"]])


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([], "there are no chunks"),
        ([GOOD, ([], [])], "chunk 1: X has no sequences"),
        ([GOOD, 3], r"chunk 1 is 3; expected \(X, y\)"),
        ([GOOD, (GOOD[0], [["A"]])], "chunk 1: sequence 0 has 1 label in y but 2 positions in X"),
        ([GOOD, (GOOD[0], [["A", None]])], "chunk 1: label 1 of sequence 0 is None"),
        ([GOOD, (GOOD[0], [["A", {"A", "B"}]])], "chunk 1: label 1 of sequence 0 is .* of type set"),
        ([GOOD, (GOOD[0], [[1, 2]])], "chunk 1: the labels of y are of another type"),
        ([GOOD, ([np.eye(2)], [["A", "B"]])], "chunk 1: the attributes of X are 2 columns, but .* names"),
        (
            [([np.eye(2)], [["A", "B"]]), ([np.eye(3)[:2]], [["A", "B"]])],
            "chunk 1: the attributes of X are 3 columns, but those of the chunks before 2 columns",
        ),
        ([GOOD, (encode(GOOD[0], bigrams=GOOD[0]), GOOD[1])], "chunk 1: X has bigrams, unlike the chunks before"),
        ([(*GOOD, [-1.0])], "chunk 0: sample_weight.0. is -1"),
        ([(*GOOD, [0.0])], "Every sample_weight is zero"),
        ([([[["a"]]], [["A"]])], "at least two different labels are needed"),
    ],
)
def test_bad_chunks_are_refused_and_leave_nothing(tmp_path: Path, chunks: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        write_partitions(chunks, tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(FileExistsError, match="exists already; remove it or choose another name"):
        write_partitions(iter([GOOD]), tmp_path / "data")
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        write_partitions(iter([GOOD]), tmp_path / "there" / "data")


KILLED = """
import os, signal, sys
from dualfield.partitions import write_partitions
def chunks():
    yield [[["a"], ["b"]]], [["A", "B"]]
    os.kill(os.getpid(), signal.SIGKILL)
write_partitions(chunks(), sys.argv[1], positions=1)
"""


def test_what_a_killed_writer_left_the_next_one_removes(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    assert not folder.exists()
    write_partitions([GOOD], folder)
    assert os.listdir(tmp_path) == ["data"]
    assert len(open_partitions(folder)) == 1
