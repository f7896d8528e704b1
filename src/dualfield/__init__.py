"""Conditional random fields, trained to a certificate.

from dualfield import ChainCRF

crf = ChainCRF(l2=1.0).fit(X, y)
crf.predict(X_new)
crf.solution_.message
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports
from dualfield.version import __version__ as __version__

if TYPE_CHECKING:
    from dualfield import calibration as calibration
    from dualfield import datasets as datasets
    from dualfield import estimators as estimators
    from dualfield import features as features
    from dualfield import fields as fields
    from dualfield import inspection as inspection
    from dualfield import io as io
    from dualfield import labels as labels
    from dualfield import metrics as metrics
    from dualfield import models as models
    from dualfield import oracles as oracles
    from dualfield import reporting as reporting
    from dualfield import solvers as solvers
    from dualfield import tagging as tagging
    from dualfield.driver import Progress as Progress
    from dualfield.estimators import ChainCRF as ChainCRF
    from dualfield.estimators import ChainCRFCV as ChainCRFCV
    from dualfield.estimators import GraphCRF as GraphCRF
    from dualfield.estimators import GridCRF as GridCRF
    from dualfield.estimators import SoftmaxRegression as SoftmaxRegression
    from dualfield.labels import Constraints as Constraints
    from dualfield.solution import Solution as Solution
    from dualfield.solvers import LBFGS as LBFGS
    from dualfield.solvers import OEG as OEG
    from dualfield.solvers import SDCA as SDCA
    from dualfield.solving import l1_path as l1_path
    from dualfield.solving import l2_path as l2_path
    from dualfield.solving import penalty_path as penalty_path
    from dualfield.solving import solve as solve

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
__all__ += ["__version__"]
