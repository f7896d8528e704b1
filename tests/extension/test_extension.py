"""A field and a method on the dual that are written outside the package, in C++, are trained like its own."""

from __future__ import annotations

import fcntl
import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from dualfield import fields, solve, solvers
from dualfield.fields.base import EXACT, Choice, Field
from dualfield.solvers.dual import DualRun, DualSolver
from tests.zoo import problem

HERE = Path(__file__).parent
nanobind = pytest.importorskip("nanobind", reason="the extension is built with the development tools")


@pytest.fixture(scope="session")
def extension() -> Any:
    build = HERE.parents[1] / "build" / "extension"
    tools = Path(sys.executable).parent
    options = [
        ("CMAKE_MAKE_PROGRAM", tools / "ninja"),
        ("Python_EXECUTABLE", sys.executable),
        ("nanobind_DIR", nanobind.cmake_dir()),
    ]
    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("w") as lock:  # two workers may come at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(
            [
                tools / "cmake",
                "-S",
                HERE,
                "-B",
                build,
                "-G",
                "Ninja",
                *(f"-D{name}={value}" for name, value in options),
            ],
            check=True,
            capture_output=True,
        )
        subprocess.run([tools / "cmake", "--build", build], check=True, capture_output=True)
    (path,) = build.glob("extension*.so")
    spec = importlib.util.spec_from_file_location("extension", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Coins(Field):
    """What src/dualfield/fields would have."""

    name = "Coins"
    offers = EXACT | {"one node"}
    default_solver = Choice("sdca", "it suits")
    preparation = (0.0, 0.0)

    def __init__(self, extension: Any, X: Any, y: Any, l2: float) -> None:
        self._data, self.l2 = (extension, X, y), l2
        self.core = extension.Coins(X, y, l2)

    def with_l2(self, l2: float) -> Coins:
        return Coins(*self._data, l2)

    def _content(self) -> list[Any]:
        return [*self._data[1:], self.l2]


@dataclass(frozen=True)
class Cautious(DualSolver):
    """What src/dualfield/solvers would have; in the package, ``compiled`` finds the core's side by the name."""

    extension: Any = None
    caution: float = 1.0
    name: ClassVar[str] = "Cautious"
    needs: ClassVar[frozenset[str]] = frozenset({"exact marginals", "clique tables"})

    def bind(self, field: Field, seed: int, single: bool) -> Any:
        return self.extension.Cautious(field.core, **self._options(field, seed, single), caution=self.caution)

    def kept_numbers(self, field: Field) -> int:
        return int(self.extension.numbers_of_Cautious(field.core))

    def start_to(self, field: Field, seed: int, tol: float) -> CautiousRun:
        return CautiousRun(self, field, seed, self.single(field, tol))


class CautiousRun(DualRun):
    evaluations_column: ClassVar[str] = "steps"


def coins(extension: Any) -> Coins:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    y = (X @ [1.0, -2.0, 0.5, 0.0] + random.normal(size=60) > 0).astype(np.int32)
    return Coins(extension, X, y, l2=0.7)


@pytest.mark.parametrize("name", ["sdca", "oeg", "sag", "svrg", "hybrid", "cautious"])
def test_solvers_of_every_kind_train_a_field_from_outside(extension: Any, name: str) -> None:
    field = coins(extension)
    optimum = solve(field, "lbfgs", tol=1e-10)
    solver = Cautious(extension=extension) if name == "cautious" else name
    solution = solve(field, solver, tol=1e-8, max_passes=2000, random_state=0)
    assert (solution.status, solution.certificate) == ("converged", "exact")
    np.testing.assert_allclose(solution.weights, optimum.weights, atol=1e-3)


def test_the_field_from_outside_is_logistic_regression(extension: Any) -> None:
    field = coins(extension)
    _, X, y = field._data
    same = fields.Multiclass(np.ascontiguousarray(X), y, l2=2 * field.l2, bias=False)  # u and -u: half the weights each
    ours, theirs = solve(field, tol=1e-9), solve(same, "lbfgs", tol=1e-9)
    np.testing.assert_allclose(ours.primal, theirs.primal, rtol=1e-7)


@pytest.mark.parametrize("name", ["chain-words", "chain-bio", "multiclass-dense", "graph-loops"])
def test_a_method_from_outside_trains_every_field(extension: Any, name: str) -> None:
    field = problem(name)
    optimum = solve(field, "lbfgs", tol=1e-9)
    solution = solve(field, Cautious(extension=extension), tol=1e-6, max_passes=50_000)
    assert solution.status == "converged", solution.message
    assert solution.primal == pytest.approx(optimum.primal, rel=2e-6)


def test_its_options_go_by_keyword_and_are_checked(extension: Any) -> None:
    field = coins(extension)
    with pytest.raises(ValueError, match="caution must be at least 1"):
        Cautious(extension=extension, caution=0.5).bind(field, 0, single=False)
    with pytest.raises(TypeError, match="the option l1 is missing"):
        extension.Cautious(field.core, caution=1.0)
    assert isinstance(solvers.SDCA().bind(field, 0, single=False).updates, int)
