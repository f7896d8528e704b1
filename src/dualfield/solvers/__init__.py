"""The training methods: each a frozen set of parameters whose docstring states its update."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.solvers.base import Bound as Bound
    from dualfield.solvers.base import Run as Run
    from dualfield.solvers.base import Solver as Solver
    from dualfield.solvers.python_run import PythonRun as PythonRun
    from dualfield.solvers.resolving import BY_CLASS_NAME as BY_CLASS_NAME
    from dualfield.solvers.resolving import THREADED as THREADED
    from dualfield.solvers.resolving import resolve as resolve

    # The table of methods, a line each: users call a method by the name of its module, and see them in this order.
    # isort: off
    from dualfield.solvers.sdca import SDCA as SDCA
    from dualfield.solvers.oeg import OEG as OEG
    from dualfield.solvers.lbfgs import LBFGS as LBFGS
    from dualfield.solvers.sag import SAG as SAG
    from dualfield.solvers.saga import SAGA as SAGA
    from dualfield.solvers.svrg import SVRG as SVRG
    from dualfield.solvers.hybrid import Hybrid as Hybrid
    from dualfield.solvers.sgd import SGD as SGD
    from dualfield.solvers.adagrad import AdaGrad as AdaGrad
    from dualfield.solvers.smd import SMD as SMD
    from dualfield.solvers.perceptron import Perceptron as Perceptron
    from dualfield.solvers.pa import PA as PA
    from dualfield.solvers.arow import AROW as AROW
    from dualfield.solvers.idal import IDAL as IDAL
    from dualfield.solvers.gdmm import GDMM as GDMM
    from dualfield.solvers.soft_sdca import SoftSDCA as SoftSDCA
    from dualfield.solvers.soft_bcfw import SoftBCFW as SoftBCFW
    # isort: on

_home_of = written_imports()
__all__, __getattr__, __dir__ = deferred(__name__, _home_of)
__all__ += ["CLASS_NAMES", "NAMES"]

_modules = {home.rpartition(".")[2]: name for name, home in _home_of.items()}
CLASS_NAMES = {name: kind for name, kind in _modules.items() if name not in ("base", "python_run", "resolving")}
NAMES = tuple(CLASS_NAMES)
