"""Numbers that no core could count to are refused in a sentence, wherever they are given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, fields, solve
from dualfield.features import Template
from dualfield.features.templates import rules
from dualfield.given_numbers import LARGEST, as_float, check_integer
from dualfield.oracles import chain
from dualfield.solvers import LBFGS, SGD

X, Y = [[["a"], ["b"]]], [["X", "Y"]]
HUGE = 2**70


@pytest.mark.parametrize("value", [1, np.int8(1), np.uint64(LARGEST), LARGEST])
def test_integers_within_64_bits_pass(value: Any) -> None:
    assert check_integer("k", value, 1, "a positive integer") == int(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "k must be a positive integer; got 0."),
        (True, "k must be a positive integer; got True."),
        (1.0, "k must be a positive integer; got 1.0."),
        ("1", "k must be a positive integer; got '1'."),
        (math.inf, "k must be a positive integer; got inf."),
        (LARGEST + 1, f"k must be a positive integer, below 2^63; got {LARGEST + 1}."),
        (10**4000, f"k must be a positive integer, below 2^63; got one of {(10**4000).bit_length()} bits."),
        (-(10**4000), f"k must be a positive integer; got one of {(10**4000).bit_length()} bits."),
    ],
)
def test_other_values_are_refused_in_a_sentence(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match="k must be") as caught:
        check_integer("k", value, 1, "a positive integer")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ChainCRF(n_jobs=HUGE).fit(X, Y), "n_jobs"),
        (lambda: ChainCRF(min_count=HUGE).fit(X, Y), "min_count"),
        (lambda: ChainCRF(max_passes=HUGE).fit(X, Y), "max_passes"),
        (lambda: solve(fields.Chain(X, Y), LBFGS(corrections=HUGE)), "corrections"),
        (lambda: solve(fields.Chain(X, Y), SGD(batch_size=HUGE)), "batch_size"),
        (lambda: Template.crfpp("U0:%x[0,0]").encode([[("a",)]], min_count=HUGE), "min_count"),
        (lambda: rules.prefix(HUGE), "prefix"),
        (lambda: chain.sample(np.zeros((1, 2)), np.zeros((0, 2, 2)), HUGE), "n"),
        (lambda: chain.kbest(np.zeros((1, 2)), np.zeros((0, 2, 2)), HUGE), "k"),
    ],
)
def test_parameters_beyond_64_bits_name_themselves(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        call()
    assert "incompatible function arguments" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_integers_too_large_for_a_float_are_infinite() -> None:
    assert (as_float(10**400), as_float(-(10**400)), as_float(2)) == (math.inf, -math.inf, 2.0)
    for parameter in ("l2", "tol"):
        with pytest.raises(ValueError, match=f"{parameter} must be"):
            ChainCRF(**{parameter: 10**400}).fit(X, Y)
