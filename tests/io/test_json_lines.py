"""JSON lines: what is written reads back, and every mistake is named with its line."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.features import encode
from dualfield.io import read_json_lines, write_json_lines
from dualfield.io.json_lines import attribute_lists
from tests.core.strategies import few_examples
from tests.sequences import assert_same_encoded

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
numbers = st.integers(-9, 9) | st.floats(-1e9, 1e9)


@pytest.mark.parametrize("depth", [101, 300, 600, 3000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_line_that_nests_too_deeply_is_refused_whatever_the_stack(depth: int, opening: str, closing: str) -> None:
    nested = f"{opening * depth}1{closing * depth}"
    for line in (
        nested,
        f'{{"tokens": ["a"], "x": {nested}}}',
        f'{{"tokens": {nested}}}',
        f'{{"features": [{nested}]}}',
    ):
        with pytest.raises(ValueError, match=r"^the file, line 1: its lists and objects nest deeper than 100; flatten"):
            read_json_lines(io.StringIO(line))


def test_a_line_may_nest_as_deeply_as_is_said() -> None:
    line = f'{{"tokens": ["a"], "x": {"[" * 99}{"]" * 99}}}'
    assert len(read_json_lines(io.StringIO(line))) == 1


def read(*records: Any) -> Any:
    return read_json_lines(io.StringIO("\n".join(json.dumps(record) for record in records)))


@st.composite
def token_files(draw: st.DrawFn) -> tuple[list[Any], list[Any] | None, list[float]]:
    width = draw(st.integers(1, 3))
    rows = st.tuples(*[words] * width)
    sequences = draw(st.lists(st.lists(rows, min_size=1, max_size=3), min_size=1, max_size=3))
    labels = [[draw(words) for _ in sequence] for sequence in sequences] if draw(st.booleans()) else None
    return sequences, labels, [draw(st.floats(0, 9)) for _ in sequences]


@given(token_files())
@few_examples
def test_tokens_read_back(file: tuple[list[Any], list[Any] | None, list[float]]) -> None:
    sequences, labels, weights = file
    buffer = io.StringIO()
    write_json_lines(sequences, buffer, kind="tokens", labels=labels, weights=weights)
    found = read_json_lines(io.StringIO(buffer.getvalue()))
    assert (found.kind, found.sequences, found.labels) == ("tokens", sequences, labels)
    assert (np.ones(len(weights)) if found.weights is None else found.weights).tolist() == weights
    expected = sequences
    if labels is not None:
        expected = [
            [(*row, label) for row, label in zip(*pair, strict=True)] for pair in zip(sequences, labels, strict=True)
        ]
    assert found.tokens().rows() == expected


@given(st.lists(st.lists(st.dictionaries(words, numbers, max_size=3), min_size=1, max_size=3), min_size=1, max_size=3))
@few_examples
def test_features_read_back_encoded(sequences: list[list[dict[str, float]]]) -> None:
    expected = encode(sequences)
    buffer = io.StringIO()
    write_json_lines(attribute_lists(expected), buffer, kind="features")
    again = read_json_lines(io.StringIO(buffer.getvalue())).encoded(expected.vocabulary)
    assert_same_encoded(again, expected)


def test_features_follow_the_conventions_of_dicts() -> None:
    features = [{"w": "cat", "n": 2, "t": ["a", "b"], "in": {"x": 0.5}}, {"w": "sat"}]
    found = read({"features": features, "labels": ["A", "B"], "id": 7})
    assert found.encoded().vocabulary.names == ["w:cat", "n", "t:a", "t:b", "in:x", "w:sat"]
    assert found.encoded_labels().tolist() == [["A", "B"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_all_encodings_and_packings_read_alike(tmp_path: Path, encoding: str, packed: bool) -> None:
    data = '{"tokens": ["één"]}\r\n\r\n{"tokens": ["ja"]}'.encode(encoding)
    path = tmp_path / "words"
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    found = read_json_lines(path, encoding=encoding)
    assert found.sequences == [[("één",)], [("ja",)]]
    assert found.lines == [1, 3]


def test_a_packed_file_is_written_by_its_suffix(tmp_path: Path) -> None:
    write_json_lines([["a", "b"]], tmp_path / "a.jsonl.gz", kind="tokens")
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == b'{"tokens": ["a", "b"]}\n'


GOOD = '{"tokens": ["a"], "labels": ["A"]}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: it is no JSON (Expecting property name"),
        ("[" * 100_000, "line 2: its lists and objects nest deeper than 100"),
        ('["a"]', 'line 2: expected a JSON object, found ["a"].'),
        ("{}", 'line 2: expected either "tokens" or "features", found neither.'),
        ('{"tokens": ["a"], "features": [["a"]]}', 'line 2: expected either "tokens" or "features", found both'),
        ('{"tokens": []}', 'line 2: expected "tokens" to be a list that is not empty, found [].'),
        ('{"tokens": "ab"}', 'line 2: expected "tokens" to be a list that is not empty, found "ab".'),
        ('{"tokens": [1], "labels": ["A"]}', "line 2: expected token 0 to be a string or a list of strings, found 1."),
        ('{"tokens": ["a", ["b", "c"]], "labels": ["A", "A"]}', "line 2: token 1 has 2 columns but token 0 has 1."),
        ('{"tokens": [["a", "b"]], "labels": ["A"]}', "line 2: expected tokens of 1 columns as on line 1, found 2."),
        ('{"tokens": ["a"], "labels": "A"}', 'line 2: expected "labels" to be a list, found "A".'),
        ('{"tokens": ["a"], "labels": ["A", "B"]}', "line 2: expected 1 labels, one for each position, found 2."),
        ('{"tokens": ["a"], "labels": [3]}', "line 2: expected label 0 to be a string, found 3."),
        ('{"tokens": ["a"]}', "line 2: it has no labels but line 1 has some."),
        ('{"features": [["a"]], "labels": ["A"]}', 'line 2: expected "tokens" as on line 1, found "features".'),
        ('{"tokens": ["a"], "labels": ["A"], "weight": -1}', 'line 2: expected "weight" to be a finite number'),
        ('{"tokens": ["a"], "labels": ["A"], "weight": NaN}', 'line 2: expected "weight" to be a finite number'),
        ('{"tokens": ["a"], "labels": ["A"], "weight": true}', 'line 2: expected "weight" to be a finite number'),
        (
            '{"tokens": ["a"], "labels": ["A"], "weight": 1' + "0" * 400 + "}",
            'line 2: expected "weight" to be a finite',
        ),
        ('{"tokens": ["\\ud800"], "labels": ["A"]}', "line 2: it holds a lone surrogate"),
    ],
)
def test_mistakes_are_named_with_their_line(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"the file, {message}")):
        read_json_lines(io.StringIO(f"{GOOD}\n{line}\n"))


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ('{"n": NaN}', "the file, line 2: "),
        ('{"n": null}', "the file, line 2: "),
        ('{"n": 1' + "0" * 400 + "}", "the file, line 2: "),
        ("[1]", "the file, line 2: "),
        ("3", "the file, line 2: position 0 is"),
    ],
)
def test_features_that_cannot_be_encoded_are_named_with_their_line(position: str, message: str) -> None:
    good = '{"features": [{"a": 1}]}'
    found = read_json_lines(io.StringIO(f'{good}\n{{"features": [{position}]}}\n'))
    with pytest.raises(ValueError, match=re.escape(message)) as refusal:
        found.encoded()
    assert "sequence 0" not in str(refusal.value)


def test_bytes_that_are_no_text_and_empty_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"tokens": ["a"]}\n{"tokens": ["\xe9"]}\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 2: byte 0xe9 is not valid utf-8; .*--encoding"):
        read_json_lines(path)
    with pytest.raises(ValueError, match="the file has no sequences; expected one JSON object a line"):
        read_json_lines(io.StringIO("\n \n"))


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    for sequences, labels in (([[]], None), ([[("a",), ("b", "c")]], None), ([["a"]], [["A", "B"]]), ([[3]], None)):
        with pytest.raises((ValueError, TypeError)):
            write_json_lines(sequences, tmp_path / "out", kind="tokens", labels=labels)
        assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match="there are 1 sequences but labels for 2"):
        write_json_lines([["a"]], tmp_path / "out", kind="tokens", labels=[["A"], ["B"]])


def test_tokens_and_features_are_not_confused() -> None:
    with pytest.raises(ValueError, match="has features, not tokens"):
        read({"features": [["a"]]}).tokens()
    with pytest.raises(ValueError, match="has tokens, not features"):
        read({"tokens": ["a"]}).encoded()
    with pytest.raises(ValueError, match='has no labels; add "labels"'):
        read({"tokens": ["a"]}).encoded_labels()


@pytest.mark.parametrize("place", [0, 1, 6, 7, 12])
def test_the_first_line_that_cannot_be_encoded_is_found(place: int) -> None:
    lines = ['{"features": [["a"], ["b"]]}'] * 13
    lines[place] = '{"features": [["a"], [1]]}'
    lines[12] = '{"features": [["a"], [1]]}'
    with pytest.raises(ValueError, match=rf"^the file, line {place + 1}: position 1 has the attribute 1"):
        read_json_lines(io.StringIO("\n".join(lines))).encoded()
