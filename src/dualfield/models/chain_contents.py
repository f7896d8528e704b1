"""What the model file of a chain holds, and when it is refused: the one place that says so.

``ChainCRF.load`` makes arrays of it, ``dualfield tag`` gives it to the core as it is, and ``save`` asks, before it
writes, whether what it is about to write could be read. NumPy is not needed, unless the parameters of training are
objects.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from dualfield import _core, solvers
from dualfield.io.column_layout import column_layout
from dualfield.models.model_file import DAMAGED, Part, read_parts, refusal
from dualfield.models.recipe import Recipe, recipe_of
from dualfield.parameters import check_l1, check_l2, check_limits
from dualfield.threads import thread_count

__all__ = [
    "MASKS",
    "ChainContents",
    "chain_contents",
    "check_solution",
    "checked_labels",
    "constraints_of",
    "read_chain",
]

MASKS = ("transitions", "begin", "end")
_SWITCHES = ("bias", "begin", "end")
_PARAMETERS = (
    *("l2", "solver", "tol", "max_passes", "state_features", "transitions", *_SWITCHES, "min_count", "n_jobs"),
    *("warm_start", "random_state", "verbose", "l1", "constraints", "bigram_features"),
)
_TEXTS = ("certificate", "status", "message")
_COUNTS = ("passes", "updates", "oracle_calls")
_MEASURES = ("primal", "dual", "duality_gap", "seconds", "cpu_seconds")  # or null, where not known
_MOST_COLUMNS = 2**31 - 1
_MOST_HASH_BITS = 30
_TYPES = {"d": "float64", "f": "float32", "q": "int64", "i": "int32", "B": "uint8"}


class Bigrams(NamedTuple):
    """The attributes that go with pairs of labels: their names, or how many columns they are, and which pairs."""

    names: _core.Names | None
    size: int
    pairs: memoryview
    starts: memoryview | None


class ChainContents(NamedTuple):
    """A model that has been checked. Arrays are views of the file's bytes."""

    path: str
    parts: Mapping[str, Part]
    description: dict[str, Any]
    labels: list[str] | list[int]
    names: _core.Names | None
    n_attributes: int
    rows: _core.ObservedPairs | None
    bigrams: Bigrams | None
    recipe: Recipe | None

    def numbers(self, name: str) -> memoryview:
        """An array of the file."""
        return self.parts[name].numbers


def read_chain(path: str | os.PathLike[str]) -> ChainContents:
    """Read the model file of a chain, or refuse it in a sentence."""
    parts, description = read_parts(path)
    try:
        return chain_contents(os.fspath(path), parts, description)
    except DAMAGED as error:
        raise refusal(path, "ChainCRF", error) from error


def chain_contents(path: str, parts: Mapping[str, Part], description: dict[str, Any]) -> ChainContents:
    """What the parts of a file are; raises one of ``DAMAGED``, with a clause that says why they are no chain."""
    if description["estimator"] != "ChainCRF":
        raise ValueError(f"it holds a model of another kind, {description['estimator']!r}")
    _check_parameters(description["parameters"])
    check_solution(description["solution"])
    labels = checked_labels(description["classes"])
    switches = description["layout"]
    if not all(type(switches[name]) is bool for name in _SWITCHES):
        raise ValueError("its layout is damaged")
    names, n_attributes = _vocabulary(parts, description["columns"], "vocabulary")
    _check_transitions(_numbers(parts, "transitions", "i"), len(labels))
    rows = _rows(parts, n_attributes, len(labels))
    _check_masks(parts, len(labels))
    bigrams = _bigrams(parts, description, len(labels))
    state_weights = n_attributes * len(labels) if rows is None else len(parts["row_labels"].numbers)
    dimension = state_weights + len(parts["transitions"].numbers)
    dimension += len(labels) * sum(switches[name] for name in _SWITCHES)
    if bigrams is not None:
        dimension += len(bigrams.pairs) * (bigrams.size if bigrams.starts is None else 1)
    _check_weights(parts, dimension)
    recipe = _recipe(description["column_features"], labels, description["columns"], bigrams is not None)
    return ChainContents(path, parts, description, labels, names, n_attributes, rows, bigrams, recipe)


def _numbers(parts: Mapping[str, Part], name: str, codes: str, n_dimensions: int = 1) -> memoryview:
    """An array of the file, of one of the types that models are saved with."""
    shape, numbers = parts[name]
    if numbers.format not in codes:
        expected = " or ".join(_TYPES[code] for code in codes)
        raise ValueError(f"its {name} are of type {_TYPES[numbers.format]}, not {expected}")
    if len(shape) != n_dimensions:
        raise ValueError(f"its {name} are damaged: they have the shape {shape}")
    return numbers


def _check_parameters(plain: Any) -> None:
    """Refuse what the estimator would refuse."""
    unknown = set(plain) - set(_PARAMETERS)
    if unknown or not isinstance(plain, dict):
        raise ValueError(f"its parameters are damaged: {min(unknown, default=plain)!r}")
    for name, value in plain.items():
        if name not in ("solver", "constraints") and not isinstance(value, str | int | float | None):
            raise ValueError(f"its parameter {name} is damaged")
    check_l2(plain.get("l2", 1.0), check_l1(plain.get("l1", 0.0)))
    check_limits(plain.get("tol", 0.0), plain.get("max_passes", 1))
    thread_count(plain.get("n_jobs"))
    solver, constraints = plain["solver"], plain.get("constraints")
    if isinstance(constraints, dict):
        constraints_of(constraints)
    # The options of a solver are checked where they are needed: by the estimator, which makes an object of them.
    known = type(solver["name"]) is str if isinstance(solver, dict) else solver in ("auto", *solvers.NAMES)
    if not known:
        raise ValueError(f"its solver {solver!r} is unknown")
    if not isinstance(constraints, dict) and constraints not in (None, "bio", "iobes"):
        raise ValueError(f"its constraints {constraints!r} are unknown")


def constraints_of(plain: Any) -> Any:
    """The constraints of a file: a name, None, or an object, which checks itself and needs NumPy."""
    if not isinstance(plain, dict):
        return plain
    import numpy as np

    from dualfield.labels import Constraints

    return Constraints(plain["labels"], **{name: np.array(plain[name], dtype=bool) for name in MASKS})


def check_solution(plain: Any) -> None:
    """Refuse what is not how a run ended."""
    if not isinstance(plain, dict) or set(plain) != {*_TEXTS, *_COUNTS, *_MEASURES}:
        raise ValueError("its solution is damaged")
    sound = all(type(plain[name]) is str for name in _TEXTS)
    sound &= all(type(plain[name]) is int for name in _COUNTS)
    sound &= all(type(plain[name]) in (int, float, type(None)) for name in _MEASURES)
    if not sound:
        raise ValueError("its solution is damaged")


def checked_labels(given: Any) -> list[str] | list[int]:
    """The labels, sorted and of one type: strings, or integers of 64 bits."""
    kinds = set(map(type, given)) if isinstance(given, list) else set()
    sound = kinds in ({str}, {int}) and len(given) >= 2 and given == sorted(set(given))
    if sound and kinds == {str}:
        sound = not any(label.endswith("\0") for label in given)  # which arrays of strings do not keep
    elif sound:
        sound = -(2**63) <= given[0] and given[-1] < 2**63
    if not sound:
        raise ValueError("its labels are damaged")
    labels: list[str] | list[int] = given
    return labels


def _vocabulary(parts: Mapping[str, Part], columns: Any, name: str) -> tuple[_core.Names | None, int]:
    """The names of attributes, or how many columns there are."""
    if columns is not None:
        if type(columns) is not int or not 0 <= columns <= _MOST_COLUMNS:
            raise ValueError(f"its number of columns {columns!r} is damaged")
        return None, columns
    offsets = _numbers(parts, f"{name}_offsets", "q")
    text = _numbers(parts, f"{name}_text", "B")
    try:
        names = _core.Names(text, offsets)
    except ValueError as error:
        raise ValueError(f"its {name}_offsets are damaged: {error}") from None
    if len(names) != len(offsets) - 1:
        raise ValueError(f"a name occurs twice in its {name}")
    if not _core.are_text(names):
        raise ValueError(f"a name of its {name} is not valid UTF-8")
    return names, len(names)


def _check_transitions(flat: memoryview, n_labels: int) -> None:
    """Refuse transitions that would point outside the K × K of them, or stand twice."""
    listed = flat.tolist()
    if listed != sorted(set(listed)) or (listed and (listed[0] < 0 or listed[-1] >= n_labels**2)):
        raise ValueError("its transitions are damaged")


def _rows(parts: Mapping[str, Part], n_attributes: int, n_labels: int) -> _core.ObservedPairs | None:
    """The labels that each attribute has a weight with; None: all."""
    if "row_starts" not in parts:
        return None
    starts, labels = _numbers(parts, "row_starts", "q"), _numbers(parts, "row_labels", "i")
    try:
        if len(starts) != n_attributes + 1:
            raise ValueError("as many rows as attributes")
        return _core.ObservedPairs(starts, labels, n_labels)
    except ValueError:
        raise ValueError("its table of observed pairs is damaged") from None


def _check_masks(parts: Mapping[str, Part], n_labels: int) -> None:
    """Refuse rules of other sizes, and rules that leave no first or no last label."""
    if "allowed_transitions" not in parts:
        return
    for name in MASKS:
        shape = (n_labels, n_labels) if name == "transitions" else (n_labels,)
        mask = _numbers(parts, f"allowed_{name}", "B", len(shape))
        if parts[f"allowed_{name}"].shape != shape or (name != "transitions" and not any(mask)):
            raise ValueError("its masks of constraints are damaged")


def _bigrams(parts: Mapping[str, Part], description: Mapping[str, Any], n_labels: int) -> Bigrams | None:
    """The weights of bigrams; refuses pairs that would point outside their arrays, or stand twice."""
    if "bigram_columns" not in description:
        return None
    names, size = _vocabulary(parts, description["bigram_columns"], "bigram_vocabulary")
    pairs = _numbers(parts, "bigram_pairs", "i")
    starts = _numbers(parts, "bigram_starts", "q") if "bigram_starts" in parts else None
    try:
        _core.PairRows(size, n_labels, starts, pairs)
    except ValueError:
        raise ValueError("its table of bigrams is damaged") from None
    return Bigrams(names, size, pairs, starts)


def _check_weights(parts: Mapping[str, Part], dimension: int) -> None:
    shape = parts["weights"].shape
    if shape != (dimension,):
        raise ValueError(f"it should have {dimension} weights but has {prod(shape) if len(shape) == 1 else shape}")
    if not _core.all_finite(_numbers(parts, "weights", "df")):
        raise ValueError("some weights are not finite")


def _recipe(plain: Any, labels: list[str] | list[int], columns: int | None, bigrams: bool) -> Recipe | None:
    """How column files become attributes, where the model says so."""
    if plain is None or (isinstance(plain, dict) and set(plain) == {"attributes"}):
        if plain is not None and plain["attributes"] not in ("attributes", "jsonl"):
            raise ValueError(f"its files would have the format {plain['attributes']!r}, which is unknown")
        return None
    recipe = recipe_of(plain)
    _check_recipe(recipe, bigrams)
    if (recipe.hash_bits is None) != (columns is None) or (recipe.hash_bits and columns != 2**recipe.hash_bits):
        raise ValueError(f"it has {columns} columns of arrays, but hash_bits={recipe.hash_bits}")
    "".join(map(str, labels)).encode()  # what cannot be written to a file is no label of files
    return recipe


def _check_recipe(recipe: Recipe, bigrams: bool) -> None:
    """Refuse a recipe by which no file can be read."""
    if recipe.layout.format == "jsonl":
        recipe.layout.check_bare()
    else:
        column_layout(*recipe.layout)
    "".join(text or "" for text in recipe.layout).encode()
    fewest, most = recipe.widths
    if fewest < 1 or most > _MOST_COLUMNS:
        raise ValueError(f"its files would have {most} columns")
    if any(column >= fewest for column in recipe.columns):
        raise ValueError(f"its template sees the columns {recipe.columns}, of {fewest} that every line has")
    if recipe.hash_bits is not None and not 1 <= recipe.hash_bits <= _MOST_HASH_BITS:
        raise ValueError(f"expected hash_bits from 1 to {_MOST_HASH_BITS}, found {recipe.hash_bits}")
    for rule in recipe.plain_template["rules"]:
        cells = [piece for piece in rule["pieces"] if not isinstance(piece, str)]
        if any(cell["column"] >= len(recipe.columns) for cell in cells):
            raise ValueError("its template refers to a column that it does not see")
        if cells and rule["kind"] != "unigram" and not bigrams:
            raise ValueError("its template makes bigrams, which it has no weights for")
