"""Labels become codes that name them; what is missing or does not fit is named with its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dualfield.labels import encode_labels

printable = st.text(st.characters(exclude_characters="\x00"), max_size=3)
kinds = st.sampled_from([printable, st.integers(-(2**63), 2**63 - 1), st.integers(0, 3)])
label_lists = kinds.flatmap(lambda labels: st.lists(st.lists(labels, min_size=1), min_size=1))


def lengths(y: list[list[Any]]) -> list[int]:
    return [len(labels) for labels in y]


@given(label_lists)
def test_codes_name_the_labels_and_classes_are_sorted(y: list[list[Any]]) -> None:
    flat = [label for labels in y for label in labels]
    assume(len(set(flat)) > 1)
    classes, codes = encode_labels(y, lengths(y))
    assert classes[codes].tolist() == flat
    assert classes.tolist() == sorted(set(flat))
    assert codes.dtype == np.int32


@given(label_lists)
def test_arrays_tuples_and_generators_are_read_like_lists(y: list[list[Any]]) -> None:
    assume(len({label for labels in y for label in labels}) > 1)
    classes, codes = encode_labels(y, lengths(y))
    for other in (map(np.array, y), tuple(map(tuple, y)), (iter(labels) for labels in y)):
        other_classes, other_codes = encode_labels(other, np.array(lengths(y)))
        assert other_classes.tolist() == classes.tolist()
        assert other_classes.dtype == classes.dtype
        assert other_codes.tolist() == codes.tolist()


def test_classes_are_those_of_numpy_unique() -> None:
    for y in ([["b", "é", "B"], ["a", "b"]], [[3, -1], [2]]):
        flat = [label for labels in y for label in labels]
        np.testing.assert_array_equal(encode_labels(y, lengths(y))[0], np.unique(flat))


def test_given_classes_fix_the_codes_and_unseen_labels_get_minus_one() -> None:
    classes, codes = encode_labels([["A", "C", "B"]], [3], classes=["B", "A"])
    assert (classes.tolist(), codes.tolist()) == (["B", "A"], [1, -1, 0])
    assert encode_labels([["A"]], [1], classes=["B", "A"])[1].tolist() == [1]
    assert encode_labels([[np.int8(4), 9]], [2], classes=np.array([4, 5]))[1].tolist() == [0, -1]


@pytest.mark.parametrize(
    ("y", "expected_lengths", "error", "message"),
    [
        ([["A", "B"]], [2, 1], ValueError, "y has 1 sequences but X has 2"),
        ([["A", "B"], ["A"]], [2, 2], ValueError, "sequence 1 has 1 label in y but 2 positions in X"),
        (
            ["A", "B"],
            [1, 1],
            TypeError,
            r"y is a flat list of labels: y\[0\] is 'A'; .* wrap a single sequence as \[y\]",
        ),
        ([1, 2], [1, 1], TypeError, r"y is a flat list of labels: y\[0\] is 1"),
        (np.array(["A", "B"]), [1, 1], TypeError, "y is a flat list of labels"),
        (np.array([1, 2]), [1, 1], TypeError, "y is a flat list of labels"),
        ("AB", [1, 1], TypeError, "y is of type str; expected a list of label sequences"),
        (None, [1], TypeError, "y is of type NoneType"),
        ([["A", "B"], None], [2, 1], TypeError, "sequence 1 of y is of type NoneType"),
        ([{"A", "B"}], [2], TypeError, "sequence 0 of y is of type set"),
        ([np.array([["A", "B"]])], [1], ValueError, r"sequence 0 of y is an array of shape \(1, 2\)"),
        ([["A", "B"], ["A", None]], [2, 2], ValueError, "label 1 of sequence 1 is None"),
        ([["A", float("nan")]], [2], ValueError, "label 1 of sequence 0 is nan"),
        ([np.array([1.0, np.nan])], [2], TypeError, "label 0 of sequence 0 is 1.0 of type float"),
        (
            [["A", 2]],
            [2],
            TypeError,
            "label 1 of sequence 0 is 2 of type int but the labels before it are of type str",
        ),
        ([[True, False]], [2], TypeError, "label 0 of sequence 0 is True of type bool"),
        (
            [["A"], ["A"]],
            [1, 1],
            ValueError,
            "at least two different labels are needed to train; y has only 'A'",
        ),
        ([[0, 2**70]], [2], ValueError, "does not fit in 64 bits"),
        ([["A", "A\0"]], [2], ValueError, "a label ends in a NUL character"),
    ],
)
def test_mistakes_are_named_with_their_place(
    y: Any, expected_lengths: list[int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        encode_labels(y, expected_lengths)


def test_labels_of_another_type_than_the_classes_are_refused() -> None:
    with pytest.raises(TypeError, match="labels of y are of type int but the model was trained on labels of type str"):
        encode_labels([[1, 2]], [2], classes=["1", "2"])
