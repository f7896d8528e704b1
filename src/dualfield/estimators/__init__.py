"""Estimators on scikit-learn's contract."""

from dualfield.estimators.chain_crf import ChainCRF
from dualfield.estimators.chain_crf_cv import ChainCRFCV
from dualfield.estimators.graph_crf import GraphCRF
from dualfield.estimators.grid_crf import GridCRF
from dualfield.estimators.softmax_regression import SoftmaxRegression

__all__ = ["ChainCRF", "ChainCRFCV", "GraphCRF", "GridCRF", "SoftmaxRegression"]
