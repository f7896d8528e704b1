"""Sequences that carry bigram attributes: every operation takes them along, and what does not fit is refused."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode, known_bigrams
from dualfield.io import write_attributes
from dualfield.io.json_lines import attribute_lists
from dualfield.labels import EncodedLabels

X = [[["a"], ["b", "c"], ["a"]], [["c"]], [["b"], ["a"]]]
PAIRS = [[["first"], ["p"], ["p", "q"]], [["first"]], [["q"], ["r"]]]


def both() -> Encoded:
    return encode(X, bigrams=PAIRS)


def strings(encoded: Encoded) -> list[list[list[str]]]:
    """The names at every position of every sequence."""
    assert isinstance(encoded.vocabulary, Vocabulary)
    names = encoded.vocabulary.names
    flat = [
        sorted(names[k] for k in encoded.indices[encoded.indptr[p] : encoded.indptr[p + 1]])
        for p in range(encoded.n_positions)
    ]
    return [flat[a:b] for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)]


def test_first_positions_have_no_pair_so_their_bigrams_go() -> None:
    bigrams = both().bigrams
    assert bigrams is not None
    assert strings(bigrams) == [[[], ["p"], ["p", "q"]], [[]], [[], ["r"]]]
    assert bigrams.vocabulary == Vocabulary(["p", "q", "r"])  # "first" was only there


def test_values_stay_with_their_bigrams() -> None:
    bigrams = encode(X, bigrams=[np.arange(2.0 * len(x)).reshape(-1, 2) for x in X]).bigrams
    assert bigrams is not None
    assert bigrams.vocabulary == NumberedColumns(2)
    assert bigrams.values is not None
    assert bigrams.values.tolist() == [2.0, 3.0, 4.0, 5.0, 2.0, 3.0]
    assert bigrams.indptr.tolist() == [0, 0, 2, 4, 4, 4, 6]


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=5))
def test_indexing_takes_bigrams_along(chosen: list[int]) -> None:
    expected = encode([X[i] for i in chosen], bigrams=[PAIRS[i] for i in chosen])
    found = both()[chosen]
    assert found.bigrams is not None
    assert expected.bigrams is not None
    assert strings(found) == strings(expected)
    assert strings(found.bigrams) == strings(expected.bigrams)


@pytest.mark.parametrize(
    "change",
    [
        lambda encoded: encoded.restrict(encoded.counts() > 1),
        lambda encoded: encoded.translate(Vocabulary(["c", "a"])),
        lambda encoded: encoded.translate(Vocabulary(list(encoded.vocabulary.names))),
        lambda encoded: encode(encoded, Vocabulary(["b"])),
        lambda encoded: pickle.loads(pickle.dumps(encoded)),
    ],
)
def test_changes_of_the_attributes_leave_bigrams_as_they_are(change: Any) -> None:
    changed, expected = change(both()).bigrams, both().bigrams
    assert changed is not None
    assert expected is not None
    assert strings(changed) == strings(expected)


def test_with_bigrams_takes_the_place_of_what_was_there() -> None:
    other = both().with_bigrams(encode([[["z"]] * len(x) for x in X]))
    assert other.bigrams is not None
    assert other.bigrams.vocabulary == Vocabulary(["z"])
    assert both().with_bigrams(None).bigrams is None
    assert "bigrams of Vocabulary of 1 names" in repr(other)


def test_a_model_keeps_the_bigrams_that_it_knows() -> None:
    known = known_bigrams(both(), Vocabulary(["r", "x", "p"])).bigrams
    assert known is not None
    assert strings(known) == [[[], ["p"], ["p"]], [[]], [[], ["r"]]]
    plain = encode(X)
    assert known_bigrams(plain, None) is plain


@pytest.mark.parametrize(
    ("bigrams", "message"),
    [
        (PAIRS[:2], "the bigrams have 2 sequences, X has 3; expected one for each"),
        ([PAIRS[0], [["a"], ["b"]], PAIRS[2]], "sequence 1 has 2 positions in the bigrams and 1 in X"),
        (both(), "the bigrams have bigrams themselves"),
    ],
)
def test_bigrams_that_do_not_fit_are_refused(bigrams: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(X, bigrams=bigrams)


def test_bigrams_given_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="X has bigrams already, and more were given"):
        encode(both(), bigrams=PAIRS)


def test_arrays_with_bigrams_at_a_first_position_are_refused() -> None:
    plain, pairs = encode(X), encode(PAIRS)
    with pytest.raises(ValueError, match="the first position of sequence 0 has bigram attributes"):
        Encoded(plain.offsets, plain.indptr, plain.indices, plain.values, plain.vocabulary, pairs)


def test_files_without_a_place_for_bigrams_refuse_them() -> None:
    y = EncodedLabels(["A"], np.zeros(6, np.int32), both().offsets)
    with pytest.raises(ValueError, match="X has bigram attributes, for which attribute files have no place"):
        write_attributes(both(), y, io.StringIO())
    with pytest.raises(ValueError, match="X has bigram attributes, for which"):
        attribute_lists(both())
