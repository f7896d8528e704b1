"""What the figures of the SMD paper, the poster and the report rest on: scores, coordinates, and the other program."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.cells import Workbench
from benchmarks.papers.crfsuite_model import as_sequences, objective_of_model, train_crfsuite
from benchmarks.papers.everything import FIGURES
from benchmarks.papers.harness import Figure, Shown
from benchmarks.papers.hu_obozinski_2018.theorem_1 import Means, OuterIterations
from benchmarks.papers.le_priol_2017.figures_1_and_2_mixtures import Formulas, Identities
from benchmarks.papers.results import Results
from benchmarks.papers.vishwanathan_2006.chain_tasks import CHAIN_TASKS, attributes, counts_of_chunks, spelling
from benchmarks.papers.vishwanathan_2006.figures_1_and_2_chains import FScores, looked_at
from benchmarks.papers.vishwanathan_2006.figures_3_to_6_lattices import LatticeCurve, StableGain
from benchmarks.papers.vishwanathan_2006.hessian_products import ComplexStep, complex_gradient
from benchmarks.papers.vishwanathan_2006.lattice_tasks import L2, Denoising, Lattices
from dualfield import fields, solve
from dualfield.datasets import make_denoising
from dualfield.metrics import chunk_scores
from dualfield.solvers import SGD

TAGS = ["O", "B-a", "I-a", "B-b", "I-b"]


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(Results(tmp_path / "cells.jsonl"), quick=True)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_figure_is_shown_before_anything_is_measured(figure: Figure, bench: Workbench, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shown = Shown(figure, bench, tmp_path)
    figure.draw(shown)
    figure.tables(shown)
    assert not any(claim.verdict.startswith("holds") for claim in figure.judge(shown))


# ---- chains -----------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.tuples(*(st.integers(0, len(TAGS) - 1),) * 2), min_size=1, max_size=8), min_size=1, max_size=4)
)
def test_chunks_are_counted_as_the_metrics_count_them(sequences: list[list[tuple[int, int]]]) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(pairs) for pairs in sequences])])
    true, predicted = np.array([pair for pairs in sequences for pair in pairs]).T
    letters, types = np.array([tag[0] for tag in TAGS]), np.array([0, 1, 1, 2, 2])
    expected = chunk_scores(
        [[TAGS[a] for a, _ in pairs] for pairs in sequences], [[TAGS[b] for _, b in pairs] for pairs in sequences]
    )
    found = counts_of_chunks(predicted, true, offsets, letters, types)
    assert found == (expected.n_true, expected.n_predicted, expected.n_correct)


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("IL-2", {"INITCAP", "HASDIGIT", "HASDASH"}),
        ("VIII", {"ROMANNUMERAL", "ALLCAPS", "ALPHA", "INITCAP"}),
        ("kappa", {"GREEK", "ALPHA"}),
        ("p50", {"ALPHANUMERIC", "HASDIGIT"}),
        ("12", {"NATURAL", "DOUBLEDIGIT", "HASDIGIT"}),
        (".", {"PUNCTUATION"}),
    ],
)
def test_spelling_fits(word: str, names: set[str]) -> None:
    assert set(spelling(word)) == names


def test_a_word_sees_its_neighbours_and_nothing_beyond() -> None:
    first, last = attributes(["IL-2", "gene"])
    assert {"w[-1]=", "w[0]=IL-2", "w[1]=gene", "suffix=L-2", "HASDASH"} <= set(first)
    assert {"w[-1]=IL-2", "w[0]=gene", "w[1]="} <= set(last)


def test_fast_scores_are_those_of_the_test_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DUALFIELD_DATA", raising=False)
    problem = CHAIN_TASKS["bio"].load(quick=True)
    weights = solve(problem.field, tol=0.1, random_state=0).weights
    assert problem.f1_at(weights) == pytest.approx(100 * problem.test.scores(problem.field, weights)["f1"])
    assert problem.scores(weights)["f1"] == pytest.approx(problem.f1_at(weights))
    assert problem.scores(weights)["boundaries"] >= problem.f1_at(weights)


def test_the_first_pass_is_looked_at_densely_and_goes_on_as_one_run(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DUALFIELD_DATA", raising=False)
    monkeypatch.setattr(type(CHAIN_TASKS["bio"]), "quick_sizes", (60, 20))
    result = FScores("bio", "SGD(eta=0.1, batch_size=6)", 3).measure(bench)
    assert result["curve"]["passes"] == [*(k / 10 for k in range(1, 11)), 2, 3]
    field = bench.load(CHAIN_TASKS["bio"]).field
    whole = solve(field, SGD(eta=0.1, batch_size=6), tol=0.0, max_passes=3, random_state=0)
    assert result["curve"]["primal"][-1] == pytest.approx(field.primal(whole.weights))


def test_looks_get_sparser_evenly() -> None:
    seen = [k for k in range(1, 4000) if looked_at(k)]
    assert seen[:127] == list(range(1, 128))
    assert max(b / a for a, b in itertools.pairwise(seen[64:])) < 1 + 1 / 32


# ---- the other program ------------------------------------------------------------------------------------


def letters(n: int = 12, **options: Any) -> fields.Chain:
    random = np.random.default_rng(0)
    y = [[str(label) for label in random.integers(0, 3, 4)] for _ in range(n)]
    X = [random.integers(0, 2, size=(4, 5)).astype(float) * 1.5 for _ in range(n)]
    return fields.Chain(X, y, l2=0.7, **options)


def test_bias_begin_and_end_become_attributes() -> None:
    items, labels = next(iter(as_sequences(letters())))
    assert len(items) == len(labels) == 4
    assert all("bias" in item for item in items)
    assert ["begin" in item for item in items] == [True, False, False, False]
    assert ["end" in item for item in items] == [False, False, False, True]
    plain, _ = next(iter(as_sequences(letters(bias=False, begin=False, end=False))))
    assert not any({"bias", "begin", "end"} & set(item) for item in plain)


def test_both_programs_have_one_objective_and_one_optimum() -> None:
    field = letters()
    ours = solve(field, tol=1e-9, random_state=0, max_passes=5000)
    theirs = train_crfsuite(field)
    assert theirs.features == field.dimension
    assert theirs.loss == pytest.approx(theirs.objective, rel=1e-7)
    assert theirs.loss == pytest.approx(ours.primal, rel=1e-6)
    assert theirs.gradient_norm < 1e-2
    assert theirs.reason.startswith("L-BFGS")


def test_a_model_of_other_labels_is_refused(tmp_path: Path) -> None:
    import pycrfsuite

    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.append([["a"], ["b"]], ["x", "y"])
    trainer.train(str(tmp_path / "model"))
    with pytest.raises(ValueError, match="the model's labels are"):
        objective_of_model(tmp_path / "model", letters())


def test_observed_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="observed pairs only"):
        train_crfsuite(letters(state_features="observed"))


# ---- lattices ---------------------------------------------------------------------------------------------


def natural(task: Lattices, weights: np.ndarray) -> np.ndarray:
    """θ of nodes and edges."""
    layout = task.field("bp").layout
    nodes, edges = np.split(weights, [len(weights) - layout.n_edge_features])
    rows = nodes.reshape(-1, 2)
    return np.concatenate([0.5 * (rows[:, 1] - rows[:, 0]), layout.edge_scale * edges])


def test_a_gain_moves_theta_half_as_far_as_one_of_the_paper() -> None:
    task = Denoising(make_denoising(2, 1, size=16))
    field, start = task.field("bp"), task.start
    theta, step = natural(task, start), 1e-6
    assert theta[-2:] == pytest.approx(0.5)
    # the gradient in θ, by differences of the objective along w(θ)
    gradient = np.empty_like(theta)
    for k in range(len(theta)):
        ends = []
        for sign in (1, -1):
            moved = start.copy()
            if k < len(theta) - 2:
                moved[2 * k : 2 * k + 2] += sign * step * np.array([-1, 1])
            else:
                moved[-2 + k - (len(theta) - 2)] += sign * step / field.layout.edge_scale
            ends.append(field.primal(moved))
        gradient[k] = (ends[0] - ends[1]) / (2 * step)
    eta = 1e-5
    moved = start - eta * field.gradient(start)[1]
    np.testing.assert_allclose(natural(task, moved) - theta, -0.5 * eta * gradient, rtol=1e-3, atol=1e-9)
    # and σ = 1: the penalty is half the square of θ, up to what w has beside ±θ
    rows = start[: -field.layout.n_edge_features].reshape(-1, 2)
    np.testing.assert_allclose(rows.sum(axis=1), 0.0, atol=1e-3 * np.abs(rows).max())
    assert 0.5 * L2 * float(start @ start) == pytest.approx(0.5 * float(theta @ theta), rel=1e-3)


def test_the_stable_gain_is_stable_and_the_next_is_not(bench: Workbench) -> None:
    cell = StableGain("denoising", "pseudo_likelihood")
    gain = cell.measure(bench)["gain"]
    task = Denoising.load(True)
    assert cell.stable(task, gain)
    assert not cell.stable(task, gain * 10**0.5)


def test_lattice_curves_begin_at_the_papers_start(bench: Workbench) -> None:
    result = LatticeCurve("denoising", "pseudo_likelihood", "BFGS", 3).measure(bench)
    task = Denoising.load(True)
    assert result["curve"]["passes"][0] == 0
    assert result["curve"]["primal"][0] == pytest.approx(task.field("pseudo_likelihood").primal(task.start))
    assert result["curve"]["primal"][-1] < result["curve"]["primal"][0]
    assert result["curve"]["error"][-1] == pytest.approx(task.error(np.array(result["weights"])), abs=0.1)


def test_labels_by_single_sites_ignore_edges() -> None:
    task = Denoising(make_denoising(3, 2, size=16))
    rows = task.start[: -task.field("bp").layout.n_edge_features].reshape(-1, 2)
    for labels, X in zip(task.logistic_labels(), task.images.X_test, strict=True):
        np.testing.assert_array_equal(labels, (X @ rows).argmax(axis=2))


# ---- Hessians, the theorem, the report --------------------------------------------------------------------


def test_the_complex_step_is_the_product(bench: Workbench) -> None:
    assert ComplexStep().measure(bench)["difference"] < 1e-12


def test_the_gradient_over_all_labellings_is_that_of_the_field() -> None:
    random = np.random.default_rng(1)
    X, y = random.normal(size=(4, 2)), np.array([0, 1, 2, 1])
    field = fields.Chain([X], [y.tolist()], l2=0.3, bias=False, begin=False, end=False)
    weights = random.normal(size=field.dimension)
    np.testing.assert_allclose(complex_gradient(X, y, 3, 0.3, weights), field.gradient(weights)[1], atol=1e-10)


def test_the_theorems_constants_are_read_off_exact_recursions() -> None:
    beta, keep, outer, first = 0.01, 0.8, [10.0], [5.0]
    last: list[float] = [4.0]
    for _ in range(30):
        last.append(beta * first[-1])
        first.append(4 * last[-1] + 2 * outer[-1])
        outer.append(last[-1] + keep * outer[-1])
    run = Means(1000, np.array(outer), np.array(first), np.array(last), 0.5 * np.array(outer))
    assert run.beta == pytest.approx(beta)
    assert run.pi == pytest.approx(1 - beta**1e-3)
    assert run.condition == pytest.approx(1 - keep)
    assert run.warm_start.max() < 2 / 3 + 1e-9
    assert run.largest_eigenvalue == pytest.approx(max(np.linalg.eigvals([[6 * beta, 3 * beta], [1, keep]])))
    rate, deviation = run.rate(run.outer)
    assert keep < rate < run.largest_eigenvalue
    assert deviation < 0.05


def test_measured_gaps_fit_together(bench: Workbench) -> None:
    curve = OuterIterations(8, 6, 0).measure(bench)["curve"]
    assert {len(values) for values in curve.values()} == {6}
    outer, first, last = (np.array(curve[name]) for name in ("outer", "inner_first", "inner_last"))
    assert (outer > 0).all()
    assert (last[1:] < first[:-1]).all()  # the inner loop ascends
    assert (np.array(curve["primal_gap"]) > -1e-9).all()


def test_the_reports_identities_hold(bench: Workbench) -> None:
    found = Identities().measure(bench)
    assert max(found[name] for name in ("equation_14", "equation_15", "equation_16")) < 1e-9
    assert found["solver_gap"] < 1e-6


def test_the_report_is_written_out_as_the_field_has_it() -> None:
    random = np.random.default_rng(2)
    X, y = random.normal(size=(20, 3)), random.integers(0, 3, 20)
    y[:3] = range(3)
    field, formulas, w = fields.Multiclass(X, y, bias=False), Formulas(X, y), random.normal(size=(3, 3))
    value, gradient = field.gradient(w.ravel())
    assert formulas.primal(w) == pytest.approx(value)
    np.testing.assert_allclose(formulas.gradient(w).ravel(), gradient, atol=1e-12)
    json.dumps(Identities().key())
