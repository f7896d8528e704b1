"""Estimators on scikit-learn's contract."""

from dualfield.estimators.chain_crf import ChainCRF
from dualfield.estimators.chain_crf_cv import ChainCRFCV
from dualfield.estimators.softmax_regression import SoftmaxRegression

__all__ = ["ChainCRF", "ChainCRFCV", "SoftmaxRegression"]
