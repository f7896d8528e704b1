"""Real data, found through the environment variable DUALFIELD_DATA; and which solver is tried on which problem."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dualfield.solvers import Solver
from tests.zoo import PROBLEMS, problem


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("DUALFIELD_DATA")
    if not folder:
        pytest.skip("DUALFIELD_DATA is not set: the folder of the real data sets is unknown")
    return Path(folder)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of all solvers on all problems leave out the pairs that ``solve`` refuses: the field lacks something."""
    refused = [item for item in items if _refused(item)]
    if refused:
        config.hook.pytest_deselected(items=refused)
        kept = set(items) - set(refused)
        items[:] = [item for item in items if item in kept]


def _refused(item: pytest.Item) -> bool:
    params = getattr(getattr(item, "callspec", None), "params", {})
    solver, name = params.get("solver"), params.get("name")
    return isinstance(solver, Solver) and name in PROBLEMS and not solver.needs <= problem(name).offers
