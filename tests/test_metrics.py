"""Chunks are read and scored by conlleval's rules, in every scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline

from dualfield import ChainCRF
from dualfield.compat.sklearn_crfsuite import CRF
from dualfield.metrics import (
    Score,
    are_chunk_tags,
    chunk_scores,
    chunks,
    classification_report,
    entity_f1_scorer,
    label_scores,
    token_accuracy,
)

any_tags = st.sampled_from(["O", *(f"{letter}-{type_}" for letter in "BIES" for type_ in "XY")])


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-X I-X I-X", [(0, 3, "X")]),
        ("O I-X", [(1, 2, "X")]),
        ("I-X I-X O", [(0, 2, "X")]),
        ("B-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),
        ("B-X B-X", [(0, 1, "X"), (1, 2, "X")]),
        ("I-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),
        ("I-X I-Y I-Y", [(0, 1, "X"), (1, 3, "Y")]),
        ("B-X I-X E-X S-Y", [(0, 3, "X"), (3, 4, "Y")]),
        ("S-X S-X", [(0, 1, "X"), (1, 2, "X")]),
        ("S-X I-X", [(0, 1, "X"), (1, 2, "X")]),
        ("E-X E-X", [(0, 1, "X"), (1, 2, "X")]),
        ("E-X I-X", [(0, 1, "X"), (1, 2, "X")]),
        ("O E-X O", [(1, 2, "X")]),
        ("I-X E-X", [(0, 2, "X")]),
        ("I-X S-X", [(0, 1, "X"), (1, 2, "X")]),
        ("B-X E-Y", [(0, 1, "X"), (1, 2, "Y")]),
        ("B-NP-TMP I-NP-TMP", [(0, 2, "NP-TMP")]),
        ("B I O I", [(0, 2, ""), (3, 4, "")]),
    ],
)
def test_chunks_worked_out_by_hand(tags: str, expected: list[tuple[int, int, str]]) -> None:
    assert chunks(tags.split()) == expected


segments = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["X", "Y", "O"])))


@given(segments)
def test_a_segmentation_reads_the_same_in_every_scheme(pieces: list[tuple[int, str]]) -> None:
    expected, iob1, iob2, iobes = [], [], [], []
    for length, type_ in pieces:
        if type_ == "O":
            for tags in (iob1, iob2, iobes):
                tags.extend(["O"] * length)
            continue
        touching = bool(iob1) and iob1[-1][1:] == f"-{type_}"
        expected.append((len(iob1), len(iob1) + length, type_))
        inside = [f"I-{type_}"] * length
        iob1.extend([f"B-{type_}", *inside[1:]] if touching else inside)
        iob2.extend([f"B-{type_}", *inside[1:]])
        iobes.extend([f"S-{type_}"] if length == 1 else [f"B-{type_}", *inside[2:], f"E-{type_}"])
    assert chunks(iob1) == chunks(iob2) == chunks(iobes) == expected
    for others in ({"E": "L", "S": "U"}, {"I": "M"}, {"I": "M", "S": "W"}):  # BILOU, BMES, BMEWO
        assert chunks(others.get(tag[0], tag[0]) + tag[1:] for tag in iobes) == expected


@given(st.lists(any_tags))
def test_chunks_cover_exactly_the_tokens_inside(tags: list[str]) -> None:
    found = chunks(tags)
    covered = [t for begin, end, _ in found for t in range(begin, end)]
    assert covered == [t for t, tag in enumerate(tags) if tag != "O"]
    assert all(tags[t][2:] == type_ for begin, end, type_ in found for t in range(begin, end))


def running_counts(true: list[str], predicted: list[str]) -> tuple[int, int, int]:
    """Chunks in true, in predicted, and in both, counted in one walk over the tokens as the script walks."""
    starts = {
        "B": "OBIES",
        "S": "OBIES",
        "I": "OES",
        "E": "OES",
    }  # letter -> letters before, at the same type
    n_true = n_predicted = n_both = 0
    open_together = False
    before = ("O", "O")
    for pair in [*zip(true, predicted, strict=True), ("O", "O")]:
        begins, ends = [], []
        for tag, last in zip(pair, before, strict=True):
            new = tag != "O" and (last[0] in starts[tag[0]] or tag[2:] != last[2:])
            begins.append(new)
            ends.append(last != "O" and (new or tag == "O"))
        if open_together and any(ends):
            n_both += all(ends)
            open_together = False
        if all(begins) and pair[0][2:] == pair[1][2:]:
            open_together = True
        n_true += begins[0]
        n_predicted += begins[1]
        before = pair
    return n_true, n_predicted, n_both


@given(st.lists(st.lists(st.tuples(any_tags, any_tags))))
def test_scores_are_those_of_a_walk_over_the_tokens(corpus: list[list[tuple[str, str]]]) -> None:
    true = [[a for a, _ in sentence] for sentence in corpus]
    predicted = [[b for _, b in sentence] for sentence in corpus]
    scores = chunk_scores(true, predicted)
    walked = [running_counts(*pair) for pair in zip(true, predicted, strict=True)]
    assert scores.n_true == sum(n for n, _, _ in walked)
    assert scores.n_predicted == sum(n for _, n, _ in walked)
    assert scores.n_correct == sum(n for _, _, n in walked)
    for name in ("n_true", "n_predicted", "n_correct"):
        assert sum(getattr(score, name) for score in scores.per_type.values()) == getattr(scores, name)


@given(st.lists(st.lists(any_tags, min_size=1), min_size=1))
def test_the_truth_scores_full_marks(true: list[list[str]]) -> None:
    scores = chunk_scores(true, true)
    assert scores.accuracy == token_accuracy(true, true) == 1.0
    assert scores.f1 == scores.precision == scores.recall == (1.0 if scores.n_true else 0.0)


def test_ratios_worked_out_by_hand() -> None:
    true = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "B-NP"]]
    predicted = [["B-NP", "I-NP", "O", "B-NP"], ["B-NP", "I-NP"]]
    scores = chunk_scores(true, predicted)
    # true: NP 0-2, VP 3-4, NP 0-1, NP 1-2; predicted: NP 0-2, NP 3-4, NP 0-2; one in common
    assert (scores.n_true, scores.n_predicted, scores.n_correct) == (4, 3, 1)
    assert scores.precision == pytest.approx(1 / 3)
    assert scores.recall == pytest.approx(1 / 4)
    assert scores.f1 == pytest.approx(2 / 7)
    assert scores.accuracy == pytest.approx(4 / 6)
    assert scores.per_type == {"NP": Score(3, 3, 1), "VP": Score(1, 0, 0)}
    assert scores.per_type["VP"].precision == 0.0


def test_the_table_names_every_type_and_the_totals() -> None:
    lines = str(chunk_scores([["B-NP", "O", "B-LONGTYPE"]], [["B-NP", "O", "O"]])).splitlines()
    assert lines[0] == "3 tokens, 66.67% with the right tag"
    assert lines[1] == "2 chunks, 1 predicted, 1 correct"
    assert [line.split()[0] for line in lines[4:]] == ["LONGTYPE", "NP", "all"]
    assert lines[-1].split() == ["all", "100.00%", "50.00%", "66.67%", "2", "1"]
    assert len({len(line) for line in lines[3:]}) == 1


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([["O"]], [["O"], ["O"]], "there are 1 true and 2 predicted sequences"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], "sequence 1 has 2 true and 1 predicted labels"),
        (
            ["O", "B-X"],
            ["O", "B-X"],
            "sequence 0 of the true labels is the single label 'O'; .* wrap one sequence",
        ),
        ([["O", "NN"]], [["O", "O"]], "sequence 0 of the true labels: 'NN' at position 1 is not a chunk tag"),
        ([["O"]], [["O-X"]], "sequence 0 of the predicted labels: 'O-X' at position 0 is not a chunk tag"),
        ([["O"]], [[""]], "'' at position 0 is not a chunk tag"),
    ],
)
def test_mistakes_are_named_with_their_place(true: Any, predicted: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chunk_scores(true, predicted)


def test_accuracy_is_over_tokens_of_any_labels() -> None:
    assert token_accuracy([[1, 2], [3]], [[1, 0], [3]]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="there are no labels to compare"):
        token_accuracy([], [])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["O", "B-X", "I-X"], True),
        (["S-X"], True),
        (["O"], False),
        (["B", "O"], False),
        (["NN", "O"], False),
        (["IN-X", "O"], False),
        ([0, 1], False),
        ([], False),
    ],
)
def test_chunk_tags_are_told_from_other_labels(labels: list[Any], expected: bool) -> None:
    assert are_chunk_tags(labels) is expected


# Reports


labels = st.sampled_from(["NN", "VB", "DT"])


@given(st.lists(st.lists(st.tuples(labels, labels), min_size=1), min_size=1))
def test_a_report_of_labels_is_that_of_scikit_learn(corpus: list[list[tuple[str, str]]]) -> None:
    true, predicted = ([[pair[k] for pair in sentence] for sentence in corpus] for k in (0, 1))
    found = classification_report(true, predicted, output="dict")
    flat = [[label for sentence in side for label in sentence] for side in (true, predicted)]
    expected = sklearn_metrics.classification_report(*flat, output_dict=True, zero_division=0.0)
    accuracy = expected.pop("accuracy")
    del expected["weighted avg"]
    micro = found.pop("micro avg")
    assert micro["f1-score"] == micro["precision"] == micro["recall"] == pytest.approx(accuracy)
    assert list(found) == list(expected)
    for name, row in expected.items():
        assert found[name] == pytest.approx(row)


@given(st.lists(st.lists(st.tuples(any_tags, any_tags), min_size=1), min_size=1))
def test_a_report_of_chunks_has_the_scores_of_each_type(corpus: list[list[tuple[str, str]]]) -> None:
    true, predicted = ([[pair[k] for pair in sentence] for sentence in corpus] for k in (0, 1))
    scores = chunk_scores(true, predicted)
    found = classification_report(true, predicted, output="dict", of="chunks")
    micro, macro = found.pop("micro avg"), found.pop("macro avg")
    assert micro == {**_ratios(scores), "support": scores.n_true}
    assert found == {name: {**_ratios(score), "support": score.n_true} for name, score in scores.per_type.items()}
    for key in ("precision", "recall", "f1-score"):
        mean = sum(row[key] for row in found.values()) / len(found) if found else 0.0
        assert macro[key] == pytest.approx(mean)


def _ratios(score: Score) -> dict[str, float]:
    return {"precision": score.precision, "recall": score.recall, "f1-score": score.f1}


def test_chunk_tags_are_reported_as_chunks_unless_labels_are_asked_for() -> None:
    true, predicted = [["B-X", "I-X", "O"]], [["B-X", "O", "O"]]
    assert set(classification_report(true, predicted, "dict")) == {"X", "micro avg", "macro avg"}
    by_label = classification_report(true, predicted, "dict", of="labels")
    assert set(by_label) == {"B-X", "I-X", "O", "micro avg", "macro avg"}
    assert by_label["O"]["precision"] == 0.5
    lines = classification_report(true, predicted).splitlines()
    assert lines[0].split() == ["precision", "recall", "F1", "support"]
    assert lines[1].split() == ["X", "0.00%", "0.00%", "0.00%", "1"]


def test_numbers_are_labels_too_and_come_in_their_order() -> None:
    assert label_scores([[10, 9, 10]], [[10, 10, 10]]) == {9: Score(1, 0, 0), 10: Score(2, 3, 2)}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"output": "html"}, "output must be 'text' or 'dict'; got 'html'"), ({"of": "types"}, "of must be 'auto', ")],
)
def test_other_reports_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        classification_report([["A"]], [["A"]], **options)


# Model selection


def test_the_scorer_works_in_searches_and_cross_validation() -> None:
    words = [["Ada", "met", "Bob", "Cy"], ["Bob", "ran"], ["then", "Cy", "met", "Ada"], ["Ada", "ran"]] * 3
    X = [[{"w": word, "upper": word.istitle()} for word in sentence] for sentence in words]
    y = [["B-PER" if word.istitle() else "O" for word in sentence] for sentence in words]
    folds = KFold(3)
    by_hand = []
    for train, test in folds.split(X):
        crf = ChainCRF(random_state=0).fit([X[i] for i in train], [y[i] for i in train])
        by_hand.append(chunk_scores([y[i] for i in test], crf.predict([X[i] for i in test])).f1)
    assert cross_val_score(ChainCRF(random_state=0), X, y, cv=folds, scoring=entity_f1_scorer).tolist() == by_hand
    search = GridSearchCV(ChainCRF(random_state=0), {"l2": [1.0, 1e6]}, cv=folds, scoring=entity_f1_scorer)
    assert search.fit(X, y).best_params_ == {"l2": 1.0}
    assert search.score(X, y) == entity_f1_scorer(search, X, y)
    several = cross_validate(CRF(), X, y, cv=folds, scoring={"f1": entity_f1_scorer})
    assert several["test_f1"].min() > 0.5


def test_unknown_labels_are_left_out_of_every_score() -> None:
    true, predicted = [["B-X", None, "O"], [None], ["I-X", None]], [["B-X", "O", "I-X"], ["B-X"], ["O", "I-X"]]
    known, shown = [["B-X", "O"], [], ["I-X"]], [["B-X", "I-X"], [], ["O"]]
    assert chunk_scores(true, predicted) == chunk_scores(known, shown)
    assert label_scores(true, predicted) == label_scores(known, shown)
    assert token_accuracy(true, predicted) == token_accuracy(known, shown) == 1 / 3
    for of in ("chunks", "labels"):
        assert classification_report(true, predicted, of=of) == classification_report(known, shown, of=of)
    arrays = [np.array(labels, dtype=object) for labels in true]
    assert chunk_scores(arrays, predicted) == chunk_scores(known, shown)
    with pytest.raises(ValueError, match="no labels to compare"):
        token_accuracy([[None]], [["O"]])


def test_the_scorer_leaves_out_what_training_ignores() -> None:
    X = [[{"word": word} for word in ("Ada", "met", "Bob")]] * 8
    masked: list[list[Any]] = [["B-PER", "O", "B-PER"]] * 6 + [["?", "O", "B-PER"], ["B-PER", "O", "?"]]
    unknown = [[None if label == "?" else label for label in labels] for labels in masked]
    crf = ChainCRF(ignore_label="?", random_state=0)
    assert cross_val_score(crf, X, masked, cv=2, scoring=entity_f1_scorer, error_score="raise").tolist() == [1.0, 1.0]
    assert cross_val_score(crf, X, unknown, cv=2, scoring=entity_f1_scorer, error_score="raise").min() == 1.0
    search = GridSearchCV(make_pipeline(crf), {"chaincrf__l2": [0.1]}, cv=2, scoring=entity_f1_scorer)
    assert entity_f1_scorer(search.fit(X, masked), X, masked) == search.best_score_ == 1.0
