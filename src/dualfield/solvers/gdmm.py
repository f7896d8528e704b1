"""Greedy direction method of multipliers on cliques."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualfield.solvers.clique import CliqueSolver

__all__ = ["GDMM"]


@dataclass(frozen=True)
class GDMM(CliqueSolver):
    """Greedy direction method of multipliers (Yen et al., 2016) with an entropy.

    Every clique has an *active set* of states; the others have no mass. It begins with the true state alone. At each
    visit the best state outside, by the slope of everything but the entropy, is given mass by an exact line search
    towards it; then the active states move as in :class:`IDAL`. After each pass ``ξ ← ξ − Aμ/ρ``.

    Where the original, for a margin loss, gains from the few states that ever become active, an entropy leaves no
    state without mass: its slope at zero is infinite, so the line search towards a new state always goes some way, and
    after as many visits as a clique has states all of them are active. A baseline of Hu and Obozinski; :class:`IDAL`
    explains the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> from dualfield.solvers import GDMM
    >>> square = (np.eye(4), [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> solve(fields.Graph([square], [[0, 1, 1, 0]], inference="trw"), GDMM(), tol=1e-4).status
    'converged'
    """

    candidate: ClassVar[str] = "active"
