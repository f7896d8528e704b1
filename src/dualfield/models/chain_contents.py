"""The contents of a chain's model file, and the checks of them: both are in this module alone.

``ChainCRF.load`` makes arrays of it, ``dualfield tag`` gives it to the core as it is, and ``save`` asks, before it
writes, whether what it is about to write could be read. NumPy is not needed, unless the labels of constraints are
others than those of the model.

================== ==========================================================================================
``parameters``     The options of :class:`~dualfield.models.ChainSpec`, and how training was asked for. Own
                   constraints are "given": the masks say which. Where they speak of further labels, they stand
                   here in full, since ``partial_fit`` may need them.
``columns``        How many columns arrays have; null where attributes have names.
``bigram_columns`` The same of bigram attributes, where the model has any.
``dense_columns``  How many dense columns there are beside the attributes, where the model has any.
``layout``         Whether there are bias, begin and end weights.
``column_features`` A :class:`~dualfield.models.recipe.Recipe` as plain data, the format of attribute files, or null.
================== ==========================================================================================
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from dualfield import _core
from dualfield.labels.given_costs import check_costs, costs_of_plain
from dualfield.labels.tags import SCHEMES
from dualfield.models.model_file import DAMAGED, refusal
from dualfield.models.recipe import Recipe, checked_column_features
from dualfield.models.schema import Contents, read_contents
from dualfield.models.spec import ChainSpec
from dualfield.parameters import TRAINING, check_ignore_label, check_limits
from dualfield.threads import thread_count

__all__ = ["CHAIN", "GIVEN", "MASKS", "Bigrams", "ChainContents", "chain_contents", "read_chain"]

CHAIN = "ChainCRF"
MASKS = ("transitions", "begin", "end")
GIVEN = "given"
_SWITCHES = ("bias", "begin", "end")
_MOST_COLUMNS = 2**31 - 1


class Bigrams(NamedTuple):
    """The attributes that go with pairs of labels: their names, or how many columns they are, and which pairs."""

    names: _core.Names | None
    size: int
    pairs: memoryview
    starts: memoryview | None


class ChainContents(NamedTuple):
    """A model that has been checked. Arrays are views of the file's bytes."""

    file: Contents
    spec: ChainSpec
    names: _core.Names | None
    n_attributes: int
    rows: _core.ObservedPairs | None
    bigrams: Bigrams | None
    recipe: Recipe | None
    n_columns: int = 0

    @property
    def switches(self) -> tuple[bool, bool, bool]:
        """Whether there are bias, begin and end weights."""
        bias, begin, end = (self.file.description["layout"][name] for name in _SWITCHES)
        return bias, begin, end

    @property
    def masks(self) -> tuple[memoryview, memoryview, memoryview] | None:
        """Which transitions, first and last labels are allowed; None: all."""
        if "allowed_transitions" not in self.file.parts:
            return None
        transitions, begin, end = (self.file.numbers(f"allowed_{name}") for name in MASKS)
        return transitions, begin, end

    @property
    def training(self) -> dict[str, Any]:
        """How training was asked for, as JSON has it."""
        given = self.file.description["parameters"]
        return {name: given[name] for name in TRAINING if name in given}


def read_chain(path: str | os.PathLike[str]) -> ChainContents:
    """Read the model file of a chain, or refuse it in a sentence."""
    contents = read_contents(path, CHAIN)
    try:
        return chain_contents(contents)
    except DAMAGED as error:
        raise refusal(path, CHAIN, error) from error


def chain_contents(file: Contents) -> ChainContents:
    """What a file says of a chain; raises one of ``DAMAGED``, with a clause that says why it is none."""
    description, n_labels = file.description, len(file.labels)
    spec = _spec(description["parameters"])
    if not all(type(description["layout"][name]) is bool for name in _SWITCHES):
        raise ValueError("its layout is damaged")
    names, n_attributes = _vocabulary(file, description["columns"], "vocabulary")
    if "vocabulary_index" in file.parts:
        file.numbers("vocabulary_index")  # checks the type; code that uses the file in place checks the entries
    _check_transitions(file.numbers("transitions"), n_labels)
    rows = _rows(file, n_attributes)
    _check_masks(file)
    bigrams = _bigrams(file)
    n_columns = description.get("dense_columns", 0)
    if type(n_columns) is not int or not 0 <= n_columns <= _MOST_COLUMNS:
        raise ValueError(f"its number of dense columns {n_columns!r} is damaged")
    dimension = n_attributes * n_labels if rows is None else len(file.numbers("row_labels"))
    dimension += n_columns * n_labels
    dimension += len(file.numbers("transitions")) + n_labels * sum(description["layout"][name] for name in _SWITCHES)
    if bigrams is not None:
        dimension += len(bigrams.pairs) * (bigrams.size if bigrams.starts is None else 1)
    file.check_weights(dimension)
    return ChainContents(file, spec, names, n_attributes, rows, bigrams, _recipe(file, bigrams), n_columns)


def _spec(plain: Any) -> ChainSpec:
    """What the parameters say of the model, own constraints left out; refuses what the estimator would refuse."""
    unknown = set(plain) - {*ChainSpec._fields, *TRAINING}
    if unknown or not isinstance(plain, dict):
        raise ValueError(f"its parameters are damaged: {min(unknown, default=plain)!r}")
    for name, value in plain.items():
        listed = name in ("class_weight", "costs") and isinstance(value, list)
        if name not in ("solver", "constraints") and not listed and not isinstance(value, str | int | float | None):
            raise ValueError(f"its parameter {name} is damaged")
    check_limits(plain.get("tol", 0.0), plain.get("max_passes", 1))
    thread_count(plain.get("n_jobs"))
    check_ignore_label(plain.get("ignore_label"))
    costs = costs_of_plain(plain)
    check_costs(costs.get("class_weight"), costs.get("costs"))
    solver = plain["solver"]
    # Names of solvers and their options are checked by the estimator, when it makes the solver.
    if type(solver["name"] if isinstance(solver, dict) else solver) is not str:
        raise ValueError(f"its solver {solver!r} is unknown")
    options = {name: plain[name] for name in ChainSpec._fields if name in plain}  # early files lack some
    rules = options.get("constraints")
    if isinstance(rules, dict):
        import numpy as np

        from dualfield.labels import Constraints

        options["constraints"] = Constraints(rules["labels"], **{n: np.array(rules[n], dtype=bool) for n in MASKS})
    elif rules == GIVEN:
        options["constraints"] = None
    elif rules is not None and rules not in SCHEMES:
        raise ValueError(f"its constraints {rules!r} are unknown")
    return ChainSpec(**options)


def _vocabulary(file: Contents, columns: Any, name: str) -> tuple[_core.Names | None, int]:
    """The names of attributes, or how many columns there are."""
    if columns is not None:
        if type(columns) is not int or not 0 <= columns <= _MOST_COLUMNS:
            raise ValueError(f"its number of columns {columns!r} is damaged")
        return None, columns
    offsets = file.numbers(f"{name}_offsets")
    text = file.numbers(f"{name}_text")
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


def _rows(file: Contents, n_attributes: int) -> _core.ObservedPairs | None:
    """The labels that each attribute has a weight with; None: all."""
    if "row_starts" not in file.parts:
        return None
    starts, labels = file.numbers("row_starts"), file.numbers("row_labels")
    try:
        if len(starts) != n_attributes + 1:
            raise ValueError("as many rows as attributes")
        return _core.ObservedPairs(starts, labels, len(file.labels))
    except ValueError:
        raise ValueError("its table of observed pairs is damaged") from None


def _check_masks(file: Contents) -> None:
    """Refuse rules of other sizes, rules that leave no first or no last label, and own rules that are not there."""
    if "allowed_transitions" not in file.parts:
        if file.description["parameters"].get("constraints") == GIVEN:
            raise KeyError("allowed_transitions")
        return
    n_labels = len(file.labels)
    for name in MASKS:
        shape = (n_labels, n_labels) if name == "transitions" else (n_labels,)
        mask = file.numbers(f"allowed_{name}")
        if file.parts[f"allowed_{name}"].shape != shape or (name != "transitions" and not any(mask)):
            raise ValueError("its masks of constraints are damaged")


def _bigrams(file: Contents) -> Bigrams | None:
    """The weights of bigrams; refuses pairs that would point outside their arrays, or stand twice."""
    if "bigram_columns" not in file.description:
        return None
    names, size = _vocabulary(file, file.description["bigram_columns"], "bigram_vocabulary")
    pairs = file.numbers("bigram_pairs")
    starts = file.numbers("bigram_starts") if "bigram_starts" in file.parts else None
    try:
        _core.PairRows(size, len(file.labels), starts, pairs)
    except ValueError:
        raise ValueError("its table of bigrams is damaged") from None
    return Bigrams(names, size, pairs, starts)


def _recipe(file: Contents, bigrams: Bigrams | None) -> Recipe | None:
    """How column files become attributes, where the model says so."""
    recipe = checked_column_features(file.description["column_features"], bigrams is not None)
    if recipe is None:
        return None
    sizes = [file.description["columns"], *([] if bigrams is None else [file.description["bigram_columns"]])]
    if any(size != (None if recipe.hash_bits is None else 2**recipe.hash_bits) for size in sizes):
        raise ValueError(f"it has {sizes[-1]} columns of arrays, but hash_bits={recipe.hash_bits}")
    "".join(map(str, file.labels)).encode()  # what cannot be written to a file is no label of files
    return recipe
