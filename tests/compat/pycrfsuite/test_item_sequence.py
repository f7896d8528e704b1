"""Features become attributes as python-crfsuite makes them."""

from __future__ import annotations

from typing import Any

import pycrfsuite as theirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.compat import pycrfsuite as ours

names = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["a", "b", "a:b", "é", "nul\0nul", ""])
strings = names | names.map(str.encode)
numbers = st.floats(allow_nan=False) | st.integers(-(10**30), 10**30) | st.booleans()
values: Any = st.recursive(
    strings | numbers,
    lambda inner: (
        st.dictionaries(strings, inner, max_size=4) | st.lists(strings, max_size=3) | st.sets(strings, max_size=3)
    ),
    max_leaves=8,
)
positions = st.dictionaries(strings, values, max_size=6) | st.lists(strings, max_size=5) | st.sets(names, max_size=5)


@given(st.lists(positions, max_size=4))
def test_items_are_those_of_python_crfsuite(sequence: Any) -> None:
    expected, found = theirs.ItemSequence(sequence), ours.ItemSequence(sequence)
    assert found.items() == expected.items()
    assert [list(position) for position in found.items()] == [list(position) for position in expected.items()]
    assert len(found) == len(expected)
    assert repr(found) == repr(expected)


def test_numbers_of_other_types_are_taken_by_their_float() -> None:
    np = pytest.importorskip("numpy")
    sequence = [{"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True), "d": np.str_("x")}]
    assert ours.ItemSequence(sequence).items() == [{"a": 0.5, "b": 3.0, "c": 1.0, "d:x": 1.0}]


def test_text_beyond_ascii_keeps_no_copy_in_the_string() -> None:
    text = "é東🚲" * 100
    before = text.__sizeof__()
    assert ours.ItemSequence([{text: text}]).items() == [{f"{text}:{text}": 1.0}]
    assert text.__sizeof__() == before


def test_a_sequence_of_a_sequence_is_the_same() -> None:
    sequence = ours.ItemSequence([["a"], {"b": 2}])
    assert ours.ItemSequence(sequence).items() == sequence.items() == [{"a": 1.0}, {"b": 2.0}]


def test_names_that_are_no_text_are_refused_when_they_are_shown() -> None:
    for module in (theirs, ours):
        with pytest.raises(UnicodeDecodeError):
            module.ItemSequence([[b"\xff"]]).items()


def test_no_argument_and_two_are_refused() -> None:
    with pytest.raises(TypeError):
        ours.ItemSequence()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ours.ItemSequence([], [])  # type: ignore[call-arg]
