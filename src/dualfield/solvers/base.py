"""The contract between :func:`dualfield.solve` and solvers.

A *solver* is a frozen set of parameters. ``start`` binds it to a field and gives a *run*: the state of an
optimisation in progress, which works in short slices so that the caller can report, stop, or be interrupted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import contiguous
from dualfield.fields import Field
from dualfield.given_numbers import as_float, check_integer
from dualfield.solution import Certificate

__all__ = ["Bound", "MarginalsRun", "Run", "Solver", "check_count", "check_flag", "check_number", "compiled"]


# The solvers that take a penalty, named in the error for a solver that does not.
_TAKERS = {
    "l1": "'auto', 'oeg', 'sdca', 'lbfgs', 'saga', 'svrg', 'adagrad' or 'sgd'",
    "centre": "'auto', 'oeg', 'sdca' or 'lbfgs'",
}


class Bound(NamedTuple):
    """Confirmed objective values: ``primal`` at the weights, ``dual`` below the optimum, and their gap."""

    primal: float
    dual: float
    gap: float


class Run(ABC):
    """A solver at work on a field.

    What is not said otherwise here passes through to ``core``, the compiled run. Every compiled run has ``run``,
    ``left_in_pass``, ``updates``, ``oracle_calls``, ``stalled``, ``diverged``, ``weights``, ``save`` and ``restore``;
    one that certifies also has ``confirm``, ``certificate`` and ``confirmed_weights``.
    """

    certifies: ClassVar[bool] = True  # whether runs can prove a bound
    updates_within_passes: ClassVar[bool] = True  # whether ``advance`` can stop within a pass
    proves: ClassVar[bool] = False  # whether ``bound`` holds even where the field's inference has not converged

    def __init__(self, solver: Solver, field: Field, core: Any) -> None:
        self.solver, self.field, self._core = solver, field, core
        self.passes_done = 0  # since the state began, in this call of solve or before

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a run of {self.solver.name} cannot be pickled, since its field holds the training data; keep "
            "run.arrays() (numpy.savez writes it), and go on with solver.start(field, 0).restore(arrays)."
        )

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        """Work for about so long, or so many updates; True when this completed a pass (or nothing is left to do)."""
        left = self._core.left_in_pass
        wanted = left if max_updates is None else min(left, max_updates)
        return bool(self._core.run(wanted, seconds) >= left or self._core.diverged)

    def confirm(self, seconds: float) -> bool:
        """Work on the confirming pass; True when ``bound`` is confirmed for ``certified_weights``."""
        return bool(self._core.confirm(seconds))

    def worth_confirming(self, tol: float, understated: float) -> bool:
        """Whether the tolerance may be met; ``understated`` is by what factor the estimate was last too low."""
        gap, primal = self.estimate()
        return gap * understated <= tol * abs(primal)

    def adopt(self) -> None:  # noqa: B027 - most runs have nothing to adopt
        """Use what the last confirming pass found, where that helps the run."""

    @property
    def bound(self) -> Bound:
        """The values that the last confirming pass found."""
        return Bound(*self._core.certificate)

    def certificate(self, weights: npt.NDArray[np.float64]) -> tuple[Certificate, str]:
        """Of which problem ``bound`` speaks, at the weights it was confirmed for; if of none, why not, as a clause."""
        return self.field.certifies(weights)

    def unproven(self, relative: float, objection: str) -> str:
        """What ``bound`` says where it does not speak of the optimum, as a clause."""
        return f"‖∇P‖²/(2 l2) is {relative:.1e} of the objective P, but {objection}, so nothing is proven"

    @property
    def note(self) -> str:
        """What the method chose by itself and the user may want to know, as a clause; empty: nothing."""
        return ""

    @property
    def remark(self) -> str:
        """What to say of this run when it has not converged, as a clause; empty: nothing."""
        return ""

    def estimate(self) -> tuple[float, float]:
        """(gap, primal) as far as known without a confirming pass: those of the last one, where nothing else tells."""
        return self.bound.gap, self.bound.primal

    @property
    def stalled(self) -> bool:
        """Whether no further step helps."""
        return bool(self._core.stalled)

    @property
    def diverged(self) -> bool:
        """Whether the numbers have left floating point; the weights are the last finite ones."""
        return bool(self._core.diverged)

    @property
    def refreshing(self) -> bool:
        """Whether the updates of a pass are done and ``advance`` has other work left before the pass is complete."""
        return False

    @property
    def updates(self) -> int:
        """Weight updates so far."""
        return int(self._core.updates)

    @property
    def oracle_calls(self) -> int:
        """Calls of the inference oracle so far."""
        return int(self._core.oracle_calls)

    def weights(self) -> npt.NDArray[np.float64]:
        """A copy of the current weights."""
        weights: npt.NDArray[np.float64] = self._core.weights()
        return weights

    def certified_weights(self) -> npt.NDArray[np.float64]:
        """A copy of the weights that ``bound`` speaks of."""
        weights: npt.NDArray[np.float64] = self._core.confirmed_weights()
        return weights

    @abstractmethod
    def record(self) -> dict[str, float]:
        """The columns of the history that this solver adds, at the end of a pass."""

    def under_another_penalty(self, field: Field, seed: int) -> Run:
        """A new run on a field that differs only in l1 and l2, which begins where this one stands."""
        run = self.solver.start(field, seed)
        run.begin_at(self.weights())
        return run

    def begin_at(self, weights: npt.NDArray[np.float64]) -> None:
        """Take these weights in place of zero, before the first update."""
        self._core.set_weights(weights)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """A copy of the whole state as named arrays, for saving; :meth:`restore` takes it back."""
        saved: dict[str, npt.NDArray[Any]] = self._core.save()
        return {**saved, "passes_done": np.array([self.passes_done])}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> Run:
        """Take over a state saved by :meth:`arrays` on the same field; returns the run itself."""
        given = dict(arrays)
        done = np.asarray(given.pop("passes_done", None))
        if done.dtype == object:
            raise ValueError("the saved state lacks an entry")
        if done.dtype.kind != "i" or done.shape != (1,) or done[0] < 0:
            raise ValueError("the saved state does not fit this field")
        self._core.restore({name: contiguous(array, array.dtype.type) for name, array in given.items()})
        self.passes_done = int(done[0])
        return self


class MarginalsRun(Run):
    """A run whose weights belong to marginals that it keeps: it cannot begin at others."""

    def under_another_penalty(self, field: Field, seed: int) -> Run:
        run = self.solver.start(field, seed).restore(self.arrays())
        run._core.begin_again(self.field.l2)
        run.passes_done = 0
        return run

    def begin_at(self, weights: npt.NDArray[np.float64]) -> None:
        if self.field.centre is not None and np.array_equal(weights, self.field.centre):
            return  # the penalty keeps it near them anyway
        raise TypeError(
            f"{self.solver.name} cannot start at given weights: its weights belong to marginals; "
            "leave start out, or take a solver on the primal such as 'lbfgs'."
        )


class Solver(ABC):
    """Parameters of a method, and what it needs of a field."""

    name: ClassVar[str]  # used in messages and model files; by default the name of the class
    needs: ClassVar[frozenset[str]]
    takes: ClassVar[frozenset[str]] = frozenset()  # of the penalties: "l1", "centre"
    distributed: ClassVar[bool] = False  # whether it works where each rank has a share of the data

    def __init_subclass__(cls) -> None:
        cls.name = vars(cls).get("name", cls.__name__)

    @property
    def limits(self) -> str:
        """What a user should know when a run has not converged, as a clause; empty: nothing special."""
        return ""

    @property
    def if_diverged(self) -> str:
        """What to change after a run whose numbers left floating point."""
        return "scale the attributes down or raise l2"

    @abstractmethod
    def start(self, field: Field, seed: int) -> Run:
        """Bind to a field."""

    def start_to(self, field: Field, seed: int, tol: float) -> Run:
        """Bind to a field for a run that is to end at this tolerance."""
        return self.start(field, seed)

    def check(self, field: Field) -> None:
        """Refuse a field that lacks something, or has a penalty that the method does not take, by name."""
        asked = (("l1", field.l1 > 0, f"l1={field.l1:g}"), ("centre", field.centre is not None, "given weights"))
        for penalty, present, shown in asked:
            if present and penalty not in self.takes:
                what = f"the penalty {shown}" if penalty == "l1" else f"a penalty about {shown}"
                raise TypeError(f"{self.name} cannot minimise {what}; use solver={_TAKERS[penalty]}.")
        if field.communicator is not None and not self.distributed:
            raise TypeError(f"{self.name} does not run on several ranks; use solver='oeg' or 'lbfgs'.")
        missing = sorted(self.needs - field.offers)
        if missing:
            instead = f"; {field.instead}" if field.instead else ""
            listed = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
            raise TypeError(f"{self.name} needs {listed}, which {field.name} does not offer{instead}.")


def check_number(owner: str, name: str, value: object, inside: Callable[[float], bool], rule: str) -> None:
    """Refuse a parameter that is not a number, or not inside its range."""
    if isinstance(value, bool) or not isinstance(value, Real) or not inside(as_float(value)):
        raise ValueError(f"{owner}: {name} must be {rule}; got {value!r}.")


def check_count(owner: str, name: str, value: object, at_least: int) -> None:
    """Refuse a parameter that is not an integer, or too small."""
    check_integer(f"{owner}: {name}", value, at_least, f"an integer, at least {at_least}")


def check_flag(owner: str, name: str, value: object) -> None:
    """Refuse a parameter that is not a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{owner}: {name} must be True or False; got {value!r}.")


def compiled(name: str, field: Field, needs: frozenset[str] = frozenset(), /, **options: Any) -> Any:
    """A compiled run of method ``name`` on a field, for a solver that needs this of it."""
    from dualfield import _core

    return getattr(_core, name)(field.core_with(needs), **options)
