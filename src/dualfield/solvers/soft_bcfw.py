"""Block-coordinate Frank-Wolfe on cliques that need not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualfield.solvers.clique import CliqueSolver

__all__ = ["SoftBCFW"]


@dataclass(frozen=True)
class SoftBCFW(CliqueSolver):
    """Soft constraints by Frank and Wolfe's method (Meshi, Srebro and Hazan, 2015), with an entropy.

    As :class:`SoftSDCA`, but a clique moves towards the one state in which the gradient of ``D_ρ(μ, 0)`` is largest, by
    an exact line search. The marginals begin inside the simplices and stay there: at a vertex the entropy's slope is
    infinite, so no step is whole. A baseline of Hu and Obozinski; :class:`IDAL` explains the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> from dualfield.solvers import SoftBCFW
    >>> square = (np.eye(4), [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> solve(fields.Graph([square], [[0, 1, 1, 0]], inference="trw"), SoftBCFW(), tol=1e-6, max_passes=50).status
    'max_passes'
    """

    candidate: ClassVar[str] = "vertex"
    multipliers: ClassVar[bool] = False
