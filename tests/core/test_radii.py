"""How far the features of a block lie apart: the estimate is a labelling's, the bound is above all labellings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from dualfield import fields
from tests.core.strategies import assert_close, few_examples
from tests.core.test_fields import ChainProblem, MulticlassProblem, chain_problems, multiclass_problems
from tests.enumeration import all_labellings


def squared_distances(problem: ChainProblem, i: int) -> Any:
    """``‖F(x_i, y_i) − F(x_i, y)‖²`` for every labelling y, in lexicographic order."""
    truth = problem.features(i, problem.codes[i])
    labellings = all_labellings(len(problem.X[i]), problem.K)
    return np.array([np.sum((truth - problem.features(i, row)) ** 2) for row in labellings])


@few_examples
@given(chain_problems())
def test_the_radius_of_a_chain_is_between_its_estimate_and_its_bound(problem: ChainProblem) -> None:
    for i in range(len(problem.X)):
        estimate, bound = problem.field.core.radius(i)
        largest = squared_distances(problem, i).max()
        assert estimate <= largest * (1 + 1e-12) + 1e-12
        assert bound >= largest * (1 - 1e-12)


@few_examples
@given(chain_problems())
def test_the_estimate_is_the_distance_of_the_labelling_of_the_rarest_label(problem: ChainProblem) -> None:
    for i, codes in enumerate(problem.codes):
        rarest = int(np.bincount(codes, minlength=problem.K).argmin())
        distance = np.sum((problem.features(i, codes) - problem.features(i, [rarest] * len(codes))) ** 2)
        assert_close(problem.field.core.radius(i)[0], distance)


def test_the_estimate_is_exact_for_positive_features_and_an_absent_label() -> None:
    X = [[{"a": 1.0, "b": 2.0}, {"b": 0.5}, {"a": 3.0}], [{"b": 1.0}]]
    problem = ChainProblem(X, [["A", "B", "A"], ["C"]])
    for i in range(2):
        assert problem.field.core.radius(i)[0] == pytest.approx(squared_distances(problem, i).max())


@few_examples
@given(multiclass_problems())
def test_the_radius_of_a_point_is_exact(problem: MulticlassProblem) -> None:
    field = problem.field
    norms = np.asarray(field.rows.multiply(field.rows).sum(axis=1)).ravel() + problem.bias
    for i in range(field.n_blocks):
        assert_close(field.core.radius(i), [2 * norms[i], 2 * norms[i]])


@pytest.mark.parametrize("block", [-1, 2])
def test_a_block_out_of_range_has_no_radius(block: int) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        fields.Multiclass(np.eye(2), [0, 1]).core.radius(block)
