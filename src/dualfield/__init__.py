"""Conditional random fields, trained to a certificate.

from dualfield import ChainCRF

crf = ChainCRF(l2=1.0).fit(X, y)
crf.predict(X_new)
crf.solution_.message
"""

from dualfield import calibration, fields, inspection, oracles, solvers
from dualfield.driver import Progress, solve
from dualfield.estimators import ChainCRF, ChainCRFCV, GraphCRF, GridCRF, SoftmaxRegression
from dualfield.features import Constraints
from dualfield.path import l2_path
from dualfield.solution import Solution
from dualfield.solvers import LBFGS, OEG, SDCA

__version__ = "0.1.0"

__all__ = [
    "LBFGS",
    "OEG",
    "SDCA",
    "ChainCRF",
    "ChainCRFCV",
    "Constraints",
    "GraphCRF",
    "GridCRF",
    "Progress",
    "SoftmaxRegression",
    "Solution",
    "__version__",
    "calibration",
    "fields",
    "inspection",
    "l2_path",
    "oracles",
    "solve",
    "solvers",
]
