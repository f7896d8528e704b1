"""Attribute files from every kind of source, and back."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from dualfield import ChainCRF
from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode
from dualfield.io import read_attributes, read_weighted_attributes, write_attributes
from dualfield.labels import EncodedLabels

TEXT = "A\tw=één\tn:2.5\nB\tw=a\\:b\n\nA\tw=één\n"
FEATURES = [[{"w=één": 1.0, "n": 2.5}, {"w=a:b": 1.0}], [{"w=één": 1.0}]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_all_encodings_and_packings_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, packed: bool
) -> None:
    data = TEXT.encode(encoding)
    data = gzip.compress(data, mtime=0) if packed else data
    path = tmp_path / "sequences"
    path.write_bytes(data)
    expected = encode(FEATURES)
    for source in (path, str(path), io.BytesIO(data), "-"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        X, y = read_attributes(source, encoding=encoding)
        assert X.vocabulary == expected.vocabulary
        for name in ("offsets", "indptr", "indices", "values"):
            np.testing.assert_array_equal(getattr(X, name), getattr(expected, name))
        assert y.tolist() == [["A", "B"], ["A"]]


@pytest.mark.parametrize("name", ["out.txt", "out.gz"])
def test_what_is_written_reads_back(tmp_path: Path, name: str) -> None:
    X, y = encode(FEATURES), EncodedLabels(["A", "B:C"], [0, 1, 0], [0, 2, 3])
    path = tmp_path / name
    write_attributes(X, y, path, sample_weight=[0.1, 1])
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    again, labels, weights = read_weighted_attributes(path)
    assert again.vocabulary == X.vocabulary
    assert again.values is not None
    assert again.values.tolist() == [1.0, 2.5, 1.0, 1.0]
    assert labels.tolist() == y.tolist()
    assert weights is not None
    assert weights.tolist() == [0.1, 1.0]


def test_weights_are_not_lost_in_silence() -> None:
    with pytest.raises(ValueError, match=r"sequence 1 of the file has the weight 2; .*read_weighted_attributes"):
        read_attributes(io.StringIO("A\tx\n\n@weight:2\nB\tx\n"))
    assert read_weighted_attributes(io.StringIO("@weight:1\nA\tx\n"))[2] is None


def test_a_vocabulary_of_training_numbers_the_attributes() -> None:
    X, _ = read_attributes(io.StringIO(TEXT), vocabulary=Vocabulary(["n", "w=a:b"]))
    assert X.indices.tolist() == [0, 1]
    assert X.indptr.tolist() == [0, 1, 2, 2]


def test_a_model_trained_on_the_file_is_that_of_the_same_dicts() -> None:
    text = "A\ta:2\tb\nB\tc\n\nB\ta\nA\tb:0.5\n\n"
    X, y = read_attributes(io.StringIO(text))
    same = [[{"a": 2, "b": 1}, {"c": 1}], [{"a": 1}, {"b": 0.5}]]
    one = ChainCRF(random_state=0, tol=1e-8).fit(X, y)
    two = ChainCRF(random_state=0, tol=1e-8).fit(same, [["A", "B"], ["B", "A"]])
    np.testing.assert_array_equal(one.weights_, two.weights_)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad.txt has no sequences; expected lines of a label and attributes with tabs between them"),
        (b"A\tb:x\n", r"bad.txt, line 1: expected a finite number after the colon of 'b:x'"),
        (b"A\n\xe9\n", r"bad.txt, line 2: byte 0xe9 is not valid utf-8; .*--encoding"),
        (b"\x1f\x8bA", r"bad.txt is not a whole gzip file"),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_attributes(path)


@pytest.mark.parametrize(
    ("name", "label", "message"),
    [
        ("a\tb", "A", "the attribute 'a\tb' cannot be written"),
        ("a\nb", "A", "the attribute 'a\nb' cannot be written"),
        (" ", "A", "the attribute ' ' cannot be written"),
        ("a", "@x", "the label '@x' cannot be written"),
        ("a", "", "the label '' cannot be written"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path: Path, name: str, label: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_attributes(encode([[[name]]]), EncodedLabels([label], [0], [0, 1]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_parts_that_do_not_belong_together_are_refused() -> None:
    X, y = encode(FEATURES), EncodedLabels(["A"], [0, 0, 0], [0, 2, 3])
    with pytest.raises(ValueError, match="different lengths"):
        write_attributes(X, EncodedLabels(["A"], [0, 0, 0], [0, 1, 3]), "-")
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="2 finite numbers, none negative"):
            write_attributes(X, y, "-", sample_weight=weights)
    with pytest.raises(TypeError, match="columns of arrays"):
        write_attributes(Encoded([0, 1], [0, 1], [0], None, NumberedColumns(1)), EncodedLabels(["A"], [0], [0, 1]), "-")
