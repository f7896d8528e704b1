"""Encoded graphs hold what they were given, cut like a list; what does not fit is refused with its place."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import train_test_split

from dualfield.features import EncodedGraphs, encode_graph_labels, encode_graphs
from tests.test_bad_input import refuses

numbers = st.sampled_from([0.0, 1.0, -2.0, 0.25])


@st.composite
def graph_lists(draw: st.DrawFn, *, edge_width: int | None = None) -> list[tuple[Any, ...]]:
    """Graphs of two node features with any edges, in any order and direction."""
    graphs: list[tuple[Any, ...]] = []
    for size in draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)):
        nodes = draw(st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=size, max_size=size))
        pairs = draw(st.lists(st.sampled_from(list(combinations(range(size), 2)) or [None]), unique=True))
        edges = [pair[::-1] if draw(st.booleans()) else pair for pair in pairs if pair is not None]
        graph: tuple[Any, ...] = (np.array(nodes), edges)
        if edge_width is not None:
            row = st.lists(numbers, min_size=edge_width, max_size=edge_width)
            rows = draw(st.lists(row, min_size=len(edges), max_size=len(edges)))
            graph = (*graph, np.array(rows, dtype=float).reshape(len(edges), edge_width))
        graphs.append(graph)
    return graphs


def written_out(graphs: EncodedGraphs) -> list[tuple[Any, ...]]:
    """The graphs as plain lists: the reading of the arrays that the module's docstring gives."""
    found: list[tuple[Any, ...]] = []
    for i in range(len(graphs)):
        nodes = []
        for v in range(graphs.offsets[i], graphs.offsets[i + 1]):
            row = [0.0] * graphs.n_attributes
            for e in range(graphs.indptr[v], graphs.indptr[v + 1]):
                row[graphs.indices[e]] = 1.0 if graphs.values is None else float(graphs.values[e])
            nodes.append(row)
        edges = slice(graphs.edge_offsets[i], graphs.edge_offsets[i + 1])
        graph: tuple[Any, ...] = (nodes, [tuple(pair) for pair in graphs.ends[edges].tolist()])
        if graphs.edge_features is not None:
            graph = (*graph, graphs.edge_features[edges].tolist())
        found.append(graph)
    return found


def plain(graphs: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(g[0].tolist(), [tuple(pair) for pair in g[1]], *(rows.tolist() for rows in g[2:])) for g in graphs]


@given(st.sampled_from([None, 1, 3]).flatmap(lambda width: graph_lists(edge_width=width)))
def test_encoding_keeps_every_node_and_edge(X: list[tuple[Any, ...]]) -> None:
    graphs = encode_graphs(X)
    assert written_out(graphs) == plain(X)
    assert graphs.sizes.tolist() == [len(graph[0]) for graph in X]
    assert (graphs.n_nodes, graphs.n_edges) == (sum(len(g[0]) for g in X), sum(len(g[1]) for g in X))
    assert (graphs.offsets.dtype, graphs.indices.dtype, graphs.ends.dtype) == (np.int64, np.int32, np.int32)
    assert graphs.ends.flags.c_contiguous
    assert encode_graphs(graphs, 2) is graphs


@given(graph_lists(edge_width=1), st.data())
def test_indexing_agrees_with_indexing_a_list(X: list[tuple[Any, ...]], data: st.DataObject) -> None:
    graphs, n = encode_graphs(X), len(X)
    picks = data.draw(st.lists(st.integers(-n, n - 1)))
    assert written_out(graphs[picks]) == [plain(X)[i] for i in picks]
    cut = data.draw(st.slices(n))
    assert written_out(graphs[cut]) == plain(X)[cut]
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    assert written_out(graphs[np.array(mask)]) == [g for g, chosen in zip(plain(X), mask, strict=True) if chosen]
    assert [written_out(graph)[0] for graph in graphs] == plain(X)


@given(graph_lists())
def test_sparse_matrices_lists_and_floats_are_read_alike(X: list[tuple[Any, ...]]) -> None:
    expected = plain(X)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        assert written_out(encode_graphs([(form(nodes), edges) for nodes, edges in X])) == expected
    assert (
        written_out(encode_graphs([[nodes.tolist(), np.array(edges, dtype=float)] for nodes, edges in X])) == expected
    )
    assert written_out(encode_graphs((nodes, np.array(edges, dtype=np.uint8)) for nodes, edges in X)) == expected
    assert written_out(encode_graphs([(nodes, edges, None) for nodes, edges in X])) == expected


def test_ones_need_no_values_and_zeros_no_entries() -> None:
    graphs = encode_graphs([(np.array([[1, 0], [1, 1]]), [])])
    assert graphs.values is None
    assert graphs.indices.tolist() == [0, 0, 1]


def test_a_graph_without_edges_needs_no_edge_features() -> None:
    edges, rows = [(0, 1)], [[2.0, 3.0]]
    for single in ((np.ones((1, 1)), []), (np.ones((1, 1)), [], []), (np.ones((1, 1)), [], np.empty((0, 2)))):
        graphs = encode_graphs([(np.ones((2, 1)), edges, rows), single])
        assert graphs.edge_features is not None
        assert graphs.edge_features.tolist() == rows
        assert encode_graphs([single], 1, 2).n_edge_features == 2
        assert encode_graphs(encode_graphs([single]), 1, 2).n_edge_features == 2


def test_scikit_learn_can_split_encoded_graphs() -> None:
    X = encode_graphs([(np.full((i + 1, 1), 2.0), []) for i in range(6)])
    parts = train_test_split(X, test_size=2, random_state=0)
    assert sorted(size for part in parts for size in part.sizes.tolist()) == [1, 2, 3, 4, 5, 6]
    again = pickle.loads(pickle.dumps(X))
    assert written_out(again) == written_out(X)
    assert repr(X) == "EncodedGraphs(6 graphs, 21 nodes, 0 edges, 1 attributes)"


# Bad input

NODES = np.arange(6.0).reshape(3, 2)
ROWS = np.ones((2, 2))
PATH = [(0, 1), (1, 2)]
GOOD = (NODES, PATH)


def second(*graph: Any) -> list[Any]:
    """A good graph, then this one."""
    return [GOOD if len(graph) < 3 else (*GOOD, ROWS), graph]


def replaced(value: float) -> Any:
    other = NODES.copy()
    other[2, 1] = value
    return other


BAD_X: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": (None, TypeError, "X is of type NoneType; expected a list of graphs, each a tuple"),
    "a number": (3, TypeError, "X is of type int"),
    "a string": ("graph", TypeError, "X is of type str"),
    "a dict": ({0: GOOD}, TypeError, "X is of type dict"),
    "a matrix": (NODES, TypeError, "X is of type ndarray"),
    "a sparse matrix": (sparse.csr_array(NODES), TypeError, "X is of type csr_array"),
    "no graphs": ([], ValueError, "X has no graphs; expected at least one"),
    "one graph": (GOOD, TypeError, r"graph 0 is of type ndarray.*wrap a single graph as \[graph\]"),
    "a matrix for a graph": ([GOOD, NODES], TypeError, "graph 1 is of type ndarray"),
    "no edges in the tuple": (second(NODES), ValueError, "graph 1 has 1 part; expected a tuple"),
    "a tuple of five": ([GOOD, (NODES, PATH, ROWS, [], 1)], ValueError, "graph 1 has 5 parts; expected a tuple"),
    "no list of cliques": ([(NODES, PATH, ROWS, 1)], TypeError, "the cliques of graph 0 are of type int"),
    "no nodes": (second(np.empty((0, 2)), []), ValueError, "graph 1 has no nodes"),
    "no nodes in a list": (second([], []), ValueError, "graph 1 has no nodes"),
    "no nodes in a sparse matrix": (second(sparse.csr_array((0, 2)), []), ValueError, "graph 1 has no nodes"),
    "node features in a line": (second(np.ones(3), PATH), ValueError, r"node features of graph 1 .* shape \(3,\)"),
    "node features in a cube": (second(np.ones((3, 2, 1)), PATH), ValueError, "node features of graph 1 .* 2-D"),
    "ragged node features": (second([[1], [1, 2], [3]], []), ValueError, "node features of graph 1 have rows of diff"),
    "words for node features": (second([["a", "b"]], []), TypeError, "nodes of graph 1 have a list of strings each"),
    "complex node features": (second(1j * NODES, PATH), TypeError, "node features of graph 1 are of dtype complex"),
    "other width": (second(np.ones((3, 4)), PATH), ValueError, "graph 1 has 4 node features but graph 0 has 2"),
    "NaN": (second(replaced(np.nan), PATH), ValueError, "feature 1 of node 2 of graph 1 is nan"),
    "infinity": (second(replaced(np.inf), PATH), ValueError, "feature 1 of node 2 of graph 1 is inf"),
    "NaN in a sparse matrix": (
        second(sparse.csr_array(replaced(np.nan)), PATH), ValueError, "feature 1 of node 2 of graph 1 is nan",
    ),
    "an edge too far": (second(NODES, [(0, 1), (1, 3)]), ValueError, r"edge 1 of graph 1 is \(1, 3\); .* 0 to 2"),
    "a negative node": (second(NODES, [(0, 1), (-1, 2)]), ValueError, r"edge 1 of graph 1 is \(-1, 2\); .* 0 to 2"),
    "a loop": (second(NODES, [(0, 1), (2, 2)]), ValueError, r"edge 1 of graph 1 is \(2, 2\), a loop"),
    "an edge twice": (second(NODES, [(0, 1), (1, 2), (0, 1)]), ValueError, r"edge 2 .* is \(0, 1\) and repeats edge 0"),
    "an edge back": (second(NODES, [(1, 2), (0, 1), (1, 0)]), ValueError, r"edge 2 .* is \(1, 0\) and repeats edge 1"),
    "triples for edges": (second(NODES, [(0, 1, 2)]), ValueError, r"graph 1 .* shape \(1, 3\); expected \(edges, 2\)"),
    "edges on their side": (second(NODES, np.array([[0, 1, 0], [1, 2, 2]])), ValueError, r"shape \(2, 3\).*transpose"),
    "edges in a line": (second(NODES, [0, 1, 2]), ValueError, r"edges of graph 1 .* shape \(3,\)"),
    "ragged edges": (second(NODES, [(0, 1), (1,)]), ValueError, "edges of graph 1 have rows of different lengths"),
    "half a node": (second(NODES, [(0, 1), (1, 1.5)]), ValueError, r"edge 1 of graph 1 is \(1.0, 1.5\); .* integers"),
    "NaN for a node": (second(NODES, [(0, np.nan)]), ValueError, r"edge 0 of graph 1 is \(0.0, nan\)"),
    "a word for a node": (second(NODES, [("a", "b")]), TypeError, "edges of graph 1 are .* <U1; expected integers"),
    "truth values for edges": (second(NODES, [(True, False)]), TypeError, "edges of graph 1 are of dtype bool"),
    "too few edge rows": (second(NODES, PATH, ROWS[:1]), ValueError, "graph 1 has 1 rows of edge features but 2 edges"),
    "too many edge rows": (second(NODES, [], ROWS), ValueError, "graph 1 has 2 rows of edge features but 0 edges"),
    "edge features in a line": (second(NODES, PATH, [1, 2]), ValueError, r"features of graph 1 .* reshape .* \(n, 1\)"),
    "edge features without columns": (second(NODES, PATH, np.empty((2, 0))), ValueError, "of graph 1 have no columns"),
    "words for edge features": (second(NODES, PATH, [["a"], ["b"]]), TypeError, "edge features of graph 1 are .* <U1"),
    "other edge width": (second(NODES, PATH, np.ones((2, 3))), ValueError, "graph 1 has 3 edge features but .* has 2"),
    "NaN at an edge": (second(NODES, PATH, [[1, 2], [np.nan, 3]]), ValueError, "feature 0 of edge 1 of graph 1 is nan"),
    "infinity at an edge": (second(NODES, PATH, [[1, -np.inf], [2, 3]]), ValueError, "feature 1 of edge 0 .* is -inf"),
    "edge features missing": ([(*GOOD, ROWS), GOOD], ValueError, "graph 1 has no edge features but graph 0 has"),
    "edge features missing first": ([GOOD, (*GOOD, ROWS)], ValueError, "graph 0 has no edge features but graph 1 has"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_X)
def test_bad_graphs_are_refused(kind: str) -> None:
    bad, error, match = BAD_X[kind]
    refuses(error, match, lambda: encode_graphs(bad))


def test_nodes_may_have_named_attributes() -> None:
    dicts = [
        ([{"word": "a", "size": 2.0}, {"word": "b"}], [(0, 1)]),
        ([{"word": "b", "in": ["x", "y"]}, {}, {"size": 0.5}], []),
    ]
    graphs = encode_graphs(dicts)
    assert graphs.vocabulary is not None
    assert graphs.vocabulary.names == ["word:a", "size", "word:b", "in:x", "in:y"]
    rows = np.array([[1, 2, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0], [0, 0.5, 0, 0, 0]])
    assert written_out(graphs) == written_out(encode_graphs([(rows[:2], [(0, 1)]), (rows[2:], [])]))
    assert graphs[1].vocabulary is graphs.with_nodes(np.arange(5) > 1).vocabulary is graphs.vocabulary
    later = encode_graphs([([{"word": "b", "new": 1}, {"size": 1}], [(1, 0)])], 5, 0, graphs.vocabulary)
    assert later.indices.tolist() == [2, 1]
    strings = encode_graphs([([[], ["p", "q"], {"q"}], [(0, 2)]), ([("p",)], [])])
    assert (strings.indptr.tolist(), strings.indices.tolist()) == ([0, 0, 2, 3, 4], [0, 1, 1, 0])


NAMES = encode_graphs([([{"a": 1}, {"b": 1}], [(0, 1)])])


@pytest.mark.parametrize(
    ("X", "model", "message"),
    [
        (
            [GOOD, ([{"a": 1}, {"b": 1}], [])],
            (),
            "the nodes of graph 1 have a dict each but those of graph 0 have a row of",
        ),
        ([([{"a": 1}, ["b"]], [])], (), "node 1 of graph 0 is of type list but the nodes before it have a dict each"),
        ([([["a"], 3], [])], (), "node 1 of graph 0 is of type int but the nodes before it have a list of strings"),
        ([([{"a": 1}], []), ([{"a": object()}], [])], (), "^node 0 of graph 1: the value at key 'a' is of type object"),
        ([([["a"], ["a", 2]], [])], (), "^node 1 of graph 0 has the attribute 2 of type int"),
        ([([{"a": np.nan}], [])], (), "^attribute 'a' at node 0 of graph 0 has the value nan"),
        (
            [GOOD],
            (2, 0, NAMES.vocabulary),
            "graph 0 have rows of numbers but the model was trained on named attributes",
        ),
        ([([{"a": 1}], [])], (2, 0), "graph 0 have named attributes but the model was trained on rows of numbers"),
        (NAMES, (2, 0), "the encoded graphs have named attributes but the model was trained on rows of numbers"),
        (encode_graphs([([{"b": 1}, {"a": 1}], [])]), (2, 0, NAMES.vocabulary), "have other attributes than the model"),
    ],
)
def test_names_that_do_not_fit_are_refused_with_their_place(X: Any, model: tuple[Any, ...], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        encode_graphs(X, *model)


def test_widths_must_be_those_of_the_model() -> None:
    with_rows = [(*GOOD, ROWS)]
    for form in (lambda X: X, encode_graphs):
        refuses(ValueError, "2 node features but .* trained on 3", lambda f=form: encode_graphs(f([GOOD]), 3))
        refuses(ValueError, "0 edge features but .* trained on 1", lambda f=form: encode_graphs(f([GOOD]), 2, 1))
        refuses(ValueError, "2 edge features but .* trained on 0", lambda f=form: encode_graphs(f(with_rows), 2, 0))
        refuses(ValueError, "2 edge features but .* trained on 3", lambda f=form: encode_graphs(f(with_rows), 2, 3))


@given(graph_lists(), st.data())
def test_the_first_wrong_edge_is_named(X: list[tuple[Any, ...]], data: st.DataObject) -> None:
    graph = data.draw(st.integers(0, len(X) - 1))
    nodes, edges = X[graph]
    wrong = data.draw(st.sampled_from([(0, len(nodes)), (0, 0), *(pair[::-1] for pair in edges)]))
    place = data.draw(st.integers(0, len(edges)))
    repeats = wrong[::-1] in edges or wrong in edges
    place = max(place, edges.index(wrong[::-1]) + 1) if repeats else place
    bad = [*X[:graph], (nodes, [*edges[:place], wrong, *edges[place:]]), *X[graph + 1 :]]
    refuses(ValueError, rf"^edge {place} of graph {graph} is \({wrong[0]}, {wrong[1]}\)", lambda: encode_graphs(bad))


ARRAYS: dict[str, Any] = {
    "offsets": [0, 2, 3], "indptr": [0, 1, 2, 3], "indices": [0, 1, 0], "values": [1.0, 2.0, 3.0], "n_attributes": 2,
    "edge_offsets": [0, 1, 1], "ends": [[0, 1]], "edge_features": [[0.5]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"offsets": [0, 2, 2]}, "offsets must run from 0 to the number of nodes, 3"),
        ({"offsets": [0, 3, 3]}, "graph 1 is empty"),
        ({"indices": [0, 2, 0]}, "attribute numbers must be 0 to 1"),
        ({"indptr": [0, 2, 1, 3]}, "indptr must not decrease; it does after node 1"),
        ({"indptr": [0, 2, 2, 3], "indices": [1, 1, 0]}, "distinct and increasing within a node; those of node 0"),
        ({"values": [1.0, np.nan, 3.0]}, "values must be finite"),
        ({"edge_offsets": [0, 1]}, "edge_offsets must have 3 entries"),
        ({"edge_offsets": [0, 2, 1]}, "edge_offsets must have 3 entries"),
        ({"edge_offsets": [0, 0, 1]}, r"edge 0 of graph 1 is \(0, 1\); expected node numbers from 0 to 0"),
        ({"ends": [[0, 2]]}, r"edge 0 of graph 0 is \(0, 2\); expected node numbers from 0 to 1"),
        ({"ends": [[0, 2**32 + 1]]}, "edge 0 of graph 0"),
        ({"ends": [0, 1]}, r"ends must have shape \(edges, 2\); found \(2,\)"),
        ({"ends": [[0.0, 1.0]]}, "ends must be a 1-D array of integers"),
        ({"edge_features": [[1.0], [2.0]]}, r"edge_features must have a row per edge, 1; found shape \(2, 1\)"),
        ({"edge_features": [1.0]}, "edge_features must have a row per edge"),
        ({"edge_features": [[np.inf]]}, "edge_features must be finite; row 0"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(change: dict[str, Any], match: str) -> None:
    assert len(EncodedGraphs(**ARRAYS)) == 2
    with pytest.raises(ValueError, match=match):
        EncodedGraphs(**ARRAYS | change)


@pytest.mark.parametrize("key", [2, -3, [0, 2], 1.5, [True]])
def test_graphs_that_do_not_exist_are_refused(key: Any) -> None:
    with pytest.raises(IndexError, match="graph"):
        EncodedGraphs(**ARRAYS)[key]


# Labels


def test_codes_name_the_labels_of_the_nodes() -> None:
    classes, codes = encode_graph_labels([["b", "a"], np.array(["c"])], [2, 1])
    assert (classes.tolist(), codes.tolist(), codes.dtype) == (["a", "b", "c"], [1, 0, 2], np.int32)
    assert encode_graph_labels([["b", "z"]], [2], classes)[1].tolist() == [1, -1]


def test_labels_of_images_are_read_row_by_row() -> None:
    y = [np.array([[3, 1], [2, 1]]), [[1, 2, 3]]]
    classes, codes = encode_graph_labels(y, [4, 3], shapes=[(2, 2), (1, 3)])
    assert classes[codes].tolist() == [3, 1, 2, 1, 1, 2, 3]
    names = encode_graph_labels([[["sky", "sea"]]], [2], shapes=np.array([[1, 2]]))
    assert names[0].tolist() == ["sea", "sky"]


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        ([["a", "b"]], ValueError, "y has 1 graphs but X has 2"),
        ([["a", "b"], ["a", "b"]], ValueError, "graph 1 has 2 labels in y but 1 node in X; give one label per node"),
        ([["a", "b"], np.array([["a"]])], ValueError, r"graph 1 of y is an array of shape \(1, 1\)"),
        (["a", "b"], TypeError, "one label sequence per graph of X"),
        ([["a", None], ["b"]], ValueError, "label 1 of graph 0 is None"),
        ([["a", 1], ["b"]], TypeError, "label 1 of graph 0 is 1 of type int"),
        ([["a", "a"], ["a"]], ValueError, "at least two different labels"),
        ([["a", "b"], 3.5], TypeError, "graph 1 of y is of type float"),
        (None, TypeError, "y is of type NoneType"),
    ],
)
def test_bad_labels_of_graphs_are_refused(y: Any, error: type[Exception], match: str) -> None:
    refuses(error, match, lambda: encode_graph_labels(y, [2, 1]))


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        ([[["a", "b"]]], ValueError, "y has 1 images but X has 2"),
        ([[["a", "b"]], [["a"]], [["b"]]], ValueError, "y has 3 images but X has 2"),
        ([[["a", "b"]], [["a", "b"]]], ValueError, r"image 1 has labels of shape \(1, 2\) in y but .* \(1, 1\) in X"),
        ([[["a"], ["b"]], [["a"]]], ValueError, r"image 0 has labels of shape \(2, 1\) in y but .* \(1, 2\) in X"),
        ([["a", "b"], [["a"]]], ValueError, r"image 0 has labels of shape \(2,\)"),
        ([[["a", "b"], ["c"]], [["a"]]], ValueError, "image 0 has labels of shape|image 0 has rows of labels"),
        ([[["a", None]], [["b"]]], ValueError, "label 1 of image 0 is None"),
        ([[["a", 1]], [["b"]]], TypeError, "label 1 of image 0 is 1 of type int"),
        (None, TypeError, "y is of type NoneType"),
        (5, TypeError, "y is of type int"),
    ],
)
def test_bad_labels_of_images_are_refused(y: Any, error: type[Exception], match: str) -> None:
    refuses(error, match, lambda: encode_graph_labels(y, [2, 1], shapes=[(1, 2), (1, 1)]))
