"""What a chain model is stands in one list: the estimators, the command line, the file and the docs follow it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

from dualfield import ChainCRF, ChainCRFCV, Constraints, fields
from dualfield.cli.app import command_line
from dualfield.models import ChainModel, ChainSpec
from dualfield.models.model_file import read_parts
from dualfield.parameters import TRAINING

DOCS = Path(__file__).parents[2] / "docs"
X, Y = [[["a"], ["b"]], [["b"], ["a"]]], [["B-X", "I-X"], ["O", "B-X"]]
# Another value than the default, for every option.
OTHER: dict[str, Any] = {
    "l2": 0.25,
    "l1": 0.5,
    "constraints": "bio",
    "state_features": "observed",
    "transitions": "observed",
    "bigram_features": "observed",
    "bias": False,
    "begin": False,
    "end": False,
    "min_count": 2,
    "standardize": True,
}


def sequences_for(name: str) -> Any:
    """Sequences with which the option makes sense."""
    if name != "standardize":
        return X
    return [np.array([[1.0, 0.5], [-0.5, 2.0]]), np.array([[0.2, 1.0], [3.0, -1.0]])]


def test_every_option_is_tried() -> None:
    assert set(OTHER) == set(ChainSpec._fields)
    assert all(OTHER[name] != default for name, default in ChainSpec._field_defaults.items())


@pytest.mark.parametrize("name", ChainSpec._fields)
def test_the_estimators_have_the_option(name: str) -> None:
    default = ChainSpec._field_defaults[name]
    assert inspect.signature(ChainCRF).parameters[name].default == default
    if name != "l2":  # which is what is searched for
        assert inspect.signature(ChainCRFCV).parameters[name].default == default
    assert getattr(ChainSpec.of(ChainCRF(**{name: OTHER[name]})), name) == OTHER[name]


def test_estimators_have_no_other_parameters_than_those_of_the_spec_and_of_training() -> None:
    of_the_machine = {"device"}
    assert set(ChainCRF().get_params()) == {*ChainSpec._fields, *TRAINING} | of_the_machine


@pytest.mark.parametrize("name", ChainSpec._fields)
def test_the_command_line_has_the_option(name: str) -> None:
    options = {option.name: option for option in get_command(command_line()).commands["train"].params}  # type: ignore[attr-defined]
    option = options[name]
    assert f"--{name.replace('_', '-')}" in option.opts
    assert getattr(option.default, "value", option.default) == ChainSpec._field_defaults[name]
    assert option.help


@pytest.mark.parametrize("name", ChainSpec._fields)
def test_the_field_has_the_option(name: str) -> None:
    field = fields.Chain(sequences_for(name), Y, **{name: OTHER[name]})
    assert getattr(field.spec, name) == OTHER[name]
    assert field.spec == ChainSpec(**{name: OTHER[name]})


@pytest.mark.parametrize("name", ChainSpec._fields)
def test_the_file_keeps_the_option(name: str, tmp_path: Path) -> None:
    ChainCRF(random_state=0, **{name: OTHER[name]}).fit(sequences_for(name), Y).save(tmp_path / "model")
    assert getattr(ChainCRF.load(tmp_path / "model"), name) == OTHER[name]
    ChainModel.load(tmp_path / "model").save(tmp_path / "again")
    assert getattr(ChainCRF.load(tmp_path / "again"), name) == OTHER[name]


@pytest.mark.parametrize("name", ChainSpec._fields)
def test_the_docs_mention_the_option(name: str) -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    word = re.compile(rf"\b{name}\b|--{name.replace('_', '-')}\b")
    for text in (ChainSpec.__doc__, ChainCRF.__doc__, fields.Chain.__doc__, pages):
        assert word.search(text or "")


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"l2": 0}, "l2 must be a positive finite number; got 0"),
        ({"l1": -1.0}, "l1 must be a finite number, not negative; got -1.0"),
        ({"transitions": "some"}, "transitions must be 'all' or 'observed'; got 'some'"),
        ({"bigram_features": None}, "bigram_features must be 'all' or 'observed'; got None"),
        ({"min_count": 0}, "min_count must be a positive integer; got 0"),
        (
            {"constraints": "biluo"},
            "constraints must be None, 'bio', 'iobes', 'bilou', 'bmes' or a Constraints; got 'biluo'",
        ),
    ],
)
def test_there_is_no_spec_that_makes_no_sense(option: dict[str, Any], match: str) -> None:
    for make in (ChainSpec, ChainSpec().but, lambda **given: fields.Chain(X, Y, **given)):
        with pytest.raises(ValueError, match=match):
            make(**option)
    with pytest.raises(ValueError, match=match):
        ChainCRF(**option).fit(X, Y)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="speed"):
        fields.Chain(X, Y, speed=2)


# Constraints


def rules(*labels: str) -> Constraints:
    return Constraints(labels, transitions=[("O", "I-X")])


def test_own_constraints_are_saved_once(tmp_path: Path) -> None:
    ChainCRF(constraints=rules("O", "I-X", "B-X"), random_state=0).fit(X, Y).save(tmp_path / "model")
    parts, description = read_parts(tmp_path / "model")
    assert description["parameters"]["constraints"] == "given"
    assert parts["allowed_transitions"].shape == (3, 3)
    crf = ChainCRF.load(tmp_path / "model")
    assert crf.constraints == rules("B-X", "I-X", "O")
    np.testing.assert_array_equal(crf.constraints.transitions, crf.layout_.constraints.transitions)  # type: ignore


def test_constraints_of_further_labels_are_not_forgotten(tmp_path: Path) -> None:
    given = rules("B-X", "I-X", "O", "B-Y")
    ChainCRF(constraints=given, random_state=0).fit(X, Y).save(tmp_path / "model")
    crf = ChainCRF.load(tmp_path / "model")
    assert crf.constraints == given
    assert "B-Y" in crf.partial_fit([[["a"], ["c"]]], [["O", "B-Y"]]).classes_


def test_own_constraints_without_masks_are_refused(tmp_path: Path) -> None:
    from tests.model_files import with_arrays

    ChainCRF(constraints=rules("B-X", "I-X", "O"), random_state=0).fit(X, Y).save(tmp_path / "model")
    content = with_arrays((tmp_path / "model").read_bytes(), allowed_transitions=None)
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match="it lacks 'allowed_transitions'"):
        ChainCRF.load(tmp_path / "model")
