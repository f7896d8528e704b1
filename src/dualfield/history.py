"""The history of a run without its holes: what was known of the objective at each pass.

A confirming pass costs as much as a pass of training, so most passes have an estimate only, and some not even that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

__all__ = ["known_history"]

FloatArray = npt.NDArray[np.float64]


def known_history(history: Mapping[str, FloatArray]) -> dict[str, npt.NDArray[np.generic]]:
    """The columns of a history with ``objective`` and ``gap`` in the place of ``primal`` and ``duality_gap``.

    Both are what a confirming pass found; where there was none, the solver's estimate; where it has none, the value of
    the pass before. ``confirmed`` says where there was one. Other columns, too, keep the value of the pass before where
    they have none. What was never known before a pass is NaN there, and a column of which nothing is known is left out.

    Examples
    --------
    >>> import numpy as np
    >>> nan = np.nan
    >>> history = {"passes": [1.0, 2, 3], "primal": [nan, 7, nan], "duality_gap": [nan, 2, nan],
    ...            "dual": [4.0, 5, 5], "gap_estimate": [nan, 1, nan]}
    >>> known = known_history({name: np.array(column) for name, column in history.items()})
    >>> known["objective"].tolist(), known["gap"].tolist(), known["confirmed"].tolist()
    ([nan, 7.0, 7.0], [nan, 2.0, 2.0], [False, True, False])
    """
    given = {name: np.where(np.isfinite(column), column, np.nan) for name, column in history.items()}
    if "passes" not in given:
        return {}
    unknown = np.full(len(given["passes"]), np.nan)
    primal, gap = given.pop("primal", unknown), given.pop("duality_gap", unknown)
    dual, estimate = given.get("dual", unknown), given.get("gap_estimate", unknown)
    confirmed = np.isfinite(primal)
    given["objective"] = np.where(confirmed, primal, dual + estimate)
    given["gap"] = np.where(np.isfinite(gap), gap, np.where(confirmed, np.nan, estimate))
    columns: dict[str, npt.NDArray[np.generic]] = {
        name: _carried_on(column) for name, column in given.items() if np.isfinite(column).any()
    }
    return {**columns, "confirmed": confirmed}


def _carried_on(column: FloatArray) -> FloatArray:
    """Each NaN becomes the last number before it."""
    last = np.maximum.accumulate(np.where(np.isfinite(column), np.arange(len(column)), -1))
    return np.where(last >= 0, column[np.maximum(last, 0)], np.nan)
