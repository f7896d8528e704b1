"""Estimators on scikit-learn's contract."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.estimators.chain_crf import ChainCRF as ChainCRF
    from dualfield.estimators.chain_crf_cv import ChainCRFCV as ChainCRFCV
    from dualfield.estimators.graph_crf import GraphCRF as GraphCRF
    from dualfield.estimators.grid_crf import GridCRF as GridCRF
    from dualfield.estimators.softmax_regression import SoftmaxRegression as SoftmaxRegression

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
