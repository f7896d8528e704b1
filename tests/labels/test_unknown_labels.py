"""Labels that stand for unknown ones are trained as unknown and left out of scores; padding is not learnt."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from dualfield import ChainCRF, ChainCRFCV, GraphCRF, SoftmaxRegression
from dualfield.labels import EncodedLabels
from dualfield.labels.unknown_labels import filled, only_known, with_unknown
from dualfield.metrics import token_accuracy
from dualfield.models import ChainModel

RANDOM = np.random.default_rng(0)
X = [RANDOM.normal(size=(length, 3)) for length in (4, 2, 5, 3, 4, 4)]
TRUTH = [(x @ [1.0, -1.0, 0.5] > 0).astype(int).tolist() for x in X]
MASKED = [[-100, *labels[1:]] for labels in TRUTH]
UNKNOWN = [[None, *labels[1:]] for labels in TRUTH]


@pytest.mark.parametrize(
    "y",
    [
        MASKED,
        [tuple(labels) for labels in MASKED],
        [np.array(labels) for labels in MASKED],
        np.array(MASKED, dtype=object),
    ],
    ids=["lists", "tuples", "arrays", "an array of lists"],
)
def test_an_ignored_label_is_trained_as_an_unknown_one(y: Any) -> None:
    crf = ChainCRF(ignore_label=-100, random_state=0).fit(X, y)
    assert crf.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(crf.weights_, ChainCRF(random_state=0).fit(X, UNKNOWN).weights_)


def test_a_rectangle_of_labels_may_have_ignored_ones() -> None:
    y = np.array([[1, 0, -100], [0, 1, -100]])
    batch = RANDOM.normal(size=(2, 3, 4))
    crf = ChainCRF(ignore_label=-100, random_state=0).fit(batch, y)
    assert crf.classes_.tolist() == [0, 1]
    assert crf.score(batch, y) == np.mean([p[:2] == t[:2].tolist() for p, t in zip(crf.predict(batch), y, strict=True)])


def test_strings_may_be_ignored_too() -> None:
    y = [["X" if label == -100 else str(label) for label in labels] for labels in MASKED]
    crf = ChainCRF(ignore_label="X", random_state=0).fit(X, y)
    assert crf.classes_.tolist() == ["0", "1"]
    encoded = EncodedLabels.from_lists(y)
    np.testing.assert_array_equal(ChainCRF(ignore_label="X", random_state=0).fit(X, encoded).weights_, crf.weights_)


def test_the_score_leaves_unknown_labels_out(tmp_path: Path) -> None:
    crf = ChainCRF(ignore_label=-100, random_state=0).fit(X, TRUTH)
    wrong_at_first = [[1 - p[0], *labels[1:]] for p, labels in zip(crf.predict(X), TRUTH, strict=True)]
    expected = token_accuracy([t[1:] for t in TRUTH], [p[1:] for p in crf.predict(X)])
    assert crf.score(X, wrong_at_first) < expected
    for y in (MASKED, UNKNOWN, np.array(UNKNOWN, dtype=object)):
        assert crf.score(X, y) == pytest.approx(expected)
    weights = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert crf.score(X, MASKED, weights) == pytest.approx(crf.score(X[2:3], MASKED[2:3]))
    crf.save(tmp_path / "model")
    assert ChainCRF.load(tmp_path / "model").score(X, MASKED) == pytest.approx(expected)
    assert ChainModel.load(tmp_path / "model").score(X, MASKED) == pytest.approx(expected)
    with pytest.raises(ValueError, match="y has no known labels to score"):
        crf.score(X[:1], [[-100] * 4])


def test_cross_validation_leaves_them_out_too() -> None:
    crf = ChainCRF(ignore_label=-100, random_state=0)
    assert cross_val_score(crf, X, MASKED, cv=2).min() > 0.5
    search = ChainCRFCV(l2s=[1.0], cv=2, ignore_label=-100, random_state=0).fit(X, MASKED)
    assert search.classes_.tolist() == [0, 1]
    assert search.score(X, MASKED) == pytest.approx(search.best_estimator_.score(X, MASKED))


def test_minus_one_hundred_is_not_learnt_in_silence() -> None:
    with pytest.warns(UserWarning, match=r"y has the label -100, which is learnt .* set ignore_label=-100") as caught:
        ChainCRF(random_state=0).fit(X, MASKED)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChainCRF(random_state=0).fit(X, TRUTH)
        ChainCRF(ignore_label=-100, random_state=0).fit(X, TRUTH)


def test_nor_is_it_on_graphs_and_points() -> None:
    nodes, edges = RANDOM.normal(size=(4, 2)), [(0, 1), (1, 2), (2, 3)]
    told = r"y has the label -100, which is learnt like any other; .* unknown labels, "
    with pytest.warns(UserWarning, match=told + "set ignore_label=-100") as caught:
        GraphCRF().fit([(nodes, edges)], [[0, 1, -100, 1]])
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=told + "leave these rows out") as caught:
        SoftmaxRegression().fit(nodes, [0, 1, -100, 1])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphCRF(ignore_label=-100).fit([(nodes, edges)], [[0, 1, -100, 1]])


def test_partial_fit_refuses_an_ignored_label() -> None:
    crf = ChainCRF(ignore_label=-100, random_state=0).fit(X, TRUTH)
    with pytest.raises(ValueError, match="label 0 of sequence 0 is None"):
        crf.partial_fit(X, MASKED)


@pytest.mark.parametrize("label", [1.0, True, [-100], {}])
def test_only_labels_can_be_ignored(label: Any) -> None:
    with pytest.raises(ValueError, match="ignore_label must be a string, an integer or None; got"):
        ChainCRF(ignore_label=label).fit(X, TRUTH)


def test_what_is_no_list_of_labels_is_left_to_its_reader() -> None:
    for y in (None, "abc", 3, {"a": 1}):
        assert with_unknown(y, -100) is y
        assert filled(y, 0) == (y, None)
    sets = [[{1, 2}, None, 3]]
    assert with_unknown(sets, 1) == sets
    assert with_unknown([[1, True]], 1) == [[None, True]]
    assert only_known([["A"]], [["B"]]) == ([["A"]], [["B"]])


# Padding


def test_a_batch_that_seems_padded_is_refused_with_the_way_out() -> None:
    batch = RANDOM.normal(size=(3, 4, 2)) + 3.0
    y = [[0, 1, 0, 1]] * 3
    crf = ChainCRF(random_state=0).fit(batch, y)
    padded = batch.copy()
    padded[1, 2:] = 0.0
    sentence = r"sequence 1 ends in rows of zeros from position 2 on, .* or list\(X\) if the zeros are data"
    for refused in (lambda: ChainCRF().fit(padded, y), lambda: crf.predict(padded), lambda: crf.encode(padded)):
        with pytest.raises(ValueError, match=sentence):
            refused()
    lengths = [4, 2, 4]
    assert [
        len(labels) for labels in crf.predict([x[:length] for x, length in zip(padded, lengths, strict=True)])
    ] == lengths
    assert [len(labels) for labels in crf.predict(list(padded))] == [4, 4, 4]


@pytest.mark.parametrize("filling", [-1, -100.0])
def test_other_fillings_of_a_batch_are_refused_too(filling: float) -> None:
    batch = RANDOM.normal(size=(3, 4, 2)) + 3.0
    batch[2, 1:] = filling
    sentence = rf"sequence 2 ends in rows of {filling:g} from position 1 on, .* or list\(X\) if {filling:g} is a value"
    with pytest.raises(ValueError, match=sentence):
        ChainCRF().fit(batch, [[0, 1, 0, 1]] * 3)
    ChainCRF().fit(batch[..., :1], [[0, 1, 0, 1]] * 3)  # one column may well end so


def test_zeros_within_a_sequence_are_data() -> None:
    batch = RANDOM.normal(size=(3, 4, 2)) + 3.0
    batch[1, 1:3] = 0.0
    assert len(ChainCRF(random_state=0).fit(batch, [[0, 1, 0, 1]] * 3).predict(batch)) == 3
