"""Rules on labels: schemes, masks, lists of what is forbidden, and refusals."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from copy import deepcopy
from itertools import product
from typing import Any

import numpy as np
import pytest

from dualfield import Constraints
from dualfield.labels import resolve_constraints
from dualfield.models import ChainSpec

BIO = ["B-X", "B-geo-loc", "I-X", "I-geo-loc", "O"]
IOBES = ["B-X", "B-Y", "E-X", "E-Y", "I-X", "I-Y", "O", "S-X", "S-Y"]


def bio_sentences(length: int) -> set[tuple[str, ...]]:
    """All sequences that chunks and gaps can be written as, by writing them."""
    if length == 0:
        return {()}
    tails = bio_sentences(length - 1)
    found = {("O", *tail) for tail in tails}
    for size, kind in product(range(1, length + 1), ("X", "geo-loc")):
        chunk = (f"B-{kind}", *[f"I-{kind}"] * (size - 1))
        found |= {(*chunk, *tail) for tail in bio_sentences(length - size)}
    return found


def iobes_sentences(length: int) -> set[tuple[str, ...]]:
    if length == 0:
        return {()}
    found = {("O", *tail) for tail in iobes_sentences(length - 1)}
    for size, kind in product(range(1, length + 1), "XY"):
        chunk = (f"S-{kind}",) if size == 1 else (f"B-{kind}", *[f"I-{kind}"] * (size - 2), f"E-{kind}")
        found |= {(*chunk, *tail) for tail in iobes_sentences(length - size)}
    return found


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_bio_allows_what_chunks_can_be_written_as(length: int) -> None:
    rules = Constraints.bio(BIO)
    assert {row for row in product(BIO, repeat=length) if rules.allows(row)} == bio_sentences(length)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_iobes_allows_what_chunks_can_be_written_as(length: int) -> None:
    rules = Constraints.iobes(IOBES)
    assert {row for row in product(IOBES, repeat=length) if rules.allows(row)} == iobes_sentences(length)


@pytest.mark.parametrize(("scheme", "letters"), [("bilou", {"E": "L", "S": "U"}), ("bmes", {"I": "M"})])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_bilou_and_bmes_are_iobes_in_other_letters(scheme: str, letters: dict[str, str], length: int) -> None:
    def written(tags: Iterable[str]) -> tuple[str, ...]:
        return tuple(letters.get(tag[0], tag[0]) + tag[1:] for tag in tags)

    labels = written(IOBES)
    rules = getattr(Constraints, scheme)(labels)
    assert {row for row in product(labels, repeat=length) if rules.allows(row)} == {
        written(row) for row in iobes_sentences(length)
    }
    assert resolve_constraints(scheme, np.array(labels)) == rules  # type: ignore[arg-type]
    assert ChainSpec(constraints=scheme).constraints == scheme
    with pytest.raises(ValueError, match=f"Constraints.{scheme}: the label 'X-Y' is no tag of the scheme"):
        getattr(Constraints, scheme)(["X-Y"])


def test_tags_need_no_type() -> None:
    rules = Constraints.bio(["B", "I", "O"])
    assert rules.allows(["B", "I"])
    assert not rules.allows(["O", "I"])


def test_a_mask_and_a_list_of_what_is_forbidden_say_the_same() -> None:
    mask = np.array([[True, False], [True, True]])
    by_list = Constraints(["A", "B"], [("A", "B")], begin=["B"], end=["A"])
    for form in (mask, mask.tolist()):
        assert Constraints(["A", "B"], form, [True, False], np.array([False, True])) == by_list
    assert hash(by_list) == hash(Constraints(["A", "B"], mask, begin=["B"], end=["A"]))
    assert by_list != Constraints(["A", "B"], mask)
    assert by_list.transitions.tolist() == mask.tolist()


def test_integers_are_labels_too() -> None:
    rules = Constraints([3, 1], [(3, 1)], begin=[1])
    assert not rules.transitions[0, 1]
    assert rules.begin.tolist() == [True, False]


def test_nothing_given_forbids_nothing() -> None:
    rules = Constraints("A B".split(), [], [], [])
    assert rules.transitions.all()
    assert rules.begin.all()
    assert rules.end.all()


def test_rules_cannot_be_changed_and_travel() -> None:
    rules = Constraints.bio(BIO)
    with pytest.raises(ValueError, match="read-only"):
        rules.transitions[0, 0] = False
    assert pickle.loads(pickle.dumps(rules)) == deepcopy(rules) == rules
    assert repr(rules) == "Constraints(5 labels; forbidden: 6 transitions, 2 first and 0 last labels)"


def test_a_model_takes_the_rules_of_its_labels_in_their_order() -> None:
    rules = Constraints(["C", "B", "A"], [("A", "B"), ("C", "C")], end=["C"])
    taken = resolve_constraints(rules, np.array(["A", "B"]))
    assert taken == Constraints(["A", "B"], [("A", "B")])
    assert resolve_constraints(None, np.array(["A", "B"])) is None


REFUSALS: dict[str, tuple[Any, str]] = {
    "no labels": (lambda: Constraints([]), "labels is empty"),
    "a string": (lambda: Constraints("AB"), "labels is the string 'AB'"),
    "a label twice": (lambda: Constraints(["A", "A"]), "'A' stands twice"),
    "a label of another kind": (lambda: Constraints(["A", 1.5]), r"labels\[1\] is 1.5 of type float"),
    "a wide mask": (
        lambda: Constraints(["A", "B"], np.ones((2, 3), bool)),
        r"transitions has shape \(2, 3\); expected \(2, 2\)",
    ),
    "a ragged mask": (lambda: Constraints(["A", "B"], [[True], [True, False]]), "rows of transitions differ in length"),
    "a mask of numbers": (lambda: Constraints(["A", "B"], np.ones((2, 2))), "transitions is an array of float64"),
    "a long mask": (lambda: Constraints(["A", "B"], begin=[True] * 3), r"begin has shape \(3,\); expected \(2,\)"),
    "an unknown pair": (
        lambda: Constraints(["A", "B"], [("A", "B"), ("B", "Q")]),
        "entry 1 of transitions names 'Q', which is not among its labels",
    ),
    "no pair": (lambda: Constraints(["A", "B"], ["A"]), "entry 0 of transitions is 'A'; expected a forbidden"),
    "an unknown last label": (lambda: Constraints(["A", "B"], end=["Q"]), "entry 0 of end names 'Q'"),
    "a string for a list": (lambda: Constraints(["A", "B"], end="A"), "end is 'A'; expected booleans or a list"),
    "nothing to begin with": (lambda: Constraints(["A"], begin=["A"]), "begin forbids every label"),
    "no tag": (lambda: Constraints.bio(["B-X", "S-X"]), "bio: the label 'S-X' is no tag of the scheme"),
    "a number for a tag": (lambda: Constraints.iobes([1, 2]), "iobes: the label 1 is no tag"),
    "an O with a type": (lambda: Constraints.bio(["O-X", "B-X"]), "'O-X' is no tag"),
    "an unknown scheme": (
        lambda: resolve_constraints("BIO", np.array(["O"])),  # type: ignore[arg-type]
        "constraints must be None, 'bio', 'iobes', 'bilou', 'bmes' or a Constraints; got 'BIO'",
    ),
    "a label without rules": (
        lambda: resolve_constraints(Constraints(["A"]), np.array(["A", "B"])),
        "the constraints do not know the label 'B' of y",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    action, match = REFUSALS[case]
    with pytest.raises((ValueError, TypeError), match=match):
        action()
