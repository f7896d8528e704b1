"""Inference on chains with impossible labels and pairs equals the enumeration of the labellings that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualfield import oracles
from dualfield.metrics import chunks
from tests.core.strategies import assert_close, chains, few_examples
from tests.enumeration import Enumeration

Chain = tuple[Any, Any]


@st.composite
def constrained_chains(draw: st.DrawFn, max_labellings: int = 256, **options: Any) -> Chain:
    """Chains where labels and pairs are forbidden at random, but for those of one labelling."""
    node, edge = draw(chains(max_labellings, **options))
    length, labels = node.shape
    path = draw(st.lists(st.integers(0, labels - 1), min_size=length, max_size=length))
    share = draw(st.sampled_from([0.2, 0.5, 0.8]))
    keep = st.floats(0, 1).map(lambda x: x >= share)
    open_nodes = draw(hnp.arrays(bool, node.shape, elements=keep))
    open_edges = draw(hnp.arrays(bool, edge.shape, elements=keep))
    open_nodes[np.arange(length), path] = True
    for t in range(length - 1):
        open_edges[(path[t], path[t + 1]) if edge.ndim == 2 else (t, path[t], path[t + 1])] = True
    return np.where(open_nodes, node, -np.inf), np.where(open_edges, edge, -np.inf)


def assert_close_logarithms(found: Any, expected: Any) -> None:
    """Equal where possible, and impossible in the same places."""
    expected = np.asarray(expected, dtype=np.float64)
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    possible = ~np.isneginf(expected)
    assert_close(np.asarray(found)[possible], expected[possible])


@few_examples
@given(constrained_chains())
def test_log_partition_is_the_log_of_the_sum_over_possible_labellings(chain: Chain) -> None:
    assert_close(oracles.log_partition(*chain), Enumeration(*chain).log_partition)


@few_examples
@given(constrained_chains())
def test_marginals_are_sums_of_probabilities(chain: Chain) -> None:
    exact, found = Enumeration(*chain), oracles.marginals(*chain)
    assert_close(found.log_partition, exact.log_partition)
    assert_close(found.nodes, np.exp(exact.log_nodes))
    assert_close(found.edges, np.exp(exact.log_edges))


@few_examples
@given(constrained_chains())
def test_the_impossible_has_probability_zero_exactly(chain: Chain) -> None:
    exact, found = Enumeration(*chain), oracles.marginals(*chain)
    assert np.all(found.nodes[np.isneginf(exact.log_nodes)] == 0.0)
    assert np.all(found.edges[np.isneginf(exact.log_edges)] == 0.0)


@few_examples
@given(constrained_chains(bounds=st.sampled_from([1.0, 30.0, 140.0])))
def test_small_marginals_keep_their_relative_precision(chain: Chain) -> None:
    exact, found = Enumeration(*chain), oracles.marginals(*chain)
    visible = exact.log_nodes > -500
    np.testing.assert_allclose(np.log(found.nodes[visible]), exact.log_nodes[visible].astype(float), atol=1e-9, rtol=0)


@few_examples
@given(constrained_chains())
def test_log_marginals_are_exact(chain: Chain) -> None:
    exact, found = Enumeration(*chain), oracles.log_marginals(*chain)
    assert_close(found.log_partition, exact.log_partition)
    assert_close_logarithms(found.nodes, exact.log_nodes)
    assert_close_logarithms(found.edges, exact.log_edges)


@few_examples
@given(constrained_chains())
def test_entropy_is_that_of_the_possible_labellings(chain: Chain) -> None:
    _, nodes, edges = oracles.marginals(*chain)
    assert_close(oracles.entropy(nodes, edges), Enumeration(*chain).entropy)


@few_examples
@given(constrained_chains())
def test_viterbi_finds_a_possible_labelling_of_the_largest_score(chain: Chain) -> None:
    exact = Enumeration(*chain)
    labels, score = oracles.viterbi(*chain)
    assert_close(score, exact.scores.max())
    assert_close(exact.score(labels), exact.scores.max())


@few_examples
@given(constrained_chains(max_labellings=81), st.integers(1, 100))
def test_kbest_lists_the_possible_labellings_in_order(chain: Chain, k: int) -> None:
    exact = Enumeration(*chain)
    labels, scores = oracles.kbest(*chain, k)
    assert len(labels) == min(k, int((exact.scores > -np.inf).sum()))
    assert_close(scores, exact.kbest(k)[1])
    assert_close(scores, [exact.score(row) for row in labels])
    assert len(np.unique(labels, axis=0)) == len(labels)


@few_examples
@given(constrained_chains())
def test_samples_are_possible(chain: Chain) -> None:
    exact = Enumeration(*chain)
    drawn = oracles.sample(*chain, 8, random_state=3)
    # 8 draws of something rarer than 1e-12 do not happen.
    assert min(float(exact.score(row) - exact.log_partition) for row in drawn) > np.log(1e-12)


def test_samples_come_as_often_as_their_probability_says() -> None:
    random = np.random.default_rng(0)
    node, edge = random.normal(size=(4, 3)), random.normal(size=(3, 3))
    edge[0, 1] = edge[2, 2] = node[0, 2] = node[3, 0] = -np.inf
    exact = Enumeration(node, edge)
    n = 20_000
    places = np.ravel_multi_index(tuple(oracles.sample(node, edge, n, random_state=1).T), (3,) * 4)
    counts, expected = np.bincount(places, minlength=81), n * exact.probabilities.astype(float)
    assert np.all(counts[expected == 0] == 0)
    seen = expected > 0
    assert np.all(np.abs(counts - expected)[seen] <= 5 * np.sqrt(expected[seen]) + 5)


# --- what a mask does to messages ---


@pytest.mark.parametrize("length", [3, 50, 2000])
@pytest.mark.parametrize("ahead", [0.1, 5.0, 250.0])
def test_a_label_that_falls_behind_may_be_the_only_one_to_reach_the_end(length: int, ahead: float) -> None:
    # Two labels that never meet; the one that is ahead everywhere may not be last.
    node = np.tile([ahead, 0.0], (length, 1))
    node[-1, 0] = -np.inf
    edge = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    found = oracles.marginals(node, edge)
    assert found.log_partition == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(found.nodes, np.tile([0.0, 1.0], (length, 1)), rtol=1e-12, atol=0)
    assert oracles.viterbi(node, edge)[0].tolist() == [1] * length
    assert len(oracles.kbest(node, edge, 5)[0]) == 1
    assert (oracles.sample(node, edge, 3, random_state=0) == 1).all()


@pytest.mark.parametrize("length", [3, 50, 500])
def test_labels_far_apart_that_may_both_be_last_are_weighed_at_the_end(length: int) -> None:
    # Two labels that never meet: one is ahead at every position by 3, and behind at the last by as much in all.
    node = np.tile([3.0, 0.0], (length, 1))
    node[-1] = [0.0, 3.0 * (length - 1) + np.log(2.0)]
    edge = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    found = oracles.marginals(node, edge)
    np.testing.assert_allclose(found.nodes, np.tile([1 / 3, 2 / 3], (length, 1)), rtol=1e-9)
    assert_close(found.log_partition, 3.0 * (length - 1) + np.log(3.0))


def test_dead_ends_do_not_count() -> None:
    # From 1 nothing goes on, from 2 only into 1.
    edge = np.array([[0.0, 0.0, 0.0], [-np.inf] * 3, [-np.inf, 0.0, -np.inf]])
    node = np.array([[0.0, 0.0, 0.0], [0.0, 700.0, 700.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    exact, found = Enumeration(node, edge), oracles.marginals(node, edge)
    assert_close(found.log_partition, exact.log_partition)
    assert_close(found.nodes, np.exp(exact.log_nodes))
    assert found.nodes[1, 1] == 0.0


FUNCTIONS = [
    oracles.log_partition,
    oracles.marginals,
    oracles.log_marginals,
    oracles.viterbi,
    lambda node, edge: oracles.kbest(node, edge, 1),
    lambda node, edge: oracles.sample(node, edge, 1),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_chain_without_a_possible_labelling_is_refused(function: Any) -> None:
    node = np.zeros((3, 2))
    with pytest.raises(ValueError, match="no labelling is possible"):
        function(node, np.full((2, 2), -np.inf))
    node[1] = -np.inf
    with pytest.raises(ValueError, match="no labelling is possible"):
        function(node, np.zeros((2, 2)))


@few_examples
@given(constrained_chains(max_labellings=81))
def test_spans_are_weighed_over_the_possible_labellings(chain: Chain) -> None:
    K = chain[0].shape[1]
    tags = ["O", "B-X", "I-X", "B-Y"][:K]
    exact = Enumeration(*chain)
    spans = [(begin, end, "X") for begin in range(exact.length) for end in range(begin + 1, exact.length + 1)]
    if K == 1:
        return
    found = oracles.span_probabilities(*chain, tags, spans)
    read = [chunks([tags[k] for k in row]) for row in exact.labellings]
    expected = [
        sum(float(p) for p, own in zip(exact.probabilities, read, strict=True) if span in own) for span in spans
    ]
    assert_close(found, expected)
