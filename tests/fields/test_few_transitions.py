"""Chains that pass over transitions without a weight answer as those that do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, OEG, ChainCRF, fields, solve
from dualfield._core import SparseChain
from dualfield.fields import Chain
from tests.enumeration import all_labellings


def sequences(n: int, labels: int, longest: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Words that tell of labels, which walk a few steps at a time: most pairs of labels never occur."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        size = random.integers(1, longest + 1)
        walk = (random.integers(labels) + np.cumsum(random.integers(0, 3, size=size))) % labels
        X.append([[f"word={k + random.integers(0, 2)}", f"some={random.integers(4)}"] for k in walk])
        y.append(walk.tolist())
    y[0][0], X[0][0] = labels - 1, ["word=last"]
    return X, y


def both(X: Any, y: Any, **options: Any) -> tuple[Chain, Chain]:
    """The same problem, passing over transitions without a weight and not."""
    made = []
    for sparse in (True, False):
        field = fields.Chain(X, y, transitions="observed", **options)
        field.layout = replace(field.layout, sparse=sparse)
        made.append(field.with_l2(field.l2))
    assert isinstance(made[0].core, SparseChain)
    assert not isinstance(made[1].core, SparseChain)
    return made[0], made[1]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"state_features": "observed"},
    {"bias": False, "begin": False, "end": False},
    {"sample_weight": np.resize([1.0, 0.0, 2.5], 20)},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_objective_and_gradient_are_the_same(options: dict[str, Any], scale: float) -> None:
    few, all_pairs = both(*sequences(20, 12, 6), **options)
    w = scale * np.random.default_rng(1).normal(size=few.dimension)
    value, gradient = few.gradient(w)
    expected, expected_gradient = all_pairs.gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-9)
    assert few.primal(w) == pytest.approx(expected, rel=1e-12)


def test_sequences_of_all_lengths_whose_potentials_are_near_and_far_apart() -> None:
    """Eight sequences share their edges; one that needs logarithms changes nothing for those beside it."""
    X, y = sequences(37, 12, 30, seed=4)
    X[5] = [[*names, "far"] for names in X[5]]
    few, all_pairs = both(X, y, sample_weight=np.resize([1.0, 0.5, 0.0, 2.0], 37))
    w = np.random.default_rng(1).normal(size=few.dimension)
    far = list(few.encoded.vocabulary.names).index("far")
    w[12 * far : 12 * far + 12] = np.linspace(-5e3, 5e3, 12)
    value, gradient = few.gradient(w)
    expected, expected_gradient = all_pairs.gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-9)


def test_threads_change_no_bit() -> None:
    field, _ = both(*sequences(150, 20, 9, seed=2))
    weights = [solve(field, LBFGS(n_jobs=n_jobs), max_passes=5).weights for n_jobs in (1, 2, 3)]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])


def scores(core: Any, w: Any, block: int) -> tuple[Any, Any]:
    """All labellings of a block and their scores."""
    node, edge = core.chain_potentials(w, block)
    labellings = all_labellings(*node.shape)
    total = node[np.arange(len(node)), labellings].sum(axis=1)
    for t in range(1, len(node)):
        total += edge[0][labellings[:, t - 1], labellings[:, t]]
    return labellings, total


@pytest.mark.parametrize("scale", [0.3, 5.0, 1e4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_answers_are_those_of_enumeration(scale: float, sign: float) -> None:
    """Also where nearly all mass lies on transitions of tiny probability, whose sums would cancel."""
    few, _ = both(*sequences(12, 7, 4))
    random = np.random.default_rng(2)
    w = scale * random.normal(size=few.dimension)
    start = few.layout.n_state_weights
    end = start + len(few.layout.transitions)
    w[start:end] = sign * np.abs(w[start:end]) * 3.0
    marginals = few.core.marginals(w, 0, few.n_blocks)
    best = few.core.decode(w, 0, few.n_blocks)
    offsets, losses = few.encoded.offsets, 0.0
    for i in range(few.n_blocks):
        labellings, total = scores(few.core, w, i)
        top = total.max()
        p = np.exp(total - top)
        log_z = top + np.log(p.sum())
        p /= p.sum()
        here = slice(offsets[i], offsets[i + 1])
        for t, row in enumerate(marginals[here]):
            expected = np.bincount(labellings[:, t], weights=p, minlength=len(few.classes))
            np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)
        where = np.flatnonzero((labellings == best[here]).all(axis=1))
        assert total[where[0]] == pytest.approx(top, rel=1e-12)
        truth = np.flatnonzero((labellings == few.codes[here]).all(axis=1))
        losses += log_z - total[truth[0]]
    penalty = 0.5 * few.l2 * float(w @ w)
    assert few.primal(w) - penalty == pytest.approx(losses, abs=1e-9 * max(1.0, abs(losses), penalty))


def test_ties_go_to_the_lower_label() -> None:
    few, all_pairs = both(*sequences(20, 12, 6))
    w = np.random.default_rng(3).integers(-1, 2, size=few.dimension).astype(float)
    for weights in (w, np.zeros_like(w)):
        expected = all_pairs.core.decode(weights, 0, few.n_blocks)
        np.testing.assert_array_equal(few.core.decode(weights, 0, few.n_blocks), expected)


@pytest.mark.parametrize("solver", ["oeg", "sdca", "lbfgs", "sag", "saga", "svrg", "idal", "smd"])
def test_every_kind_of_solver_ends_where_it_would(solver: str) -> None:
    few, all_pairs = both(*sequences(30, 12, 6), l2=0.5)
    optimum = solve(all_pairs, "lbfgs", tol=1e-10).primal
    found = solve(few, solver, tol=1e-6, max_passes=400, random_state=0)
    assert found.primal >= optimum * (1 - 1e-9)
    if solver != "smd":
        assert found.primal <= optimum * (1 + 1e-6)
        assert found.duality_gap >= found.primal - optimum - 1e-9 * optimum


@pytest.mark.parametrize("solver", ["oeg", "lbfgs"])
def test_with_l1(solver: str) -> None:
    few, all_pairs = both(*sequences(30, 12, 6), l1=0.2, l2=0.5)
    optimum = solve(all_pairs, "lbfgs", tol=1e-9).primal
    assert solve(few, solver, tol=1e-6, random_state=0).primal == pytest.approx(optimum, rel=2e-6)


def test_a_run_on_two_threads_and_one_of_floats() -> None:
    few, all_pairs = both(*sequences(30, 12, 6), l2=0.5)
    optimum = solve(all_pairs, "lbfgs", tol=1e-10).primal
    for solver in (OEG(n_jobs=2), OEG(memory="float32")):
        assert solve(few, solver, tol=1e-5, random_state=0).primal == pytest.approx(optimum, rel=1e-5)


def test_many_labels_and_few_of_their_pairs_are_recognised() -> None:
    X, y = sequences(300, 120, 8)
    crf = ChainCRF(transitions="observed", state_features="observed", random_state=0).fit(X, y)
    assert isinstance(crf.layout_.compile(crf.encode(X)), SparseChain)
    assert not isinstance(replace(crf.layout_, sparse=False).compile(crf.encode(X)), SparseChain)
    k_best = crf.predict_kbest(X[:3], k=2)
    for labels, answers in zip(crf.predict(X[:3]), k_best, strict=True):
        assert labels == list(answers[0][0])
    assert crf.predict(X[:2], given=[[None] * len(x) for x in X[:2]]) == crf.predict(X[:2])
