"""Contributions add up to the difference of scores, against every labelling written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.features import extract_all
from dualfield.inspection import explain
from dualfield.io import write_columns
from tests.cli.conftest import runner
from tests.models.test_chain_answers import entity_data, enumerate_labellings
from tests.sequences import as_arrays, as_dicts, labelled_sequences


@pytest.fixture(scope="module", params=["all", "observed"])
def fitted(request: pytest.FixtureRequest) -> tuple[ChainCRF, Any]:
    X, y = entity_data()
    options = {"state_features": request.param, "transitions": request.param}
    return ChainCRF(l2=0.3, random_state=0, **options).fit(X, y), X


def best_log_probability(labellings: list[list[str]], log_p: Any, t: int, label: str) -> float:
    return max(p for labels, p in zip(labellings, log_p, strict=True) if labels[t] == label)


def test_contributions_add_up_to_the_margin_between_the_best_labellings(fitted: tuple[ChainCRF, Any]) -> None:
    crf, X = fitted
    changes_elsewhere = 0
    for x, predicted in zip(X, crf.predict(X), strict=True):
        labellings, p = enumerate_labellings(crf, x)
        log_p = np.log(p)
        for t in range(len(x)):
            why = explain(crf, x, t)
            assert why.label == predicted[t]
            # log-probabilities differ as scores do
            expected = {label: best_log_probability(labellings, log_p, t, label) for label in crf.classes_.tolist()}
            runner_up = max((label for label in expected if label != why.label), key=expected.__getitem__)
            assert expected[why.against] == pytest.approx(expected[runner_up])
            assert why.margin == pytest.approx(expected[why.label] - expected[why.against], abs=1e-9)
            assert sum(row[-1] for row in why.rows) == pytest.approx(why.margin, abs=1e-12)
            assert why.labelling[t] == why.label
            assert why.alternative[t] == why.against
            for label, probability in ((why.label, why.probability), (why.against, why.probability_against)):
                chosen = [labels[t] == label for labels in labellings]
                assert probability == pytest.approx(np.exp(logsumexp(log_p[chosen])))
            changes_elsewhere += sum(a != b for a, b in zip(why.labelling, why.alternative, strict=True)) > 1
    assert changes_elsewhere > 3


def test_each_row_is_value_times_difference_of_weights(fitted: tuple[ChainCRF, Any]) -> None:
    crf, X = fitted
    for x in X[:5]:
        for _, _, value, one, other, contribution in explain(crf, x, 0).rows:
            assert contribution == pytest.approx(value * (one - other))


def test_any_two_labels_can_be_compared(fitted: tuple[ChainCRF, Any]) -> None:
    crf, X = fitted
    one = explain(crf, X[0], 0, "O", "B-P")
    other = explain(crf, X[0], 0, "B-P", "O")
    assert one.margin == pytest.approx(-other.margin)
    assert (one.label, one.against) == ("O", "B-P")
    assert one.title == "Why O, and not B-P, at position 0"


def test_the_same_token_in_any_form_has_the_same_explanation() -> None:
    X, y = labelled_sequences(12)
    crf = ChainCRF(random_state=0).fit(X, y)
    reference = explain(crf, X[1], -1)
    assert explain(crf, as_dicts(X)[1], len(X[1]) - 1).rows == reference.rows
    assert explain(crf, crf.encode(X[1:2]), len(X[1]) - 1).rows == reference.rows
    arrays = ChainCRF(random_state=0).fit(as_arrays(X), y)
    assert [row[-1] for row in explain(arrays, as_arrays(X)[1], -1).rows] == pytest.approx(
        [row[-1] for row in reference.rows]
    )


def test_values_scale_contributions() -> None:
    X = [[{"x": 2.0}, {"x": -1.0}], [{"x": -3.0}, {"x": 1.0}]]
    crf = ChainCRF(random_state=0).fit(X, [["p", "n"], ["n", "p"]])
    (row,) = [row for row in explain(crf, X[0], 0).rows if row[0] == "x"]
    assert row[2] == 2.0
    assert row[5] == pytest.approx(2 * (row[3] - row[4]))


def test_unknown_attributes_are_counted_in_the_note(fitted: tuple[ChainCRF, Any]) -> None:
    crf, _ = fitted
    assert "2 attributes of this token did not occur" in explain(crf, [["never", "seen", "a0"]], 0).note
    assert "did not occur" not in explain(crf, [["a0"]], 0).note


def test_bad_questions_are_refused(fitted: tuple[ChainCRF, Any]) -> None:
    crf, X = fitted
    length = len(X[0])
    with pytest.raises(ValueError, match=rf"from 0 to {length - 1}.*got {length}"):
        explain(crf, X[0], length)
    with pytest.raises(ValueError, match="no label 'Z'"):
        explain(crf, X[0], 0, "Z")
    with pytest.raises(ValueError, match="both 'O'"):
        explain(crf, X[0], 0, "O", "O")
    with pytest.raises(ValueError, match="x holds 25 sequences"):
        explain(crf, crf.encode(X), 0)


def test_words_are_refused_and_models_of_a_template_tell_where_attributes_come_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match=r"x is a sequence of strings; expected a dict or .* for each position\.$"):
        explain(ChainCRF(random_state=0).fit([[["a"], ["b"]]], [["A", "B"]]), ["a", "b"], 0)
    write_columns(travel_sentences(20, seed=0), tmp_path / "train.txt")
    train = ("train", tmp_path / "train.txt", "--features", "ner", "-o", tmp_path / "model")
    assert runner(monkeypatch, capsys)(*train)[0] == 0
    crf = ChainCRF.load(tmp_path / "model")
    with pytest.raises(TypeError, match=r"made by a template: features\.extract_all makes those of a preset\.$"):
        explain(crf, ["Ada", "slept"], 0)
    assert explain(crf, extract_all("ner", [[("Ada",), ("slept",)]])[0], 0).rows


def test_the_ten_largest_contributions_are_printed_and_all_are_kept() -> None:
    X = [[{f"a{k}": 1.0 + 0.1 * k for k in range(30)}, {"b": 1.0}] for _ in range(4)]
    crf = ChainCRF(random_state=0).fit(X, [["A", "B"]] * 4)
    why = explain(crf, X[0], 0)
    assert len(why.rows) > 30
    for text in (str(why), why.within(80), why._repr_html_()):
        shown = [row[0] for row in why.rows if f"\n{row[0]} " in text or f">{row[0]}<" in text]
        assert shown == [row[0] for row in why.rows[:10]]
        rest = sum(row[-1] for row in why.rows[10:])
        assert f"… and {len(why.rows) - 10} smaller contributions, together {rest:+.3f}; rows has all." in text
        assert "A contribution is the value times the difference of the two weights: the weight for A here" in text
    assert len(why.records()) == len(why.rows)
    few = explain(ChainCRF(random_state=0).fit([[["x"], ["y"]]], [["A", "B"]]), [["x"], ["y"]], 0)
    assert "smaller contribution" not in str(few)
