"""Chains with few transitions and forbidden labellings answer as those that look at all pairs of labels."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, Constraints, fields, solve
from dualfield._core import ConstrainedChain, SparseChain
from dualfield.fields import Chain
from dualfield.models.chain_masks import exceptions
from tests.enumeration import all_labellings, log_sum_exp


def spans(n: int, types: int, longest: int, seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    """Words that tell of labels in BIO; every label occurs."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for k in range(n):
        size, labels = int(random.integers(1, longest + 1)), list[str]()
        while len(labels) < size:
            kind = k % types if not labels else random.integers(types)
            begun = [f"B-{kind}"] + [f"I-{kind}"] * int(random.integers(3))
            labels += ["O"] if random.random() < 0.3 and labels else begun
        y.append(labels[:size])
        X.append([[f"word={label}{random.integers(2)}", f"some={random.integers(4)}"] for label in y[-1]])
    y.append([f"{which}-{kind}" for kind in range(types) for which in "BI"] + ["O"])
    X.append([[f"word={label}0"] for label in y[-1]])
    return X, y


def both(X: Any, y: Any, **options: Any) -> tuple[Chain, Chain]:
    """The same problem, passing over transitions without a weight and not."""
    made = []
    for sparse in (True, False):
        field = fields.Chain(X, y, transitions="observed", state_features="observed", **options)
        field.layout = replace(field.layout, sparse=sparse)
        made.append(field.with_l2(field.l2))
    assert isinstance(made[0].core, SparseChain)
    assert isinstance(made[1].core, ConstrainedChain)
    return made[0], made[1]


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_objective_and_gradient_are_those_of_all_pairs(scale: float) -> None:
    few, all_pairs = both(*spans(30, 6, 9), constraints="bio", sample_weight=np.resize([1.0, 0.0, 2.5], 31))
    w = scale * np.random.default_rng(1).normal(size=few.dimension)
    value, gradient = few.gradient(w)
    expected, expected_gradient = all_pairs.gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-9)
    arguments = w, 0, few.n_blocks
    np.testing.assert_allclose(few.core.marginals(*arguments), all_pairs.core.marginals(*arguments), atol=1e-9)
    np.testing.assert_array_equal(few.core.decode(*arguments), all_pairs.core.decode(*arguments))


def sets_of_labels(y: list[list[str]], labels: list[str]) -> list[list[Any]]:
    """At every third position the true label and every second one, elsewhere any."""
    return [[{label, *labels[::2]} if t % 3 == 0 else None for t, label in enumerate(each)] for each in y]


@pytest.mark.parametrize("scale", [0.3, 5.0, 1e4])
def test_answers_are_those_of_enumeration(scale: float) -> None:
    """Also where a forbidden pair takes nearly all that a sum over all labels has."""
    X, y = spans(12, 2, 4)
    X, y = X[:12], y[:12]
    y[0], X[0] = ["B-0", "I-0", "B-1", "I-1"], [["word=a"], ["word=b"], ["word=c"], ["word=d"]]
    y[1], X[1] = ["O", "B-0"], [["word=a"], ["word=b"]]
    allowed = sets_of_labels(y, ["B-0", "B-1", "I-0", "I-1", "O"])
    few, _ = both(X, y, constraints="bio", allowed=allowed)
    rules = Constraints.bio(few.classes.tolist())
    w = scale * np.random.default_rng(2).normal(size=few.dimension)
    offsets, losses = few.encoded.offsets, 0.0
    marginals = few.core.marginals(w, 0, few.n_blocks)
    best = few.core.decode(w, 0, few.n_blocks)
    for i, (a, b) in enumerate(pairwise(offsets)):
        node, edge = few.core.chain_potentials(w, i)
        labellings = all_labellings(b - a, len(few.classes))
        names = few.classes
        possible = [
            rules.allows(names[each].tolist())
            and all(s is None or names[k] in s for k, s in zip(each, allowed[i], strict=True))
            for each in labellings
        ]
        labellings = labellings[possible]
        total = node[np.arange(b - a), labellings].sum(axis=1)
        for t in range(1, b - a):
            total += edge[0][labellings[:, t - 1], labellings[:, t]]
        log_z = float(log_sum_exp(total))
        p = np.exp(total - log_z)
        for t, row in enumerate(marginals[a:b]):
            expected = np.bincount(labellings[:, t], weights=p, minlength=len(names))
            np.testing.assert_allclose(row, expected, atol=1e-9)
            assert not row[expected == 0.0].any() or scale > 100
        where = np.flatnonzero((labellings == best[a:b]).all(axis=1))
        assert total[where[0]] == pytest.approx(total.max(), rel=1e-12)
        truth = np.flatnonzero((labellings == few.codes[a:b]).all(axis=1))
        losses += log_z - total[truth[0]]
    penalty = 0.5 * few.l2 * float(w @ w)
    assert few.primal(w) - penalty == pytest.approx(losses, abs=1e-9 * max(1.0, abs(losses), penalty))


@pytest.mark.parametrize("solver", ["oeg", "sdca", "lbfgs"])
def test_every_kind_of_solver_ends_where_it_would(solver: str) -> None:
    few, all_pairs = both(*spans(30, 6, 9), constraints="bio", l2=0.5)
    optimum = solve(all_pairs, "lbfgs", tol=1e-10).primal
    found = solve(few, solver, tol=1e-6, max_passes=400, random_state=0)
    assert optimum * (1 - 1e-9) <= found.primal <= optimum * (1 + 1e-6)
    assert found.duality_gap >= found.primal - optimum - 1e-9 * optimum


def test_the_rules_of_200_types_cost_a_few_exceptions() -> None:
    labels = ["O", *(f"{which}-{kind}" for kind in range(200) for which in "BI")]
    assert exceptions(Constraints.bio(labels)) == 400
    assert exceptions(None) == 0


def test_predictions_never_break_the_rules() -> None:
    X, y = spans(60, 55, 12)
    crf = ChainCRF(transitions="observed", state_features="observed", constraints="bio", tol=0.1, random_state=0)
    crf.fit(X, y)
    assert isinstance(crf.layout_.compile(crf.encode(X)), SparseChain)
    rules = Constraints.bio(crf.classes_.tolist())
    random = np.random.default_rng(3)
    shuffled = [[X[i][random.integers(len(X[i]))] for i in random.integers(60, size=9)] for _ in range(30)]
    for labels in (*crf.predict(shuffled), *crf.predict_posterior(shuffled)):
        assert rules.allows(labels)
    (best, probability), *_ = crf.predict_kbest(shuffled[:1], k=3)[0]
    assert best == crf.predict(shuffled[:1])[0]
    assert 0.0 < probability <= 1.0


def test_a_sequence_without_an_allowed_labelling_is_refused() -> None:
    X, y = spans(60, 55, 12)
    crf = ChainCRF(transitions="observed", state_features="observed", constraints="bio", tol=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"sequence 1, of length 2, has no labelling .* possible at position 1\."):
        crf.predict([*X[:1], [["a"], ["b"]]], allowed=[None, [["O"], ["I-3"]]])
