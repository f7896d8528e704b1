"""Labels known in part: the loss is that of all labellings left open, checked by enumeration and differences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, ChainCRF, fields, solve
from dualfield.solvers import SAG, SAGA, SGD, SMD, SVRG, AdaGrad, Hybrid
from tests.core.strategies import assert_close
from tests.written_out import WrittenOut
from tests.zoo import FALLS, allowed_around, chunk_sequences, dense_sequences, ordered_sequences


def partly(y: list[Any], labels: list[Any], seed: int = 0) -> list[Any]:
    """Some labels become sets with the true one among them, some unknown."""
    random = np.random.default_rng(seed)

    def seen(label: Any) -> Any:
        draw = random.random()
        others = [labels[k] for k in random.integers(len(labels), size=2)]
        return label if draw < 0.4 else None if draw < 0.6 else {label, *others}

    return [[seen(label) for label in sequence] if i % 3 else list(sequence) for i, sequence in enumerate(y)]


def plain(y: list[Any]) -> list[Any]:
    return [np.asarray(sequence).tolist() for sequence in y]


def partial_chain(**options: Any) -> fields.Chain:
    X, y = dense_sequences(10)
    return fields.Chain(X, partly(plain(y), [0, 1, 2]), **options)


def partial_chunks(**options: Any) -> fields.Chain:
    X, y = chunk_sequences(9, longest=4)
    return fields.Chain(X, partly(y, sorted({tag for tags in y for tag in tags})), constraints="bio", **options)


def partial_allowed() -> fields.Chain:
    X, y = ordered_sequences(10)
    return fields.Chain(
        X, partly(plain(y), [0, 1, 2]), constraints=FALLS, allowed=allowed_around(y, 3), sample_weight=np.arange(10.0)
    )


FIELDS = {
    "dense": partial_chain,
    "observed": lambda: partial_chain(state_features="observed", transitions="observed", l2=0.3),
    "bio": partial_chunks,
    "bio observed": lambda: partial_chunks(state_features="observed", transitions="observed"),
    "allowed": partial_allowed,
}
every_field = pytest.mark.parametrize("name", FIELDS)
scales = pytest.mark.parametrize("scale", [0.0, 0.5, 20.0])


def enumerated(field: fields.Chain, w: Any) -> tuple[float, Any]:
    """The objective and its gradient by sums over labellings."""
    value, gradient = field.l2 / 2 * (w @ w), field.l2 * w
    assert field.candidates is not None
    for block, (a, b) in zip(WrittenOut(field).blocks, pairwise(field.encoded.offsets), strict=True):
        among = field.candidates[np.arange(a, b), block.labellings].all(axis=1)
        assert among.any()
        scores = block.vectors.astype(np.longdouble) @ w
        log_z, log_z_among = np.logaddexp.reduce(scores), np.logaddexp.reduce(scores[among])
        value += block.c * (log_z - log_z_among)
        expected, among_expected = np.exp(scores - log_z), np.exp(scores[among] - log_z_among)
        gradient = gradient + block.c * (expected @ block.vectors - among_expected @ block.vectors[among])
    return float(value), gradient.astype(float)


def weights(field: Any, scale: float, seed: int = 0) -> Any:
    return scale * np.random.default_rng(seed).normal(size=field.dimension)


@every_field
@scales
def test_the_loss_is_that_of_the_labellings_left_open(name: str, scale: float) -> None:
    field = FIELDS[name]()
    w = weights(field, scale)
    value, gradient = enumerated(field, w)
    assert_close(field.primal(w), value)
    assert_close(field.gradient(w)[0], value)
    assert_close(field.gradient(w)[1], gradient, 1e-8)


@every_field
def test_the_gradient_is_the_slope_of_the_objective(name: str) -> None:
    field = FIELDS[name]()
    w, v = weights(field, 0.7), weights(field, 1.0, 1)
    step = 1e-5 / np.linalg.norm(v)
    slope = (field.primal(w + step * v) - field.primal(w - step * v)) / (2 * step)
    assert slope == pytest.approx(field.gradient(w)[1] @ v, rel=1e-6)


@every_field
def test_hessian_products_are_the_change_of_the_gradient(name: str) -> None:
    field = FIELDS[name]()
    w, v = weights(field, 0.7), weights(field, 1.0, 1)
    step = 1e-5 / np.linalg.norm(v)
    change = (field.gradient(w + step * v)[1] - field.gradient(w - step * v)[1]) / (2 * step)
    product = field.hessian_product(w, v)
    np.testing.assert_allclose(product, change, rtol=0, atol=1e-6 * np.abs(product).max())


def test_marginals_of_the_field_are_those_of_the_model() -> None:
    field = partial_chain()
    w = weights(field, 0.5)
    block = WrittenOut(field).blocks[1]
    a, b = field.encoded.offsets[1:3]
    _, p = block.probabilities(w)
    expected = [[p[block.labellings[:, t] == k].sum() for k in range(3)] for t in range(b - a)]
    assert_close(field.core.marginals(w, 1, 2), np.array(expected, dtype=float))


PRIMAL = [LBFGS(), Hybrid(), SAG(), SAGA(), SVRG(), SGD(eta=0.05), AdaGrad(), SMD(eta=0.01)]


@pytest.mark.parametrize("solver", PRIMAL, ids=repr)
@every_field
def test_solvers_on_the_primal_descend_and_claim_nothing(solver: Any, name: str) -> None:
    field = FIELDS[name]()
    solution = solve(field, solver, tol=1e-4, max_passes=200, random_state=0)
    assert solution.certificate == "none"
    assert np.isnan([solution.dual, solution.duality_gap, solution.relative_gap]).all()
    assert "with partial labels the objective is not convex, so nothing is proven" in solution.message
    assert "converged" not in solution.message  # a sentence that begins so does not end with nothing proven
    assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)
    assert solution.primal < field.primal(np.zeros(field.dimension))
    assert np.isnan(solution.history["duality_gap"]).all()
    assert np.isnan(solution.history["dual"]).all()
    if solution.status == "converged":
        gradient = field.gradient(solution.weights)[1]
        assert gradient @ gradient / (2 * field.l2) <= 1e-4 * solution.primal * (1 + 1e-9)


@pytest.mark.parametrize("solver", [LBFGS(), SAG(), SAGA(), SVRG()], ids=repr)
def test_they_end_at_a_stationary_point(solver: Any) -> None:
    solution = solve(partial_chunks(), solver, tol=1e-7, max_passes=5000, random_state=0)
    assert solution.status == "converged"


def test_auto_is_lbfgs_for_few_sequences() -> None:
    assert "(LBFGS was chosen: with fewer than 30 sequences" in solve(partial_chain()).message


@pytest.mark.parametrize(("solver", "name"), [("sdca", "SDCA"), ("perceptron", "Perceptron")])
def test_other_solvers_are_refused_by_name_with_the_way_out(solver: str, name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name} needs .* which Chain with partial labels does not offer; .*'lbfgs'"):
        solve(partial_chain(), solver)


def test_known_labels_take_the_path_they_always_took() -> None:
    X, y = dense_sequences(6)
    as_sets = [[{int(label)} for label in sequence] for sequence in y]
    field, usual = fields.Chain(X, as_sets), fields.Chain(X, y)
    assert type(field.core) is type(usual.core)
    assert field.same_as(usual)


def test_unknown_labels_everywhere_in_a_sequence_cost_nothing() -> None:
    X, y = dense_sequences(6)
    unknown = [*plain(y), [None] * 4]
    field, without = fields.Chain([*X, X[0][:1].repeat(4, axis=0)], unknown), fields.Chain(X, y)
    w = weights(without, 0.5)
    assert_close(field.primal(w), without.primal(w))
    assert_close(field.gradient(w)[1], without.gradient(w)[1])


def test_candidates_count_as_observed_and_unknown_labels_do_not() -> None:
    X = [[["a"], ["b"], ["c"]]]
    y = [["A", {"A", "B"}, None], ["C"]]
    field = fields.Chain([*X, [["d"]]], y, state_features="observed", transitions="observed")
    assert field.layout.rows is not None
    assert field.layout.rows[0].tolist() == [0, 1, 3, 3, 4]
    assert field.layout.rows[1].tolist() == [0, 0, 1, 2]
    assert field.layout.transitions.tolist() == [0, 1]  # A A and A B


def test_a_field_of_other_candidates_is_another() -> None:
    X = [[["a"], ["b"]], [["b"]]]
    one, same, other = (fields.Chain(X, [["A", y], ["B"]]) for y in ({"A", "B"}, None, {"B"}))
    assert one.same_as(same)
    assert not one.same_as(other)


def test_partial_labels_teach_what_complete_ones_would() -> None:
    X, y = chunk_sequences(200, seed=3)
    labels = sorted({tag for tags in y for tag in tags})
    crf = ChainCRF(constraints="bio").fit(X, partly(y, labels))
    assert crf.score(*chunk_sequences(50, seed=4)) > 0.7
    assert crf.solution_.certificate == "none"


def test_candidates_that_the_constraints_forbid_are_refused() -> None:
    X = [[["a"], ["b"]], [["a"], ["b"], ["c"]]]
    with pytest.raises(
        ValueError,
        match=r"sequence 1, of length 3, has no labelling among the candidates of y .* possible at position 1",
    ):
        fields.Chain(X, [["B-X", "I-X"], ["O", {"I-X", "I-Y"}, None]], constraints="bio")
