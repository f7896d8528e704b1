"""Nodes of the label to ignore are left out: training sees the graph without them, scores do not count them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield import GraphCRF, GridCRF
from dualfield.features import encode_graphs
from tests.zoo import halved_images, random_graphs


def by_hand(graph: Any, labels: list[Any], void: Any) -> tuple[Any, list[Any]] | None:
    """The graph without its void nodes."""
    nodes = [v for v, label in enumerate(labels) if label != void]
    number = {v: k for k, v in enumerate(nodes)}
    edges = [e for e, (a, b) in enumerate(graph[1]) if a in number and b in number]
    if not nodes:
        return None
    kept = [(number[graph[1][e][0]], number[graph[1][e][1]]) for e in edges]
    ends = np.array(kept, dtype=int).reshape(-1, 2)
    return (graph[0][nodes], ends, graph[2][edges]), [labels[v] for v in nodes]


def partly_void(seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Graphs of which some nodes have the label 255, of one graph all."""
    X, y = random_graphs(20, edge_width=2, seed=1)
    random = np.random.default_rng(seed)
    labels = [np.where(random.random(len(one)) < 0.3, 255, np.asarray(one)).tolist() for one in y]
    labels[3] = [255] * len(labels[3])
    return list(X), labels


@pytest.mark.parametrize("inference", ["junction_tree", "pseudo_likelihood"])
def test_training_sees_the_graphs_without_void_nodes(inference: str) -> None:
    X, y = partly_void()
    weights = np.linspace(0.5, 2.0, len(X))
    kept = [(i, by_hand(x, labels, 255)) for i, (x, labels) in enumerate(zip(X, y, strict=True))]
    some = [(i, pair) for i, pair in kept if pair is not None]
    assert 2 < len(some) < len(X)
    expected = GraphCRF(inference=inference, random_state=0).fit(
        [pair[0] for _, pair in some], [pair[1] for _, pair in some], weights[[i for i, _ in some]]
    )
    crf = GraphCRF(inference=inference, ignore_label=255, random_state=0).fit(X, y, weights)
    assert 255 not in crf.classes_
    np.testing.assert_allclose(crf.weights_, expected.weights_, rtol=1e-10, atol=1e-12)
    assert [len(labels) for labels in crf.predict(X)] == [len(labels) for labels in y]


def test_void_pixels_of_images(tmp_path: Path) -> None:
    X, labels = halved_images()
    y = [one.astype(np.uint8) for one in labels]
    y[0][0, 0] = y[2][1, :] = 255
    crf = GridCRF(edge_features="contrast", ignore_label=255, random_state=0).fit(X, y)
    assert crf.classes_.tolist() == [0, 1]
    found = crf.predict(X)
    assert [one.shape for one in found] == [one.shape for one in y]
    right = [(p == t)[t != 255] for p, t in zip(found, y, strict=True)]
    assert crf.score(X, y) == pytest.approx(np.concatenate(right).mean())
    crf.save(tmp_path / "model")
    assert GridCRF.load(tmp_path / "model").score(X, y) == crf.score(X, y)
    with pytest.raises(ValueError, match="y has no known labels to score"):
        crf.score(X[:1], [np.full(y[0].shape, 255)])


@pytest.mark.parametrize("form", [list, lambda labels: np.array(labels, dtype=object)])
def test_none_is_void_too(form: Any) -> None:
    X, y = partly_void()
    without = [form([None if label == 255 else label for label in labels]) for labels in y]
    crf = GraphCRF(random_state=0).fit(X, without)
    expected = GraphCRF(ignore_label=255, random_state=0).fit(X, y)
    np.testing.assert_array_equal(crf.weights_, expected.weights_)
    assert crf.classes_.dtype == expected.classes_.dtype
    assert crf.score(X, without) == expected.score(X, y)
    # Both at once: one label to ignore, and none at all.
    mixed = [form([None if k % 2 and label == 255 else label for k, label in enumerate(labels)]) for labels in y]
    both = GraphCRF(ignore_label=255, random_state=0).fit(X, mixed)
    np.testing.assert_array_equal(both.weights_, expected.weights_)
    assert both.score(X, mixed) == expected.score(X, y)


def test_none_is_void_in_images_too() -> None:
    X, y = halved_images()
    void = [one.astype(object) for one in y]
    void[0][0, 0] = void[2][1, 1] = None
    rows = [one.tolist() for one in void]
    numbers = [one.copy() for one in y]
    numbers[0][0, 0] = numbers[2][1, 1] = 255
    expected = GridCRF(ignore_label=255, random_state=0).fit(X, numbers)
    for labels in (void, rows):
        crf = GridCRF(random_state=0).fit(X, labels)
        np.testing.assert_array_equal(crf.weights_, expected.weights_)
        assert crf.score(X, labels) == expected.score(X, numbers)
    with pytest.raises(ValueError, match="y has no known labels; give at least two nodes"):
        GridCRF().fit(X[:1], [np.full(y[0].shape, None)])


def test_where_nothing_is_void_nothing_changes() -> None:
    X, y = halved_images()
    crf = GridCRF(ignore_label=255, random_state=0).fit(X, y)
    np.testing.assert_array_equal(crf.weights_, GridCRF(random_state=0).fit(X, y).weights_)
    assert crf.score(X, y) == GridCRF(random_state=0).fit(X, y).score(X, y)


def test_what_cannot_be_left_out_is_refused() -> None:
    X, y = halved_images()
    with pytest.raises(ValueError, match="at least two different labels are needed"):
        GraphCRF(ignore_label=0).fit([(np.eye(2), [(0, 1)])], [[0, 0]])
    triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)], None, [(0, 1, 2)])
    with pytest.raises(ValueError, match="X has cliques, of which no node can be left out"):
        GraphCRF(ignore_label="?").fit([triangle], [["a", "b", "?"]])
    with pytest.raises(ValueError, match="ignore_label must be a string, an integer or None"):
        GridCRF(ignore_label=2.5).fit(X, y)  # type: ignore[arg-type]


def test_the_graphs_of_some_nodes_have_the_edges_between_them() -> None:
    X, y = partly_void(seed=5)
    graphs = encode_graphs(X)
    known = np.concatenate(y) != 255
    expected = encode_graphs([pair[0] for x, z in zip(X, y, strict=True) if (pair := by_hand(x, z, 255)) is not None])
    found = graphs.with_nodes(known)
    for name in ("offsets", "indptr", "indices", "values", "edge_offsets", "ends", "edge_features"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
