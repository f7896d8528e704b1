"""Chains under constraints equal their definition, summed over the allowed labellings."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualfield import Constraints, _core, fields, solvers
from tests.core.strategies import assert_close, few_examples, scales, weights
from tests.enumeration import all_labellings
from tests.written_out import WrittenOut, allowed_rows
from tests.zoo import PROBLEMS, constrained, problem

every_constrained = pytest.mark.parametrize("name", [name for name in PROBLEMS if constrained(name)])


@every_constrained
@scales
def test_objective_and_gradient_sum_over_the_allowed_labellings(name: str, scale: float) -> None:
    field = problem(name)
    exact, w = WrittenOut(field), weights(field, scale)
    value, gradient = field.gradient(w)
    assert_close(value, exact.primal(w))
    assert_close(field.primal(w), exact.primal(w))
    assert_close(gradient, field.l2 * w + exact.gradient(w), 1e-8)


@every_constrained
@scales
def test_hessian_products_are_covariances_over_the_allowed_labellings(name: str, scale: float) -> None:
    field = problem(name)
    w, v = weights(field, scale), weights(field, 1.0, 1)
    assert_close(field.hessian_product(w, v), field.l2 * v + WrittenOut(field).hessian_product(w, v), 1e-8)


@every_constrained
@scales
def test_predictions_are_those_of_the_allowed_labellings(name: str, scale: float) -> None:
    field: Any = problem(name)
    exact, w, K = WrittenOut(field), weights(field, scale), len(field.classes)
    decoded = field.core.decode(w, 0, field.n_blocks)
    posterior = field.core.decode_posterior(w, 0, field.n_blocks)
    marginals = field.core.marginals(w, 0, field.n_blocks)
    for i, (a, b) in enumerate(pairwise(field.encoded.offsets)):
        block = exact.blocks[i]
        scores = (block.vectors @ w.astype(np.longdouble)).astype(float)
        _, p = block.probabilities(w)
        expected = np.array([[p[block.labellings[:, t] == k].sum() for k in range(K)] for t in range(b - a)])
        assert_close(marginals[a:b], expected, 1e-8)
        assert_close(block.features(decoded[a:b]) @ w, scores.max())
        right = np.array([expected[np.arange(b - a), labels].sum() for labels in block.labellings])
        found = np.flatnonzero((block.labellings == posterior[a:b]).all(axis=1))
        assert len(found) == 1
        assert_close(right[found[0]], right.max(), 1e-8)
        codes, log_p = field.core.kbest(w, i, 10**6)
        assert len(codes) == len(block.labellings)
        assert len(np.unique(codes, axis=0)) == len(codes)
        assert_close(log_p, scores[np.argsort(-scores, kind="stable")] - float(block.probabilities(w)[0]), 1e-8)
        drawn = field.core.sample(w, i, 5, 0)
        assert all((block.labellings == row).all(axis=1).any() for row in drawn)


@every_constrained
def test_the_radius_lies_between_its_estimate_and_its_bound(name: str) -> None:
    field = problem(name)
    for i, block in enumerate(WrittenOut(field).blocks):
        distances = np.sum((block.vectors - block.truth) ** 2, axis=1)
        estimate, bound = field.core.radius(i)
        assert estimate <= distances.max() * (1 + 1e-12) + 1e-12
        assert bound >= distances.max() * (1 - 1e-12)
        assert np.min(np.abs(distances - estimate)) <= 1e-9 * max(1.0, estimate)  # some allowed labelling's


@st.composite
def constrained_problems(draw: st.DrawFn) -> Any:
    """Random labels, and rules that allow them and some others."""
    labels = draw(st.integers(2, 4))
    y = draw(st.lists(st.lists(st.integers(0, labels - 1), min_size=1, max_size=3), min_size=1, max_size=4))
    if len({label for sequence in y for label in sequence}) == 1:
        y.append([(y[0][0] + 1) % labels])
    pairs, first, last = (draw(hnp.arrays(bool, shape)) for shape in ((labels, labels), labels, labels))
    for sequence in y:
        first[sequence[0]] = last[sequence[-1]] = True
        pairs[sequence[:-1], sequence[1:]] = True
    X = [np.random.default_rng(seed).normal(size=(len(sequence), 2)) for seed, sequence in enumerate(y)]
    return fields.Chain(X, y, constraints=Constraints(range(labels), pairs, first, last))


@few_examples
@given(constrained_problems(), st.sampled_from([0.3, 30.0, 1e4]))
def test_any_rules_give_the_sums_over_what_they_allow(field: Any, scale: float) -> None:
    exact, w = WrittenOut(field), weights(field, scale)
    value, gradient = field.gradient(w)
    assert_close(value, exact.primal(w))
    # The penalty's part dwarfs the rest where weights are large.
    assert_close(gradient - field.l2 * w, exact.gradient(w), 1e-8 * max(1.0, scale))


def test_rules_that_forbid_nothing_change_nothing() -> None:
    X, y = [[["a"], ["b"], ["a"]], [["b"]]], [["A", "B", "C"], ["C"]]
    plain, open_rules = fields.Chain(X, y), fields.Chain(X, y, constraints=Constraints(["A", "B", "C"]))
    w = weights(plain, 1.0)
    assert plain.dimension == open_rules.dimension
    assert_close(open_rules.gradient(w)[1], plain.gradient(w)[1], 1e-13)
    assert type(open_rules.core) is not type(plain.core)


def test_forbidden_transitions_have_no_weight() -> None:
    field = fields.Chain(
        [[["a"], ["b"]], [["b"]]], [["A", "B"], ["A"]], constraints=Constraints(["A", "B"], [("B", "A")])
    )
    assert field.layout.transitions.tolist() == [0, 1, 3]


@every_constrained
def test_the_truth_is_among_the_allowed(name: str) -> None:
    field: Any = problem(name)
    for i, (a, b) in enumerate(pairwise(field.encoded.offsets)):
        labellings = all_labellings(b - a, len(field.classes))
        kept = labellings[allowed_rows(field, i, labellings)]
        assert 0 < len(kept)
        assert (kept == field.codes[a:b]).all(axis=1).any()


# --- the core's own refusals ---


def plain_core() -> Any:
    return fields.Chain([[["a"], ["b"]], [["b"]]], [["A", "B"], ["A"]]).core


def masks(**changes: Any) -> dict[str, Any]:
    free = {"transitions": np.ones((2, 2), bool), "begin": np.ones(2, bool), "end": np.ones(2, bool), "allowed": None}
    return free | changes


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"transitions": np.ones((2, 3), bool)}, "must be K x K, K and K"),
        ({"begin": np.ones(3, bool)}, "must be K x K, K and K"),
        ({"end": np.ones(1, bool)}, "must be K x K, K and K"),
        ({"allowed": np.ones((2, 2), bool)}, "one row a position"),
        ({"allowed": np.ones((3, 3), bool)}, "one row a position"),
        ({"begin": np.zeros(2, bool)}, "sequence 0, of length 2, has no labelling .* at position 0"),
        ({"transitions": np.zeros((2, 2), bool)}, "sequence 0, of length 2, has no labelling .* at position 1"),
    ],
)
def test_the_core_refuses_masks_that_do_not_fit(changes: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        _core.ConstrainedChain(plain_core(), **masks(**changes))
    with pytest.raises(ValueError, match=match):
        _core.PartialChain(plain_core(), **masks(**changes), candidates=np.ones((3, 2), bool))


def test_the_core_refuses_candidates_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="one row a position"):
        _core.PartialChain(plain_core(), **masks(), candidates=np.ones((2, 2), bool))
    with pytest.raises(ValueError, match=r"sequence 1, of length 1, has no labelling among the candidates"):
        _core.PartialChain(plain_core(), **masks(), candidates=np.array([[1, 1], [1, 1], [0, 0]], bool))


def test_the_core_refuses_the_dual_of_partial_labels() -> None:
    field = _core.PartialChain(plain_core(), **masks(), candidates=np.ones((3, 2), bool))
    problem = SimpleNamespace(core_with=lambda needs: field, n_blocks=2, l1=0.0, centre=None)
    with pytest.raises(ValueError, match="OEG needs exact inference"):
        solvers.OEG().bind(problem, 0, False)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="this field has no dual"):
        field.radius(0)


def test_a_constrained_chain_keeps_its_chain_alive() -> None:
    core = _core.ConstrainedChain(plain_core(), **masks())
    assert core.decode(np.zeros(core.dimension), 0, 2).shape == (3,)
