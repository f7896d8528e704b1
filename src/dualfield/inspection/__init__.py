"""Looking inside a fitted :class:`~dualfield.ChainCRF`: its weights by name, and why a token got its label.

Every function returns a :class:`~dualfield.table.Table`: print it, show it in a notebook, or take
``.to_frame()`` for pandas.
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.inspection.bigrams import bigram_weights, top_bigrams
    from dualfield.inspection.explanation import Explanation, explain
    from dualfield.inspection.weights import attribute_weights, top_weights, transitions

__all__ = [
    "Explanation",
    "attribute_weights",
    "bigram_weights",
    "explain",
    "top_bigrams",
    "top_weights",
    "transitions",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "bigrams": "bigram_weights top_bigrams",
        "explanation": "Explanation explain",
        "weights": "attribute_weights top_weights transitions",
    },
)
