"""Wrong arrays are an error, never a crash."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from dualfield import _core, fields


def arrays(**changes: Any) -> dict[str, Any]:
    """A correct chain of two blocks, with some arguments replaced."""
    correct = {
        "offsets": np.array([0, 2, 3]),
        "indptr": np.array([0, 1, 2, 4]),
        "indices": np.array([0, 1, 0, 1], dtype=np.int32),
        "values": np.ones(4),
        "attributes": 2,
        "labels": 2,
        "transitions": np.arange(4, dtype=np.int32),
        "bias": True,
        "begin": True,
        "end": True,
        "y": np.array([0, 1, 1], dtype=np.int32),
        "sample_weight": np.ones(2),
        "l2": 1.0,
    }
    return {**correct, **changes}


ROWS = {"row_starts": np.array([0, 2, 4]), "row_labels": np.array([0, 1, 0, 1], dtype=np.int32)}


def pairs(**changes: Any) -> Any:
    rows = {**ROWS, **changes}
    return _core.ObservedPairs(rows["row_starts"].copy(), rows["row_labels"].copy(), 2)


def int32(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


MALFORMED = [
    ({"offsets": np.array([], dtype=np.int64)}, "offsets must start"),
    ({"offsets": np.array([1, 2, 3])}, "offsets must start"),
    ({"offsets": np.array([0, 0, 3])}, "no block may be empty"),
    ({"offsets": np.array([0, 4, 3])}, "offsets must increase"),
    ({"offsets": np.array([0, 2, 4])}, "indptr must have one entry more"),
    ({"offsets": np.array([0, -2, 3])}, "offsets must increase"),
    ({"indptr": np.array([1, 1, 2, 4])}, "start with 0"),
    ({"indptr": np.array([0, 1, 2])}, "indptr must have one entry more"),
    ({"indptr": np.array([0, 3, 2, 4])}, "indptr must not decrease"),
    ({"indptr": np.array([0, 1, 2, 5])}, "indices must have"),
    ({"indices": int32(0, 1, 0)}, "indices must have"),
    ({"indices": int32(0, 1, 0, 2)}, "attribute index is out of range"),
    ({"indices": int32(0, -1, 0, 1)}, "attribute index is out of range"),
    ({"values": np.ones(3)}, "values must be as many"),
    ({"labels": 0}, "at least one label"),
    ({"labels": -1}, "at least one label"),
    ({"labels": 1, "transitions": int32(0)}, "a label is out of range"),
    ({"y": int32(0, 1, 2)}, "a label is out of range"),
    ({"y": int32(0, -1, 1)}, "a label is out of range"),
    ({"y": int32(0, 1)}, "labels must be as many"),
    ({"sample_weight": np.ones(3)}, "sample_weight must be as many"),
    ({"transitions": int32(0, 4)}, "a transition is out of range"),
    ({"transitions": int32(-1)}, "a transition is out of range"),
]


@pytest.mark.parametrize(("changes", "message"), MALFORMED)
def test_malformed_arrays_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.ChainAll(**arrays(**changes))
    with pytest.raises(ValueError, match=message):
        _core.ChainObserved(**arrays(**changes), pairs=pairs())


@pytest.mark.parametrize(
    ("changes", "message"),
    [case for case in MALFORMED if not {"transitions", "offsets", "sample_weight"} & set(case[0])],
)
def test_malformed_points_are_refused(changes: dict[str, Any], message: str) -> None:
    point = {"offsets": np.array([0, 1, 2, 3]), "sample_weight": np.ones(3)}
    arguments = arrays(**{**point, **changes})
    for name in ("transitions", "begin", "end"):
        del arguments[name]
    with pytest.raises(ValueError, match=message):
        _core.Multiclass(**arguments)


def test_a_point_of_two_positions_is_refused() -> None:
    arguments = arrays()
    for name in ("transitions", "begin", "end"):
        del arguments[name]
    with pytest.raises(ValueError, match="exactly one position"):
        _core.Multiclass(**arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row_starts": np.array([0, 2]), "row_labels": int32(0, 1)}, "of other attributes"),
        ({"row_starts": np.array([1, 2, 4])}, "start with 0"),
        ({"row_starts": np.array([0, 5, 4])}, "row_starts must not decrease"),
        ({"row_starts": np.array([0, 2, 5])}, "row_labels must have"),
        ({"row_labels": int32(0, 1, 0, 2)}, "a row label is out of range"),
        ({"row_labels": int32(0, 1, 0, -1)}, "a row label is out of range"),
        ({"row_labels": int32(0, 1, 1, 0)}, "the labels of a row must increase"),
        ({"row_labels": int32(0, 0, 0, 1)}, "the labels of a row must increase"),
    ],
)
def test_malformed_rows_of_observed_pairs_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.ChainObserved(**arrays(), pairs=pairs(**changes))


def test_observed_pairs_refuses_labels_out_of_range() -> None:
    names = ("offsets", "indptr", "indices", "attributes", "labels", "y")
    with pytest.raises(ValueError, match="a label is out of range"):
        _core.observed_pairs(**{name: arrays(y=int32(0, 1, 2))[name] for name in names})


@pytest.mark.parametrize("name", ["offsets", "indptr", "indices", "values", "transitions", "y", "sample_weight"])
def test_arrays_of_another_type_are_refused_not_converted(name: str) -> None:
    with pytest.raises(TypeError):
        _core.ChainAll(**arrays(**{name: arrays()[name].astype(np.float32)}))
    with pytest.raises(TypeError):
        _core.ChainAll(**arrays(**{name: np.repeat(arrays()[name], 2)[::2]}))


@pytest.fixture
def small_field() -> Any:
    return _core.ChainAll(**arrays())


@pytest.mark.parametrize("missing", [-1, 1])
@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("primal", ()),
        ("gradient", ()),
        ("decode", (0, 2)),
        ("marginals", (0, 2)),
        ("potentials", (0,)),
        ("kbest", (0, 1)),
        ("sample", (0, 1, 0)),
    ],
)
def test_weights_of_another_length_are_refused(
    small_field: Any, method: str, more: tuple[int, ...], missing: int
) -> None:
    with pytest.raises(ValueError, match="number of weights"):
        getattr(small_field, method)(np.zeros(small_field.dimension + missing), *more)


@pytest.mark.parametrize(("method", "more"), [("potentials", ()), ("kbest", (1,)), ("sample", (1, 0))])
@pytest.mark.parametrize("block", [-1, 2])
def test_blocks_out_of_bounds_are_refused(small_field: Any, method: str, more: Any, block: int) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        getattr(small_field, method)(np.zeros(small_field.dimension), block, *more)


@pytest.mark.parametrize("method", ["decode", "marginals"])
@pytest.mark.parametrize(("first", "last"), [(-1, 1), (0, 3), (2, 1)])
def test_ranges_out_of_bounds_are_refused(small_field: Any, method: str, first: int, last: int) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        getattr(small_field, method)(np.zeros(small_field.dimension), first, last)


def test_a_field_keeps_its_arrays_alive() -> None:
    compiled = _core.ChainObserved(**arrays(), pairs=pairs())
    w = np.random.default_rng(0).normal(size=compiled.dimension)
    before = compiled.primal(w)
    gc.collect()
    _ = [np.full(4, 1e9) for _ in range(100)]  # would land on freed memory
    assert compiled.primal(w) == before


def test_python_fields_refuse_weights_of_another_shape() -> None:
    field = fields.Chain([[{"a": 1.0}, {"b": 1.0}]], [["A", "B"]])
    with pytest.raises(ValueError, match=r"Chain has .* weights"):
        field.primal(np.zeros(field.dimension - 1))
    with pytest.raises(ValueError, match=r"Chain has .* weights"):
        field.gradient(np.zeros((field.dimension, 1)))


@pytest.mark.parametrize("l2", [0, -1.0, np.inf, np.nan, "1", True])
def test_a_penalty_that_is_not_positive_is_refused(l2: Any) -> None:
    with pytest.raises(ValueError, match="l2 must be a positive finite number"):
        fields.Chain([[{"a": 1.0}, {"b": 1.0}]], [["A", "B"]], l2)
    with pytest.raises(ValueError, match="l2 must be a positive finite number"):
        fields.Multiclass(np.eye(2), [0, 1], l2)


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        ([1.0, 1.0], "one entry per"),
        ([1.0, -1.0, 1.0], r"sample_weight\[1\] is -1.0"),
        ([1.0, 1.0, np.nan], r"sample_weight\[2\] is nan"),
        ([0.0, 0.0, 0.0], "Every sample_weight is zero"),
    ],
)
def test_wrong_sample_weights_are_refused(sample_weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fields.Multiclass(np.eye(3), [0, 1, 2], sample_weight=sample_weight)
    with pytest.raises(ValueError, match=message):
        fields.Chain([[["a"]]] * 3, [["A"], ["B"], ["A"]], sample_weight=sample_weight)


UNLABELLED = """
import numpy as np
from dualfield import _core
field = _core.{field}
try:
    {call}
except (ValueError, TypeError, RuntimeError):
    print("refused")
"""
CHAIN = (
    "ChainAll(np.array([0, 1]), np.array([0, 1]), np.zeros(1, np.int32), None, 1, 2, np.arange(4, dtype=np.int32), "
    "False, False, False, None, None, 1.0)"
)
POINTS = "Multiclass(np.array([0, 1]), np.array([0, 1]), np.zeros(1, np.int32), None, 1, 2, False, None, None, 1.0)"


@pytest.mark.parametrize(
    ("field", "call"),
    [
        (CHAIN, "field.primal(np.zeros(6))"),
        (CHAIN, "field.gradient(np.zeros(6))"),
        (
            CHAIN,
            "_core.SDCA(field, sampling='gap', non_uniformity=0.8, permutation_every=3, threads=1, window=1, "
            "workers=0, accelerate=False, precision='double', step='newton', subprecision=0.01, step_size=0.0, "
            "init='mixture', epsilon=0.0, seed=0)",
        ),
        (CHAIN, "_core.LBFGS(field, corrections=5, first_sample=1, growth=1.0, threads=1, seed=0)"),
        (POINTS, "field.primal(np.zeros(2))"),
    ],
)
def test_a_field_without_labels_refuses_to_train(field: str, call: str) -> None:
    code = UNLABELLED.format(field=field, call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n")
