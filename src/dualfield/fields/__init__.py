"""Training problems: data, structure and an l2 penalty."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.fields.base import Field
    from dualfield.fields.chain import Chain
    from dualfield.fields.graph import Graph
    from dualfield.fields.losses import Losses
    from dualfield.fields.multiclass import Multiclass
    from dualfield.fields.pseudo_likelihood import PseudoLikelihood
    from dualfield.fields.relaxed_graph import RelaxedGraph

__all__ = [
    "Chain",
    "Field",
    "Graph",
    "Losses",
    "Multiclass",
    "PseudoLikelihood",
    "RelaxedGraph",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "base": "Field",
        "chain": "Chain",
        "graph": "Graph",
        "losses": "Losses",
        "multiclass": "Multiclass",
        "pseudo_likelihood": "PseudoLikelihood",
        "relaxed_graph": "RelaxedGraph",
    },
)
