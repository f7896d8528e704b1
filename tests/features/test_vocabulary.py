"""A vocabulary numbers its names and survives the trip through arrays; damaged arrays are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.features import Cell, NumberedColumns, Rule, Template, Vocabulary

# st.text() leaves out lone surrogates; these are drawn on purpose.
any_text = st.text(st.characters(exclude_categories=())) | st.just("\ud83d\ude00") | st.just("")
name_lists = st.lists(any_text, unique=True)


@given(name_lists)
def test_index_inverts_names(names: list[str]) -> None:
    vocabulary = Vocabulary(names)
    assert [vocabulary.index[name] for name in vocabulary.names] == list(range(len(names)))
    assert len(vocabulary) == len(names)


@given(name_lists)
def test_arrays_give_the_vocabulary_back(names: list[str]) -> None:
    arrays = Vocabulary(names).to_bytes_arrays()
    assert arrays["vocabulary_text"].dtype == np.uint8
    assert arrays["vocabulary_offsets"].dtype == np.int64
    back = Vocabulary.from_arrays(arrays["vocabulary_text"], arrays["vocabulary_offsets"])
    assert back == Vocabulary(names)


@given(st.binary(), st.lists(st.integers(-3, 30)))
def test_arbitrary_arrays_give_a_vocabulary_or_a_value_error(text: bytes, offsets: list[int]) -> None:
    message = ""
    try:
        vocabulary = Vocabulary.from_arrays(np.frombuffer(text, np.uint8), np.array(offsets, dtype=np.int64))
    except ValueError as error:
        message = str(error)
    if message:
        assert message.endswith(".")
    else:
        assert len(vocabulary) == len(offsets) - 1


@pytest.mark.parametrize(
    ("text", "offsets", "message"),
    [
        (b"abc", [1, 3], "must run from 0 to the 3 bytes of vocabulary_text; found 1 to 3"),
        (b"abc", [0, 2], "must run from 0 to the 3 bytes of vocabulary_text; found 0 to 2"),
        (b"abc", [0, 2, 1, 3], "must not decrease; found 2 then 1 at entry 1"),
        (b"a\xff", [0, 1, 2], "name 1 of vocabulary_text is not valid UTF-8"),
        ("é".encode(), [0, 1, 2], "name 0 of vocabulary_text is not valid UTF-8"),
        (b"aba", [0, 1, 2, 3], "name 'a' occurs twice in the vocabulary, at 0 and 2"),
        (b"abc", [], "non-empty 1-D array of integers"),
        (b"abc", [0.0, 3.0], "non-empty 1-D array of integers"),
    ],
)
def test_damaged_arrays_are_refused(text: bytes, offsets: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Vocabulary.from_arrays(np.frombuffer(text, np.uint8), offsets)


def test_text_of_another_type_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary_text must be a 1-D array of uint8"):
        Vocabulary.from_arrays(np.zeros(3, np.int64), [0, 3])


def test_repeated_and_non_string_names_are_refused() -> None:
    with pytest.raises(ValueError, match="name 'x' occurs twice in the vocabulary, at 0 and 1"):
        Vocabulary(["x", "x"])
    with pytest.raises(TypeError, match="name 1 of the vocabulary is of type int; expected a string"):
        Vocabulary(["x", 3])  # type: ignore[list-item]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=40), unique=True, max_size=60))
def test_a_table_of_arrays_finds_every_name_and_no_other(names: list[str]) -> None:
    arrays = Vocabulary(names).to_bytes_arrays()
    vocabulary = Vocabulary.from_arrays(arrays["vocabulary_text"], arrays["vocabulary_offsets"])
    words = [(name,) for name in [*names, "none of them" * 5]]
    found = Template([Rule((Cell(0),))]).encode([words], vocabulary)
    assert found.indices.tolist() == list(range(len(names)))
    assert np.diff(found.indptr).tolist() == [1] * len(names) + [0]


def test_a_vocabulary_of_arrays_keeps_its_own() -> None:
    text, offsets = np.frombuffer(b"abc", np.uint8).copy(), np.array([0, 1, 3])
    vocabulary = Vocabulary.from_arrays(text, offsets)
    text[:], offsets[:] = ord("x"), 0
    assert vocabulary.names == ["a", "bc"]


def test_numpy_strings_become_plain_ones() -> None:
    assert [type(name) for name in Vocabulary([np.str_("a"), "b"]).names] == [str, str]


def test_equality_is_by_names_in_order_and_never_across_kinds() -> None:
    assert Vocabulary(["a", "b"]) == Vocabulary(["a", "b"])
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert Vocabulary([]) != NumberedColumns(0)
    assert NumberedColumns(2) == NumberedColumns(2)
    assert NumberedColumns(2) != NumberedColumns(3)
    assert "a" in Vocabulary(["a"])
    assert "b" not in Vocabulary(["a"])


def test_a_negative_width_is_refused() -> None:
    with pytest.raises(ValueError, match="must be an integer, at least 0; got -1"):
        NumberedColumns(-1)
