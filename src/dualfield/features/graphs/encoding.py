"""From graphs given as tuples of arrays to the arrays of the core: :func:`encode_graphs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dualfield.features.graphs.cliques import encode_cliques
from dualfield.features.graphs.encoded_graphs import EncodedGraphs, check_edges
from dualfield.features.graphs.named_nodes import are_named, check_naming, encode_named
from dualfield.features.sequences.arrays import stack_matrices
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.labels.encoded_labels import encode_labels
from dualfield.nested import GRAPHS, IMAGES, bounds_of

__all__ = ["EncodedGraphs", "encode_graph_labels", "encode_graphs", "stack_graphs"]

_EXPECTED_GRAPH = "a tuple (node_features, edges), perhaps with edge_features and cliques after them"


def encode_graphs(
    X: Any,
    n_attributes: int | None = None,
    n_edge_features: int | None = None,
    vocabulary: Vocabulary | None = None,
) -> EncodedGraphs:
    """Encode graphs given as tuples of node features and edges.

    Parameters
    ----------
    X : EncodedGraphs or iterable of tuples
        Each graph is ``(node_features, edges)``, ``(node_features, edges, edge_features)``, or ``(node_features, edges,
        edge_features, cliques)``:

        * ``node_features``, a 2-D array or scipy sparse matrix with a row per node, at least one; or a list of a dict
          or a list of strings per node, as for sequences, for all graphs or none;
        * ``edges``, integers of shape (edges, 2), each a pair of node numbers from 0; no loops, and no pair twice,
          in whichever order. May be empty, and nodes may be without edges;
        * ``edge_features``, a 2-D array with a row per edge, or None. All graphs that have edges have them, or none;
        * ``cliques``, a list of sequences of three node numbers and more, each of which has a potential over the labels
          of its nodes, in this order. Cliques of one size share their weights.

        An :class:`EncodedGraphs` is returned as it is, if its widths are the ones asked for.
    n_attributes, n_edge_features : int, optional
        The widths to insist on, as learnt in training; 0 edge features stands for none.
    vocabulary : Vocabulary, optional
        The names of attributes to use, as learnt in training; others are ignored.

    Returns
    -------
    graphs : EncodedGraphs
        Zeros among the node features are not stored; ``values`` is None when every stored one is 1.

    Raises
    ------
    TypeError, ValueError
        In one sentence, with the graph and the edge or row at fault.

    Examples
    --------
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> graphs = encode_graphs([(np.ones((4, 2)), square, np.arange(4.0).reshape(4, 1))])
    >>> graphs.n_attributes, graphs.n_edge_features, graphs.ends[3].tolist()
    (2, 1, [3, 0])
    >>> encode_graphs([([{"word": "a"}, {"word": "b"}], [(0, 1)])]).vocabulary.names
    ['word:a', 'word:b']
    """
    if isinstance(X, EncodedGraphs):
        if n_attributes is not None:
            check_naming(X.vocabulary is not None, vocabulary, "the encoded graphs have")
            if X.vocabulary != vocabulary:
                raise ValueError(
                    "the encoded graphs have other attributes than the model; encode them by its encode()."
                )
        return _with_widths(X, n_attributes, n_edge_features)
    graphs = [_parts(number, graph) for number, graph in enumerate(_as_list(X))]
    named = are_named([graph[0] for graph in graphs])
    if n_attributes is not None:
        check_naming(named, vocabulary, "the nodes of graph 0 have")
    if named:
        nodes: list[Any] = [graph[0] for graph in graphs]
        sizes = [len(given) for given in nodes]
    else:
        nodes = [_node_matrix(number, graph[0]) for number, graph in enumerate(graphs)]
        sizes = [matrix.shape[0] for matrix in nodes]
        _check_node_widths([matrix.shape[1] for matrix in nodes], n_attributes)
    edges = [_edge_array(number, graph[1]) for number, graph in enumerate(graphs)]
    check_edges(np.array(sizes), bounds_of([len(pairs) for pairs in edges]), _stacked(edges))
    rows = [_edge_matrix(number, graph[2], len(edges[number])) for number, graph in enumerate(graphs)]
    common = _common_rows(rows, edges, n_edge_features)
    stacked = _graphs(encode_named(nodes, vocabulary), edges, common) if named else stack_graphs(nodes, edges, common)
    cliques = encode_cliques([graph[3] for graph in graphs], sizes)
    return stacked if cliques is None else replace(stacked, cliques=cliques)


def stack_graphs(
    nodes: list[Any], edges: list[npt.NDArray[Any]], edge_features: npt.NDArray[np.float64] | None
) -> EncodedGraphs:
    """The graphs with these node matrices (all of one width), edges, and rows of all edges, in contiguous arrays."""
    merged = stack_matrices(nodes, NumberedColumns(nodes[0].shape[1]), "feature {} of node {} of graph {}")
    return _graphs(merged, edges, edge_features)


def _graphs(
    nodes: Encoded, edges: list[npt.NDArray[Any]], edge_features: npt.NDArray[np.float64] | None
) -> EncodedGraphs:
    """The graphs whose nodes are the positions of these sequences."""
    return EncodedGraphs(
        nodes.offsets,
        nodes.indptr,
        nodes.indices,
        nodes.values,
        len(nodes.vocabulary),
        bounds_of([len(pairs) for pairs in edges]),
        _stacked(edges).astype(np.int32),
        edge_features,
        vocabulary=nodes.vocabulary if isinstance(nodes.vocabulary, Vocabulary) else None,
    )


def encode_graph_labels(
    y: Any,
    sizes: npt.ArrayLike,
    classes: npt.ArrayLike | None = None,
    *,
    shapes: npt.ArrayLike | None = None,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Number the labels of all nodes.

    Parameters
    ----------
    y : iterable of label sequences
        One label per node, strings or integers, in the order of the nodes. In arrays of truth values, such as masks,
        False is the label 0 and True 1.
    sizes : array of int, shape (n_graphs,)
        How many labels each graph must have, as in ``EncodedGraphs.sizes``.
    classes : array of shape (n_classes,), optional
        The labels of an earlier call, in the order of their codes. By default the distinct labels of ``y``, sorted.
    shapes : array of int, shape (n_graphs, 2), optional
        The graphs are images of these heights and widths, and ``y`` has one array of that shape per image.

    Returns
    -------
    classes : array of str or int64, shape (n_classes,)
        ``classes[c]`` is the label of code ``c``.
    codes : array of int32, shape (sum of sizes,)
        Code of every node; -1 for a label that is not in the given ``classes``.

    Examples
    --------
    >>> classes, codes = encode_graph_labels([["sky", "sea"], ["sea"]], [2, 1])
    >>> classes.tolist(), codes.tolist()
    (['sea', 'sky'], [1, 0, 0])
    >>> encode_graph_labels([np.array([[0, 1], [1, 1]])], [4], shapes=[(2, 2)])[1].tolist()
    [0, 1, 1, 1]
    >>> encode_graph_labels([np.array([[False, True]])], [2], shapes=[(1, 2)])[0].tolist()
    [0, 1]
    """
    if shapes is None:
        if isinstance(y, list | tuple | np.ndarray):
            y = [_counted(labels) for labels in y]
        return encode_labels(y, sizes, classes, GRAPHS)
    if y is None or isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise TypeError(f"y is of type {type(y).__name__}; expected a list of label arrays, one per image.")
    flat = []
    expected = np.asarray(shapes, dtype=np.int64).reshape(-1, 2).tolist()
    for number, labels in enumerate(y):
        found = _label_array(number, labels)
        if number < len(expected) and list(found.shape) != expected[number]:
            raise ValueError(
                f"image {number} has labels of shape {found.shape} in y but is of height and width "
                f"{tuple(expected[number])} in X; give one label per pixel."
            )
        flat.append(found.ravel())
    return encode_labels(flat, sizes, classes, IMAGES)


def _label_array(number: int, labels: Any) -> npt.NDArray[Any]:
    try:
        # In an array of objects, labels of mixed types keep their types, and the check can name the place of the first.
        found = _counted(labels) if isinstance(labels, np.ndarray) else np.array(labels, dtype=object)
        if found.dtype == object and found.size and all(isinstance(label, bool) for label in found.flat):
            found = found.astype(np.int64)
        return found
    except ValueError:
        raise ValueError(
            f"image {number} has rows of labels of different lengths in y; expected an array of shape (height, width)."
        ) from None


def _counted(labels: Any) -> Any:
    """A mask as the labels 0 and 1; anything else as it is."""
    return labels.astype(np.int64) if isinstance(labels, np.ndarray) and labels.dtype == np.bool_ else labels


def _as_list(X: Any) -> list[Any]:
    if isinstance(X, (str, bytes, Mapping, np.ndarray)) or sparse.issparse(X) or not isinstance(X, Iterable):
        raise TypeError(f"X is of type {type(X).__name__}; expected a list of graphs, each {_EXPECTED_GRAPH}.")
    graphs = list(X)
    if not graphs:
        raise ValueError("X has no graphs; expected at least one.")
    return graphs


def _parts(number: int, graph: Any) -> tuple[Any, Any, Any, Any]:
    """Node features, edges, edge features or None, and cliques or None."""
    if not isinstance(graph, (tuple, list)):
        raise TypeError(
            f"graph {number} is of type {type(graph).__name__}; expected {_EXPECTED_GRAPH}; "
            "wrap a single graph as [graph]."
        )
    if len(graph) not in (2, 3, 4):
        raise ValueError(f"graph {number} has {len(graph)} part{'s'[: len(graph) != 1]}; expected {_EXPECTED_GRAPH}.")
    return graph[0], graph[1], graph[2] if len(graph) > 2 else None, graph[3] if len(graph) > 3 else None


def _array(what: str, given: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:
        raise ValueError(f"{what} have rows of different lengths; expected a 2-D array.") from None


def _real_matrix(what: str, given: Any, row: str) -> Any:
    """A sparse matrix as it is, anything else as an array, with rows of real numbers."""
    matrix = given if sparse.issparse(given) else _array(what, given)
    if matrix.ndim != 2:
        raise ValueError(
            f"{what} are an array of shape {matrix.shape}; expected a 2-D array with a row per {row}; "
            f"reshape one feature per {row} to (n, 1)."
        )
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{what} are of dtype {matrix.dtype}; expected real numbers.")
    return matrix


def _node_matrix(number: int, given: Any) -> Any:
    if not sparse.issparse(given) and _array(f"the node features of graph {number}", given).shape[:1] == (0,):
        raise ValueError(f"graph {number} has no nodes; expected at least one; leave it out of X and y.")
    matrix = _real_matrix(f"the node features of graph {number}", given, "node")
    if matrix.shape[0] == 0:
        raise ValueError(f"graph {number} has no nodes; expected at least one; leave it out of X and y.")
    return matrix


def _edge_array(number: int, given: Any) -> npt.NDArray[np.int64]:
    edges = _array(f"the edges of graph {number}", given)
    if edges.shape == (0,):
        return np.empty((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        hint = "; transpose them" if edges.ndim == 2 and edges.shape[0] == 2 else ""
        raise ValueError(
            f"the edges of graph {number} are an array of shape {edges.shape}; expected (edges, 2), a row with two "
            f"node numbers per edge{hint}."
        )
    if edges.dtype.kind not in "iuf" and edges.size:
        raise TypeError(f"the edges of graph {number} are of dtype {edges.dtype}; expected integers, node numbers.")
    if edges.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            fractional = ~(np.isfinite(edges) & (edges == np.trunc(edges))).all(axis=1)
        if fractional.any():
            edge = int(np.argmax(fractional))
            raise ValueError(
                f"edge {edge} of graph {number} is {tuple(edges[edge].tolist())}; expected two integers, node numbers."
            )
    return edges.astype(np.int64)


def _edge_matrix(number: int, given: Any, n_edges: int) -> npt.NDArray[np.float64] | None:
    if given is None:
        return None
    if sparse.issparse(given):
        given = given.toarray()
    what = f"the edge features of graph {number}"
    rows = _array(what, given)
    if n_edges == 0 and rows.shape == (0,):
        return None
    matrix = _real_matrix(what, rows, "edge")
    if matrix.shape[0] != n_edges:
        raise ValueError(
            f"graph {number} has {matrix.shape[0]} rows of edge features but {n_edges} edges; give one row per edge."
        )
    if matrix.shape[1] == 0:
        raise ValueError(f"{what} have no columns; expected at least one; leave them out of the tuple.")
    bad = ~np.isfinite(matrix)
    if bad.any():
        edge, column = np.argwhere(bad)[0]
        raise ValueError(
            f"feature {column} of edge {edge} of graph {number} is {matrix[edge, column]}; expected a finite number; "
            "fill in or drop missing values first."
        )
    return np.asarray(matrix, dtype=np.float64)


def _common_rows(
    rows: list[npt.NDArray[np.float64] | None], edges: list[npt.NDArray[Any]], width: int | None
) -> npt.NDArray[np.float64] | None:
    """The rows of all edges; a graph without edges has none to give."""
    given = [number for number, matrix in enumerate(rows) if matrix is not None]
    missing = [number for number, matrix in enumerate(rows) if matrix is None and len(edges[number])]
    if given and missing:
        raise ValueError(
            f"graph {missing[0]} has no edge features but graph {given[0]} has; give them to all graphs or to none."
        )
    if width is None:
        width, origin = (_width(rows[given[0]]) if given else 0), f"graph {given[0]} has" if given else ""
    else:
        origin = "the model was trained on"
    for number in given or missing[:1]:
        if _width(rows[number]) != width:
            raise ValueError(
                f"graph {number} has {_width(rows[number])} edge features but {origin} {width}; "
                "give every edge the same features."
            )
    if width == 0:
        return None
    return np.concatenate([np.empty((0, width)), *(rows[number] for number in given)])


def _width(matrix: npt.NDArray[np.float64] | None) -> int:
    return 0 if matrix is None else int(matrix.shape[1])


def _stacked(edges: list[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *edges])


def _check_node_widths(widths: list[int], n_attributes: int | None) -> None:
    expected = widths[0] if n_attributes is None else n_attributes
    origin = "graph 0 has" if n_attributes is None else "the model was trained on"
    for number, width in enumerate(widths):
        if width != expected:
            raise ValueError(
                f"graph {number} has {width} node features but {origin} {expected}; give every node the same features."
            )


def _with_widths(graphs: EncodedGraphs, n_attributes: int | None, n_edge_features: int | None) -> EncodedGraphs:
    if n_edge_features is not None and graphs.n_edges == 0:  # no edges fit any model
        graphs = replace(graphs, edge_features=np.empty((0, n_edge_features)) if n_edge_features else None)
    for what, found, expected in (
        ("node", graphs.n_attributes, n_attributes),
        ("edge", graphs.n_edge_features, n_edge_features),
    ):
        if expected is not None and found != expected:
            raise ValueError(
                f"the encoded graphs have {found} {what} features but the model was trained on {expected}; "
                f"give every {what} the same features."
            )
    return graphs
