"""Estimators on scikit-learn's contract."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.estimators.chain_crf import ChainCRF
    from dualfield.estimators.chain_crf_cv import ChainCRFCV
    from dualfield.estimators.graph_crf import GraphCRF
    from dualfield.estimators.grid_crf import GridCRF
    from dualfield.estimators.softmax_regression import SoftmaxRegression

__all__ = [
    "ChainCRF",
    "ChainCRFCV",
    "GraphCRF",
    "GridCRF",
    "SoftmaxRegression",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "chain_crf": "ChainCRF",
        "chain_crf_cv": "ChainCRFCV",
        "graph_crf": "GraphCRF",
        "grid_crf": "GridCRF",
        "softmax_regression": "SoftmaxRegression",
    },
)
