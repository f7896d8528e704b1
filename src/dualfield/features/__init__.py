"""Attributes as numbers: vocabularies, encoders, feature templates for column files, grids."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.features.graphs.encoded_graphs import EncodedGraphs
    from dualfield.features.graphs.encoded_grids import EncodedGrids, GridEncoding, encode_grids
    from dualfield.features.graphs.encoding import encode_graph_labels, encode_graphs
    from dualfield.features.graphs.grids import edge_differences, edge_ends, grid_edges
    from dualfield.features.sequences.bigrams import known_bigrams
    from dualfield.features.sequences.encoded import Encoded
    from dualfield.features.sequences.encoding import encode
    from dualfield.features.templates.presets import PRESETS, Preset, extract, extract_all, preset_template
    from dualfield.features.templates.rules import Cell, Rule, Transform
    from dualfield.features.templates.template import Template
    from dualfield.features.templates.tokens import Tokens
    from dualfield.features.vocabulary import Columns, Vocabulary

__all__ = [
    "PRESETS",
    "Cell",
    "Columns",
    "Encoded",
    "EncodedGraphs",
    "EncodedGrids",
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
    "encode_graph_labels",
    "encode_graphs",
    "encode_grids",
    "extract",
    "extract_all",
    "grid_edges",
    "known_bigrams",
    "preset_template",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "graphs.encoded_graphs": "EncodedGraphs",
        "graphs.encoded_grids": "EncodedGrids GridEncoding encode_grids",
        "graphs.encoding": "encode_graph_labels encode_graphs",
        "graphs.grids": "edge_differences edge_ends grid_edges",
        "sequences.bigrams": "known_bigrams",
        "sequences.encoded": "Encoded",
        "sequences.encoding": "encode",
        "templates.presets": "PRESETS Preset extract extract_all preset_template",
        "templates.rules": "Cell Rule Transform",
        "templates.template": "Template",
        "templates.tokens": "Tokens",
        "vocabulary": "Columns Vocabulary",
    },
)
