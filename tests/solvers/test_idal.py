"""Whole runs of methods on single cliques: their limits against independent optima, and what they say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, Progress, fields, solve
from dualfield.solvers import GDMM, IDAL, SoftBCFW, SoftSDCA, Solver
from tests.cliques import PROBLEMS, every_problem, grid, labelled, loops, path, tree
from tests.zoo import random_graphs

METHODS: list[Solver] = [IDAL(), IDAL(sampling="gap"), IDAL(sampling="uniform"), GDMM()]


def optimum(name: str) -> float:
    """By L-BFGS with converged inference, which is another program."""
    solution = solve(PROBLEMS[name], LBFGS(), tol=1e-11, max_passes=3000)
    assert solution.certificate in ("exact", "relaxed")
    return solution.primal


# --- limits ---


@every_problem
@pytest.mark.parametrize("solver", METHODS, ids=repr)
def test_the_limit_is_the_optimum_of_lbfgs_and_every_bound_on_the_way_is_true(name: str, solver: Any) -> None:
    field, best = PROBLEMS[name], optimum(name)
    rows: list[tuple[float, float]] = []

    def look(progress: Progress) -> None:
        if progress.passes % 7 == 0:
            rows.append((progress.primal(), progress.run._core.dual_bound(False)))  # type: ignore[attr-defined]

    solution = solve(field, solver, tol=1e-7, max_passes=5000, random_state=0, callbacks=[look])
    assert solution.status == "converged", solution.message
    assert solution.certificate == ("exact" if name == "tree" else "relaxed")
    assert abs(solution.primal - best) <= 2e-7 * best
    assert solution.primal - best <= solution.duality_gap + 1e-9 * best
    assert all(dual <= best * (1 + 1e-9) for _, dual in rows)
    assert all(primal >= best * (1 - 1e-7) for primal, _ in rows)


@pytest.mark.parametrize("solver", [SoftSDCA(), SoftBCFW()], ids=repr)
def test_soft_constraints_ascend_and_say_that_their_problem_is_another(solver: Any) -> None:
    solution = solve(PROBLEMS["trw-grid"], solver, tol=1e-8, max_passes=200, random_state=0)
    assert solution.status in ("max_passes", "stalled")
    assert "another objective" in solution.message
    assert "‖Aμ‖ is" in solution.message
    values = solution.history["augmented_dual"]
    assert (np.diff(values) >= -1e-12 * abs(values[-1])).all()


# --- sizes and defaults ---


@pytest.mark.parametrize("shape", ["chain", "tree"])
@pytest.mark.parametrize("length", [1, 2, 40, 100])
def test_defaults_reach_the_exact_optimum_on_long_chains_and_trees(shape: str, length: int) -> None:
    pairs = path(length) if shape == "chain" else tree(length, np.random.default_rng(1))
    field = fields.Graph(*labelled([pairs, path(3)], [length, 3], seed=length))
    best = solve(field, LBFGS(), tol=1e-11, max_passes=2000)
    solution = solve(field, "idal", tol=1e-5, random_state=0)
    assert solution.certificate == "exact"
    assert -1e-9 <= solution.primal / best.primal - 1 <= 1e-5
    assert solution.primal - best.primal <= solution.duality_gap


def test_a_chain_field_is_solved_like_the_same_graph() -> None:
    random = np.random.default_rng(0)
    X = [random.normal(size=(length, 3)) for length in (1, 5, 9)]
    y = [random.integers(3, size=len(x)) for x in X]
    y[1][:3] = 0, 1, 2
    chain = fields.Chain(X, y, begin=False, end=False, bias=False)
    graph = fields.Graph([(x, path(len(x))) for x in X], y)
    one, other = (solve(field, IDAL(), tol=1e-9, max_passes=3000, random_state=0) for field in (chain, graph))
    assert one.status == other.status == "converged"
    assert np.isclose(one.primal, other.primal, rtol=1e-8)


def test_on_a_grid_it_reaches_the_optimum_of_lbfgs_at_a_linear_rate_and_corollary_2_holds() -> None:
    field = fields.Graph(*labelled([grid(10, 10)], [100], labels=2, seed=4), inference="trw")
    best = solve(field, LBFGS(), tol=1e-12, max_passes=2000).primal
    rows: list[tuple[float, float, float, float, float]] = []
    n = 100 + 180

    def look(progress: Progress) -> None:
        run: Any = progress.run
        if progress.passes % 5 == 0:
            inner = run.measured_gap(2000)
            outer = max(0.0, run._core.augmented_dual + inner - best)
            rows.append((progress.passes, progress.primal() - best, run.violation, inner, outer))

    solution = solve(field, IDAL(adapt=False), tol=0.0, max_passes=120, random_state=0, callbacks=[look])
    assert abs(solution.primal / best - 1) < 1e-4
    passes, distance, violation, inner, outer = np.array(rows).T
    middle = (passes >= 20) & (distance > 1e-9 * best)
    for values in (distance, violation):
        fit = np.polyfit(passes[middle], np.log(values[middle]), 1)
        residual = np.log(values[middle]) - np.polyval(fit, passes[middle])
        assert fit[0] < -0.02
        assert residual.std() < 0.2 * np.ptp(np.log(values[middle]))
    # Corollary 2, with a rate per update that the inner passes certainly have: a thousandth of a pass's.
    assert (distance <= 1000 * n * inner + outer + 1e-9 * best).all()


# --- saying no, and saying what is wrong ---


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: IDAL(rho=0), "IDAL: rho must be a positive finite number; got 0."),
        (lambda: SoftSDCA(rho=-1.0), "SoftSDCA: rho must be a positive finite number; got -1.0."),
        (lambda: GDMM(rho=float("nan")), "GDMM: rho must be a positive finite number; got nan."),
        (lambda: IDAL(inner_passes=0), "IDAL: inner_passes must be an integer, at least 1; got 0."),
        (lambda: IDAL(adapt=1), "IDAL: adapt must be True or False; got 1."),
        (lambda: IDAL(sampling="residual"), "IDAL: sampling must be 'permuted', 'uniform' or 'gap'; got 'residual'."),
        (lambda: loops(entropy="bethe"), "entropy must be 'trw', 'shannon' or 'gini'; got 'bethe'."),
        (
            lambda: loops(entropy="shannon", edge_count=-1.0),
            "edge_count must be a positive finite number, or the entropy is not concave; got -1.0.",
        ),
        (
            lambda: loops(entropy="gini", tree_weights=[]),
            "tree_weights belong to entropy='trw'; with entropy='gini' leave them out.",
        ),
    ],
)
def test_bad_parameters_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        make()


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([[1.0, 0.0, 0.5]], "tree_weights of graph 0 give edge 1 the weight 0.0; every edge must be covered"),
        ([[0.5, 0.5, 1.5]], "tree_weights of graph 0 give edge 2 the weight 1.5; every edge must be covered"),
        ([[1.0, 1.0, 0.5]], "tree_weights of graph 0 add up to 2.5; a spanning forest of it has 2 edges"),
        ([[0.5, 0.5]], "tree_weights of graph 0 have shape (2,); expected one number for each of its 3 edges"),
        ([], "tree_weights has 0 entries; expected one for each of the 1 graphs"),
    ],
)
def test_weights_that_do_not_cover_the_graph_are_refused(weights: Any, sentence: str) -> None:
    triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(ValueError, match=re.escape(sentence)):
        fields.RelaxedGraph([triangle], [[0, 1, 1]], tree_weights=weights)


def test_tree_weights_too_large_for_a_part_are_refused() -> None:
    """A clique of four on which the weights are as large as its edges, beside a long path of small ones."""
    clique = [(a, b) for b in range(4) for a in range(b)]
    edges = clique + path(8)[3:]
    weights = [0.99] * 6 + [0.2] * 4
    with pytest.raises(ValueError, match="too large tree weights: the entropy is not concave"):
        fields.RelaxedGraph([(np.eye(8), edges)], [[0, 1] * 4], tree_weights=[weights])


def test_given_tree_weights_are_used() -> None:
    triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    uneven = fields.RelaxedGraph([triangle], [[0, 1, 1]], tree_weights=[[0.9, 0.9, 0.2]], l2=0.1)
    even = fields.RelaxedGraph([triangle], [[0, 1, 1]], l2=0.1)
    same = fields.RelaxedGraph([triangle], [[0, 1, 1]], tree_weights=[[2 / 3] * 3], l2=0.1)
    found = [solve(field, IDAL(), tol=1e-8, max_passes=3000, random_state=0).primal for field in (uneven, even, same)]
    by_messages = [solve(field, LBFGS(), tol=1e-10).primal for field in (uneven, even, same)]
    np.testing.assert_allclose(found, by_messages, rtol=1e-7)
    assert np.isclose(found[1], found[2], rtol=1e-7)
    assert abs(found[0] - found[1]) > 1e-4


@pytest.mark.parametrize("solver", [IDAL(), GDMM(), SoftSDCA(), SoftBCFW()], ids=repr)
def test_fields_without_cliques_to_look_at_are_refused(solver: Solver) -> None:
    loop = random_graphs(3, largest=4)
    for field, hint in [
        (fields.Graph(*loop), "graphs with loops offer it with inference='trw' alone"),
        (fields.Graph(*loop, inference="bp"), "use inference='junction_tree'"),
        (fields.Multiclass(np.eye(2), [0, 1]), ""),
    ]:
        with pytest.raises(TypeError, match=rf"{solver.name} needs per-clique access, which .* does not offer.*{hint}"):
            solve(field, solver)


def test_a_run_that_does_not_converge_says_so_with_the_violation_it_reached() -> None:
    field = fields.Graph(*labelled([grid(8, 8)], [64], labels=2), inference="trw", l2=1e-3)
    solution = solve(field, IDAL(rho=1e-4, adapt=False), tol=1e-6, max_passes=60, random_state=0)
    assert solution.status == "max_passes"
    assert "constraint violation ‖Aμ‖ is" in solution.message
    assert "has not fallen for" in solution.message
    assert "raise rho or inner_passes" in solution.message


def test_the_history_tells_of_every_outer_iteration() -> None:
    solution = solve(PROBLEMS["trw-grid"], IDAL(inner_passes=3, adapt=False), tol=0.0, max_passes=9, random_state=0)
    history = solution.history
    assert history["outer_iterations"].tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3]
    for column in ("dual", "violation", "augmented_dual", "inner_gap", "outer_gap"):
        assert np.isfinite(history[column][2:]).all(), column
    assert (history["outer_gap"][2:] > 0).all()
    assert set(history["rho"]) == {0.3}
    assert set(history["inner_passes"]) == {3.0}
    per_pass = len(PROBLEMS["trw-grid"].codes) + len(PROBLEMS["trw-grid"].encoded.ends)  # type: ignore[attr-defined]
    assert history["updates"].tolist() == [per_pass * k for k in range(1, 10)]
