"""Conditional random fields, trained to a certificate.

from dualfield import ChainCRF

crf = ChainCRF(l2=1.0).fit(X, y)
crf.predict(X_new)
crf.solution_.message
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield import (
        calibration,
        datasets,
        estimators,
        features,
        fields,
        inspection,
        io,
        metrics,
        oracles,
        reporting,
        solvers,
    )
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
    "datasets",
    "estimators",
    "features",
    "fields",
    "inspection",
    "io",
    "l2_path",
    "metrics",
    "oracles",
    "reporting",
    "solve",
    "solvers",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "": "calibration datasets estimators features fields inspection io metrics oracles reporting solvers",
        "driver": "Progress solve",
        "estimators": "ChainCRF ChainCRFCV GraphCRF GridCRF SoftmaxRegression",
        "features": "Constraints",
        "path": "l2_path",
        "solution": "Solution",
        "solvers": "LBFGS OEG SDCA",
    },
)
