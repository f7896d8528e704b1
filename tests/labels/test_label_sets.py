"""Sets of labels at positions: candidates in training, what is allowed in prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield.labels import encode_allowed, encode_labels, encode_partial_labels

CLASSES = np.array(["A", "B", "C"])


def test_known_labels_are_encoded_as_ever() -> None:
    y = [["B", "A"], ["C"]]
    classes, codes, candidates = encode_partial_labels(y, [2, 1])
    expected = encode_labels(y, [2, 1])
    assert classes.tolist() == expected[0].tolist()
    assert codes.tolist() == expected[1].tolist()
    assert candidates is None


@pytest.mark.parametrize("form", [set, frozenset, list, tuple])
def test_every_collection_is_a_set_of_candidates(form: Any) -> None:
    classes, codes, candidates = encode_partial_labels([["C", form(["B", "C"])], ["A"]], [2, 1])
    assert classes.tolist() == ["A", "B", "C"]
    assert candidates is not None
    assert candidates.astype(int).tolist() == [[0, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert codes.tolist() == [2, 1, 0]


def test_one_candidate_is_a_known_label() -> None:
    _, codes, candidates = encode_partial_labels([[{"B"}, ["A"]]], [2])
    assert codes.tolist() == [1, 0]
    assert candidates is None


def test_labels_may_be_integers_in_arrays() -> None:
    classes, _, candidates = encode_partial_labels([np.array([3, None], dtype=object), np.array([5])], [2, 1])
    assert classes.tolist() == [3, 5]
    assert candidates is not None
    assert candidates.tolist() == [[True, False], [True, True], [False, True]]


PARTIAL_REFUSALS: dict[str, tuple[Any, str]] = {
    "an empty set": ([["A", "B"], [set()]], "label 0 of sequence 1 is an empty set"),
    "an empty list": ([["A", []], ["B"]], "label 1 of sequence 0 is an empty set"),
    "a number with a fraction": ([["A", {1.5}], [None]], "label 1 of sequence 0 has 1.5 of type float"),
    "mixed types": (
        [["A", {1}], [None]],
        "label 1 of sequence 0 has 1 of type int but the labels before it are of type str",
    ),
    "nothing known": ([[None, None], [None]], "at least two different labels are needed to train; y has none"),
    "too few": ([[None], ["A"]], "sequence 0 has 1 label in y but 2 positions in X"),
    "too few sequences": ([[None, "A"]], "y has 1 sequences but X has 2"),
}


@pytest.mark.parametrize("case", PARTIAL_REFUSALS)
def test_partial_labels_that_make_no_sense_are_refused(case: str) -> None:
    y, match = PARTIAL_REFUSALS[case]
    with pytest.raises((ValueError, TypeError), match=match):
        encode_partial_labels(y, [2, 1])


def test_allowed_labels_are_marked() -> None:
    mask = encode_allowed([None, [{"A", "C"}, None, ["B"]]], np.array([1, 3]), CLASSES)
    assert mask.astype(int).tolist() == [[1, 1, 1], [1, 0, 1], [1, 1, 1], [0, 1, 0]]


def test_given_labels_are_sets_of_one() -> None:
    mask = encode_allowed([[None, "C"]], np.array([2]), CLASSES, "given")
    assert mask.astype(int).tolist() == [[1, 1, 1], [0, 0, 1]]


ALLOWED_REFUSALS: dict[str, tuple[Any, str]] = {
    "no list": (3, "allowed is of type int"),
    "too few": ([None], "allowed has 1 entries but X has 2 sequences"),
    "too many positions": ([None, [None] * 4], r"allowed\[1\] has 4 entries but sequence 1 has 3 positions"),
    "a set for a sequence": ([None, {"A"}], r"allowed\[1\] is of type set"),
    "an empty set": ([[set()], None], r"allowed\[0\]\[0\] is empty"),
    "a string": ([["A"], None], r"allowed\[0\]\[0\] is 'A'; expected None or a set"),
    "an unknown label": ([[["A", "Q"]], None], r"allowed\[0\]\[0\] has the label 'Q', which the model does not know"),
    "an unhashable label": ([[[["A"]]], None], r"allowed\[0\]\[0\] has the label \['A'\]"),
}


@pytest.mark.parametrize("case", ALLOWED_REFUSALS)
def test_allowed_sets_that_make_no_sense_are_refused(case: str) -> None:
    allowed, match = ALLOWED_REFUSALS[case]
    with pytest.raises((ValueError, TypeError), match=match):
        encode_allowed(allowed, np.array([1, 3]), CLASSES)
