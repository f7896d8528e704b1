"""Real data, found through the environment variable DUALFIELD_DATA; and which solver is tried on which problem."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dualfield.solvers import Solver
from tests.zoo import ELASTIC, PROBLEMS, RELAXED, problem

# How long an example takes says more about the machine's load than about the code.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

# A job in the background ignores Ctrl-C, and so would the programs that tests start in order to interrupt them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thin", type=int, default=1, help="of the tests of all solvers on all problems, run one in so many"
    )


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("DUALFIELD_DATA")
    if not folder:
        pytest.skip("DUALFIELD_DATA is not set: the folder of the real data sets is unknown")
    return Path(folder)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the pairs of solver and problem that ``solve`` refuses, and thin out the others where asked to."""
    pairs = [item for item in items if _pair(item) is not None]
    fitting = [item for item in pairs if not _refused(item)]
    kept = set(fitting[:: config.getoption("--thin")])
    left_out = [item for item in pairs if item not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _pair(item: pytest.Item) -> tuple[Solver, str] | None:
    """The solver and the problem that a test is about."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    solver, name = params.get("solver"), params.get("name")
    return (solver, name) if isinstance(solver, Solver) and name in PROBLEMS | ELASTIC | RELAXED else None


def _refused(item: pytest.Item) -> bool:
    pair = _pair(item)
    if pair is None:
        return False
    solver, field = pair[0], problem(pair[1])
    return not solver.needs <= field.offers or (field.l1 > 0 and "l1" not in solver.takes)
