"""Encoded sequences behave like an array of sequences, whichever way they are cut, shrunk or renumbered."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode

weights = st.sampled_from([1.0, 0.0, -1.0, 2.5, 0.5])
tokens = st.dictionaries(st.sampled_from("abcdefg"), weights, max_size=4)
corpora = st.lists(st.lists(tokens, min_size=1, max_size=4), min_size=1, max_size=6)


def dicts(encoded: Encoded) -> list[list[dict[Any, float]]]:
    """The sequences as dicts from name (or column) to value: the plain reading of the arrays."""
    vocabulary = encoded.vocabulary
    names = vocabulary.names if isinstance(vocabulary, Vocabulary) else list(range(len(vocabulary)))
    values = np.ones(len(encoded.indices)) if encoded.values is None else encoded.values
    found = []
    for i in range(len(encoded)):
        sequence = []
        for t in range(encoded.offsets[i], encoded.offsets[i + 1]):
            entries = range(encoded.indptr[t], encoded.indptr[t + 1])
            sequence.append({names[encoded.indices[e]]: float(values[e]) for e in entries})
        found.append(sequence)
    return found


def without_zeros(corpus: list[list[dict[str, float]]]) -> list[list[dict[str, float]]]:
    return [[{name: v for name, v in token.items() if v != 0} for token in sequence] for sequence in corpus]


@given(corpora)
def test_encoding_keeps_every_attribute_but_zeros(corpus: list[list[dict[str, float]]]) -> None:
    encoded = encode(corpus)
    assert dicts(encoded) == without_zeros(corpus)
    assert encoded.lengths.tolist() == [len(sequence) for sequence in corpus]
    assert encoded.n_positions == sum(map(len, corpus))
    assert encoded.shape == (len(corpus),)


@given(corpora, st.data())
def test_indexing_agrees_with_indexing_a_list(corpus: list[list[dict[str, float]]], data: st.DataObject) -> None:
    encoded, n = encode(corpus), len(corpus)
    plain = without_zeros(corpus)
    picks = data.draw(st.lists(st.integers(-n, n - 1)))
    assert dicts(encoded[picks]) == [plain[i] for i in picks]
    assert dicts(encoded[np.array(picks, dtype=np.int32), ...]) == [plain[i] for i in picks]
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    assert dicts(encoded[np.array(mask)]) == [s for s, chosen in zip(plain, mask, strict=True) if chosen]
    cut = data.draw(st.slices(n))
    assert dicts(encoded[cut]) == plain[cut]
    one = data.draw(st.integers(-n, n - 1))
    assert dicts(encoded[one]) == [plain[one]]
    assert [dicts(sequence)[0] for sequence in encoded] == plain


@given(corpora)
def test_counts_are_positions_with_a_value(corpus: list[list[dict[str, float]]]) -> None:
    encoded = encode(corpus)
    flat = [token for sequence in corpus for token in sequence]
    expected = [sum(token.get(name, 0) != 0 for token in flat) for name in encoded.vocabulary.names]
    assert encoded.counts().tolist() == expected
    assert encoded.counts().dtype == np.int64


@given(corpora, st.data())
def test_restrict_drops_the_others_and_nothing_else(corpus: list[list[dict[str, float]]], data: st.DataObject) -> None:
    encoded = encode(corpus)
    names = encoded.vocabulary.names
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names))), dtype=bool)
    kept = {name for name, chosen in zip(names, keep, strict=True) if chosen}
    restricted = encoded.restrict(keep)
    assert restricted.vocabulary.names == [name for name in names if name in kept]
    assert dicts(restricted) == [
        [{name: v for name, v in token.items() if name in kept} for token in sequence]
        for sequence in without_zeros(corpus)
    ]


@given(corpora, st.permutations("aceghij"))
def test_translate_is_encoding_with_that_vocabulary(corpus: list[list[dict[str, float]]], names: list[str]) -> None:
    target = Vocabulary(names)
    translated, direct = encode(corpus).translate(target), encode(corpus, target)
    assert translated.vocabulary is target
    assert translated.indptr.tolist() == direct.indptr.tolist()
    assert translated.indices.tolist() == direct.indices.tolist()
    assert dicts(translated) == dicts(direct)


def test_restricted_columns_keep_their_width() -> None:
    encoded = encode([np.array([[1.0, 2.0, 3.0]])])
    restricted = encoded.restrict(np.array([True, False, True]))
    assert restricted.vocabulary == NumberedColumns(3)
    assert dicts(restricted) == [[{0: 1.0, 2: 3.0}]]


def test_arrays_have_the_types_the_core_expects() -> None:
    encoded = encode([[{"a": 2}, {"b": 1}]])
    assert encoded.values is not None
    found = [a.dtype for a in (encoded.offsets, encoded.indptr, encoded.indices, encoded.values)]
    assert found == [np.int64, np.int64, np.int32, np.float64]
    assert all(a.flags.c_contiguous for a in (encoded.offsets, encoded.indptr, encoded.indices, encoded.values))


def test_attributes_of_a_position_are_distinct_and_increasing() -> None:
    encoded = encode([[["c", "b", "a"]], [["a", "b", "a", "c"]]])
    assert encoded.indices.tolist() == [0, 1, 2, 0, 1, 2]
    assert encoded.values is not None
    assert encoded.values.tolist() == [1, 1, 1, 1, 1, 2]


def test_pickling_gives_the_same_data() -> None:
    encoded = encode([[{"a": 2.0}, {"b": 1}], [{"a": 1}]])
    assert dicts(pickle.loads(pickle.dumps(encoded))) == dicts(encoded)


class MeanLength(BaseEstimator):
    """Enough of an estimator to be cross-validated over encoded sequences."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def fit(self, X: Encoded, y: list[list[str]]) -> MeanLength:
        assert isinstance(X, Encoded)
        assert X.lengths.tolist() == [len(labels) for labels in y]
        self.mean_ = float(X.lengths.mean()) + self.shift
        return self

    def score(self, X: Encoded, y: list[list[str]]) -> float:
        assert X.lengths.tolist() == [len(labels) for labels in y]
        return -abs(float(X.lengths.mean()) - self.mean_)


def test_scikit_learn_indexes_and_splits_it_like_an_array() -> None:
    corpus = [[["w"]] * length for length in (1, 2, 3, 1, 2, 3)]
    encoded, y = encode(corpus), [["A"] * len(sequence) for sequence in corpus]
    assert _num_samples(encoded) == 6
    assert indexable(encoded, y)[0] is encoded
    assert _safe_indexing(encoded, [4, 0]).lengths.tolist() == [2, 1]
    assert _safe_indexing(encoded, np.arange(6) % 3 == 2).lengths.tolist() == [3, 3]
    assert _safe_indexing(encoded, slice(1, 3)).lengths.tolist() == [2, 3]
    train, test, y_train, y_test = train_test_split(encoded, y, test_size=2, shuffle=True, random_state=0)
    assert train.lengths.tolist() == [len(labels) for labels in y_train]
    assert test.lengths.tolist() == [len(labels) for labels in y_test]
    assert cross_val_score(MeanLength(), encoded, y, cv=KFold(2)).tolist() == [0.0, 0.0]
    search = GridSearchCV(MeanLength(), {"shift": [1.0, 0.0]}, cv=KFold(2)).fit(encoded, y)
    assert search.best_params_ == {"shift": 0.0}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "sequence 3 was asked for; expected -3 to 2"),
        ([0, -4], "sequence -4 was asked for"),
        ([True, False], r"boolean mask of shape \(3,\); found bool of shape \(2,\)"),
        (["a"], "indexed by an int, a slice, integers, or a boolean mask"),
        ([0.5], "indexed by an int, a slice, integers, or a boolean mask"),
    ],
)
def test_impossible_keys_are_index_errors(key: Any, message: str) -> None:
    with pytest.raises(IndexError, match=message):
        encode([[["a"]], [["b"]], [["c"]]])[key]


def test_an_empty_selection_is_empty() -> None:
    empty = encode([[["a"]]])[[]]
    assert (len(empty), empty.n_positions, empty.lengths.tolist()) == (0, 0, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [0, 1]}, "offsets must run from 0 to the number of positions, 2"),
        ({"offsets": [1, 2]}, "offsets must run from 0"),
        ({"offsets": [0, 2, 2]}, "sequence 1 is empty or its offsets decrease"),
        ({"offsets": [[0, 2]]}, "offsets must be a 1-D array of integers"),
        ({"indptr": [0, 2, 4]}, "indptr must run from 0 to the number of entries, 3"),
        ({"indptr": [0, 4, 3]}, "indptr must not decrease; it does after position 1"),
        ({"indices": [0, 1, 5]}, "attribute numbers must be 0 to 2; found 0 to 5"),
        ({"indices": [0, -1, 2]}, "attribute numbers must be 0 to 2; found -1 to 2"),
        ({"indices": [1, 1, 2]}, "distinct and increasing within a position; those of position 0 are not"),
        ({"indices": [0.5, 1, 2]}, "indices must be a 1-D array of integers"),
        ({"values": [1.0, 2.0]}, "one entry per attribute number, 3"),
        ({"values": [1.0, np.nan, 2.0]}, "values must be finite; entry 1 is not"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(change: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {
        "offsets": [0, 2],
        "indptr": [0, 2, 3],
        "indices": [0, 1, 2],
        "values": None,
        "vocabulary": NumberedColumns(3),
    }
    assert len(Encoded(**fields)) == 1
    with pytest.raises(ValueError, match=message):
        Encoded(**(fields | change))


def test_translate_refuses_other_widths_and_other_kinds() -> None:
    columns, names = encode([np.eye(2)]), encode([[["a"]]])
    with pytest.raises(ValueError, match="has 2 columns but the vocabulary to translate to has 3"):
        columns.translate(NumberedColumns(3))
    with pytest.raises(TypeError, match=r"attributes of the encoded data are columns but .* has names"):
        columns.translate(Vocabulary(["a"]))
    with pytest.raises(TypeError, match=r"attributes of the encoded data are names but .* has columns"):
        names.translate(NumberedColumns(1))
    assert columns.translate(NumberedColumns(2)) is columns


def test_restrict_refuses_a_mask_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"keep must be a boolean array of shape \(2,\)"):
        encode([[["a", "b"]]]).restrict([True])
