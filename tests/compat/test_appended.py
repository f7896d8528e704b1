"""Sequences that ``Trainer.append`` takes, as numbers: the core's way beside the rule written out in Python."""

from __future__ import annotations

from collections import UserDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.compat.crfsuite.appended import Appended, attributes_of

names = st.text(alphabet="ab:é\u4e16\ud800", max_size=3)
numbers = st.one_of(st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, -0.0, 0.5, 1e300]), st.just(np.float32(2)))
values = st.recursive(
    st.one_of(names, names.map(lambda name: name.encode(errors="replace")), numbers),
    lambda inner: st.one_of(
        st.lists(names, max_size=3),
        st.lists(names, max_size=3).map(tuple),
        st.frozensets(names, max_size=3),
        st.dictionaries(names, inner, max_size=3),
        st.dictionaries(names, inner, max_size=2).map(UserDict),
    ),
    max_leaves=6,
)
dicts = st.dictionaries(st.one_of(names, names.map(lambda name: name.encode(errors="replace"))), values, max_size=4)
positions = st.one_of(dicts, st.lists(names, max_size=4), st.lists(names, max_size=3).map(tuple))
sequences = st.lists(
    st.lists(st.tuples(positions, st.sampled_from("NVD")), min_size=1, max_size=3), min_size=1, max_size=4
)


@given(sequences)
def test_rows_and_zeros_are_those_of_the_rule_written_out(given_: list[list[tuple[Any, str]]]) -> None:
    data = Appended()
    for number, sequence in enumerate(given_):
        data.append([position for position, _ in sequence], [label for _, label in sequence], number % 2)
    order = sorted(data.labels)
    group, held_out = data.split(-1, order)
    assert group is not None
    assert held_out is None
    known = group.encoded.vocabulary.names
    expected_zeros = set()
    for row, (position, label) in enumerate(pair for sequence in given_ for pair in sequence):
        expected: dict[str, float] = {}
        for name, value in attributes_of(position):
            expected[name] = expected.get(name, 0.0) + value
            if value == 0:
                expected_zeros.add(known.index(name) * len(order) + order.index(label))
        begin, end = group.encoded.indptr[row : row + 2]
        indices = group.encoded.indices[begin:end]
        amounts = np.ones(len(indices)) if group.encoded.values is None else group.encoded.values[begin:end]
        found = {known[index]: amount for index, amount in zip(indices, amounts.tolist(), strict=True)}
        assert found == {name: value for name, value in expected.items() if value != 0}
    every = [name for sequence in given_ for position, _ in sequence for name, _ in attributes_of(position)]
    assert known == list(dict.fromkeys(every))
    assert data.zero_pairs(-1, order).tolist() == sorted(expected_zeros)


def test_zeros_of_a_held_out_group_are_left_out() -> None:
    data = Appended()
    data.append([{"a": 0}], ["N"], 0)
    data.append([{"b": 0}], ["V"], 1)
    assert data.zero_pairs(1, ["N", "V"]).tolist() == [0]
    assert data.zero_pairs(0, ["N", "V"]).tolist() == [3]
    assert data.zero_pairs(5, ["N", "V"]).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("position", "error", "words"),
    [
        ({"a": 1, "b": None}, TypeError, "'b' is of type NoneType"),
        ({"a": 1, "near": {"b": object()}}, TypeError, "'b' is of type object"),
        ({"a": 1, "b": float("nan")}, ValueError, "'b' has the value nan"),
        ({"a": 1, "near": {"b": float("inf")}}, ValueError, "'b' has the value inf"),
        ({"a": 1, "b": 10**400}, ValueError, "'b' has a value that is too large"),
        ({"a": 1, 2: "b"}, TypeError, "a key is of type int"),
        (["a", 3], TypeError, "an attribute is of type int"),
        ({"a": 1, "b": b"\xff"}, ValueError, "not UTF-8"),
        (7, TypeError, "an item is of type int"),
    ],
)
def test_a_refused_sequence_leaves_no_trace(position: Any, error: type[Exception], words: str) -> None:
    data = Appended()
    data.append([{"w": "the"}], ["D"], 0)
    with pytest.raises(error, match=words):
        data.append([{"new": "name"}, position], ["D", "X"], 0)
    assert (len(data), data.labels, data.n_attributes) == (1, ["D"], 1)
    data.append([{"w": "cat"}], ["N"], 0)
    group, _ = data.split(-1, ["D", "N"])
    assert group is not None
    assert group.encoded.vocabulary.names == ["w:the", "w:cat"]
    assert group.codes.tolist() == [0, 1]


def test_what_is_no_sequence_is_refused_by_name() -> None:
    data = Appended()
    with pytest.raises(TypeError, match="xseq is of type int"):
        data.append(3, ["D"], 0)
    with pytest.raises(TypeError, match="yseq is of type NoneType"):
        data.append([["a"]], None, 0)
    assert len(data) == 0


def test_a_dict_that_holds_itself_is_refused() -> None:
    position: dict[str, Any] = {}
    position["inner"] = position
    data = Appended()
    with pytest.raises(RecursionError):
        data.append([position], ["D"], 0)
    assert len(data) == data.n_attributes == 0


def test_sequences_may_come_after_data_were_asked_for() -> None:
    data = Appended()
    data.append([["a"]], ["D"], 0)
    first, _ = data.split(-1, ["D"])
    data.append([["b", "a"]], ["D"], 0)
    second, _ = data.split(-1, ["D"])
    assert first is not None
    assert second is not None
    assert first.encoded.vocabulary.names == ["a"]
    assert second.encoded.vocabulary.names == ["a", "b"]
    assert second.encoded.indices.tolist() == [0, 0, 1]
