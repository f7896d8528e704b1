"""A lower bound on the optimum from the gradients that a run has seen: plain NumPy.

The losses F are convex, so ``F(w) ≥ F(w_s) + ⟨u_s, w − w_s⟩`` with their gradients u_s at the weights w_s. For any
mixture a of such cuts, ``a ≥ 0, Σ a_s = 1``, minimising the right-hand side plus the penalty over w gives

    D(a) = Σ_s a_s (F(w_s) − ⟨u_s, w_s⟩) − ‖Σ_s a_s u_s‖² / (2 l2)   ≤   min_w F(w) + l2/2 ‖w‖²,

the dual value of the mixed marginals, with the mixture of their entropies in place of its entropy. One cut, the last,
gives the bound ``P(w) − ‖∇P(w)‖² / (2 l2)``, which is loose by the steepest directions; gradients along a run differ in
sign along those, and mix to a far smaller one. The bound costs the products of gradients alone, which L-BFGS needs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["best_mixture", "mixed_value"]

_NO_RISE = 1e-12  # relative

FloatArray = npt.NDArray[np.float64]


def mixed_value(mixture: FloatArray, constants: FloatArray, products: FloatArray, l2: float) -> float:
    """``D(a)`` for the constants ``F(w_s) − ⟨u_s, w_s⟩`` and the products ``⟨u_s, u_t⟩``."""
    return float(mixture @ constants - mixture @ products @ mixture / (2 * l2))


def best_mixture(constants: FloatArray, products: FloatArray, l2: float) -> FloatArray:
    """The mixture with the largest ``D``, up to rounding; any mixture bounds the optimum.

    An active set: from the best single cut, the cut along which D rises most joins, D is maximised on the face of those
    that take part, and those that would become negative leave on the way there.

    Examples
    --------
    >>> best_mixture(np.array([0.0, -5.0]), np.array([[4.0, -2.0], [-2.0, 4.0]]), 1.0).round(3).tolist()
    [0.917, 0.083]
    """
    curvature = products / l2
    mixture = np.zeros(len(constants))
    kept = [int(np.argmax(constants - 0.5 * np.diag(curvature)))]
    mixture[kept] = 1.0
    for _ in range(2 * len(constants)):
        rise = constants - curvature @ mixture
        level = float(mixture @ rise)
        rise[kept] = -np.inf
        joins = int(np.argmax(rise))
        if not rise[joins] - level > _NO_RISE * (1 + abs(level)):
            break
        kept.append(joins)
        while True:
            towards = _maximum_on_face(constants[kept], curvature[np.ix_(kept, kept)])
            now = mixture[kept]
            leaving = towards <= 0
            if not np.isfinite(towards).all():
                return mixture
            if not leaving.any():
                mixture[kept] = towards
                break
            share = float((now[leaving] / (now[leaving] - towards[leaving])).min())
            now = now + share * (towards - now)
            now[leaving & (now <= 1e-15)] = 0.0
            mixture[kept] = np.maximum(now, 0.0) / np.maximum(now, 0.0).sum()
            remaining = [k for k in kept if mixture[k] > 0]
            if len(remaining) == len(kept):
                return mixture
            kept = remaining
    return mixture


def _maximum_on_face(constants: FloatArray, curvature: FloatArray) -> FloatArray:
    """Where ``constants · a − a curvature a / 2`` is largest with ``Σ a = 1``, signs left free."""
    size = len(constants)
    scale = float(np.trace(curvature)) / size or 1.0
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = curvature / scale
    system[range(size), range(size)] += 1e-14  # cuts may coincide
    system[size, size] = 0.0
    try:
        return np.linalg.solve(system, np.append(constants / scale, 1.0))[:size]
    except np.linalg.LinAlgError:
        return np.full(size, np.nan)
