"""Conditional random fields, trained to a certificate.

from dualfield import ChainCRF

crf = ChainCRF(l2=1.0).fit(X, y)
crf.predict(X_new)
crf.solution_.message
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred
from dualfield.version import __version__

if TYPE_CHECKING:
    from dualfield import (
        calibration,
        datasets,
        estimators,
        features,
        fields,
        inspection,
        io,
        labels,
        metrics,
        models,
        oracles,
        reporting,
        solvers,
    )
    from dualfield.driver import Progress
    from dualfield.estimators import ChainCRF, ChainCRFCV, GraphCRF, GridCRF, SoftmaxRegression
    from dualfield.labels import Constraints
    from dualfield.solution import Solution
    from dualfield.solvers import LBFGS, OEG, SDCA
    from dualfield.solving import l2_path, solve

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
    "labels",
    "metrics",
    "models",
    "oracles",
    "reporting",
    "solve",
    "solvers",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "": "calibration datasets estimators features fields inspection io labels metrics models "
        "oracles reporting solvers",
        "driver": "Progress",
        "estimators": "ChainCRF ChainCRFCV GraphCRF GridCRF SoftmaxRegression",
        "labels": "Constraints",
        "solution": "Solution",
        "solving": "l2_path solve",
        "solvers": "LBFGS OEG SDCA",
    },
)
