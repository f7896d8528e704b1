"""Every accepted form gives the same encoding; every mistake is named with its place."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode
from dualfield.features.sequences.attributes import zero_attributes

# python-crfsuite reads C strings: no NUL, nothing that UTF-8 refuses. Without ":" in keys no paths collide.
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=4)
keys = texts.filter(lambda key: ":" not in key)
numbers = st.floats(-1e6, 1e6) | st.integers(-1000, 1000) | st.booleans()
leaves = numbers | texts | st.lists(texts, unique=True, max_size=3) | st.sets(texts, max_size=3)
items = st.dictionaries(keys, st.recursive(leaves, lambda inner: st.dictionaries(keys, inner, max_size=3)), max_size=4)


def first_position(encoded: Encoded) -> dict[str, float]:
    assert isinstance(encoded.vocabulary, Vocabulary)
    values = np.ones(len(encoded.indices)) if encoded.values is None else encoded.values
    names = [encoded.vocabulary.names[i] for i in encoded.indices[: encoded.indptr[1]]]
    return dict(zip(names, values.tolist(), strict=False))


@given(items)
def test_dicts_mean_what_they_mean_to_python_crfsuite(item: dict[str, Any]) -> None:
    theirs = pycrfsuite.ItemSequence([item]).items()[0]
    encoded = encode([[item]])
    assert first_position(encoded) == {name: value for name, value in theirs.items() if value != 0}
    assert set(encoded.vocabulary.names) == set(theirs)


@given(st.lists(texts, max_size=6))
def test_strings_mean_what_they_mean_to_python_crfsuite(token: list[str]) -> None:
    assert set(first_position(encode([[token]]))) == set(pycrfsuite.ItemSequence([token]).items()[0])
    assert first_position(encode([[token]])) == Counter(token)


@given(st.lists(st.lists(st.lists(st.sampled_from("abcdef"), unique=True), min_size=1), min_size=1))
def test_strings_dicts_and_tuples_agree(corpus: list[list[list[str]]]) -> None:
    expected = encode(corpus)
    others: list[Any] = [
        [[dict.fromkeys(token, 1) for token in sequence] for sequence in corpus],
        [[tuple(token) for token in sequence] for sequence in corpus],
        tuple(tuple(sequence) for sequence in corpus),
        (iter(sequence) for sequence in corpus),
        [np.array([*sequence, None], dtype=object)[:-1] for sequence in corpus],
    ]
    for other in others:
        encoded = encode(other)
        assert encoded.vocabulary == expected.vocabulary
        assert encoded.values is None
        for name in ("offsets", "indptr", "indices"):
            assert getattr(encoded, name).tolist() == getattr(expected, name).tolist()


@given(
    arrays(np.float64, array_shapes(min_dims=2, max_dims=2), elements=st.sampled_from([0, 1, -2, 0.5])),
    st.data(),
)
def test_dense_and_sparse_matrices_agree(matrix: np.ndarray, data: st.DataObject) -> None:
    convert = data.draw(
        st.sampled_from([sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array, np.asfortranarray])
    )
    for encoded in (encode([matrix, matrix]), encode([convert(matrix), matrix])):
        assert encoded.vocabulary == NumberedColumns(matrix.shape[1])
        values = np.ones(len(encoded.indices)) if encoded.values is None else encoded.values
        dense = sparse.csr_array((values, encoded.indices, encoded.indptr), shape=(2 * len(matrix), matrix.shape[1]))
        np.testing.assert_array_equal(dense.toarray(), np.vstack([matrix, matrix]))
        assert (encoded.values is None) == bool(np.isin(matrix, [0, 1]).all())
        assert encoded.lengths.tolist() == [len(matrix)] * 2


def test_a_three_dimensional_array_is_a_list_of_matrices() -> None:
    encoded = encode(np.ones((3, 2, 4), dtype=np.int8))
    assert (encoded.lengths.tolist(), len(encoded.vocabulary), encoded.values) == ([2, 2, 2], 4, None)


def test_unseen_attributes_are_ignored() -> None:
    vocabulary = Vocabulary(["b", "a"])
    for corpus in ([[["a", "z"], ["z"]]], [[{"a": 1, "z": 5}, {"z": 1}]]):
        encoded = encode(corpus, vocabulary)
        assert encoded.vocabulary is vocabulary
        assert (encoded.indices.tolist(), encoded.indptr.tolist(), encoded.values) == ([1], [0, 1, 1], None)


def test_numbers_follow_first_appearance_and_not_the_hash_seed() -> None:
    assert encode([[["q", "a"], ["b", "q"]]]).vocabulary.names == ["q", "a", "b"]
    assert encode([[{"q", "a", "z", "k"}]]).vocabulary.names == ["a", "k", "q", "z"]
    assert encode([[{"s": {"q", "a"}}]]).vocabulary.names == ["s:a", "s:q"]


def test_repeated_attributes_add_up() -> None:
    assert first_position(encode([[["a", "a", "b"]]])) == {"a": 2.0, "b": 1.0}
    assert first_position(encode([[{"a": "b", "a:b": 2.5}]])) == {"a:b": 3.5}
    assert first_position(encode([[{"f": ["p", "p"]}]])) == {"f:p": 2.0}
    assert first_position(encode([[{"a": "b", "a:b": -1}]])) == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(1.5), {"k": 1.5}),
        (np.int64(3), {"k": 3.0}),
        (np.True_, {"k": 1.0}),
        (np.False_, {}),
        (Decimal("2.5"), {"k": 2.5}),
        (np.str_("x"), {"k:x": 1.0}),
        (("x", "y"), {"k:x": 1.0, "k:y": 1.0}),
        (frozenset("x"), {"k:x": 1.0}),
        (OrderedDict(a=2), {"k:a": 2.0}),
        ({}, {}),
        ([], {}),
    ],
)
def test_values_of_related_types_are_accepted(value: Any, expected: dict[str, float]) -> None:
    assert first_position(encode([[{"k": value}]])) == expected
    assert first_position(encode([[{np.str_("k"): value}]])) == expected


def test_encoded_data_passes_through() -> None:
    encoded = encode([[["a", "b"]]])
    assert encode(encoded) is encoded
    assert encode(encoded, encoded.vocabulary) is encoded
    assert encode(encoded, Vocabulary(["b"])).indices.tolist() == [0]


WRONG_TYPE: list[tuple[Any, str]] = [
    ([[["a"]], ["the", "cat"]], r"position 0 of sequence 1 is a string; .* wrap it as \['the'\]"),
    ([["the"]], "position 0 of sequence 0 is a string; expected a dict or a list of attribute strings"),
    ([[["a"]], {"a": 1}], r"sequence 1 is of type dict; .* wrap the one position it is as \[position\]"),
    (["the cat"], "sequence 0 is of type str; expected a list of dicts"),
    (
        ["the", "cat"],
        r"if X is the words of one sentence, give \[\[\[word\] for word in X\]\], and its labels as \[y\]",
    ),
    ([{"a", "b"}], "sequence 0 is of type set"),
    ([3], "sequence 0 is of type int"),
    ("the cat", "X is of type str; expected a list of sequences"),
    ({"a": 1}, "X is of type dict"),
    (7, "X is of type int"),
    (np.eye(2), r"X is one matrix, which is a single sequence; .* wrap it as \[X\]"),
    (sparse.eye_array(2).tocsr(), "X is one matrix"),
    (
        [[{"a": 1}], [{"a": 1}, ["a"]]],
        "position 1 of sequence 1 is a list but position 0 of sequence 0 is a dict",
    ),
    ([[{"a": 1}], np.eye(2)], "sequence 1 is an array but position 0 of sequence 0 is a dict"),
    ([np.eye(2), [["a"]]], "position 0 of sequence 1 is a list but sequence 0 is an array"),
    ([[["a"]], [["a"], ["b", 3]]], "position 1 of sequence 1 has the attribute 3 of type int; .* 2-D array"),
    (
        [[["a", None]]],
        "position 0 of sequence 0 has the attribute None of type NoneType; expected strings only",
    ),
    ([[[{"a": 1}]]], "has the attribute .* of type dict; .* give a dict instead of a list of dicts"),
    ([[[["a"]]]], "position 0 of sequence 0 has the attribute .* of type list"),
    ([[{"a": 1}, {2: 1}]], "position 1 of sequence 0 has the key 2 of type int; expected strings only"),
    ([[{b"a": 1}]], "position 0 of sequence 0 has the key b'a' of type bytes"),
    ([[{"a": None}]], "position 0 of sequence 0: the value at key 'a' is of type NoneType"),
    ([[{"a": 1j}]], "the value at key 'a' is of type complex"),
    ([[{"a": [1]}]], "the list at key 'a' holds something other than strings"),
    ([[{"a": 1}], [{"a": {"b": {3: 1}}}]], "position 0 of sequence 1: a key inside 'b' is not a string"),
    ([[{"a": {"b": None}}]], "the value at key 'b' is of type NoneType"),
    ([[1.0, 2.0]], "position 0 of sequence 0 is of type float; .* one 2-D array per sequence"),
    ([[np.ones(2)]], "position 0 of sequence 0 is of type ndarray; .* one 2-D array per sequence"),
    ([[None]], "position 0 of sequence 0 is of type NoneType"),
    ([np.eye(2), np.array([["a", "b"]])], "sequence 1 is an array of dtype <U1; expected real numbers"),
    ([np.eye(2, dtype=complex)], "sequence 0 is an array of dtype complex128"),
    ([np.array([[None]])], "sequence 0 is an array of dtype object"),
]
WRONG_VALUE: list[tuple[Any, str]] = [
    ([], "X has no sequences"),
    (iter([]), "X has no sequences"),
    ([[["a"]], []], "sequence 1 is empty; expected at least one position"),
    ([[{"a": 1}], ()], "sequence 1 is empty"),
    ([np.eye(2), np.empty((0, 2))], "sequence 1 is empty"),
    ([np.eye(2), []], "sequence 1 is empty"),
    (
        [[{"a": 1}], [{"a": 1}, {"b": 1, "c": np.nan}]],
        "attribute 'c' at position 1 of sequence 1 has the value nan",
    ),
    ([[{"a": {"b": -np.inf}}]], "attribute 'a:b' at position 0 of sequence 0 has the value -inf"),
    ([[{"a": 10**400}]], "position 0 of sequence 0: a value is too large for a double"),
    ([[{"a": Decimal("Infinity")}]], "attribute 'a' at position 0 of sequence 0 has the value inf"),
    (
        [np.eye(2), np.array([[0, 1], [2, np.nan]])],
        "column 1 at position 1 of sequence 1 is nan; expected a finite",
    ),
    ([sparse.csr_array([[0, np.inf]])], "column 1 at position 0 of sequence 0 is inf"),
    ([np.eye(2), np.eye(3)], "sequence 1 has 3 columns but sequence 0 has 2"),
    (
        [np.eye(2), np.ones(2)],
        r"sequence 1 is a 1-D array of shape \(2,\); .* \(positions, columns\); reshape",
    ),
    ([np.ones((1, 1, 1))], "sequence 0 is a 3-D array"),
]


@pytest.mark.parametrize(("X", "message"), WRONG_TYPE)
def test_wrong_types_are_named_with_their_place(X: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        encode(X)


@pytest.mark.parametrize(("X", "message"), WRONG_VALUE)
def test_wrong_values_are_named_with_their_place(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(X)


def test_values_that_are_not_finite_are_refused_even_where_unseen() -> None:
    with pytest.raises(ValueError, match="attribute 'z' at position 0 of sequence 0 has the value inf"):
        encode([[{"a": 1, "z": np.inf}]], Vocabulary(["a"]))


@pytest.mark.parametrize(
    ("X", "vocabulary", "error", "message"),
    [
        (
            [np.eye(2)],
            Vocabulary(["a"]),
            TypeError,
            "X holds arrays but the model was trained on named attributes",
        ),
        (
            [[{"a": 1}]],
            NumberedColumns(2),
            TypeError,
            "X holds dicts but the model was trained on arrays of 2 columns",
        ),
        ([[["a"]]], NumberedColumns(2), TypeError, "X holds lists but the model was trained on arrays of 2 columns"),
        ([np.eye(2)], NumberedColumns(3), ValueError, "sequence 0 has 2 columns but the model was trained on 3"),
    ],
)
def test_data_of_another_kind_than_the_model_is_refused(
    X: Any, vocabulary: Vocabulary | NumberedColumns, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        encode(X, vocabulary)


@pytest.mark.parametrize("make", [lambda rows: rows, tuple, iter, lambda rows: (row for row in rows)])
def test_any_iterable_of_positions_is_a_sequence(make: Callable[[list[list[str]]], Any]) -> None:
    assert encode([make([["a"], ["b"]])]).lengths.tolist() == [2]


class Fields(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, **items: Any) -> None:
        self._items = items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Any:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def test_other_mappings_are_read_like_dicts() -> None:
    assert first_position(encode([[Fields(word="a", size=2)]])) == {"word:a": 1.0, "size": 2.0}


def test_lone_surrogates_and_characters_beyond_ascii_keep_apart() -> None:
    names = ["\ud800", "ü", "u\u0308", "日本", "\U0001f600", "a\x00b", ""]
    encoded = encode([[dict.fromkeys(names, 1.0)], [{name: name for name in names}]])
    assert encoded.vocabulary.names == [*names, *(f"{name}:{name}" for name in names)]


@given(st.lists(st.dictionaries(keys, numbers | texts, max_size=4), min_size=1, max_size=4))
def test_zeros_are_found_where_they_are(positions: list[dict[str, Any]]) -> None:
    vocabulary = encode([positions]).vocabulary
    assert isinstance(vocabulary, Vocabulary)
    places, attributes = zero_attributes([positions], vocabulary)
    expected = [(t, key) for t, p in enumerate(positions) for key, v in p.items() if not isinstance(v, str) and v == 0]
    assert [(t, vocabulary.names[a]) for t, a in zip(places.tolist(), attributes.tolist(), strict=True)] == expected


def test_a_mistake_late_in_the_data_is_named_with_its_place() -> None:
    good = [[{"a": 1}]] * 1000
    with pytest.raises(ValueError, match="attribute 'b' at position 1 of sequence 1000 has the value nan"):
        encode([*good, [{"a": 1}, {"b": float("nan")}]])
    with pytest.raises(ValueError, match="position 0 of sequence 1000: a value is too large"):
        encode([*good, [{"a": 10**400}]])
    with pytest.raises(TypeError, match="position 0 of sequence 1000: the value at key 'a' is of type object"):
        encode([*good, [{"a": object()}]])
