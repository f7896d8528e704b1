"""Trained models: their weights and what these belong to, the questions they answer, and their files."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.models.bigram_layout import BigramLayout
    from dualfield.models.chain_layout import ChainLayout
    from dualfield.models.chain_model import ChainModel
    from dualfield.models.crfsuite_model import read_crfsuite_model
    from dualfield.models.graph_layout import GraphLayout

__all__ = [
    "BigramLayout",
    "ChainLayout",
    "ChainModel",
    "GraphLayout",
    "read_crfsuite_model",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "bigram_layout": "BigramLayout",
        "chain_layout": "ChainLayout",
        "chain_model": "ChainModel",
        "crfsuite_model": "read_crfsuite_model",
        "graph_layout": "GraphLayout",
    },
)
