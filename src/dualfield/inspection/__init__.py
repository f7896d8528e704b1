"""Looking inside a fitted :class:`~dualfield.ChainCRF`: its weights by name, and why a token got its label.

Every function returns a :class:`~dualfield.table.Table`: print it, show it in a notebook, or take
``.to_frame()`` for pandas.
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.inspection.bigrams import bigram_weights as bigram_weights
    from dualfield.inspection.bigrams import top_bigrams as top_bigrams
    from dualfield.inspection.explanation import Explanation as Explanation
    from dualfield.inspection.explanation import explain as explain
    from dualfield.inspection.weights import attribute_weights as attribute_weights
    from dualfield.inspection.weights import top_weights as top_weights
    from dualfield.inspection.weights import transitions as transitions

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
