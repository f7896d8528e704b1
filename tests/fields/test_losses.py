"""A field written in Python: the same optimum as a compiled one, by every method on the primal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, OEG, fields, l2_path, solve
from dualfield.solvers import SAG, SAGA, SGD, SVRG, AdaGrad, Hybrid
from tests.zoo import points, weights_with_zeros


class Softmax(fields.Losses):
    """Multinomial logistic regression without bias, weights as ``Multiclass`` has them."""

    def __init__(self, X: Any, y: Any, l2: float = 1.0, sample_weight: Any = None) -> None:
        self.X, self.y, self.n_labels = X, y, int(max(y)) + 1
        super().__init__(len(X), X.shape[1] * self.n_labels, l2, sample_weight)

    def loss(self, i: int, w: Any) -> tuple[float, Any]:
        scores = self.X[i] @ w.reshape(-1, self.n_labels)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        value = -np.log(p[self.y[i]])
        p[self.y[i]] -= 1.0
        return float(value), np.outer(self.X[i], p).ravel()


PRIMAL = [LBFGS(), LBFGS(n_jobs=2), Hybrid(), SAG(), SAG(n_jobs=2), SAGA(), SVRG()]


@pytest.mark.parametrize("solver", [*PRIMAL, "auto"], ids=repr)
def test_the_optimum_is_that_of_the_compiled_field(solver: Any) -> None:
    X, y = points(12)
    weights = weights_with_zeros(12)
    compiled = fields.Multiclass(X, y, bias=False, sample_weight=weights)
    best = solve(compiled, LBFGS(), tol=1e-11, max_passes=2000)
    solution = solve(Softmax(X, y, sample_weight=weights), solver, tol=1e-6, max_passes=5000, random_state=0)
    assert (solution.status, solution.certificate) == ("converged", "exact")
    assert -1e-9 <= solution.primal - best.primal <= solution.duality_gap


@pytest.mark.parametrize("solver", [SGD(eta=0.05), SGD(average=True), AdaGrad()], ids=repr)
def test_stochastic_steps_come_near(solver: Any) -> None:
    X, y = points(12)
    best = solve(fields.Multiclass(X, y, bias=False), LBFGS(), tol=1e-9).primal
    solution = solve(Softmax(X, y), solver, tol=0.0, max_passes=60, random_state=0)
    assert best <= solution.primal <= 1.1 * best
    assert solution.primal - best <= solution.duality_gap


def test_objective_and_gradient_are_those_of_the_compiled_field() -> None:
    X, y = points(12)
    compiled, python = fields.Multiclass(X, y, bias=False), Softmax(X, y)
    w = np.random.default_rng(0).normal(size=python.dimension)
    assert python.primal(w) == pytest.approx(compiled.primal(w), rel=1e-12)
    np.testing.assert_allclose(python.gradient(w)[1], compiled.gradient(w)[1], atol=1e-12)


def test_a_path_of_penalties() -> None:
    X, y = points(12)
    path = l2_path(Softmax(X, y), [10.0, 1.0, 0.1], random_state=0)
    assert [solution.status for solution in path] == ["converged"] * 3


@pytest.mark.parametrize("solver", ["auto", LBFGS(), SGD(eta=1e-9)], ids=repr)
def test_a_run_begins_at_given_weights(solver: Any) -> None:
    X, y = points(12)
    field = Softmax(X, y)
    best = solve(field, LBFGS(), tol=1e-10, max_passes=2000)
    near = solve(field, solver, tol=0.0, max_passes=1, start=best.weights, random_state=0)
    assert near.primal == pytest.approx(best.primal, rel=1e-6)


def test_what_a_loss_raises_reaches_the_caller() -> None:
    class Broken(Softmax):
        def loss(self, i: int, w: Any) -> tuple[float, Any]:
            raise LookupError(f"no block {i}")

    X, y = points(6)
    for solver in (LBFGS(), LBFGS(n_jobs=2), SGD(eta=0.1)):
        with pytest.raises(LookupError, match="no block"):
            solve(Broken(X, y), solver)


def test_a_gradient_of_another_shape_is_named() -> None:
    class Short(Softmax):
        def loss(self, i: int, w: Any) -> tuple[float, Any]:
            return 0.0, np.zeros(2)

    X, y = points(6)
    with pytest.raises(ValueError, match=r"the gradient of block 0 has shape \(2,\); expected \(15,\)"):
        solve(Short(X, y), "lbfgs")


def test_methods_on_the_dual_are_refused_by_name() -> None:
    X, y = points(6)
    with pytest.raises(TypeError, match=r"OEG needs .*, which Losses does not offer; use a solver on the primal"):
        solve(Softmax(X, y), OEG())


def test_losses_that_are_not_convex_prove_nothing() -> None:
    class Waves(fields.Losses):
        convex = False

        def loss(self, i: int, w: Any) -> tuple[float, Any]:
            return float(np.cos(w).sum()), -np.sin(w)

    solution = solve(Waves(3, 2), "lbfgs", start=[0.3, 0.4])
    assert solution.certificate == "none"
    assert np.isnan(solution.duality_gap)
