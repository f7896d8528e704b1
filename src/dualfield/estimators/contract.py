"""The common base of the estimators: scikit-learn's contract, and the parameters in their model files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dualfield import solvers
from dualfield.estimators.parameters import Parameters
from dualfield.estimators.training import check_parameters

__all__ = ["Estimator", "StructuredEstimator"]


class Estimator:
    """An estimator that may keep a solver's run from one fit to the next; scikit-learn's contract stands beside it."""

    solver: str | solvers.Solver
    tol: float
    max_passes: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Keep the parameters of ``__init__``, whose locals are given, as they are: scikit-learn asks for that."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # A pickle carries the weights, not the solver's state.
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_run", "_kept")}

    @classmethod
    def _of_parameters(cls, plain: Mapping[str, Any]) -> Self:
        """An estimator yet without weights, from what :meth:`_plain_parameters` gave; refuses damaged parameters."""
        parameters = dict(plain)
        if isinstance(parameters["solver"], dict):
            options = dict(parameters["solver"])
            name = options.pop("name")
            if name not in solvers.BY_CLASS_NAME:
                raise ValueError(f"its solver {name!r} is unknown")
            parameters["solver"] = solvers.BY_CLASS_NAME[name](**options)
        estimator = cls(**parameters)
        check_parameters(estimator)
        return estimator

    def _plain_parameters(self) -> dict[str, Any]:
        """The parameters as JSON has them."""
        plain: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        plain.pop("device", None)  # of a machine, not of the model
        if isinstance(plain["solver"], solvers.Solver):
            solver: Any = plain["solver"]
            plain["solver"] = {"name": solver.name, **_plain_numbers(dataclasses.asdict(solver))}
        if not isinstance(plain["random_state"], int | np.integer):
            plain["random_state"] = None  # a generator's state is not part of a model
        return _plain_numbers(plain)


class StructuredEstimator(Estimator, Parameters):
    """One whose X has structures, such as sequences or graphs, and whose y has the labels of their parts."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


def _plain_numbers(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
