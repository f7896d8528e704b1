"""Passive aggressive learning and AROW are their formulas and CRFsuite's; they claim nothing, and say so."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from dualfield import ChainCRF, SoftmaxRegression, fields, solve
from dualfield.datasets import travel_sentences
from dualfield.models import read_crfsuite_model
from dualfield.solvers import AROW, PA, Solver
from tests.written_out import WrittenOut, visited_batch
from tests.zoo import PROBLEMS, points, problem

# Of the others there are too many labellings, or written_out.py does not know their features.
SMALL = [name for name in PROBLEMS if name not in ("chain-words", "chain-duplicates", "graph-cliques")]
PAS = [PA(slack, c, *flags) for (slack, c), flags in zip(
    [("none", 1.0), ("linear", 0.1), ("squared", 0.3), ("linear", 1.0), ("squared", 2.0)],
    cycle([(True, True), (False, False), (True, False), (False, True)]),
    strict=False,
)]  # fmt: skip
every_solver = pytest.mark.parametrize("solver", [*PAS, AROW(), AROW(0.5, 2.0)], ids=repr)


class WrittenPA:
    """PA's step, as its paper has it."""

    def __init__(self, solver: PA, dimension: int) -> None:
        self.solver, self.w = solver, np.zeros(dimension)
        self.iterates: list[Any] = []

    def step(self, c: float, difference: Any, wrong: int) -> float:
        loss = 0.0
        norm = difference @ difference
        if wrong:
            loss = -difference @ self.w + (np.sqrt(wrong) if self.solver.error_sensitive else 1.0)
            tau = {
                "none": lambda: loss / norm,
                "linear": lambda: min(self.solver.c, loss / norm),
                "squared": lambda: loss / (norm + 0.5 / self.solver.c),
            }[self.solver.slack]
            if norm > 0:
                self.w = self.w + c * tau() * difference
        self.iterates.append(self.w)
        return c * loss

    def weights(self) -> Any:
        return np.mean(self.iterates, axis=0) if self.solver.average else self.w


class WrittenAROW:
    """AROW's step, as its paper has it."""

    def __init__(self, solver: AROW, dimension: int) -> None:
        self.gamma, self.w, self.v = solver.gamma, np.zeros(dimension), np.full(dimension, solver.variance)

    def step(self, c: float, difference: Any, wrong: int) -> float:
        if not wrong:
            return 0.0
        loss = -difference @ self.w + wrong
        self.w = self.w + c * loss / (self.gamma + self.v @ difference**2) * self.v * difference
        self.v = 1.0 / (1.0 / self.v + difference**2 / self.gamma)
        return float(c * loss)

    def weights(self) -> Any:
        return self.w


@pytest.mark.parametrize("name", SMALL)
@every_solver
def test_a_method_is_its_formula(name: str, solver: Solver) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = solver.start(field, seed=8)._core
    written = (WrittenPA if isinstance(solver, PA) else WrittenAROW)(solver, field.dimension)  # type: ignore[arg-type]
    for _ in range(3):
        losses = 0.0
        for _ in range(core.updates_per_pass):
            (i,) = visited_batch(core)
            block = full.blocks[i]
            single = isinstance(field, fields.Multiclass | fields.PseudoLikelihood)
            position = slice(i, i + 1) if single else slice(*field.encoded.offsets[[i, i + 1]])
            best = field.core.decode(written.w, i, i + 1)  # which of several best labellings is a matter of taste
            difference = block.truth - block.features(best)
            losses += written.step(block.c, difference, int((best != field.codes[position]).sum()))
            np.testing.assert_allclose(core.weights(), written.weights(), rtol=1e-9, atol=1e-9)
        assert core.loss_of_pass == pytest.approx(losses, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
@every_solver
def test_it_claims_nothing_and_says_so(name: str, solver: Solver) -> None:
    solution = solve(problem(name), solver, max_passes=3, random_state=0)
    assert solution.status in ("max_passes", "stalled")
    assert solution.certificate == "none"
    assert np.isnan([solution.primal, solution.dual, solution.duality_gap]).all()
    assert "minimises no likelihood, so there is no certificate" in solution.message
    assert len(solution.history["loss"]) == solution.passes


CRFSUITE: list[tuple[Solver, str, dict[str, Any]]] = [
    *(
        (
            PA(slack, c, sensitive, average),
            "pa",
            {"type": number, "c": c, "error_sensitive": sensitive, "averaging": average},
        )
        for number, slack in enumerate(("none", "linear", "squared"))
        for c in (1.0, 0.05)
        for sensitive in (False, True)
        for average in (False, True)
    ),
    (AROW(), "arow", {}),
    (AROW(0.3, 2.5), "arow", {"variance": 0.3, "gamma": 2.5}),
]


@pytest.mark.parametrize(("solver", "algorithm", "parameters"), CRFSUITE, ids=repr)
@pytest.mark.parametrize("passes", [1, 4])
def test_on_one_sequence_the_weights_are_those_of_crfsuite(
    solver: Solver, algorithm: str, parameters: dict[str, Any], passes: int, tmp_path: Path
) -> None:
    X = [[{"a": 1.0, "b": 0.5}, {"c": 2.0}, {"a": 1.0, "d": 0.2}, {"b": 1.0}, {"d": 0.5, "e": 1.0}]]
    y = [["A", "B", "C", "B", "A"]]
    trainer = pycrfsuite.Trainer(algorithm, {**parameters, "max_iterations": passes}, verbose=False)
    trainer.append(X[0], y[0])
    trainer.train(str(tmp_path / "m"))
    theirs = read_crfsuite_model(tmp_path / "m")
    observed = {"state_features": "observed", "transitions": "observed"}
    ours = ChainCRF(solver=solver, max_passes=passes, bias=False, begin=False, end=False, random_state=0, **observed)
    ours.fit(X, y)
    # CRFsuite's average counts the weights before the first step too, which are zero.
    scale = passes / (passes + 1) if getattr(solver, "average", False) else 1.0
    names, (found, expected) = ours.vocabulary_.names, (m.layout_.split(m.weights_) for m in (ours, theirs))
    for number, name in enumerate(names):
        known = name in theirs.vocabulary_  # else all its weights are zero
        their = expected["state"].toarray()[theirs.vocabulary_.index[name]] if known else 0.0
        np.testing.assert_allclose(scale * found["state"].toarray()[number], their, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scale * found["transitions"], expected["transitions"], rtol=1e-9, atol=1e-12)


def sentences(seed: int) -> tuple[Any, Any]:
    found = travel_sentences(200, seed=seed)
    X = [[{"w": word.lower(), "end": word[-2:], "up": word[0].isupper()} for word, _ in s] for s in found]
    return X, [[label for _, label in s] for s in found]


@pytest.mark.parametrize(("solver", "algorithm"), [(PA(), "pa"), (AROW(), "arow")], ids=repr)
def test_accuracy_on_new_sentences_is_that_of_crfsuite(solver: Solver, algorithm: str, tmp_path: Path) -> None:
    (X, y), (new, truth) = sentences(0), sentences(1)
    trainer = pycrfsuite.Trainer(algorithm, {"max_iterations": 20}, verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    trainer.train(str(tmp_path / "m"))
    observed = {"state_features": "observed", "transitions": "observed"}
    plain = {"bias": False, "begin": False, "end": False, "random_state": 0}
    ours = ChainCRF(solver=solver, max_passes=20, **plain, **observed).fit(X, y)
    assert ours.score(new, truth) == pytest.approx(read_crfsuite_model(tmp_path / "m").score(new, truth), abs=0.04)
    assert ours.score(new, truth) > 0.8


@every_solver
def test_it_learns_points(solver: Solver) -> None:
    X, y = points(40)
    model = SoftmaxRegression(solver=solver, max_passes=20, random_state=0).fit(X, y)
    assert model.score(X, y) > np.bincount(y).max() / len(y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PA("some"), "PA: slack must be 'linear', 'none' or 'squared'; got 'some'"),  # type: ignore[arg-type]
        (lambda: PA(c=0.0), "PA: c must be a positive number; got 0.0"),
        (lambda: PA(error_sensitive=1), "PA: error_sensitive must be True or False"),  # type: ignore[arg-type]
        (lambda: AROW(variance=-1.0), "AROW: variance must be a positive number"),
        (lambda: AROW(gamma=float("inf")), "AROW: gamma must be a positive number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
