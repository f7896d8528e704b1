"""Training with CRFsuite's weights and objective, by our solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.compat.crfsuite.feature_set import Keys, crfsuite_layout
from dualfield.compat.crfsuite.parameters import Asked
from dualfield.driver import Callback
from dualfield.estimators import ChainCRF
from dualfield.features import Encoded
from dualfield.fields import Chain
from dualfield.models import ChainSpec
from dualfield.reporting.training import solve_visibly, warn_of_shortfall

__all__ = ["pose", "train"]


def pose(
    what: Asked,
    encoded: Encoded,
    codes: npt.NDArray[np.int32],
    classes: npt.NDArray[Any],
    zeros: Callable[[], Keys],
) -> Chain:
    """The problem with CRFsuite's weights; ``zeros`` is as ``crfsuite_layout`` has it."""
    spec = ChainSpec.of(what.model)
    layout = crfsuite_layout(encoded, codes, len(classes), spec, what.min_freq, zeros)
    return Chain.of_layout(encoded, codes, classes, layout, spec)


def train(
    what: Asked, field: Chain, callbacks: Iterable[Callback] = (), *, bar: bool = False, stacklevel: int = 2
) -> ChainCRF:
    """Solve the problem as the parameters ask, and become its model; warns of a shortfall that nobody asked for."""
    model = what.model
    solution = solve_visibly(
        field,
        model.solver,
        bar=bar,
        callbacks=[*what.stops, *callbacks],
        random_state=0,
        tol=model.tol,
        max_passes=model.max_passes,
    )
    solution.state = None
    wanted = ("stalled", "max_passes") if what.passes_wanted else ("stalled",)
    warn_of_shortfall(solution, model.tol, expected=wanted, stacklevel=stacklevel + 1)
    return model._take(field, solution)
