"""The table of methods: a line there, and every list of solvers has the method."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest

from dualfield import solvers
from dualfield.cli.options import SolverName
from dualfield.fields.base import Choice
from dualfield.solvers import Solver

AUTO = Choice("lbfgs", "it is asked for")


def written() -> dict[str, type[Solver]]:
    """Every method in a module of the package, by the name of the module."""
    found: dict[str, type[Solver]] = {}
    for module in pkgutil.iter_modules(solvers.__path__):
        inside = vars(import_module(f"dualfield.solvers.{module.name}")).values()
        for kind in inside:
            own = isinstance(kind, type) and kind.__module__ == f"dualfield.solvers.{module.name}"
            if own and issubclass(kind, Solver) and kind.__name__.lower() == module.name.replace("_", ""):
                found[module.name] = kind
    return found


def test_every_method_that_is_written_is_in_the_table() -> None:
    methods = written()
    assert len(methods) >= 15
    assert set(solvers.NAMES) == set(methods)
    assert solvers.BY_CLASS_NAME == {kind.name: kind for kind in methods.values()}


@pytest.mark.parametrize("name", solvers.NAMES)
def test_a_name_gives_its_method(name: str) -> None:
    assert type(solvers.resolve(name, AUTO)) is written()[name]
    threaded = "n_jobs" in inspect.signature(written()[name]).parameters
    assert (name in solvers.THREADED) == threaded
    if threaded:
        assert solvers.resolve(name, AUTO, n_jobs=3).n_jobs == 3  # type: ignore[attr-defined]


def test_the_command_line_offers_the_table() -> None:
    assert [name.value for name in SolverName] == ["auto", *solvers.NAMES]


def test_a_name_outside_the_table_is_refused_with_those_inside() -> None:
    with pytest.raises(ValueError, match=r"one of 'auto', 'sdca', .*'soft_bcfw', or an object .* got 'nothing'"):
        solvers.resolve("nothing", AUTO)
