"""Attributes as numbers: vocabularies, encoders, feature templates for column files, grids."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.features.frames import encode_dataset as encode_dataset
    from dualfield.features.frames import encode_docs as encode_docs
    from dualfield.features.frames import encode_frame as encode_frame
    from dualfield.features.graphs.encoded_graphs import EncodedGraphs as EncodedGraphs
    from dualfield.features.graphs.encoded_grids import EncodedGrids as EncodedGrids
    from dualfield.features.graphs.encoded_grids import GridEncoding as GridEncoding
    from dualfield.features.graphs.encoded_grids import encode_grids as encode_grids
    from dualfield.features.graphs.encoding import encode_graph_labels as encode_graph_labels
    from dualfield.features.graphs.encoding import encode_graphs as encode_graphs
    from dualfield.features.graphs.grids import edge_differences as edge_differences
    from dualfield.features.graphs.grids import edge_ends as edge_ends
    from dualfield.features.graphs.grids import grid_edges as grid_edges
    from dualfield.features.raw_text import Token as Token
    from dualfield.features.raw_text import tokenize as tokenize
    from dualfield.features.sequences.bigrams import known_bigrams as known_bigrams
    from dualfield.features.sequences.dense import DenseColumns as DenseColumns
    from dualfield.features.sequences.dense import check_dense as check_dense
    from dualfield.features.sequences.dense_encoded import DenseEncoded as DenseEncoded
    from dualfield.features.sequences.encoded import Encoded as Encoded
    from dualfield.features.sequences.encoding import encode as encode
    from dualfield.features.templates.presets import PRESETS as PRESETS
    from dualfield.features.templates.presets import Preset as Preset
    from dualfield.features.templates.presets import extract as extract
    from dualfield.features.templates.presets import extract_all as extract_all
    from dualfield.features.templates.presets import preset_template as preset_template
    from dualfield.features.templates.rules import Cell as Cell
    from dualfield.features.templates.rules import Rule as Rule
    from dualfield.features.templates.rules import Transform as Transform
    from dualfield.features.templates.template import Template as Template
    from dualfield.features.templates.tokens import Tokens as Tokens
    from dualfield.features.vocabulary import NumberedColumns as NumberedColumns
    from dualfield.features.vocabulary import Vocabulary as Vocabulary

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
