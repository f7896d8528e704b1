"""A solver written in Python: certificates, paths of penalties, given weights and saved states work as for others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dualfield import ChainCRF, l2_path, solve
from dualfield.fields import Field
from dualfield.solvers import PythonRun, Solver
from tests.zoo import dense_sequences, problem, reference


@dataclass(frozen=True)
class Descent(Solver):
    """Gradient descent with steps of a fixed length."""

    step: float = 0.02

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})

    def start(self, field: Field, seed: int) -> DescentRun:
        return DescentRun(self, field, seed)


class DescentRun(PythonRun):
    solver: Descent

    def make_pass(self) -> None:
        _, gradient = self.field.gradient(self.w)
        self.w -= self.solver.step * gradient


@pytest.mark.parametrize("name", ["chain-dense", "chain-observed", "multiclass-weighted", "graph-loops"])
def test_it_ends_with_a_certificate(name: str) -> None:
    solution = solve(problem(name), Descent(), tol=1e-4, max_passes=5000)
    assert (solution.status, solution.certificate) == ("converged", "exact")
    assert -1e-9 <= solution.primal - reference(name).primal <= solution.duality_gap <= 1e-4 * solution.primal


def test_paths_and_given_weights() -> None:
    field = problem("chain-dense")
    path = l2_path(field, [10.0, 3.0], Descent(), tol=1e-3, max_passes=5000)
    assert [solution.status for solution in path] == ["converged"] * 2
    best = reference("chain-dense")
    near = solve(field, Descent(), tol=1e-3, start=best.weights)
    assert near.passes == 1


def test_a_run_goes_on_from_its_state() -> None:
    field = problem("chain-dense")
    whole = solve(field, Descent(), tol=0.0, max_passes=7)
    first = solve(field, Descent(), tol=0.0, max_passes=3)
    second = solve(field, Descent(), tol=0.0, max_passes=4, state=first.state)
    np.testing.assert_array_equal(second.weights, whole.weights)
    revived = Descent().start(field, 0).restore(first.state.arrays())
    assert revived.updates == first.state.updates


def test_steps_that_are_too_long_diverge_in_a_sentence() -> None:
    solution = solve(problem("chain-dense"), Descent(step=1e300), max_passes=50)
    assert solution.status == "diverged"
    assert np.isfinite(solution.weights).all()


def test_estimators_take_it() -> None:
    X, y = dense_sequences(12)
    crf = ChainCRF(solver=Descent(), tol=1e-2, max_passes=3000).fit(X, y)
    assert crf.solution_.status == "converged"
