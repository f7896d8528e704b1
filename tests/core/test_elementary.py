"""The vectorised exp and log agree with libm to about one unit in the last place, over their whole range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualfield import _core
from tests.core.strategies import few_examples

SMALLEST_NORMAL = np.finfo(np.float64).tiny
LARGEST = np.finfo(np.float64).max
ULPS = 5e-16  # a relative error a little over two units in the last place


def exact_exp(x: np.ndarray) -> np.ndarray:
    return np.exp(x.astype(np.longdouble))


def exact_log(x: np.ndarray) -> np.ndarray:
    return np.log(x.astype(np.longdouble))


@few_examples
@given(hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(-708.0, 709.0)))
def test_exp_is_accurate(x: np.ndarray) -> None:
    assert np.all(np.abs(_core.fast_exp(x) - exact_exp(x)) <= ULPS * exact_exp(x))


@pytest.mark.parametrize(("low", "high"), [(-708.0, 709.0), (-40.0, 1.0), (-1e-3, 1e-3)])
def test_exp_is_accurate_on_a_grid(low: float, high: float) -> None:
    x = np.linspace(low, high, 100_003)
    assert np.max(np.abs(_core.fast_exp(x) / exact_exp(x) - 1)) <= ULPS


def test_exp_of_zero_is_one() -> None:
    assert _core.fast_exp(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]


@few_examples
@given(st.floats(max_value=np.nextafter(-708.0, -np.inf), allow_nan=False))
def test_exp_below_its_range_is_exactly_zero(x: float) -> None:
    assert _core.fast_exp(np.array([x])).tolist() == [0.0]


def test_exp_of_minus_infinity_is_zero() -> None:
    assert _core.fast_exp(np.array([-np.inf, -1e300, -708.0001])).tolist() == [0.0, 0.0, 0.0]
    assert _core.fast_exp(np.array([-708.0]))[0] > 0.0


@few_examples
@given(hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(SMALLEST_NORMAL, LARGEST)))
def test_log_is_accurate(x: np.ndarray) -> None:
    expected = exact_log(x)
    assert np.all(np.abs(_core.fast_log(x) - expected) <= ULPS * np.abs(expected))


@pytest.mark.parametrize(
    "x",
    [
        np.exp(np.linspace(-708.0, 709.0, 100_003)),
        np.linspace(1e-6, 4.0, 100_003),
        1.0 + np.linspace(-1e-6, 1e-6, 10_001),
        2.0 ** np.arange(-1022, 1024),
        np.array([SMALLEST_NORMAL, LARGEST, np.sqrt(0.5), np.sqrt(2.0), np.nextafter(np.sqrt(0.5), 0)]),
    ],
    ids=["full range", "around one", "very near one", "powers of two", "corners"],
)
def test_log_is_accurate_on_a_grid(x: np.ndarray) -> None:
    expected = exact_log(x)
    assert np.all(np.abs(_core.fast_log(x) - expected) <= ULPS * np.abs(expected))


def test_log_of_one_is_zero() -> None:
    assert _core.fast_log(np.array([1.0])).tolist() == [0.0]


@few_examples
@given(st.floats(-700.0, 700.0))
def test_log_undoes_exp(x: float) -> None:
    back = _core.fast_log(_core.fast_exp(np.array([x])))[0]
    assert abs(back - x) <= 1e-15 * max(1.0, abs(x))
