"""The probability of a span is the sum over all labellings whose reading, by ``metrics.chunks``, has it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualfield import _core, oracles
from dualfield.metrics import chunks
from dualfield.oracles import SpanRules
from tests.core.strategies import assert_close, bounds, few_examples
from tests.enumeration import Enumeration, log_sum_exp

SCHEMES = [
    ["B-X", "I-X", "O"],
    ["I-X", "I-Y", "O"],
    ["B-X", "I-X", "I-Y", "O"],
    ["B-X", "E-X", "I-X", "O", "S-X"],
    ["B-X", "I-X", "L-X", "O", "U-X"],
    ["B-X", "E-X", "M-X", "O", "W-X"],
    ["B-X", "I-X"],
    ["I-X", "S-Y"],
]


@st.composite
def tagged_chains(draw: st.DrawFn) -> tuple[Any, Any, list[str]]:
    tags = draw(st.sampled_from(SCHEMES))
    labels = len(tags)
    length = draw(st.integers(1, 5 if labels < 4 else 4))
    bound = draw(bounds)
    values = st.floats(-bound, bound, allow_subnormal=False)
    edge_shape = (labels, labels) if draw(st.booleans()) else (length - 1, labels, labels)
    node = draw(hnp.arrays(np.float64, (length, labels), elements=values))
    return node, draw(hnp.arrays(np.float64, edge_shape, elements=values)), tags


def every_span(length: int, tags: list[str]) -> list[tuple[int, int, str]]:
    types = SpanRules.of_tags(tags).types
    return [(a, b, kind) for a in range(length) for b in range(a + 1, length + 1) for kind in types]


def log_by_enumeration(exact: Enumeration, tags: list[str], spans: list[tuple[int, int, str]]) -> Any:
    readings = [set(chunks([tags[k] for k in row])) for row in exact.labellings]
    return np.array([log_sum_exp(exact.log_probabilities[[span in reading for reading in readings]]) for span in spans])


@few_examples
@given(tagged_chains())
def test_probabilities_of_spans_are_sums_over_labellings(chain: tuple[Any, Any, list[str]]) -> None:
    node, edge, tags = chain
    spans = every_span(len(node), tags)
    found = oracles.span_probabilities(node, edge, tags, spans)
    assert_close(found, np.exp(log_by_enumeration(Enumeration(node, edge), tags, spans)))


@few_examples
@given(tagged_chains(), st.sampled_from([1.0, 100.0]))
def test_small_probabilities_keep_their_relative_precision(chain: tuple[Any, Any, list[str]], bound: float) -> None:
    node, edge, tags = chain
    node, edge = (bound * x / max(1.0, np.abs(x).max(initial=0.0)) for x in (node, edge))
    spans = every_span(len(node), tags)
    expected = log_by_enumeration(Enumeration(node, edge), tags, spans).astype(float)
    found = oracles.span_probabilities(node, edge, tags, spans)
    visible = expected > -400
    np.testing.assert_allclose(np.log(found[visible]), expected[visible], atol=1e-9, rtol=0)


@few_examples
@given(tagged_chains())
def test_spans_and_outside_share_out_each_position(chain: tuple[Any, Any, list[str]]) -> None:
    node, edge, tags = chain
    spans = every_span(len(node), tags)
    found = oracles.span_probabilities(node, edge, tags, spans)
    outside = [k for k, tag in enumerate(tags) if tag == "O"]
    nodes = oracles.marginals(node, edge).nodes
    for t in range(len(node)):
        covering = sum(p for (a, b, _), p in zip(spans, found, strict=True) if a <= t < b)
        assert_close(covering + nodes[t, outside].sum(), 1.0)


@few_examples
@given(st.sampled_from(SCHEMES), st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=4))
def test_spans_are_read_as_chunks_are(tags: list[str], rows: list[list[int]]) -> None:
    rows = [[code % len(tags) for code in row] for row in rows]
    rules = SpanRules.of_tags(tags)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    codes = np.array([code for row in rows for code in row], dtype=np.int32)
    found = _core.read_spans(codes, offsets, rules.kinds, rules.steps).tolist()
    expected = [
        [i, begin, end, rules.types.index(kind)]
        for i, row in enumerate(rows)
        for begin, end, kind in chunks([tags[code] for code in row])
    ]
    assert found == expected


def test_a_label_without_mass_passes_none_on() -> None:
    node = np.zeros((3, 3))
    node[1, :2] = -1e5
    found = oracles.span_probabilities(node, np.zeros((3, 3)), SCHEMES[0], [(0, 3, "X"), (0, 1, "X")])
    assert found.tolist() == [0.0, pytest.approx(2 / 3)]


def test_a_certain_span_has_probability_one_and_not_more() -> None:
    tags = SCHEMES[0]
    node = np.full((40, 3), -30.0)
    node[0, 0] = node[-1, 2] = 0.0
    node[1:-1, 1] = 0.0
    (found,) = oracles.span_probabilities(node, np.zeros((3, 3)), tags, [(0, 39, "X")])
    assert found <= 1.0
    assert found > 1 - 1e-9


@pytest.mark.parametrize(
    ("tags", "spans", "message"),
    [
        (["A", "B-X", "O"], [], "found the label 'A'"),
        (["O"], [], "found the label 'O'"),
        (["B-X", "O"], [], "3 columns but there are 2 tags"),
        (["B-X", "I-X", "O"], [(1, 1, "X")], "span 0 is of positions 1 to 1"),
        (["B-X", "I-X", "O"], [(0, 1, "X"), (0, 5, "X")], "span 1 is of positions 0 to 5"),
        (["B-X", "I-X", "O"], [(0, 1, "Y")], "span 0 is of type 'Y'"),
    ],
)
def test_bad_spans_are_refused_by_name(tags: list[str], spans: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        oracles.span_probabilities(np.zeros((4, 3)), np.zeros((3, 3)), tags, spans)


def test_the_core_refuses_what_would_reach_outside() -> None:
    rules = SpanRules.of_tags(SCHEMES[0])
    node, edge = np.zeros((2, 3)), np.zeros((1, 3, 3))
    for span in ([-1, 1, 0], [0, 3, 0], [1, 1, 0], [0, 1, 1], [0, 1, -1]):
        with pytest.raises(ValueError, match="span"):
            _core.chain_span_probabilities(node, edge, rules.kinds, rules.steps, np.array([span]))
    loose = rules.steps.copy()
    loose[2, 1] = 2  # I-X after O would continue nothing
    with pytest.raises(ValueError, match="steps do not go with the kinds"):
        _core.chain_span_probabilities(node, edge, rules.kinds, loose, np.array([[0, 1, 0]]))
    with pytest.raises(ValueError, match="label is out of range"):
        _core.read_spans(np.array([3], np.int32), np.array([0, 1]), rules.kinds, rules.steps)


def test_rules_know_all_pairs_of_tags() -> None:
    for tags in SCHEMES:
        rules = SpanRules.of_tags(tags)
        for i, before in enumerate(tags):
            for j, after in enumerate(tags):
                read = chunks([before, after])
                joined = any(end - begin == 2 for begin, end, _ in read)
                expected = 0 if after == "O" else 2 if joined else 1
                assert rules.steps[i, j] == expected, (before, after)
    assert all(a < b for a, b in pairwise(SpanRules.of_tags(["B-Z", "B-A", "O"]).types))
