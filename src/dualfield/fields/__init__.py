"""Training problems: data, structure and an l2 penalty."""

from dualfield.fields.base import Field
from dualfield.fields.bigram_layout import BigramLayout
from dualfield.fields.chain import Chain
from dualfield.fields.chain_layout import ChainLayout
from dualfield.fields.graph import Graph
from dualfield.fields.graph_layout import GraphLayout
from dualfield.fields.multiclass import Multiclass
from dualfield.fields.pseudo_likelihood import PseudoLikelihood
from dualfield.fields.relaxed_graph import RelaxedGraph

__all__ = [
    "BigramLayout",
    "Chain",
    "ChainLayout",
    "Field",
    "Graph",
    "GraphLayout",
    "Multiclass",
    "PseudoLikelihood",
    "RelaxedGraph",
]
