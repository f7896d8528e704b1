"""A batch of chains, whatever its layout, gives what the enumeration of each chain gives."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from dualfield.metrics import chunks
from dualfield.oracles import ChainBatch
from tests.enumeration import Enumeration

LAYOUTS = ["padded", "lengths", "mask", "ragged", "transposed", "strided"]
TAGS = ["B-X", "I-X", "O"]
K = len(TAGS)


class Problem(NamedTuple):
    batch: ChainBatch
    chains: list[Enumeration]  # those of at least one position
    rows: list[Any]  # where the positions of each chain are in the tables of results
    tables: tuple[int, ...]  # the shape of the tables, without labels
    raw: tuple[Any, ...]


def problem(layout: str, dtype: Any = np.float64, *, constrained: bool = False, n_jobs: int | None = None) -> Problem:
    rng = np.random.default_rng(sum(map(ord, layout)) + constrained)
    chains, most = 5, 4
    node = (3 * rng.normal(size=(chains, most, K))).astype(dtype)
    edge, begin, end = rng.normal(size=(K, K)), rng.normal(size=K), rng.normal(size=K)
    if constrained:
        edge[2, 1] = begin[1] = -np.inf  # BIO
        node[1, 0, 2] = -np.inf
    kept = np.ones((chains, most), dtype=bool)
    if layout in ("lengths", "ragged"):
        kept = np.arange(most) < np.array([4, 1, 0, 2, 3])[:, np.newaxis]
    if layout in ("mask", "transposed", "strided"):
        kept = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=bool)
    given: Any = node
    options: dict[str, Any] = {"mask": kept}
    rows: list[Any] = [(b, np.flatnonzero(kept[b])) for b in range(chains)]
    if layout == "padded":
        options = {}
    elif layout == "lengths":
        options = {"lengths": kept.sum(axis=1)}
    elif layout == "ragged":
        given, bounds = node[kept], np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        options, rows = {"offsets": bounds}, [np.arange(a, b) for a, b in pairwise(bounds)]
    elif layout == "transposed":
        given = np.ascontiguousarray(node.swapaxes(0, 1)).swapaxes(0, 1)
        assert not given.flags.c_contiguous
    elif layout == "strided":
        room = np.full((2 * chains, most, 2 * K), np.nan, dtype=dtype)
        room[::2, ::-1, 1::2] = node
        given = room[::2, ::-1, 1::2]
    exact = []
    for b in range(chains):
        one = node[b, kept[b]].astype(np.float64)
        if len(one):
            one[0] += begin
            one[-1] += end
            exact.append(Enumeration(one, edge))
    batch = ChainBatch(given, edge, begin=begin, end=end, n_jobs=n_jobs, **options)
    full = [b for b in range(chains) if kept[b].any()]
    return Problem(batch, exact, [rows[b] for b in full], given.shape[:-1], (given, edge, full))


every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])
both = pytest.mark.parametrize("constrained", [False, True])


@every_layout
@every_type
@both
def test_log_partitions_marginals_and_entropies(layout: str, dtype: Any, constrained: bool) -> None:
    found = problem(layout, dtype, constrained=constrained)
    full = found.raw[2]
    tolerance = 1e-10 if dtype is np.float64 else 2e-6
    log_z, nodes, edges = found.batch.marginals()
    assert nodes.dtype == edges.dtype == dtype
    np.testing.assert_array_equal(found.batch.log_partition(), log_z)
    elsewhere = np.ones(found.tables, dtype=bool)
    for place, rows, exact in zip(full, found.rows, found.chains, strict=True):
        assert log_z[place] == pytest.approx(float(exact.log_partition), abs=1e-10)
        assert found.batch.entropy()[place] == pytest.approx(float(exact.entropy), abs=1e-10)
        np.testing.assert_allclose(nodes[rows], np.exp(exact.log_nodes).astype(float), atol=tolerance)
        np.testing.assert_allclose(edges[place], np.exp(exact.log_edges).sum(axis=0).astype(float), atol=tolerance)
        elsewhere[rows] = False
    assert not nodes[elsewhere].any()
    assert not np.delete(log_z, full).any()


@every_layout
@both
def test_best_labellings(layout: str, constrained: bool) -> None:
    found = problem(layout, constrained=constrained)
    labels, scores = found.batch.viterbi(padding=-7)
    lists, list_scores = found.batch.kbest(6, padding=-7)
    elsewhere = np.ones(found.tables, dtype=bool)
    for place, rows, exact in zip(found.raw[2], found.rows, found.chains, strict=True):
        best, best_scores = exact.kbest(6)
        assert labels[rows].tolist() == best[0].tolist()
        assert scores[place] == pytest.approx(float(best_scores[0]))
        for rank in range(6):
            if rank < len(best):
                assert lists[rank][rows].tolist() == best[rank].tolist()
                assert list_scores[rank, place] == pytest.approx(float(best_scores[rank]))
            else:
                assert list_scores[rank, place] == -np.inf
                assert (lists[rank][rows] == -7).all()
        elsewhere[rows] = False
    assert (labels[elsewhere] == -7).all()


@every_layout
@both
def test_likelihoods_of_labels_and_of_sets_of_labels(layout: str, constrained: bool) -> None:
    found = problem(layout, constrained=constrained)
    labels = np.full(found.tables, -100)
    allowed = np.zeros((*found.tables, K), dtype=bool)
    expected, expected_sets = [], []
    rng = np.random.default_rng(0)
    for rows, exact in zip(found.rows, found.chains, strict=True):
        tags = exact.kbest(2)[0][-1]
        labels[rows] = tags
        sets = rng.random((len(tags), K)) < 0.4
        sets[np.arange(len(tags)), tags] = True
        allowed[rows] = sets
        agree = sets[np.arange(len(tags)), exact.labellings].all(axis=1)
        expected.append(float(exact.score(tags) - exact.log_partition))
        expected_sets.append(float(np.log(exact.probabilities[agree].sum())))
    np.testing.assert_allclose(found.batch.log_likelihood(labels)[found.raw[2]], expected, atol=1e-10)
    np.testing.assert_allclose(found.batch.log_likelihood(allowed=allowed)[found.raw[2]], expected_sets, atol=1e-10)


@pytest.mark.parametrize("kind", ["labels", "allowed", "neither"])
def test_gradients_are_those_of_the_values(kind: str) -> None:
    node, edge, begin, end = (np.random.default_rng(3).normal(size=s) for s in [(2, 3, K), (K, K), (K,), (K,)])
    mask = np.array([[True, True, True], [False, True, False]])
    labels = np.array([[0, 1, 2], [-100, 1, -100]]) if kind == "labels" else None
    allowed = np.random.default_rng(5).random((2, 3, K)) < 0.6 if kind == "allowed" else None

    def values(gradients: bool = False) -> Any:
        return ChainBatch(node, edge, begin=begin, end=end, mask=mask).values(labels, allowed, gradients)

    _, *derivatives = values(True)
    of = {"node": derivatives[0], "edge": derivatives[1], "begin": derivatives[2][:, 0], "end": derivatives[2][:, 1]}
    step = 1e-6
    for name, array in {"node": node, "edge": edge, "begin": begin, "end": end}.items():
        for place in np.ndindex(*array.shape):
            kept = array[place]
            array[place] = kept + step
            above = values()[0]
            array[place] = kept - step
            slope = (above - values()[0]) / (2 * step)
            array[place] = kept
            found = of[name][:, *place] if name != "node" else np.where(np.arange(2) == place[0], of[name][place], 0.0)
            np.testing.assert_allclose(found, slope, atol=1e-8)


def test_samples_have_the_frequencies_of_the_distribution() -> None:
    found = problem("mask", constrained=True)
    samples = found.batch.sample(4000, random_state=0)
    for rows, exact in zip(found.rows, found.chains, strict=True):
        frequencies = np.stack([(samples[:, *rows] == k).mean(axis=0) for k in range(K)], axis=1)
        np.testing.assert_allclose(frequencies, np.exp(exact.log_nodes).astype(float), atol=0.04)
    np.testing.assert_array_equal(samples, found.batch.sample(4000, random_state=0))
    first, second = samples[:, 0], found.batch.sample(4000, random_state=1)[:, 0]
    assert (first != second).any()


def test_alike_chains_are_sampled_independently() -> None:
    batch = ChainBatch(np.zeros((2, 30, 2)), np.zeros((2, 2)))
    one, other = batch.sample(200, random_state=0).swapaxes(0, 1)
    assert abs((one == other).mean() - 0.5) < 0.03


@pytest.mark.parametrize("layout", ["mask", "ragged"])
def test_probabilities_of_spans(layout: str) -> None:
    found = problem(layout)
    spans, expected = [], []
    for chain, exact in zip(found.raw[2][::-1], found.chains[::-1], strict=True):
        readings = [set(chunks([TAGS[k] for k in row])) for row in exact.labellings]
        for begin in range(exact.length):
            for end in range(begin + 1, exact.length + 1):
                spans.append((chain, begin, end, "X"))
                has = np.array([(begin, end, "X") in reading for reading in readings])
                expected.append(float(exact.probabilities[has].sum()))
    np.testing.assert_allclose(found.batch.span_probabilities(TAGS, spans), expected, atol=1e-12)


def test_threads_change_nothing() -> None:
    node = np.random.default_rng(0).normal(size=(40, 30, 9)).astype(np.float32)
    edge = np.random.default_rng(1).normal(size=(9, 9))
    one, three = (ChainBatch(node, edge, n_jobs=n) for n in (1, 3))
    for found, expected in zip(three.marginals(), one.marginals(), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(three.viterbi()[0], one.viterbi()[0])
    np.testing.assert_array_equal(three.sample(2, 0), one.sample(2, 0))


def test_float32_potentials_are_read_where_they_lie() -> None:
    node = np.zeros((1, 1, 2), dtype=np.float32)
    batch = ChainBatch(node, np.zeros((2, 2)))
    node[0, 0, 1] = 5.0
    assert batch.log_partition()[0] == pytest.approx(np.logaddexp(0.0, 5.0))


def test_an_empty_batch_has_empty_answers() -> None:
    batch = ChainBatch(np.zeros((0, 4, 2)), np.zeros((2, 2)))
    assert batch.log_partition().shape == (0,)
    assert batch.marginals().nodes.shape == (0, 4, 2)
    assert batch.viterbi()[0].shape == (0, 4)


def test_a_chain_of_no_position_has_one_labelling() -> None:
    batch = ChainBatch(np.zeros((2, 3, 2)), np.zeros((2, 2)), lengths=[0, 1])
    labels, scores = batch.kbest(3)
    assert (labels[:, 0] == -1).all()
    np.testing.assert_array_equal(scores, [[0.0, 0.0], [-np.inf, 0.0], [-np.inf, -np.inf]])
    np.testing.assert_allclose(batch.log_partition(), [0.0, np.log(2.0)])


NODE, EDGE = np.zeros((2, 3, 2)), np.zeros((2, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ChainBatch(np.zeros(3), EDGE), r"node must have shape \(B, T, K\)"),
        (lambda: ChainBatch(NODE[0], EDGE), "goes with offsets"),
        (lambda: ChainBatch(NODE[0], EDGE, offsets=[0, 2]), "offsets must run from 0 to 3"),
        (lambda: ChainBatch(NODE, EDGE, offsets=[0, 2]), "offsets go with node of shape"),
        (lambda: ChainBatch(NODE, EDGE, lengths=[3, 4]), "lengths must hold a number from 0 to 3"),
        (lambda: ChainBatch(NODE, EDGE, lengths=[3, 3], mask=np.ones((2, 3), bool)), "both given"),
        (lambda: ChainBatch(NODE, EDGE, mask=np.ones((2, 3))), "mask must be of type bool"),
        (lambda: ChainBatch(NODE, EDGE, mask=np.ones((3, 2), bool)), r"mask must have shape \(2, 3\)"),
        (lambda: ChainBatch(NODE, np.zeros((3, 3))), r"edge must have shape \(2, 2\)"),
        (lambda: ChainBatch(NODE, EDGE, begin=[0.0, np.nan]), r"begin\[1\] is nan"),
        (lambda: ChainBatch(NODE, EDGE).log_likelihood(np.full((2, 3), 2)), "sequence 0, position 0: a tag is out of"),
        (lambda: ChainBatch(NODE, EDGE).log_likelihood(np.zeros((2, 3))), "labels must be of type int64"),
        (lambda: ChainBatch(NODE, EDGE).log_likelihood(np.zeros((3, 2), int)), r"labels must have shape \(2, 3\)"),
        (lambda: ChainBatch(NODE, EDGE).kbest(0), "k must be a positive integer"),
        (lambda: ChainBatch(NODE, EDGE).span_probabilities(["B-X", "O"], [(0, 2, 4, "X")]), "span 0 is of positions"),
        (lambda: ChainBatch(NODE, EDGE).span_probabilities(["B-X", "O"], [(2, 0, 1, "X")]), "span 0 is of chain 2"),
    ],
)
def test_what_does_not_go_together_is_refused(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e301])
def test_a_potential_that_is_no_number_is_refused_with_its_place(value: float) -> None:
    node = NODE.copy()
    node[1, 2, 0] = value
    with pytest.raises(ValueError, match="sequence 1, position 2: a potential is nan, inf or too large"):
        ChainBatch(node, EDGE, n_jobs=2).log_partition()
    mask = np.ones((2, 3), dtype=bool)
    mask[1, 2] = False
    assert ChainBatch(node, EDGE, mask=mask).log_partition() == pytest.approx([3 * np.log(2), 2 * np.log(2)])


@pytest.mark.parametrize("ask", [ChainBatch.kbest, ChainBatch.sample])
def test_more_labellings_than_fit_are_refused_before_any_work(ask: Any) -> None:
    with pytest.raises(MemoryError, match=r"of 1,125,899,906,842,624 labellings"):
        ask(ChainBatch(NODE, EDGE), 2**50)


def test_what_is_impossible_is_refused_with_its_place() -> None:
    edge = np.array([[0.0, -np.inf], [0.0, 0.0]])
    batch = ChainBatch(NODE, edge)
    with pytest.raises(ValueError, match="sequence 1, position 2: the tag is impossible there"):
        batch.log_likelihood(np.array([[0, 0, 0], [0, 0, 1]]))
    allowed = np.ones((2, 3, 2), dtype=bool)
    allowed[0, 0, 1] = allowed[0, 1, 0] = False
    with pytest.raises(ValueError, match="sequence 0: no labelling is possible up to position 1"):
        batch.log_likelihood(allowed=allowed)
