"""The reader and writer of attribute files, held against plain Python, and against any bytes at all."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualfield._core as core
from tests.core.strategies import few_examples

names = st.text("ab:\\é #@=", min_size=1, max_size=4).filter(lambda name: name.strip())
labels = names.filter(lambda name: not name.startswith("@"))
values = st.floats(allow_nan=False, allow_infinity=False, width=64)
tokens = st.tuples(labels, st.lists(st.tuples(names, st.none() | values), max_size=4))
sequences = st.lists(
    st.tuples(st.none() | st.floats(0, 9), st.lists(tokens, min_size=1, max_size=4)), min_size=1, max_size=4
)


def escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")


def written(file: list[Any]) -> str:
    """The file as a person would write it."""
    text = ""
    for weight, sequence in file:
        text += "" if weight is None else f"@weight:{weight!r}\n"
        for label, attributes in sequence:
            fields = [escaped(name) + ("" if value is None else f":{value!r}") for name, value in attributes]
            text += "\t".join([escaped(label), *fields]) + "\n"
        text += "\n"
    return text


def read(text: str | bytes, names: Any = None, first_line: int = 1) -> tuple[Any, ...]:
    return core.read_attributes(text if isinstance(text, bytes) else text.encode(), names, first_line)


def as_python(found: tuple[Any, ...]) -> list[Any]:
    """[(weight, [(label, {attribute: value})])]"""
    offsets, indptr, indices, values, names, label_names, labels, weights = found
    strings, label_strings = names.strings(), label_names.strings()
    positions = []
    for t, (begin, end) in enumerate(pairwise(indptr.tolist())):
        here = [1.0] * (end - begin) if values is None else values[begin:end].tolist()
        assert (np.diff(indices[begin:end]) > 0).all()
        attributes = dict(zip([strings[i] for i in indices[begin:end]], here, strict=True))
        positions.append((label_strings[labels[t]], attributes))
    cut = [positions[a:b] for a, b in pairwise(offsets.tolist())]
    return list(zip([1.0] * len(cut) if weights is None else weights.tolist(), cut, strict=True))


def merged(attributes: list[Any]) -> dict[str, float]:
    total: dict[str, float] = {}
    for name, value in attributes:
        total[name] = total.get(name, 0.0) + (1.0 if value is None else value)
    return {name: value for name, value in total.items() if value != 0.0}


def expected(file: list[Any]) -> list[Any]:
    return [
        (1.0 if weight is None else weight, [(label, merged(attributes)) for label, attributes in sequence])
        for weight, sequence in file
    ]


@given(sequences)
@few_examples
def test_what_is_written_is_read(file: list[Any]) -> None:
    if any(math.isinf(v) for _, s in expected(file) for _, attributes in s for v in attributes.values()):
        with pytest.raises(ValueError, match="add up to infinity"):
            read(written(file))
        return
    found = read(written(file))
    assert as_python(found) == expected(file)
    assert (found[3] is None) == all(v == 1.0 for _, s in expected(file) for _, a in s for v in a.values())
    assert (found[7] is None) == all(weight == 1.0 for weight, _ in expected(file))


@given(sequences)
@few_examples
def test_the_writer_writes_what_reads_back(file: list[Any]) -> None:
    try:
        offsets, indptr, indices, values, names, label_names, labels, weights = read(written(file))
    except ValueError:
        return  # values that add up to infinity
    again = core.write_attributes(offsets, indptr, indices, values, names, label_names, labels, weights)
    assert as_python(read(again)) == expected(file)


@given(sequences, st.lists(names, max_size=4, unique=True))
@few_examples
def test_a_given_vocabulary_leaves_others_out(file: list[Any], known: list[str]) -> None:
    encoded = [name.encode() for name in known]
    bounds = np.cumsum([0, *map(len, encoded)])
    table = core.Names(np.frombuffer(b"".join(encoded), np.uint8), bounds.astype(np.int64))
    try:
        found = read(written(file), table)
        wanted = expected(file)
    except ValueError:
        return
    assert found[4] is None
    kept = [[(y, {n: v for n, v in a.items() if n in known}) for y, a in s] for _, s in wanted]
    assert [s for _, s in as_python((*found[:4], table, *found[5:]))] == kept


@given(st.binary(max_size=40) | st.text("A\t:\\@weight12.\n\r e+-", max_size=30).map(str.encode))
@few_examples
def test_any_bytes_are_read_or_refused_with_a_line(data: bytes) -> None:
    try:
        found = read(data, first_line=7)
    except ValueError as error:
        line = int(re.match(r"line (\d+): ", str(error)).group(1))  # type: ignore[union-attr]
        assert 7 <= line <= 7 + data.count(b"\n")
    else:
        assert len(found[1]) - 1 == len(found[6]) == found[0][-1]


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("A\ta:\n", {"a": 1.0}),  # as CRFsuite reads it
        ("A\t\ta\t\n", {"a": 1.0}),
        ("A\ta\\b\n", {"a\\b": 1.0}),  # a backslash before anything else is itself
        ("A\ta\\:b:2\r\n", {"a:b": 2.0}),
        ("A\ta:+2e1\n", {"a": 20.0}),
        ("A\t#\ta b", {"#": 1.0, "a b": 1.0}),
        ("A", {}),
        ("A\ta:0\n", {}),
    ],
)
def test_the_corners_of_the_format(text: str, attributes: dict[str, float]) -> None:
    assert as_python(read(text)) == [(1.0, [("A", attributes)])]


def test_blank_lines_of_any_kind_and_number_end_a_sequence() -> None:
    assert [len(s) for _, s in as_python(read("\n\nA\nA\n \t\n\r\n\nA\n\n\n"))] == [2, 1]


def test_a_weight_counts_for_its_sequence_wherever_it_stands() -> None:
    found = as_python(read("A\n@weight:2\nA\n\nA\n\n@weight:1\nA\n"))
    assert [(weight, len(sequence)) for weight, sequence in found] == [(2.0, 2), (1.0, 1), (1.0, 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\n\tb\n", "line 2: expected a label before the first tab, found none."),
        ("A:1\tb\n", r"line 1: the label 'A:1' has a colon; write \: for a colon in a name."),
        ("A\tb:x\n", r"line 1: expected a finite number after the colon of 'b:x', found 'x'; write \: for a colon"),
        ("A\tb:1:2\n", "line 1: expected a finite number after the colon of 'b:1:2', found '1:2'"),
        ("A\tb:inf\n", "found 'inf'"),
        ("A\tb:nan\n", "found 'nan'"),
        ("A\tb:1e999\n", "found '1e999'"),
        ("A\tb:0x1\n", "found '0x1'"),
        ("A\tb: 1\n", "found ' 1'"),
        ("A\t:1\n", "line 1: expected an attribute before the colon of ':1', found none"),
        ("@group:1\nA\n", "line 1: expected a label, or a declaration such as @weight:2, found '@group:1'"),
        ("@weight\nA\n", "found '@weight'"),
        ("@weight:2\n@weight:2\nA\n", "line 2: the sequence has two weights"),
        ("@weight:-1\nA\n", "line 1: the weight of a sequence must not be negative, found -1"),
        ("A\n\n@weight:2\n\nA\n", "line 4: a weight without a sequence"),
        (b"A\n\xff\n", "line 2: byte 0xff is not valid utf-8"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(text)


@pytest.mark.parametrize("line", ["A\ta{}", "A{}:\tb", "@{}", "A\tb:1é{}", "A\tb:{}", "@weight:-{}"])
def test_a_long_field_is_quoted_in_part(line: str) -> None:
    field = "é:1" * 100_000 if "weight" not in line else "1" * 100
    with pytest.raises(ValueError, match=r"^line 1: ") as caught:
        core.read_attributes(line.format(field).encode(), None, 1)
    assert len(str(caught.value)) < 400
