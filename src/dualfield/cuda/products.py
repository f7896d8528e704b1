"""L-BFGS as arithmetic on inner products: plain NumPy, on a few numbers.

Past iterates ``w_k`` and gradients ``u_k`` of the losses are rows somewhere; here are their inner products alone. All
that L-BFGS needs are combinations of these vectors: the gradient of the objective is ``l2 w_k + u_k``, corrections are
differences of rows. A combination is given by its coefficients, first those of all w, then those of all u.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["Products"]

FloatArray = npt.NDArray[np.float64]


class Products:
    """The losses and inner products of rows.

    Parameters
    ----------
    rows : int
        How many pairs ``w_k, u_k`` there is room for.
    l2 : float
    """

    def __init__(self, rows: int, l2: float) -> None:
        self.rows, self.l2 = rows, l2
        self._gram = np.zeros((2 * rows, 2 * rows))
        self.losses = np.full(rows, math.nan)

    def learn(self, row: int, loss: float, found: FloatArray) -> None:
        """Take the loss at a row, and its products with each row k: w·w_k, w·u_k, u·w_k, u·u_k, shape (rows, 4)."""
        size, gram = self.rows, self._gram
        found = np.where(np.isfinite(found), found, 0.0)  # of a trial that went too far; the loss says so
        self.losses[row] = loss
        gram[row, :size], gram[row, size:] = found[:, 0], found[:, 1]
        gram[size + row, :size], gram[size + row, size:] = found[:, 2], found[:, 3]
        gram[:size, row], gram[size:, row] = found[:, 0], found[:, 1]
        gram[:size, size + row], gram[size:, size + row] = found[:, 2], found[:, 3]

    def objective(self, row: int) -> float:
        """The losses and the penalty at a row."""
        return float(self.losses[row] + 0.5 * self.l2 * self._gram[row, row])

    def gradient(self, row: int) -> FloatArray:
        """The gradient of the objective at a row, as coefficients."""
        coefficients = np.zeros(2 * self.rows)
        coefficients[row], coefficients[self.rows + row] = self.l2, 1.0
        return coefficients

    def gradient_norm(self, row: int) -> float:
        """Its length."""
        gradient = self.gradient(row)
        return math.sqrt(max(float(gradient @ self._gram @ gradient), 0.0))

    def slope(self, row: int, direction: FloatArray) -> float:
        """The slope of the objective at a row along a combination."""
        return float((self.l2 * self._gram[row] + self._gram[self.rows + row]) @ direction)

    def direction(self, live: list[int]) -> FloatArray:
        """The direction of L-BFGS at the last of ``live`` rows, by the corrections between them, as coefficients."""
        gradient = self.gradient(live[-1])
        steps, changes = self._corrections(live)
        products = np.concatenate([steps, changes]) @ self._gram
        count = len(steps)
        sy, sg = products[:count] @ changes.T, products[:count] @ gradient
        yy, yg = products[count:] @ changes.T, products[count:] @ gradient
        sound = (np.diag(sy) > 0) & (np.diag(yy) > 0)
        if not sound.all():  # a step that rounding has taken away tells nothing
            steps, changes, sg, yg = steps[sound], changes[sound], sg[sound], yg[sound]
            sy, yy, count = sy[np.ix_(sound, sound)], yy[np.ix_(sound, sound)], int(sound.sum())
        if count == 0:
            return -gradient / max(self.gradient_norm(live[-1]), 1.0)
        alpha, beta = np.zeros(count), np.zeros(count)
        for k in range(count - 1, -1, -1):
            alpha[k] = (sg[k] - sy[k] @ alpha) / sy[k, k]
        scale = sy[-1, -1] / yy[-1, -1]
        along = scale * (yg - yy @ alpha)
        for k in range(count):
            beta[k] = alpha[k] - (along[k] + beta @ sy[:, k]) / sy[k, k]
        direction: FloatArray = -(scale * (gradient - alpha @ changes) + beta @ steps)
        return direction

    def _corrections(self, live: list[int]) -> tuple[FloatArray, FloatArray]:
        """Steps ``w_{k+1} − w_k`` and changes of the gradient, as coefficients, a row each."""
        size, count = self.rows, len(live) - 1
        steps, changes = np.zeros((count, 2 * size)), np.zeros((count, 2 * size))
        index, before, after = np.arange(count), np.array(live[:-1], dtype=int), np.array(live[1:], dtype=int)
        steps[index, after], steps[index, before] = 1.0, -1.0
        changes[:, :size] = self.l2 * steps[:, :size]
        changes[index, size + after], changes[index, size + before] = 1.0, -1.0
        return steps, changes

    def cuts(self, live: list[int]) -> tuple[FloatArray, FloatArray]:
        """For :mod:`dualfield.cuda.cuts`: ``F(w_k) − ⟨u_k, w_k⟩`` and the products of gradients of the live rows."""
        rows = np.array(live)
        gradients = self.rows + rows
        return self.losses[rows] - self._gram[rows, gradients], self._gram[np.ix_(gradients, gradients)]
