"""Training problems: data, structure and an l2 penalty."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.fields.base import Field
    from dualfield.fields.bigram_layout import BigramLayout
    from dualfield.fields.chain import Chain
    from dualfield.fields.chain_layout import ChainLayout
    from dualfield.fields.graph import Graph
    from dualfield.fields.graph_layout import GraphLayout
    from dualfield.fields.losses import Losses
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
    "Losses",
    "Multiclass",
    "PseudoLikelihood",
    "RelaxedGraph",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "base": "Field",
        "bigram_layout": "BigramLayout",
        "chain": "Chain",
        "chain_layout": "ChainLayout",
        "graph": "Graph",
        "graph_layout": "GraphLayout",
        "losses": "Losses",
        "multiclass": "Multiclass",
        "pseudo_likelihood": "PseudoLikelihood",
        "relaxed_graph": "RelaxedGraph",
    },
)
