"""Dense columns are the same problem as their entries would be, from arrays that are used where they lie."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, OEG, SDCA, _core, fields, solve
from dualfield.features import DenseEncoded, encode
from dualfield.features.sequences.dense import Standard
from dualfield.fields.distinct_rows import distinct_dense_rows, distinct_rows
from dualfield.fields.multiclass import canonical_rows
from dualfield.solvers import GDMM
from tests.zoo import dense_sequences, embedded_words, points, problem, reference, word_sequences


def sequences(columns: int, labels: int, dtype: Any, longest: int = 60, n: int = 4) -> tuple[list[Any], list[Any]]:
    X, y = dense_sequences(n, labels=labels, columns=columns, longest=longest, seed=columns)
    return [x.astype(dtype) for x in X], y


def chain_of_entries(encoded: Any, field: fields.Chain) -> Any:
    """The compiled chain of the same sequences as a CSR matrix."""
    return field.layout.compile(encoded.sparse(), field.codes, field.sample_weight, field.l2)


@pytest.mark.parametrize(
    ("columns", "labels", "dtype"),
    [(1, 2, "f4"), (5, 3, "f8"), (130, 7, "f4"), (129, 8, "f8"), (300, 9, "f4"), (17, 33, "f4"), (40, 70, "f8")],
)
def test_objective_gradient_and_radius_are_those_of_the_entries(columns: int, labels: int, dtype: str) -> None:
    X, y = sequences(columns, labels, dtype)
    field = fields.Chain(X, y)
    assert isinstance(field.encoded, DenseEncoded)
    entries = chain_of_entries(field.encoded, field)
    w = np.random.default_rng(0).normal(size=field.dimension) / columns
    value, gradient = field.core.gradient(w)
    expected, its_gradient = entries.gradient(w)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, its_gradient, rtol=1e-11, atol=1e-11 * np.abs(its_gradient).max())
    np.testing.assert_allclose(
        field.core.hessian_product(w, gradient), entries.hessian_product(w, gradient), 1e-9, 1e-9
    )
    for i in range(len(X)):
        np.testing.assert_allclose(field.core.potentials(w, i), entries.potentials(w, i), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(field.core.radius(i), entries.radius(i), rtol=1e-11)


@pytest.mark.parametrize("name", ["chain-columns", "chain-observed-columns"])
def test_columns_beside_attributes_are_attributes_with_values(name: str) -> None:
    """Stacked by hand, with a name for each column, the optimum is the same."""
    field = problem(name)
    encoded, dense = field.encoded, field.encoded.dense
    names = encoded.vocabulary.names
    values = np.concatenate(dense.arrays).astype(np.float64)
    stacked: list[Any] = []
    for i in range(len(encoded)):
        stacked.append([])
        for p in range(encoded.offsets[i], encoded.offsets[i + 1]):
            words = {names[a]: 1.0 for a in encoded.indices[encoded.indptr[p] : encoded.indptr[p + 1]]}
            stacked[-1].append(words | {f"column {d}": value for d, value in enumerate(values[p])})
    y = [field.classes[field.codes[a:b]].tolist() for a, b in zip(encoded.offsets, encoded.offsets[1:], strict=False)]
    if field.spec.state_features == "observed":  # which hand-made columns would be too, and dense ones are not
        field = fields.Chain(encoded, y, l2=field.l2)
    by_hand = fields.Chain(stacked, y, l2=field.l2, sample_weight=field.sample_weight)
    optimum = solve(by_hand, LBFGS(), tol=1e-10, max_passes=5000).primal
    assert solve(field, LBFGS(), tol=1e-10, max_passes=5000).primal == pytest.approx(optimum, rel=1e-9)


def test_arrays_are_used_where_they_lie() -> None:
    X, y = sequences(20, 3, "f4")
    encoded = encode(X)
    assert all(kept is given for kept, given in zip(encoded.columns.arrays, X, strict=True))
    rows = np.concatenate(X)
    beside = encode([[["a"]] * len(x) for x in X], dense=rows)
    assert all(np.shares_memory(array, rows) for array in beside.dense.arrays)
    chosen = encoded[[2, 0]]
    assert chosen.columns.arrays[0] is X[2]
    assert chosen.columns.arrays[1] is X[0]
    field = fields.Chain(X, y)
    w = np.linspace(0.0, 1.0, field.dimension)
    before = field.primal(w)
    X[0][0, 0] += 1.0
    assert field.primal(w) != before


def test_single_precision_is_summed_in_double_precision() -> None:
    """The objective of float32 arrays is that of the same numbers as float64, to the last digits."""
    X, y = sequences(384, 9, "f4", n=6)
    w = np.random.default_rng(1).normal(size=fields.Chain(X, y).dimension)
    single, double = (fields.Chain([x.astype(dtype) for x in X], y).primal(w) for dtype in ("f4", "f8"))
    assert single == pytest.approx(double, rel=1e-14)


@pytest.mark.parametrize("solver", [OEG(), SDCA(), LBFGS(), OEG(n_jobs=2), LBFGS(n_jobs=2)])
def test_the_certificate_bounds_the_truth(solver: Any) -> None:
    X, y = sequences(12, 4, "f4", longest=9, n=20)
    for x in X:
        x += 1.0
        x[:, 0] *= 5.0
    field = fields.Chain(X, y)
    found = solve(field, solver, tol=1e-4, max_passes=2000)
    optimum = solve(fields.Chain([x.astype("f8") for x in X], y), LBFGS(), tol=1e-11, max_passes=20000).primal
    assert found.status == "converged"
    assert found.dual <= optimum * (1 + 1e-10)
    assert found.primal >= optimum * (1 - 1e-10)
    assert found.primal - optimum <= found.duality_gap * (1 + 1e-9)


def test_cliques_see_dense_arrays_as_entries() -> None:
    X, y = dense_sequences(8)
    field = fields.Chain(X, y)
    found = solve(field, GDMM(), tol=1e-3, max_passes=3000)
    assert found.primal == pytest.approx(solve(field, LBFGS(), tol=1e-10).primal, rel=2e-3)


def test_methods_that_see_single_attributes_are_refused_beside_names() -> None:
    with pytest.raises(TypeError, match="Chain with dense columns beside attributes"):
        solve(problem("chain-columns"), GDMM())


@pytest.mark.parametrize(("dtype", "bias"), [*product(["f4", "f8"], [True, False])])
def test_points_are_the_same_problem_as_their_entries(dtype: str, bias: bool) -> None:
    X, y = points(130, labels=11, columns=140)
    X = X.astype(dtype)
    field = fields.Multiclass(X, y, bias=bias)
    assert field._points is X
    entries = fields.multiclass._compile_sparse(field.rows, 11, bias, field.codes, field.sample_weight, 1.0)
    w = np.random.default_rng(0).normal(size=field.dimension) / 12
    value, gradient = field.core.gradient(w)
    expected, its_gradient = entries.gradient(w)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, its_gradient, rtol=1e-10, atol=1e-11 * np.abs(its_gradient).max())
    np.testing.assert_allclose(field.core.marginals(w, 0, 130), entries.marginals(w, 0, 130), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(field.core.radius(3), entries.radius(3), rtol=1e-11)


@pytest.mark.parametrize("solver", [OEG(), SDCA(n_jobs=2), LBFGS(), LBFGS(n_jobs=2)])
def test_windows_of_points_end_at_the_same_optimum(solver: Any) -> None:
    X, y = points(150, labels=5, columns=9)
    weights = np.resize([1.0, 0.0, 2.0], 150)
    dense = fields.Multiclass(X, y, 0.3, sample_weight=weights)
    sparse = fields.Multiclass(np.where(np.eye(150, 9) > 0, 0, X), y, 0.3, sample_weight=weights)
    assert sparse.chosen is not None  # few zeros leave it dense
    optimum = solve(dense, LBFGS(), tol=1e-11, max_passes=5000).primal
    assert solve(dense, solver, tol=1e-7, max_passes=3000).primal == pytest.approx(optimum, rel=1e-6)


def test_equal_dense_rows_are_merged_as_equal_sparse_ones() -> None:
    X, y = points(12, columns=4)
    X[3, 1] = -0.0
    X, codes = np.concatenate([X, X[::-1], np.abs(X[:2])]), np.concatenate([y, y[::-1], y[:2]]).astype(np.int32)
    X[20, 1] = abs(X[20, 1])  # 0.0 where the row it repeats has -0.0
    weights = np.linspace(0.0, 2.0, len(X))
    kept, total = distinct_dense_rows(X, codes, weights)
    matrix, other_codes, expected = distinct_rows(canonical_rows(X), codes, weights)
    found = sorted(zip(map(tuple, np.abs(X[kept]).tolist()), codes[kept].tolist(), total.tolist(), strict=True))
    assert found == sorted(
        zip(map(tuple, np.abs(matrix.toarray()).tolist()), other_codes.tolist(), expected.tolist(), strict=True)
    )


@pytest.mark.parametrize("name", ["chain-columns", "chain-dense"])
def test_standardised_problem_is_that_of_standardised_arrays(name: str) -> None:
    given = problem(name)
    columns = given.encoded.dense or given.encoded.columns
    mean, deviation = (getattr(np.concatenate(columns.arrays).astype("f8"), what)(axis=0) for what in ("mean", "std"))
    by_hand = [(array - mean) / deviation for array in columns.arrays]
    X = by_hand if given.encoded.dense is None else given.encoded.with_dense(by_hand)
    y = [
        given.classes[given.codes[a:b]] for a, b in zip(given.encoded.offsets, given.encoded.offsets[1:], strict=False)
    ]
    field, expected = fields.Chain(given.encoded, y, standardize=True), fields.Chain(X, y)
    w = np.random.default_rng(2).normal(size=field.dimension)
    value, gradient = field.gradient(w)
    assert value == pytest.approx(expected.primal(w), rel=1e-10)
    np.testing.assert_allclose(gradient, expected.gradient(w)[1], rtol=1e-7, atol=1e-7)
    plain = fields.Chain(given.encoded, y)
    folded = field.layout.folded(w, field.standard)
    for i in range(len(y)):  # scores of the columns as they are, but for a constant a label nowhere
        np.testing.assert_allclose(plain.core.potentials(folded, i), field.core.potentials(w, i), rtol=1e-8, atol=1e-8)


def test_standardised_points_fold_back() -> None:
    X, y = points(40, columns=6)
    X = X * [1, 100, 1e-3, 1, 1, 1] + [0, 0, 0, 50, 0, 0]
    field = fields.Multiclass(X, y, standardize=True)
    w = np.random.default_rng(0).normal(size=field.dimension)
    coef, bias = field.standard.folded(w[:18].reshape(6, 3), w[18:])
    plain = fields.Multiclass(X, y)
    np.testing.assert_allclose(
        plain.core.potentials(np.concatenate([coef.ravel(), bias]), 5),
        field.core.potentials(w, 5),
        rtol=1e-8,
        atol=1e-9,
    )


def test_constant_columns_are_only_shifted() -> None:
    standard = Standard.of([np.array([[1e6, 2.0], [1e6, 4.0]], np.float32)])
    assert standard.factor.tolist() == [1.0, 1.0]
    assert standard.shift.tolist() == [1e6, 3.0]


@pytest.mark.parametrize("solver", ["oeg", "lbfgs"])
def test_a_run_that_large_columns_kept_from_tol_says_so(solver: str) -> None:
    random = np.random.default_rng(0)
    X = [random.normal(size=(6, 5)) * [1, 1, 900, 1, 1] for _ in range(30)]
    y = [(x[:, 0] + random.normal(size=6) > 0).astype(int).tolist() for x in X]
    rows, codes = np.concatenate(X), np.concatenate(y)
    told = r"raise max_passes or tol\. Column 2 is [89]\d\d times as large as most, which slows .* standardize=True"
    beside = encode([[["w"]] * 6] * 30).with_dense(X)
    for field in (fields.Chain(X, y), fields.Chain(beside, y), fields.Multiclass(rows, codes)):
        assert re.search(told, solve(field, solver, tol=1e-9, max_passes=5).message)
    even = [x / [1, 1, 900, 1, 1] for x in X]
    scaled = fields.Chain(X, y, standardize=True)
    for field in (fields.Chain(even, y), fields.Multiclass(np.concatenate(even), codes), scaled):
        message = solve(field, solver, tol=1e-12, max_passes=2).message
        assert message.endswith("raise max_passes or tol."), message


def test_standardize_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="standardize=True shifts the columns, which needs a bias"):
        fields.Chain(*dense_sequences(5), standardize=True, bias=False)
    with pytest.raises(ValueError, match="standardize=True is for dense columns, and X has none"):
        fields.Chain(*word_sequences(5), standardize=True)
    with pytest.raises(ValueError, match="needs a bias"):
        fields.Multiclass(*points(9), bias=False, standardize=True)
    with pytest.raises(ValueError, match="is for dense points"):
        fields.Multiclass(np.eye(3), [0, 1, 2], standardize=True)


def test_arrays_with_many_zeros_stay_entries() -> None:
    assert not isinstance(encode([np.eye(3), np.eye(3)]), DenseEncoded)
    assert not isinstance(encode([np.ones((2, 3), int)]), DenseEncoded)
    assert fields.Multiclass(np.eye(3), [0, 1, 2]).chosen is None


def test_encoded_columns_behave_as_their_entries() -> None:
    X, _ = sequences(6, 3, "f8")
    X[0][0, 2] = 0.0
    encoded = encode(X)
    entries = encoded.sparse()
    assert encoded.counts().tolist() == entries.counts().tolist()
    for name in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(encoded, name), getattr(entries, name))
    assert len(encoded[[]]) == 0
    assert encoded[[]].n_positions == 0
    assert encoded.with_bigrams(encode(X)).bigrams.n_positions == encoded.n_positions
    assert "6 columns of float64" in repr(encoded)


def test_refusals_name_the_place() -> None:
    X, y = embedded_words(4)
    lengths = X.lengths
    with pytest.raises(ValueError, match=r"dense has 3 rows and X has \d+ positions"):
        X.with_dense(np.ones((3, 2)))
    with pytest.raises(ValueError, match="dense of sequence 1 has 99 rows"):
        X.with_dense([np.ones((99 if i == 1 else n, 2)) for i, n in enumerate(lengths)])
    with pytest.raises(ValueError, match="dense has 1 sequences, X has 4"):
        X.with_dense([np.ones((2, 2))])
    with pytest.raises(TypeError, match="dense is of type int"):
        X.with_dense(3)
    with pytest.raises(ValueError, match="expected real numbers"):
        X.with_dense(np.ones((X.n_positions, 2), complex))
    wrong = np.ones((X.n_positions, 2))
    wrong[lengths[0], 1] = np.inf
    with pytest.raises(ValueError, match="column 1 at position 0 of sequence 1 is inf"):
        X.with_dense(wrong)
    with pytest.raises(ValueError, match="sequence 1 has 3 columns but sequence 0 has 2"):
        X.with_dense([np.ones((n, 2 + (i > 0))) for i, n in enumerate(lengths)])
    with pytest.raises(ValueError, match="dense columns already"):
        encode(X, dense=np.ones((X.n_positions, 2)))
    with pytest.raises(ValueError, match=r"np\.hstack"):
        encode([np.ones((2, 2)), np.ones((3, 2))], dense=np.ones((5, 2)))
    del y


def test_the_core_refuses_what_would_be_read_beyond_its_end() -> None:
    arrays = (np.ones((2, 3)), np.ones((1, 3)))
    columns = _core.DenseColumns(arrays, 3)
    shape: Any = (2, np.arange(4, dtype=np.int32), True, True, True, None, None, 1.0)

    def compiled(offsets: list[int]) -> Any:
        starts = np.array(offsets)
        return _core.ChainAll(
            starts, np.zeros(offsets[-1] + 1, np.int64), np.zeros(0, np.int32), None, 0, *shape, columns
        )

    assert compiled([0, 2, 3]).dimension == 3 * 2 + 4 + 6
    for offsets in ([0, 1, 3], [0, 3], [0, 2, 4]):
        with pytest.raises(ValueError, match=r"one (row|dense array) for each"):
            compiled(offsets)
    with pytest.raises(ValueError, match="another number of columns"):
        _core.DenseColumns(arrays, 4)
    with pytest.raises(ValueError, match="all of one type"):
        _core.DenseColumns((np.ones((2, 3)), np.ones((1, 3), np.float32)), 3)
    with pytest.raises(ValueError, match="contiguous matrix of float32 or float64"):
        _core.DenseColumns((np.ones((2, 3), int),), 3)
    with pytest.raises(ValueError, match="a shift and a factor for each column"):
        _core.DenseColumns(arrays, 3, np.ones(2), np.ones(3))


def test_reference_of_columns_is_an_optimum() -> None:
    field = problem("chain-columns")
    assert np.abs(field.gradient(reference("chain-columns").weights)[1]).max() < 1e-4
