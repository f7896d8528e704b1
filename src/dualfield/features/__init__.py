"""Attributes and labels as numbers: vocabularies, encoders, feature templates for column files, grids."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.features.bigrams import known_bigrams
    from dualfield.features.constraints import Constraints, resolve_constraints
    from dualfield.features.encoded import Encoded
    from dualfield.features.encoded_graphs import EncodedGraphs
    from dualfield.features.encoded_grids import EncodedGrids, GridEncoding, encode_grids
    from dualfield.features.encoding import encode
    from dualfield.features.graphs import encode_graph_labels, encode_graphs
    from dualfield.features.grids import edge_differences, edge_ends, grid_edges
    from dualfield.features.label_sets import encode_allowed, encode_partial_labels
    from dualfield.features.labels import EncodedLabels, encode_labels
    from dualfield.features.presets import PRESETS, Preset, extract, extract_all, preset_template
    from dualfield.features.rules import Cell, Rule, Transform
    from dualfield.features.templates import Template
    from dualfield.features.tokens import Tokens
    from dualfield.features.vocabulary import Columns, Vocabulary

__all__ = [
    "PRESETS",
    "Cell",
    "Columns",
    "Constraints",
    "Encoded",
    "EncodedGraphs",
    "EncodedGrids",
    "EncodedLabels",
    "GridEncoding",
    "Preset",
    "Rule",
    "Template",
    "Tokens",
    "Transform",
    "Vocabulary",
    "edge_differences",
    "edge_ends",
    "encode",
    "encode_allowed",
    "encode_graph_labels",
    "encode_graphs",
    "encode_grids",
    "encode_labels",
    "encode_partial_labels",
    "extract",
    "extract_all",
    "grid_edges",
    "known_bigrams",
    "preset_template",
    "resolve_constraints",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "bigrams": "known_bigrams",
        "constraints": "Constraints resolve_constraints",
        "encoded": "Encoded",
        "encoded_graphs": "EncodedGraphs",
        "encoded_grids": "EncodedGrids GridEncoding encode_grids",
        "encoding": "encode",
        "graphs": "encode_graph_labels encode_graphs",
        "grids": "edge_differences edge_ends grid_edges",
        "label_sets": "encode_allowed encode_partial_labels",
        "labels": "EncodedLabels encode_labels",
        "presets": "PRESETS Preset extract extract_all preset_template",
        "rules": "Cell Rule Transform",
        "templates": "Template",
        "tokens": "Tokens",
        "vocabulary": "Columns Vocabulary",
    },
)
