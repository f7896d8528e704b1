"""Tokens give back what they were made of, by sentence and by column; their labels train as lists do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualfield import ChainCRF
from dualfield.features import Tokens
from dualfield.labels import EncodedLabels, encode_labels

corpora = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.tuples(*[st.text(max_size=3)] * width), min_size=1, max_size=4), min_size=1, max_size=5
    )
)
ROWS = [[("the", "DT"), ("cat", "NN")], [("it", "PRP")], [("a", "DT"), ("dog", "NN"), ("sat", "VB")]]


@settings(deadline=None)
@given(corpora)
def test_rows_come_back(corpus: list[list[tuple[str, ...]]]) -> None:
    tokens = Tokens.from_rows(corpus)
    assert tokens.rows() == corpus
    assert pickle.loads(pickle.dumps(tokens)).rows() == corpus
    assert (len(tokens), tokens.n_tokens) == (len(corpus), sum(map(len, corpus)))
    flat = [row for sentence in corpus for row in sentence]
    for c in range(tokens.n_columns):
        assert tokens.column(c) == [row[c] for row in flat]
        assert tokens.column(c - tokens.n_columns) == tokens.column(c)
    assert tokens.lengths.tolist() == list(map(len, corpus))
    assert tokens.lines.tolist() == [0] * len(corpus)


@settings(deadline=None)
@given(corpora, st.data())
def test_slices_are_those_of_a_list(corpus: list[list[tuple[str, ...]]], data: st.DataObject) -> None:
    tokens = Tokens.from_rows(corpus)
    n = len(corpus)
    chosen = data.draw(st.lists(st.integers(-n, n - 1), max_size=4))
    assert tokens[np.array(chosen, dtype=int)].rows() == [corpus[i] for i in chosen]
    assert tokens[1:].rows() == corpus[1:]
    assert [part.rows() for part in tokens] == [[sentence] for sentence in corpus]
    labels = tokens.labels(0)
    assert labels[np.array(chosen, dtype=int)].tolist() == [[row[0] for row in corpus[i]] for i in chosen]
    assert list(labels) == [labels[i] for i in range(n)] == [[row[0] for row in s] for s in corpus]


def test_columns_are_chosen_and_ordered() -> None:
    tokens = Tokens.from_rows(ROWS)
    assert tokens.with_columns([1, 0]).rows()[1] == [("PRP", "it")]
    assert tokens.with_columns([-1]).n_columns == 1
    with pytest.raises(IndexError, match="column 2 was asked for; the tokens have 2 columns, 0 to 1"):
        tokens.column(2)
    with pytest.raises(IndexError, match="sentence 3 was asked for"):
        tokens[3]


def test_equal_strings_are_one_object() -> None:
    column = Tokens.from_rows(ROWS).column(1)
    assert column[0] is column[3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[("a", "b")], [("a", "b"), ("c",)]], "row 1 of sentence 1 has 1 columns but the first row has 2"),
        ([[("a",)], []], "sentence 1 has no rows"),
        ([[("a\ud800",)]], "lone surrogate"),
    ],
)
def test_rows_that_are_no_tokens_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tokens.from_rows(rows)


def test_encoded_labels_are_encoded_like_lists() -> None:
    labels = Tokens.from_rows(ROWS).labels()
    for part, lists in ((labels, labels.tolist()), (labels[1:], labels.tolist()[1:])):
        classes, codes = encode_labels(part, part.lengths)
        expected_classes, expected_codes = encode_labels(lists, part.lengths)
        assert classes.tolist() == expected_classes.tolist()
        assert codes.tolist() == expected_codes.tolist()
    assert encode_labels(labels[1:2], [1], ["NN", "PRP"])[1].tolist() == [1]
    assert encode_labels(labels[:1], [2], ["NN", "PRP"])[1].tolist() == [-1, 0]


def test_a_model_trains_and_scores_on_encoded_labels() -> None:
    tokens = Tokens.from_rows(ROWS)
    X = [[[row[0]] for row in sentence] for sentence in ROWS]
    y = tokens.labels()
    crf = ChainCRF(random_state=0).fit(X, y)
    np.testing.assert_array_equal(crf.weights_, ChainCRF(random_state=0).fit(X, y.tolist()).weights_)
    assert crf.score(X, y) == crf.score(X, y.tolist())


@pytest.mark.parametrize(
    ("labels", "lengths", "error", "message"),
    [
        (EncodedLabels(["a", "b"], [0, 1], [0, 2]), [1, 1], ValueError, "y has 1 sequences but X has 2"),
        (EncodedLabels(["a", "b"], [0, 1], [0, 2]), [3], ValueError, "sequence 0 has 2 labels in y but 3 positions"),
        (EncodedLabels(["a", "b"], [0, 0], [0, 2]), [2], ValueError, "at least two different labels .* only 'a'"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Any, lengths: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        encode_labels(labels, lengths)


def test_labels_of_another_type_than_in_training_are_refused() -> None:
    with pytest.raises(TypeError, match="of type str but the model was trained on labels of type int"):
        encode_labels(EncodedLabels(["1"], [0], [0, 1]), [1], np.array([1, 2]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [1], [0, 1]), "codes run from 1 to 1 but there are 1 names"),
        ((["a", "a"], [1], [0, 1]), "not distinct"),
        ((["a"], [0], [0, 2]), "offsets must run from 0"),
    ],
)
def test_damaged_labels_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EncodedLabels(*arguments)
