"""Cliques of three nodes and more: the field equals sums over all labellings, and every exact solver trains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield import GraphCRF, fields, solve
from dualfield.features import encode_graphs
from tests.core.strategies import assert_close, few_examples
from tests.enumeration import all_labellings, log_sum_exp


class Problem:
    """Random graphs with cliques, and the score that the documentation of ``Graph`` promises."""

    def __init__(self, seed: int, labels: int, n_graphs: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.labels, self.X, self.y = labels, [], []
        for _ in range(n_graphs):
            nodes = int(random.integers(4, 7))
            pairs = [(s, t) for s in range(nodes) for t in range(s) if random.random() < 0.3]
            cliques = [
                tuple(random.permutation(nodes)[: random.integers(3, 5)].tolist()) for _ in range(random.integers(1, 4))
            ]
            self.X.append((random.normal(size=(nodes, 2)), pairs, None, cliques))
            self.y.append(random.integers(labels, size=nodes))
        self.y[0][:labels] = np.arange(labels)
        self.field = fields.Graph(self.X, self.y, l2=0.7, bias=True)

    def scores(self, i: int, w: Any) -> tuple[Any, Any]:
        """All labellings of graph i, and their scores."""
        x, pairs, _, cliques = self.X[i]
        parts = self.field.layout.split(w)
        labellings = all_labellings(len(x), self.labels)
        node = x @ parts["node"] + parts["bias"]
        scores = node.astype(np.longdouble)[np.arange(len(x)), labellings].sum(axis=1)
        for s, t in pairs:
            scores += parts["edge"][0][labellings[:, s], labellings[:, t]]
        for clique in cliques:
            scores += parts[f"clique_{len(clique)}"][tuple(labellings[:, v] for v in clique)]
        return labellings, scores

    def primal(self, w: Any) -> float:
        value = 0.7 / 2 * w @ w
        for i, y in enumerate(self.y):
            labellings, scores = self.scores(i, w)
            value += log_sum_exp(scores) - scores[(labellings == y).all(axis=1)][0]
        return float(value)


@few_examples
@given(st.integers(0, 10_000), st.integers(2, 3), st.sampled_from([0.1, 1.0, 30.0]))
def test_everything_equals_sums_over_labellings(seed: int, labels: int, scale: float) -> None:
    problem = Problem(seed, labels)
    field, random = problem.field, np.random.default_rng(seed)
    assert field.dimension == field.layout.dimension
    w = scale * random.normal(size=field.dimension)
    assert_close(field.primal(w), problem.primal(w))
    value, gradient = field.gradient(w)
    assert_close(value, problem.primal(w))
    nodes, best = [], []
    for i in range(len(problem.X)):
        labellings, scores = problem.scores(i, w)
        p = np.exp(scores - log_sum_exp(scores)).astype(float)
        nodes.append([[p[labellings[:, v] == k].sum() for k in range(labels)] for v in range(labellings.shape[1])])
        best.append(scores.max())
        codes = field.core.decode(w, i, i + 1)
        assert_close(scores[(labellings == codes).all(axis=1)][0], best[-1])
    assert_close(field.core.marginals(w, 0, len(nodes)), np.concatenate(nodes))
    w = w / max(scale, 1.0)
    direction = random.normal(size=len(w))
    step = 1e-6
    _, gradient = field.gradient(w)
    slope = (problem.primal(w + step * direction) - problem.primal(w - step * direction)) / (2 * step)
    np.testing.assert_allclose(gradient @ direction, slope, rtol=1e-5, atol=1e-5)
    curve = (field.gradient(w + step * direction)[1] - field.gradient(w - step * direction)[1]) / (2 * step)
    np.testing.assert_allclose(field.hessian_product(w, direction), curve, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("solver", ["sdca", "oeg", "sag", "lbfgs"])
def test_solvers_reach_one_optimum_with_a_certificate(solver: str) -> None:
    field = Problem(1, 3, n_graphs=8).field
    optimum = solve(field, "lbfgs", tol=1e-10).dual
    solution = solve(field, solver, tol=1e-5, max_passes=3000, random_state=0)
    assert solution.status == "converged"
    assert solution.certificate == "exact"
    assert optimum - 1e-9 <= solution.primal <= optimum + solution.duality_gap + 1e-9


def test_a_fitted_model_is_saved_with_its_cliques(tmp_path: Path) -> None:
    problem = Problem(2, 3)
    crf = GraphCRF(random_state=0, bias=True).fit(problem.X, problem.y)
    crf.save(tmp_path / "model")
    loaded = GraphCRF.load(tmp_path / "model")
    for a, b in zip(crf.predict(problem.X), loaded.predict(problem.X), strict=True):
        assert a.tolist() == b.tolist()
    without = [(x, pairs) for x, pairs, *_ in problem.X]
    assert len(crf.predict(without)) == len(without)  # no clique is a clique less
    assert len(crf.predict(encode_graphs(problem.X)[1:])) == len(problem.X) - 1


@pytest.mark.parametrize(
    ("clique", "error", "match"),
    [
        ((0, 1), ValueError, "clique 0 of graph 1 has 2 nodes; expected at least 3"),
        ((0, 1, 4), ValueError, r"clique 0 of graph 1 is \(0, 1, 4\); expected node numbers from 0 to 3"),
        ((0, 1, -1), ValueError, "expected node numbers from 0 to 3"),
        ((0, 1, 1), ValueError, "with a node twice"),
        ("abc", TypeError, "expected a sequence of node numbers"),
        ((0.0, 1.0, 2.0), TypeError, "expected a sequence of node numbers"),
    ],
)
def test_bad_cliques_are_refused(clique: Any, error: type[Exception], match: str) -> None:
    good = (np.eye(4), [(0, 1)])
    with pytest.raises(error, match=match):
        fields.Graph([good, (*good, None, [clique])], [[0, 1, 0, 1]] * 2)


def test_cliques_of_another_size_than_in_training_are_refused() -> None:
    problem = Problem(2, 2)
    crf = GraphCRF(random_state=0).fit([(*x[:3], [(0, 1, 2)]) for x in problem.X], problem.y)
    with pytest.raises(ValueError, match="graph 1 has a clique of 4 nodes but the model was trained on cliques of 3"):
        crf.predict([problem.X[0][:2], (*problem.X[1][:3], [(0, 1, 2, 3)])])


@pytest.mark.parametrize("inference", ["bp", "trw", "mean_field", "pseudo_likelihood"])
def test_what_knows_pairs_only_refuses_larger_cliques(inference: str) -> None:
    problem = Problem(2, 2)
    with pytest.raises(ValueError, match="knows pairs of nodes only but X has cliques of"):
        GraphCRF(inference=inference).fit(problem.X, problem.y)
