"""Counts of the report agree with scikit-learn's; mistakes come in order of confidence, with true reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from dualfield import ChainCRF
from dualfield.features import encode
from dualfield.inspection import explain
from dualfield.reporting.scoring import Scored, confusion, label_scores, mistakes, score_sequences, words_of
from tests.sequences import as_arrays, as_dicts, labelled_sequences


@pytest.fixture(scope="module")
def scored() -> tuple[ChainCRF, Scored, Any, Any]:
    crf = ChainCRF(l2=3.0, random_state=0).fit(*labelled_sequences(30))
    X, y = labelled_sequences(40, seed=5)
    return crf, score_sequences(crf, X, y, None), X, y


def flat(sequences: Any) -> list[Any]:
    return [item for sequence in sequences for item in sequence]


def test_label_scores_are_scikit_learns(scored: tuple[ChainCRF, Scored, Any, Any]) -> None:
    crf, data, X, y = scored
    expected = precision_recall_fscore_support(flat(y), flat(crf.predict(X)), labels=crf.classes_, zero_division=0)
    found = list(label_scores(crf, data).values())
    assert [score.precision for score in found] == pytest.approx(expected[0])
    assert [score.recall for score in found] == pytest.approx(expected[1])
    assert [score.f1 for score in found] == pytest.approx(expected[2])
    assert [score.n_true for score in found] == expected[3].tolist()


def test_confusions_are_scikit_learns(scored: tuple[ChainCRF, Scored, Any, Any]) -> None:
    crf, data, X, y = scored
    found = confusion(crf, data)
    assert found.counts == confusion_matrix(flat(y), flat(crf.predict(X)), labels=crf.classes_).tolist()
    assert found.omitted == 0


def test_mistakes_are_the_most_confident_one_of_each_sequence(scored: tuple[ChainCRF, Scored, Any, Any]) -> None:
    crf, data, X, y = scored
    expected = []
    for i, (labels, marginals) in enumerate(zip(crf.predict(X), crf.predict_marginals(X), strict=True)):
        wrong = [
            (marginals[t, crf.classes_.tolist().index(label)], t) for t, label in enumerate(labels) if label != y[i][t]
        ]
        if wrong:
            sure, t = max(wrong, key=lambda pair: (pair[0], -pair[1]))
            expected.append((sure, i, t))
    expected.sort(key=lambda row: -row[0])
    found = mistakes(crf, data, n=5)
    assert len(expected) > 5
    assert [(m.probability, m.sequence, m.position) for m in found] == expected[:5]
    for mistake in found:
        i, t = mistake.sequence, mistake.position
        (here,) = [token for token in mistake.tokens if token.here]
        assert (here.word, here.true, here.predicted) == (X[i][t][0][2:], y[i][t], mistake.predicted)
        assert mistake.true != mistake.predicted
        rows = explain(crf, X[i], t, mistake.predicted, mistake.true).rows
        expected_reasons = [(row[0] + (f" at {row[1]}" if row[1] != t else ""), row[-1]) for row in rows if row[-1] > 0]
        assert mistake.reasons == expected_reasons[:4]


def test_a_long_context_is_cut(scored: tuple[ChainCRF, Scored, Any, Any]) -> None:
    crf = scored[0]
    x = [["w=a"]] * 40
    labels = crf.predict([x])[0]
    truth = list(labels)
    truth[20] = next(label for label in crf.classes_.tolist() if label != labels[20])
    (mistake,) = mistakes(crf, score_sequences(crf, [x], [truth], None))
    assert mistake.position == 20
    assert len(mistake.tokens) == 15
    assert mistake.cut_before
    assert mistake.cut_after


def test_words_are_found_by_the_names_people_use() -> None:
    dicts = [[{"word": "Ada", "upper": True}, {"shape": "x"}, {"token=": 1.0, "w[0]=met": 1.0}]]
    assert words_of(dicts, encode(dicts)) == [["Ada", "#1", "met"]]
    strings = [[["w[-1]=no", "w[0]=a=b"], ["word:c"]]]
    assert words_of(strings, encode(strings)) == [["a=b", "c"]]
    assert words_of(encode(strings), encode(strings)) == [["a=b", "c"]]
    X, _ = labelled_sequences(3)
    assert words_of(as_arrays(X), encode(as_arrays(X)))[0] == [f"#{t}" for t in range(len(X[0]))]
    assert words_of(as_dicts(X), encode(as_dicts(X)))[0] == list("abcdefgh")


def test_codes_of_unseen_labels_are_left_out_of_confusions(scored: tuple[ChainCRF, Scored, Any, Any]) -> None:
    crf = scored[0]
    data = score_sequences(crf, [[["w=a"], ["w=b"]]], [["ODD", "NOUN"]], None)
    assert np.sum(confusion(crf, data).counts) == 1
    assert sum(score.n_true for score in label_scores(crf, data).values()) == 1
