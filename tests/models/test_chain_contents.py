"""Loading a model and tagging with it refuse the same files, whoever made them, and saving refuses what they would.

(An estimator also refuses a solver that there is not: it is to train with it.)
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from dualfield import ChainCRF, Constraints, GraphCRF, GridCRF, solvers
from dualfield.features import Template, Tokens
from dualfield.features.templates.rules import Cell, Rule, prefix, window
from dualfield.models import ChainModel, schema
from dualfield.models.recipe import FileLayout, Recipe, recipe_of
from dualfield.solution import Solution
from dualfield.tagging.tag_file import tag_file
from tests.model_files import described, header_of, with_arrays

ROWS = [[("a", "P"), ("b", "Q"), ("c", "P")], [("b", "P"), ("né", "Q")]]
LABELS = [["B-X", "I-X", "O"], ["O", "B-X"]]
CHUNK = "a P\nb Q\nzz P\n\nné Q\n\n"
MUTANTS = 60  # of each kind
KINDS = ("all", "observed", "hashed", "constrained", "own constraints", "single precision", "bigrams", "solver")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Small models that know how to read columns, one of each kind."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for kind in KINDS:
        rules = [*window("w", 0, (-1, 0)), *window("p", 1, (0,)), Rule(("s=", Cell(0, transforms=(prefix(1),))))]
        if kind == "bigrams":
            rules.append(Rule(("b=", Cell(0)), kind="bigram"))
        template, hash_bits = Template(rules), 4 if kind == "hashed" else None
        pairs = "observed" if kind == "observed" else "all"
        options: dict[str, Any] = {
            "constrained": {"constraints": "bio"},
            "own constraints": {"constraints": Constraints(["B-X", "I-X", "O"], transitions=[("O", "I-X")])},
            "solver": {"solver": solvers.LBFGS(corrections=4)},
        }.get(kind, {})
        X = template.encode(Tokens.from_rows(ROWS), hash_bits=hash_bits)
        crf = ChainCRF(state_features=pairs, transitions=pairs, random_state=0, **options).fit(X, LABELS)
        crf.column_features_ = Recipe(FileLayout(), 3, 2, (0, 1), template.to_dict(), hash_bits).to_dict()
        crf.save(folder / kind, dtype=np.float32 if kind == "single precision" else np.float64)
        found[kind] = (folder / kind).read_bytes()
    return found


ODD: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        7,
        31,
        10**30,
        1.5,
        math.nan,
        math.inf,
        "",
        "x",
        "\ud800",
        "a\0",
        "all",
        "bio",
    ),
    *("drop", "jsonl", "attributes", "unigram", "bigram", "both", "first", "1", [], {}, [0], [0, 5], ["a", "b"], [[]]),
    *({"a": 1}, {"name": "SDCA"}, {"attributes": "jsonl"}, {"attributes": "odd"}, ["b", "a"], [1, 2, 2**70]),
]


def places(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be changed within plain data."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in inner for place in [(*before, key), *places(part, (*before, key))]]


def change_description(draw: random.Random, description: dict[str, Any]) -> None:
    """Replace, remove or add something."""
    *way, last = draw.choice(places(description))
    holder: Any = description
    for key in way:
        holder = holder[key]
    how = draw.randrange(10)
    if how == 0:
        del holder[last]
    elif how == 1 and isinstance(holder, dict):
        holder[draw.choice(["odd", "l1", "name", "bigram_columns", "hash_bits"])] = draw.choice(ODD)
    elif how == 2 and isinstance(holder, list):
        holder.insert(last, holder[last])
    elif how == 3 and type(holder[last]) is int:
        holder[last] += draw.choice([-1, 1, 2**31, 2**63])
    else:
        holder[last] = draw.choice(ODD)


def changed_arrays(draw: random.Random, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """One array of another type, shape, order or content, or none."""
    name = draw.choice(sorted(arrays))
    array = arrays[name]
    if draw.random() < 0.15:
        return {name: None}
    if draw.random() < 0.15:
        other = draw.choice(["row_starts", "row_labels", "allowed_transitions", "bigram_starts", "bigram_pairs"])
        return {other: array}
    dtype = draw.choice([np.float64, np.float32, np.int64, np.int32, np.uint8])
    value = draw.choice([0, 1, -1, 255, 2**31 - 1, np.nan, np.inf, 1e300])
    with np.errstate(all="ignore"):
        return {
            name: draw.choice(
                [
                    lambda: array.astype(dtype),
                    lambda: array[:-1],
                    lambda: array[:0],
                    lambda: np.concatenate((array, array[-1:])),
                    lambda: array[::-1].copy(),
                    lambda: array.reshape(1, -1),
                    lambda: array.reshape(-1),
                    lambda: array + array.dtype.type(1),
                    lambda: array * array.dtype.type(0),
                    lambda: _with(array, draw.randrange(max(array.size, 1)), value),
                    lambda: _with(array, draw.randrange(max(array.size, 1)), value),
                ]
            )()
        }


def _with(array: np.ndarray, place: int, value: float) -> np.ndarray:
    changed = array.reshape(-1).copy()
    if changed.size:
        changed[place] = np.array(value).astype(array.dtype)
    return changed.reshape(array.shape)


def mutant(draw: random.Random, content: bytes) -> bytes:
    """A file of the right checksum that says something else."""
    for _ in range(draw.choice([1, 1, 2])):
        if draw.random() < 0.6:
            content = described(content, lambda description: change_description(draw, description))
        else:
            content = with_arrays(content, **changed_arrays(draw, load(content)))
    return content


def verdict(path: Path, use: Callable[[], object]) -> str:
    """Whether a model is used, or the sentence that refuses it; one about the text to tag is none about the model."""
    try:
        use()
    except ValueError as error:
        sentence = str(error)
        assert sentence.endswith(".")
        assert "\n" not in sentence
        if sentence.startswith(repr(str(path))):
            return sentence
        assert "in.txt" in sentence or sentence.startswith("there is no format")  # another program may know it
    return "used"


def of_solver(content: bytes) -> Any:
    """What a file says of the solver, which only an estimator reads."""
    return json.loads(header_of(content)["__metadata__"]["model"])["parameters"]["solver"]


@pytest.mark.parametrize("kind", KINDS)
def test_loading_and_tagging_refuse_the_same_files(kind: str, models: dict[str, bytes], tmp_path: Path) -> None:
    path, text, draw = tmp_path / "model", tmp_path / "in.txt", random.Random(kind)
    text.write_text(CHUNK, encoding="utf-8")
    refused = 0
    for _ in range(MUTANTS):
        content = mutant(draw, models[kind])
        path.write_bytes(content)
        given = json.loads(header_of(content)["__metadata__"]["model"]).get("column_features", {})
        if given is None or (isinstance(given, dict) and set(given) == {"attributes"}):
            continue  # a model that is not for column files
        loaded = verdict(path, lambda: ChainModel.load(path))
        estimator = verdict(path, lambda: ChainCRF.load(path))
        assert estimator == loaded or of_solver(content) != of_solver(models[kind])
        assert verdict(path, lambda: tag_file(str(text), str(path), str(tmp_path / "out.txt"), report=str)) == loaded
        if loaded == "used":
            assert recipe_of(given).template.rules  # which eval goes by
        refused += loaded != "used"
    assert MUTANTS / 4 < refused < MUTANTS


def test_what_is_known_without_numpy_is_what_the_classes_say(models: dict[str, bytes]) -> None:
    known = {*schema._TEXTS, *schema._COUNTS, *schema._MEASURES}
    assert known == {field.name for field in dataclasses.fields(Solution)} - {"weights", "history", "state"}


# Saving


def chain() -> ChainCRF:
    return ChainCRF(random_state=0).fit([[["a"], ["b"]], [["b"]]], [["N", "V"], ["V"]])


def graph() -> GraphCRF:
    return GraphCRF(max_passes=3, tol=1.0).fit([(np.eye(2), [[0, 1]])], [["a", "b"]])


def grid() -> GridCRF:
    return GridCRF(max_passes=3, tol=1.0).fit(np.ones((1, 2, 2, 1)), np.array([[[0, 1], [1, 0]]]))


@pytest.mark.parametrize("make", [chain, graph, grid])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_not_saved(make: Callable[[], Any], value: float, tmp_path: Path) -> None:
    crf = make()
    crf.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    crf.weights_ = crf.weights_.copy()
    crf.weights_[1] = value
    with pytest.raises(ValueError, match=r"^the model cannot be saved: some weights are not finite; train it again\.$"):
        crf.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("make", [chain, graph, grid])
def test_weights_too_large_for_the_type_are_not_saved(make: Callable[[], Any], tmp_path: Path) -> None:
    crf = make()
    crf.weights_ = np.full_like(crf.weights_, 1e300)
    with pytest.raises(ValueError, match="some weights are too large for float32; choose float64"):
        crf.save(tmp_path / "model", dtype=np.float32)
    assert os.listdir(tmp_path) == []
    crf.save(tmp_path / "model")
    assert type(crf).load(tmp_path / "model").weights_[0] == 1e300


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda crf: crf.set_params(l2=-1.0), "l2 must be a positive finite number; got -1.0"),
        (lambda crf: crf.set_params(solver="newton"), "solver must be one of .* got 'newton'"),
        (lambda crf: setattr(crf, "weights_", crf.weights_[:-1]), "it should have 14 weights but has 13"),
        (lambda crf: setattr(crf, "classes_", np.array(["V", "N"])), "its labels are damaged"),
        (lambda crf: setattr(crf, "column_features_", {"attributes": 7}), "its files would have the format 7"),
        (lambda crf: setattr(crf.solution_, "message", None), "its solution is damaged"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(change: Callable[[Any], object], reason: str, tmp_path: Path) -> None:
    crf = chain()
    change(crf)
    with pytest.raises(ValueError, match=rf"^the model cannot be saved: .*{reason}\.$"):
        crf.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []
