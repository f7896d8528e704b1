"""Conditional random fields, trained to a certificate.

from dualfield import ChainCRF

crf = ChainCRF(l2=1.0).fit(X, y)
crf.predict(X_new)
crf.solution_.message
"""

from dualfield import fields, oracles, solvers
from dualfield.driver import Progress, solve
from dualfield.estimators import ChainCRF, SoftmaxRegression
from dualfield.solution import Solution
from dualfield.solvers import LBFGS, OEG, SDCA

__version__ = "0.1.0"

__all__ = [
    "LBFGS",
    "OEG",
    "SDCA",
    "ChainCRF",
    "Progress",
    "SoftmaxRegression",
    "Solution",
    "__version__",
    "fields",
    "oracles",
    "solve",
    "solvers",
]
