"""Chains with attributes of label pairs equal their definition, summed over all labellings."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dualfield import LBFGS, OEG, SDCA, Constraints, _core, fields, solve
from dualfield.features import encode
from tests.core.strategies import assert_close, few_examples, scales, weights
from tests.enumeration import Enumeration, entropy, joint_of_marginals
from tests.written_out import WrittenOut
from tests.zoo import PROBLEMS, bigram_sequences, problem, reference

every_problem = pytest.mark.parametrize("name", [name for name in PROBLEMS if name.startswith("bigrams")])
unconstrained = pytest.mark.parametrize("name", ["bigrams", "bigrams-valued", "bigrams-observed"])


@every_problem
@scales
def test_objective_gradient_and_hessian_are_sums_over_labellings(name: str, scale: float) -> None:
    field = problem(name)
    exact, w, v = WrittenOut(field), weights(field, scale), weights(field, 1.0, 1)
    value, gradient = field.gradient(w)
    assert_close(value, exact.primal(w))
    assert_close(field.primal(w), exact.primal(w))
    assert_close(gradient, field.l2 * w + exact.gradient(w), 1e-8)
    assert_close(field.hessian_product(w, v), field.l2 * v + exact.hessian_product(w, v), 1e-8)


def edges_of(field: Any, w: Any, i: int) -> tuple[Any, Any]:
    """(node, edge) potentials of a sequence by the definition."""
    parts, encoded, bigrams = field.layout.split(w), field.encoded, field.encoded.bigrams
    K, first, last = len(field.classes), encoded.offsets[i], encoded.offsets[i + 1]
    state = parts["state"] if isinstance(parts["state"], np.ndarray) else parts["state"].toarray()
    pairs = parts["bigrams"] if isinstance(parts["bigrams"], np.ndarray) else parts["bigrams"].toarray()
    pairs = pairs.reshape(-1, K, K)
    node = np.tile(parts["bias"], (last - first, 1))
    edge = np.tile(parts["transitions"], (last - first - 1, 1, 1))
    for t in range(last - first):
        for e in range(encoded.indptr[first + t], encoded.indptr[first + t + 1]):
            node[t] += state[encoded.indices[e]] * (1.0 if encoded.values is None else encoded.values[e])
        for e in range(bigrams.indptr[first + t], bigrams.indptr[first + t + 1]):
            edge[t - 1] += pairs[bigrams.indices[e]] * (1.0 if bigrams.values is None else bigrams.values[e])
    node[0] += parts["begin"]
    node[-1] += parts["end"]
    return node, edge


@unconstrained
@scales
def test_predictions_are_those_of_the_enumerated_chain(name: str, scale: float) -> None:
    field: Any = problem(name)
    core, w = field.core, weights(field, scale)
    decoded, marginals = core.decode(w, 0, field.n_blocks), core.marginals(w, 0, field.n_blocks)
    confidences = core.confidences(w, 0, field.n_blocks)
    for i, (a, b) in enumerate(pairwise(field.encoded.offsets)):
        node, edge = edges_of(field, w, i)
        found = core.chain_potentials(w, i)
        assert_close(found[0], node)
        assert_close(found[1], edge)
        exact = Enumeration(node, edge)
        assert_close(marginals[a:b], np.exp(exact.log_nodes), 1e-8)
        assert_close(exact.score(decoded[a:b]), exact.scores.max())
        assert_close(confidences[i], min(0.0, exact.log_probabilities.max()), 1e-8)
        _, log_p = core.kbest(w, i, 5)
        assert_close(log_p, exact.kbest(5)[1] - exact.log_partition, 1e-8)
        assert core.sample(w, i, 3, 0).shape == (3, b - a)


def test_samples_have_the_frequencies_of_the_model() -> None:
    field: Any = problem("bigrams")
    w = weights(field, 1.0)
    i = int(np.argmax(field.encoded.lengths))
    exact = Enumeration(*edges_of(field, w, i))
    drawn = field.core.sample(w, i, 20000, 0)
    frequencies = np.array([[(drawn[:, t] == k).mean() for k in range(3)] for t in range(drawn.shape[1])])
    assert np.abs(frequencies - np.exp(exact.log_nodes).astype(float)).max() < 0.02


@unconstrained
def test_spans_have_the_probability_that_enumeration_gives(name: str) -> None:
    field: Any = problem(name)
    w = weights(field, 1.0)
    # Label 1 starts a span, label 2 continues it.
    kinds = np.array([-1, 0, 0], np.int32)
    steps = np.array([[0, 1, 1], [0, 1, 2], [0, 1, 2], [0, 1, 1]], np.int8)
    for i, length in enumerate(field.encoded.lengths.tolist()):
        exact = Enumeration(*edges_of(field, w, i))
        for begin in range(length):
            for end in range(begin + 1, length + 1):
                total = sum(
                    p for y, p in zip(exact.labellings, exact.probabilities, strict=True) if spans(y, begin, end)
                )
                rows = np.array([[i, begin, end, 0]])
                assert_close(field.core.span_probabilities(w, kinds, steps, rows)[0], total, 1e-9)


def spans(y: Any, begin: int, end: int) -> bool:
    """Whether the labelling has a span on exactly these positions."""
    starts = y[begin] == 1 or (y[begin] == 2 and (begin == 0 or y[begin - 1] == 0))
    return bool(starts and all(y[t] == 2 for t in range(begin + 1, end)) and (end == len(y) or y[end] != 2))


@every_problem
def test_the_radius_lies_between_its_estimate_and_its_bound(name: str) -> None:
    field = problem(name)
    for i, block in enumerate(WrittenOut(field).blocks):
        distances = np.sum((block.vectors - block.truth) ** 2, axis=1)
        estimate, bound = field.core.radius(i)
        assert estimate <= distances.max() * (1 + 1e-12) + 1e-12
        assert bound >= distances.max() * (1 - 1e-12)
        assert np.min(np.abs(distances - estimate)) <= 1e-9 * max(1.0, estimate)  # some labelling's


@unconstrained
@pytest.mark.parametrize("passes", [0, 1, 3])
@pytest.mark.parametrize("init", ["mixture", "product"])
def test_the_dual_value_is_that_of_the_tables_written_out(name: str, passes: int, init: str) -> None:
    """``D(μ) = −l2/2 ‖ŵ(μ)‖² + Σ c H(μ)``, μ as distributions over labellings, ``ŵ = 1/l2 Σ c (F_i − E_μ F)``."""
    field: Any = problem(name)
    solver = SDCA("gap", permutation_every=0, accelerate=False, subprecision=1e-6, init=init, epsilon=0.3)  # type: ignore[arg-type]
    core = solver.bind(field, 0, single=False)
    assert core.start(3600.0)
    core.run(passes * field.n_blocks, 3600.0)
    flat, place, K = core.save()["duals"], 0, len(field.classes)
    entropies, w = 0.0, np.zeros(field.dimension)
    for block, length in zip(WrittenOut(field).blocks, field.encoded.lengths.tolist(), strict=True):
        if block.c == 0:
            continue
        edges, nodes = np.split(flat[place : place + ((length - 1) * K + length) * K], [(length - 1) * K * K])
        place += len(edges) + len(nodes)
        log_mu = joint_of_marginals(nodes.reshape(-1, K), edges.reshape(-1, K, K))
        entropies += block.c * float(entropy(log_mu))
        w += block.c * (block.truth - np.exp(log_mu).astype(float) @ block.vectors) / field.l2
    assert_close(core.weights(), w, 1e-8)
    assert_close(core.dual, entropies - field.l2 / 2 * (w @ w), 1e-8)


@every_problem
@pytest.mark.parametrize("solver", [SDCA(), OEG(), LBFGS()], ids=lambda solver: solver.name)
def test_certificates_enclose_the_optimum(name: str, solver: Any) -> None:
    field = problem(name)
    solution = solve(field, solver, tol=1e-6, max_passes=3000, random_state=0)
    assert (solution.status, solution.certificate) == ("converged", "exact")
    assert_close(solution.primal, WrittenOut(field).primal(solution.weights))
    assert solution.dual <= reference(name).primal * (1 + 1e-12)
    assert reference(name).dual <= solution.primal * (1 + 1e-12)


@unconstrained
def test_a_chain_graph_with_edge_features_is_the_same_problem(name: str) -> None:
    """``fields.Graph`` has one matrix per edge feature: the indicator of an edge for transitions, then the bigrams."""
    field: Any = problem(name)
    if name == "bigrams-observed":
        field = fields.Chain(*bigram_sequences(12, 2), l2=0.1, bias=False, begin=False, end=False)
    else:
        X, y = bigram_sequences(12) if name == "bigrams" else bigram_sequences(10, 1, valued=True)
        field = fields.Chain(X, y, bias=False, begin=False, end=False)
    encoded, B = field.encoded, len(field.encoded.bigrams.vocabulary)
    X, y = [], []
    for i in range(len(encoded)):
        one = encoded[i]
        nodes = dense(one, len(encoded.vocabulary))
        features = np.hstack([np.ones((len(nodes) - 1, 1)), dense(one.bigrams, B)[1:]])
        X.append((nodes, np.column_stack([np.arange(len(nodes) - 1), np.arange(1, len(nodes))]), features))
        y.append(field.codes[encoded.offsets[i] : encoded.offsets[i + 1]])
    graph = fields.Graph(X, y, l2=field.l2)
    assert graph.dimension == field.dimension
    for seed in range(3):
        w = weights(field, 1.0, seed)  # both: attribute × label, then matrices, transitions first
        value, gradient = field.gradient(w)
        other_value, other_gradient = graph.gradient(w)
        assert_close(value, other_value)
        assert_close(gradient, other_gradient, 1e-9)


def dense(encoded: Any, width: int) -> Any:
    matrix = np.zeros((encoded.n_positions, width))
    for p in range(encoded.n_positions):
        for e in range(encoded.indptr[p], encoded.indptr[p + 1]):
            matrix[p, encoded.indices[e]] = 1.0 if encoded.values is None else encoded.values[e]
    return matrix


@st.composite
def bigram_problems(draw: st.DrawFn) -> Any:
    """Bigrams at some positions only, with repeats and values of either sign, and rules or not."""
    labels = draw(st.integers(2, 3))
    value = draw(st.sampled_from([st.just(1.0), st.sampled_from([1.0, -0.5, 2.25])]))
    bigrams = st.dictionaries(st.sampled_from("abcd"), value, max_size=3)
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    pairs = [draw(st.lists(bigrams, min_size=n, max_size=n)) for n in lengths]
    y = [draw(st.lists(st.integers(0, labels - 1), min_size=n, max_size=n)) for n in lengths]
    assume(len({label for sequence in y for label in sequence}) > 1)
    X = [np.random.default_rng(n).normal(size=(n, 2)) for n in lengths]
    rules = None
    if draw(st.booleans()):
        names = sorted({label for sequence in y for label in sequence})
        seen = {pair for sequence in y for pair in pairwise(sequence)}
        rules = Constraints(names, [(a, b) for a in names for b in names if (a, b) not in seen][:2])
    which = draw(st.sampled_from(["all", "observed"]))
    return fields.Chain(encode(X, bigrams=pairs), y, constraints=rules, bigram_features=which)


@few_examples
@given(bigram_problems(), st.sampled_from([0.3, 30.0, 1e4]))
def test_any_bigrams_give_the_sums_over_labellings(field: Any, scale: float) -> None:
    exact, w = WrittenOut(field), weights(field, scale)
    value, gradient = field.gradient(w)
    assert_close(value, exact.primal(w))
    assert_close(gradient - field.l2 * w, exact.gradient(w), 1e-8 * max(1.0, scale))


def test_without_bigram_attributes_in_the_data_nothing_changes() -> None:
    X, y = bigram_sequences(8)
    plain = fields.Chain(X.with_bigrams(None), y)
    empty = fields.Chain(X.with_bigrams(encode([[[] for _ in range(n)] for n in X.lengths])), y)
    assert type(empty.core) is not type(plain.core)
    w = weights(plain, 1.0)
    assert empty.dimension == plain.dimension
    assert_close(empty.gradient(w)[1], plain.gradient(w)[1], 1e-12)


def test_observed_bigrams_are_those_of_the_data_and_all_of_them_those_that_rules_allow() -> None:
    X = encode([[["a"]] * 3, [["a"]]], bigrams=[[["p"], ["p"], ["q", "p"]], [["r"]]])
    y = [["A", "B", "B"], ["A"]]
    assert X.bigrams.vocabulary.names == ["p", "q"]
    observed = fields.Chain(X, y, bigram_features="observed").layout.bigrams
    assert [observed.starts.tolist(), observed.pairs.tolist()] == [[0, 2, 3], [1, 3, 3]]
    rules = Constraints(["A", "B"], [("B", "A")])
    allowed = fields.Chain(X, y, constraints=rules).layout.bigrams
    assert (allowed.starts, allowed.pairs.tolist(), allowed.dimension) == (None, [0, 1, 3], 6)


def test_a_table_beyond_memory_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualfield.models.bigram_layout.main_memory", lambda: 400)
    X, y = bigram_sequences(8)
    with pytest.raises(
        ValueError, match=r"3 bigram attributes with 9 pairs .* 27 weights; .* give bigram_features='obs"
    ):
        fields.Chain(X, y)
    assert fields.Chain(X, y, bigram_features="observed").dimension > 0


# --- the core's own refusals ---


def arrays(**changes: Any) -> dict[str, Any]:
    free = {"indptr": np.array([0, 0, 1, 1]), "indices": np.array([0], np.int32), "values": None}
    return free | changes


def rows(**changes: Any) -> Any:
    given = {"attributes": 1, "labels": 2, "starts": None, "pairs": np.arange(4, dtype=np.int32)} | changes
    return _core.PairRows(**given)


def plain_core() -> Any:
    return fields.Chain([[["a"], ["b"]], [["b"]]], [["A", "B"], ["A"]]).core


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"indptr": np.array([0, 1, 1, 1])}, "the first position of a block has no pair"),
        ({"indptr": np.array([0, 0, 1])}, "indptr must have one entry more"),
        ({"indptr": np.array([0, 1, 0, 1])}, "indptr must not decrease"),
        ({"indices": np.array([1], np.int32)}, "an attribute index is out of range"),
        ({"indices": np.array([0, 0], np.int32)}, "indices must have indptr"),
        ({"values": np.ones(2)}, "values must be as many as indices"),
    ],
)
def test_the_core_refuses_bigrams_that_do_not_fit(changes: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        _core.BigramChain(plain_core(), **arrays(**changes), rows=rows())


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"pairs": np.array([4], np.int32)}, "a pair is out of range"),
        ({"pairs": np.array([-1], np.int32)}, "a pair is out of range"),
        ({"pairs": np.array([1, 1], np.int32)}, "the pairs of a row must increase"),
        ({"starts": np.array([0, 3])}, "run from 0 to all pairs"),
        ({"starts": np.array([1, 4])}, "run from 0 to all pairs"),
        ({"starts": np.array([0, 2, 1, 4]), "attributes": 3}, "starts must not decrease"),
        ({"starts": np.array([0, 2]), "pairs": np.array([1, 0], np.int32)}, "the pairs of a row must increase"),
    ],
)
def test_the_core_refuses_rows_that_do_not_fit(changes: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        rows(**changes)


def test_the_core_refuses_rows_of_other_labels() -> None:
    with pytest.raises(ValueError, match="the rows of pairs are of other labels"):
        _core.BigramChain(plain_core(), **arrays(), rows=rows(labels=3))


def test_a_bigram_chain_keeps_what_it_views_alive() -> None:
    core = _core.BigramChain(plain_core(), **arrays(), rows=rows())
    assert core.decode(np.zeros(core.dimension), 0, 2).shape == (3,)
