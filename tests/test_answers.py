"""Answers are a plain list, except that NumPy does not look into its members."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

from dualfield.answers import Answers

RAGGED = [["A", "B"], ["A"]]
EQUAL = [["A", "B"], ["B", "B"]]


@pytest.mark.parametrize("plain", [RAGGED, EQUAL, []])
def test_answers_are_equal_to_a_plain_list_and_print_like_one(plain: list[list[str]]) -> None:
    answers = Answers(plain)
    assert answers == plain
    assert plain == answers
    assert isinstance(answers, list)
    assert repr(answers) == repr(plain)
    assert json.dumps(answers) == json.dumps(plain)
    for again in (copy.deepcopy(answers), pickle.loads(pickle.dumps(answers))):
        assert again == plain
        assert type(again) is Answers


@pytest.mark.parametrize("plain", [RAGGED, EQUAL, [], [np.zeros((2, 3)), np.zeros((2, 3))]])
def test_numpy_sees_one_object_for_each_member(plain: list[object]) -> None:
    array = np.asarray(Answers(plain))
    assert array.shape == (len(plain),)
    assert array.dtype == object
    assert all(one is other for one, other in zip(array, plain, strict=True))


def test_numpy_joins_answers_of_equal_and_of_unequal_lengths() -> None:
    assert np.concatenate([Answers(RAGGED), Answers(EQUAL)]).tolist() == RAGGED + EQUAL


def test_a_type_of_numbers_asks_for_the_labels_themselves() -> None:
    assert np.asarray(Answers([[0, 1], [1, 1]]), dtype=np.int32).tolist() == [[0, 1], [1, 1]]


def test_numpy_joins_the_labels_of_all_members() -> None:
    assert np.concatenate(Answers(RAGGED)).tolist() == ["A", "B", "A"]


def test_an_array_without_a_copy_is_refused() -> None:
    with pytest.raises(ValueError, match="leave copy=False out"):
        Answers(RAGGED).__array__(copy=False)
