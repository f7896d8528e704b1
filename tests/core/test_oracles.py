"""Inference on one chain equals the enumeration of all labellings, however large the potentials."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield import _core, fields, oracles
from tests.core.strategies import assert_close, chains, few_examples
from tests.enumeration import Enumeration

Chain = tuple[Any, Any]


@few_examples
@given(chains())
def test_log_partition_is_the_log_of_the_sum_over_labellings(chain: Chain) -> None:
    assert_close(oracles.log_partition(*chain), Enumeration(*chain).log_partition)


@few_examples
@given(chains())
def test_log_marginals_are_exact_where_probabilities_underflow(chain: Chain) -> None:
    exact, found = Enumeration(*chain), oracles.log_marginals(*chain)
    assert_close(found.log_partition, exact.log_partition)
    assert_close(found.nodes, exact.log_nodes)
    assert_close(found.edges, exact.log_edges)


@few_examples
@given(chains())
def test_marginals_are_sums_of_probabilities(chain: Chain) -> None:
    exact, found = Enumeration(*chain), oracles.marginals(*chain)
    assert_close(found.log_partition, exact.log_partition)
    assert_close(found.nodes, np.exp(exact.log_nodes))
    assert_close(found.edges, np.exp(exact.log_edges))


@few_examples
@given(chains())
def test_marginals_are_the_exponentials_of_log_marginals(chain: Chain) -> None:
    found, logarithms = oracles.marginals(*chain), oracles.log_marginals(*chain)
    assert_close(found.log_partition, logarithms.log_partition)
    assert_close(found.nodes, np.exp(logarithms.nodes))
    assert_close(found.edges, np.exp(logarithms.edges))


@few_examples
@given(chains(bounds=st.sampled_from([1.0, 30.0, 140.0])))
def test_small_marginals_keep_their_relative_precision(chain: Chain) -> None:
    exact, found = Enumeration(*chain), oracles.marginals(*chain)
    visible = exact.log_nodes > -500
    np.testing.assert_allclose(np.log(found.nodes[visible]), exact.log_nodes[visible].astype(float), atol=1e-9, rtol=0)


@few_examples
@given(chains())
def test_marginals_are_consistent(chain: Chain) -> None:
    _, nodes, edges = oracles.marginals(*chain)
    assert_close(nodes.sum(axis=1), 1.0)
    assert_close(edges.sum(axis=2), nodes[:-1])
    assert_close(edges.sum(axis=1), nodes[1:])


@few_examples
@given(chains())
def test_viterbi_finds_a_labelling_of_the_largest_score(chain: Chain) -> None:
    exact = Enumeration(*chain)
    labels, score = oracles.viterbi(*chain)
    assert labels.dtype == np.int32
    assert_close(score, exact.scores.max())
    assert_close(exact.score(labels), exact.scores.max())


@few_examples
@given(chains(bounds=st.just(3.0)), st.integers(-3, 3))
def test_viterbi_gives_ties_to_the_lower_labels(chain: Chain, constant: int) -> None:
    node, edge = (np.full_like(potentials, constant) for potentials in chain)
    assert oracles.viterbi(node, edge)[0].tolist() == [0] * len(node)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 40, 41, 63, 64, 65, 70])
def test_marginals_of_any_number_of_labels_are_those_of_the_plain_recursion(labels: int, shared: bool) -> None:
    rng = np.random.default_rng(labels)
    for length, size in ((1, 3.0), (2, 60.0), (3, 1.0), (12, 20.0)):
        node = rng.uniform(-size, size, (length, labels))
        edge = rng.uniform(-size, size, (labels, labels) if shared else (length - 1, labels, labels))
        edges = np.broadcast_to(edge, (length - 1, labels, labels))
        forward, backward = [node[0]], [np.zeros(labels)]
        for t in range(1, length):
            forward.append(np.logaddexp.reduce(forward[-1][:, None] + edges[t - 1], axis=0) + node[t])
        for t in range(length - 1, 0, -1):
            backward.insert(0, np.logaddexp.reduce(edges[t - 1] + node[t] + backward[0], axis=1))
        log_z = np.logaddexp.reduce(forward[-1])
        found = oracles.marginals(node, edge)
        assert_close(found.log_partition, log_z)
        assert_close(oracles.log_partition(node, edge), log_z)
        assert_close(found.nodes, np.exp(np.array(forward) + np.array(backward) - log_z))
        for t in range(length - 1):
            pair = forward[t][:, None] + edges[t] + node[t + 1] + backward[t + 1]
            assert_close(found.edges[t], np.exp(pair - log_z))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 16, 17, 40, 63, 64, 65, 70])
def test_viterbi_of_any_number_of_labels_is_the_plain_recursion(labels: int, shared: bool) -> None:
    rng = np.random.default_rng(labels)
    for length in (1, 2, 3, 12):
        # whole numbers: sums are exact and many tie
        node = rng.integers(-3, 4, (length, labels)).astype(float)
        edge = rng.integers(-3, 4, (labels, labels) if shared else (length - 1, labels, labels)).astype(float)
        edges = np.broadcast_to(edge, (length - 1, labels, labels))
        best = [node[0]]
        for t in range(1, length):
            best.append((best[-1][:, None] + edges[t - 1]).max(axis=0) + node[t])
        expected = [int(best[-1].argmax())]
        for t in range(length - 1, 0, -1):
            expected.append(int((best[t - 1] + edges[t - 1][:, expected[-1]]).argmax()))
        path, score = oracles.viterbi(node, edge)
        assert path.tolist() == expected[::-1]
        assert score == best[-1].max()


@few_examples
@given(chains(max_labellings=81), st.integers(1, 100))
def test_kbest_lists_the_best_labellings_in_order(chain: Chain, k: int) -> None:
    exact = Enumeration(*chain)
    labels, scores = oracles.kbest(*chain, k)
    count = min(k, len(exact.labellings))
    assert labels.shape == (count, exact.length)
    assert_close(scores, exact.kbest(k)[1])
    assert_close(scores, [exact.score(row) for row in labels])
    assert len(np.unique(labels, axis=0)) == count
    assert np.all(np.diff(scores) <= 0)


@few_examples
@given(chains())
def test_the_best_of_kbest_is_viterbi(chain: Chain) -> None:
    labels, scores = oracles.kbest(*chain, 1)
    assert_close(scores[0], oracles.viterbi(*chain)[1])
    assert_close(Enumeration(*chain).score(labels[0]), scores[0])


@few_examples
@given(chains())
def test_posterior_decoding_takes_a_label_of_largest_marginal(chain: Chain) -> None:
    nodes = np.exp(Enumeration(*chain).log_nodes)
    labels = oracles.decode_posterior(*chain)
    assert labels.dtype == np.int32
    assert_close(nodes[np.arange(len(nodes)), labels], nodes.max(axis=1))


@few_examples
@given(chains())
def test_entropy_of_the_marginals_is_that_of_the_labellings(chain: Chain) -> None:
    _, nodes, edges = oracles.marginals(*chain)
    assert_close(oracles.entropy(nodes, edges), Enumeration(*chain).entropy)


# --- the switch between probabilities and logarithms ---


@st.composite
def chains_at_the_switch(draw: st.DrawFn) -> Chain:
    """Chains whose ranges of node and edge potentials add up to 600, a little less or a little more."""
    length, labels = draw(st.integers(2, 5)), draw(st.integers(2, 3))
    total = 600.0 + draw(st.sampled_from([-1.0, -1e-6, 0.0, 1e-6, 1.0]))
    share = draw(st.floats(0.0, 1.0))
    levels = st.sampled_from([0.0, 0.25, 0.5, 0.999, 1.0])

    def potentials(shape: tuple[int, ...], reach: float) -> Any:
        flat = draw(st.lists(levels, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        table = np.array(flat).reshape(shape)
        table.flat[:2] = 0.0, 1.0
        return reach * table

    edge_shape = (labels, labels) if draw(st.booleans()) else (length - 1, labels, labels)
    return potentials((length, labels), share * total), potentials(edge_shape, (1 - share) * total)


@few_examples
@given(chains_at_the_switch())
def test_both_ways_of_computing_agree_where_they_meet(chain: Chain) -> None:
    exact, found, logarithms = Enumeration(*chain), oracles.marginals(*chain), oracles.log_marginals(*chain)
    assert_close(found.log_partition, exact.log_partition)
    assert_close(logarithms.log_partition, exact.log_partition)
    assert_close(found.nodes, np.exp(exact.log_nodes))
    assert_close(found.edges, np.exp(exact.log_edges))
    assert_close(logarithms.nodes, exact.log_nodes)


def test_log_partition_is_continuous_across_the_switch() -> None:
    random = np.random.default_rng(0)
    node, edge = random.uniform(size=(5, 3)), random.uniform(size=(3, 3))
    width = np.ptp(node, axis=1).max() + np.ptp(edge)
    values = []
    for reach in (600 * (1 - 1e-12), 600 * (1 + 1e-12)):
        values.append(oracles.log_partition(node * reach / width, edge * reach / width))
    assert_close(values[0], values[1])


# --- samples ---


@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", [(1, 4), (3, 3), (4, 2)])
def test_samples_come_as_often_as_their_probability_says(size: tuple[int, int], shared: bool, scale: float) -> None:
    length, labels = size
    random = np.random.default_rng(length)
    node = scale * random.normal(size=size)
    edge = scale * random.normal(size=(labels, labels) if shared else (length - 1, labels, labels))
    exact = Enumeration(node, edge)
    n = 20_000
    drawn = oracles.sample(node, edge, n, random_state=1)
    assert drawn.shape == (n, length)
    assert drawn.dtype == np.int32
    places = np.ravel_multi_index(tuple(drawn.T), (labels,) * length)
    counts = np.bincount(places, minlength=labels**length)
    expected = n * exact.probabilities.astype(float)
    frequent = expected >= 5
    counts = np.append(counts[frequent], counts[~frequent].sum())
    expected = np.append(expected[frequent], expected[~frequent].sum() + 1e-300)
    statistic = np.sum((counts - expected)[expected > 1e-3] ** 2 / expected[expected > 1e-3])
    freedom = len(expected) - 1
    assert statistic < freedom + 5 * np.sqrt(2 * freedom) + 5


@few_examples
@given(chains(bounds=st.just(1.0)), st.data())
def test_samples_are_certain_where_one_labelling_has_all_the_mass(chain: Chain, data: st.DataObject) -> None:
    node, edge = chain
    wanted = np.array(data.draw(st.lists(st.integers(0, node.shape[1] - 1), min_size=len(node), max_size=len(node))))
    node[np.arange(len(node)), wanted] += 1e4
    drawn = oracles.sample(node, edge, 20, random_state=0)
    assert (drawn == wanted).all()


@few_examples
@given(chains())
def test_samples_are_possible_and_follow_the_seed(chain: Chain) -> None:
    exact = Enumeration(*chain)
    drawn = oracles.sample(*chain, 8, random_state=3)
    # 8 draws of something rarer than 1e-12 do not happen.
    likely = [float(exact.score(row) - exact.log_partition) for row in drawn]
    assert min(likely) > np.log(1e-12)
    assert np.array_equal(drawn, oracles.sample(*chain, 8, random_state=3))


def test_no_samples_is_an_empty_array() -> None:
    assert oracles.sample(np.zeros((3, 2)), np.zeros((2, 2)), 0).shape == (0, 3)


# --- refusals ---

FUNCTIONS = [
    oracles.log_partition,
    oracles.marginals,
    oracles.log_marginals,
    oracles.viterbi,
    lambda node, edge: oracles.kbest(node, edge, 1),
    oracles.decode_posterior,
    lambda node, edge: oracles.sample(node, edge, 1),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("node", "edge"),
    [
        (np.zeros(3), np.zeros((3, 3))),
        (np.zeros((0, 3)), np.zeros((3, 3))),
        (np.zeros((3, 0)), np.zeros((0, 0))),
        (np.zeros((4, 3)), np.zeros((3, 2))),
        (np.zeros((4, 3)), np.zeros((2, 3, 3))),
        (np.zeros((4, 3)), np.zeros((4, 3, 3))),
        (np.zeros((4, 3)), np.zeros((2, 2))),
    ],
)
def test_wrong_shapes_are_refused_by_name(function: Any, node: Any, edge: Any) -> None:
    with pytest.raises(ValueError, match=r"must have shape"):
        function(node, edge)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e301])
def test_potentials_that_are_not_finite_are_refused_with_their_place(function: Any, value: float) -> None:
    node, edge = np.zeros((4, 3)), np.zeros((3, 3))
    node[2, 1] = value
    with pytest.raises(ValueError, match=r"node\[2, 1\] is .* must be finite"):
        function(node, edge)
    node[2, 1], edge[0, 2] = 0.0, value
    with pytest.raises(ValueError, match=r"edge\[0, 2\] is .* must be finite"):
        function(node, edge)


def test_entropy_refuses_edges_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="edges must have shape"):
        oracles.entropy(np.full((3, 2), 0.5), np.full((1, 2, 2), 0.25))


def test_kbest_refuses_k_zero() -> None:
    with pytest.raises(ValueError, match="k must be a positive integer"):
        oracles.kbest(np.zeros((2, 2)), np.zeros((2, 2)), 0)


@pytest.mark.parametrize("k", [10**15, 2**63 - 1])
def test_kbest_of_more_than_there_are_lists_all(k: int) -> None:
    assert len(oracles.kbest([[0.0, 1.0]] * 2, [[0.0, 0.0]] * 2, k)[0]) == 4


def test_sample_refuses_a_negative_number() -> None:
    with pytest.raises(ValueError, match="not negative; got -1"):
        oracles.sample(np.zeros((2, 2)), np.zeros((2, 2)), -1)


@pytest.mark.parametrize(
    "name", ["chain_log_partition", "chain_viterbi", "chain_marginals", "chain_kbest", "chain_sample"]
)
@pytest.mark.parametrize(
    ("node", "edge"),
    [
        (np.zeros((0, 2)), np.zeros((1, 2, 2))),
        (np.zeros((3, 2)), np.zeros((1, 3, 3))),
        (np.zeros((3, 2)), np.zeros((1, 2, 3))),
        (np.zeros((4, 2)), np.zeros((2, 2, 2))),
        (np.zeros((4, 2)), np.zeros((0, 2, 2))),
    ],
)
def test_the_core_refuses_wrong_shapes_itself(name: str, node: Any, edge: Any) -> None:
    more = {"chain_marginals": (False,), "chain_kbest": (1,), "chain_sample": (1, 0)}.get(name, ())
    with pytest.raises(ValueError, match=r"chain needs|edge"):
        getattr(_core, name)(node, edge, *more)


@pytest.mark.parametrize("labels", [99, 100, 111, 128])
def test_chains_decoded_together_have_the_labels_of_each_alone(labels: int) -> None:
    rng = np.random.default_rng(labels)
    lengths = [1, 5, 2, 9, 1, 1, 3, 7, 40, 2, 6]
    X = [rng.integers(-2, 3, (length, 3)).astype(float) for length in lengths]
    y = np.split(np.arange(sum(lengths)) % labels, np.cumsum(lengths)[:-1])
    y[-3][:] = 0
    chain = fields.Chain([*X, np.ones((labels, 3))], [*y, np.arange(labels)])
    w = rng.integers(-3, 4, chain.dimension).astype(float)  # whole numbers: sums are exact and many tie
    for first, last in ((0, 11), (0, 1), (3, 5), (2, 9)):
        alone = [oracles.viterbi(*_potentials(chain, w, i))[0] for i in range(first, last)]
        np.testing.assert_array_equal(chain.core.decode(w, first, last), np.concatenate(alone))


def _potentials(chain: fields.Chain, w: npt.NDArray[np.float64], i: int) -> Any:
    node, edge = chain.core.chain_potentials(w, i)
    return node, edge[0] if len(edge) else np.zeros((node.shape[1], node.shape[1]))
