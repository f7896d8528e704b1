"""SDCA on cliques that need not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualfield.solvers.clique import CliqueSolver

__all__ = ["SoftSDCA"]


@dataclass(frozen=True)
class SoftSDCA(CliqueSolver):
    """IDAL without multipliers: ascends ``D_ρ(μ, 0)``, in which disagreement costs ``‖Aμ‖²/(2ρ)`` and is not forbidden.

    Its limit is not the optimum of the relaxed problem, though close to it for a small ρ, and it says so: the gap that
    it reports does not vanish. A baseline of Hu and Obozinski; :class:`IDAL` explains the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> from dualfield.solvers import SoftSDCA
    >>> square = (np.eye(4), [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> solve(fields.Graph([square], [[0, 1, 1, 0]], inference="trw"), SoftSDCA(), tol=1e-6, max_passes=50).status
    'max_passes'
    """

    multipliers: ClassVar[bool] = False
