"""Training on several ranks, whatever engine connects them: what every rank does from its share to the solution."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.distributed.checkpoints import ACCELERATION, Checkpoints
from dualfield.distributed.share import Share
from dualfield.driver import Callback, Progress, as_callbacks
from dualfield.fields import DistributedChain
from dualfield.fields.base import Choice
from dualfield.models.chain_model import ChainModel
from dualfield.models.spec import ChainSpec
from dualfield.parameters import check_limits
from dualfield.random_state import check_random_state
from dualfield.ranks import Communicator, PeerLost
from dualfield.solution import Solution
from dualfield.solvers import Run, Solver, resolve
from dualfield.solvers.distributed import DistributedRun
from dualfield.solving import solve
from dualfield.version import __version__

__all__ = ["Interrupted", "Training", "train_share"]

Arrays = dict[str, npt.NDArray[Any]]


class Training(NamedTuple):
    """What is asked of a run, the same on all ranks; ``solver`` and the others are arguments of :func:`solve`."""

    spec: ChainSpec
    solver: Solver | str = "auto"
    tol: float = 1e-3
    max_passes: int = 500
    random_state: Any = None
    class_weight: Any = None
    costs: Any = None

    def model(self, field: DistributedChain, solution: Solution, training: Mapping[str, Any]) -> ChainModel:
        """What the solution is as a model."""
        return ChainModel(self.spec, training)._take(field, solution)


class Interrupted(PeerLost):
    """A rank was lost. ``state`` has what this rank knows, so that another run can go on from it."""

    def __init__(self, lost: PeerLost, state: dict[str, Arrays]) -> None:
        super().__init__(str(lost), lost.late)
        self.state = state


def train_share(
    communicator: Communicator,
    share: Share,
    training: Training,
    *,
    callbacks: Iterable[Callback] | Callback = (),
    checkpoints: Checkpoints | None = None,
    kept: Mapping[str, Arrays] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[DistributedChain, Solution]:
    """Train on the shares of all ranks, which must all call this, with the same ``training``.

    Parameters
    ----------
    communicator : Communicator
        The ranks.
    share : Share
        The data of this rank.
    training : Training
        What is asked for.
    callbacks
        Called on this rank after every pass; where one of any rank returns True, the run ends on all.
    checkpoints : Checkpoints, optional
        Where the duals of this rank's pieces go at the end of a pass, when it is time.
    kept : mapping of str to arrays, optional
        What :class:`Interrupted` had of some pieces; it comes before what a checkpoint has.
    stop : callable
        Asked after every pass whether to end the run.

    Returns
    -------
    field, solution
        The same solution on all ranks.

    Raises
    ------
    Interrupted
        When another rank does not answer.

    Examples
    --------
    >>> from dualfield.distributed import Training, encoded_piece, share_of_pieces, train_share
    >>> from dualfield.models.spec import ChainSpec
    >>> from dualfield.ranks import run_in_threads
    >>> pieces = [([[["a"], ["b"]]], [["X", "Y"]]), ([[["b"], ["c"]]], [["Y", "Y"]])]
    >>> def work(communicator):
    ...     share = share_of_pieces(communicator, {"only": encoded_piece(pieces[communicator.rank])})
    ...     return train_share(communicator, share, Training(ChainSpec(l2=0.5), tol=1e-6))[1]
    >>> solution, same = run_in_threads(2, work)
    >>> solution.certificate, solution.primal == same.primal
    ('exact', True)
    """
    communicator.together(lambda: _check(training))
    _check_versions(communicator)
    seed = communicator.broadcast(int(check_random_state(training.random_state).randint(np.iinfo(np.int32).max)))
    field = DistributedChain(
        share.part.X,
        share.part.codes,
        share.classes,
        communicator,
        sample_weight=share.part.sample_weight,
        class_weight=training.class_weight,
        costs=training.costs,
        **training.spec.but(min_count=1)._asdict(),  # pieces have no rare attributes any more
    )
    if checkpoints is not None:
        _prepare(communicator, checkpoints, field)
    solver = resolve(training.solver, field.default_solver, None, "cpu")
    communicator.together(lambda: solver.check(field))
    run = solver.start_to(field, seed, training.tol)
    watch = _Watch(communicator, share, as_callbacks(callbacks), checkpoints, stop)
    begun = False  # before that a rank knows nothing that was not known
    try:
        if isinstance(run, DistributedRun):
            names = (*share.names, ACCELERATION)
            saved = communicator.together(lambda: {name: _saved(name, checkpoints, kept) for name in names})
            if communicator.any(any(arrays is not None for arrays in saved.values())):
                pieces = [(*watch.blocks(k), saved[name]) for k, name in enumerate(share.names)]
                run.restore(pieces, saved[ACCELERATION])
        begun = True
        solution = solve(
            field, solver, training.tol, training.max_passes, callbacks=watch, state=run, random_state=seed
        )
    except PeerLost as lost:
        state = watch.state(run) if begun and isinstance(run, DistributedRun) else {}
        raise Interrupted(lost, state) from None
    watch.save(run)
    solution.state = None
    return field, solution


def _check(training: Training) -> None:
    check_limits(training.tol, training.max_passes)
    resolve(training.solver, Choice("oeg", "only to check the name"), None, "cpu")


def _check_versions(communicator: Communicator) -> None:
    """Refuse ranks with different versions of the package, by name."""
    versions = communicator.all_gather(__version__)

    def check() -> None:
        for rank, version in enumerate(versions):
            if version != versions[0]:
                raise RuntimeError(
                    f"rank {rank} has dualfield {version}, and rank 0 has {versions[0]}; install the same on all."
                )

    communicator.together(check)


def _prepare(communicator: Communicator, checkpoints: Checkpoints, field: DistributedChain) -> None:
    """Rank 0 looks at the folder, for all."""

    def first() -> None:
        if communicator.rank == 0:
            checkpoints.prepare(field)

    communicator.together(first)


def _saved(name: str, checkpoints: Checkpoints | None, kept: Mapping[str, Arrays] | None) -> Arrays | None:
    if kept is not None and name in kept:
        return kept[name]
    return checkpoints.load(name) if checkpoints is not None and checkpoints.resume else None


class _Watch:
    """Asked after every pass: the callbacks, whether to stop, and whether it is time for a checkpoint."""

    def __init__(
        self,
        communicator: Communicator,
        share: Share,
        callbacks: tuple[Callback, ...],
        checkpoints: Checkpoints | None,
        stop: Callable[[], bool],
    ) -> None:
        self._ranks, self._share, self._callbacks = communicator, share, callbacks
        self._checkpoints, self._stop = checkpoints, stop
        self._saved_at = time.monotonic()

    def __call__(self, progress: Progress) -> bool:
        answers = [callback(progress) for callback in self._callbacks]
        stop = self._stop() or any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)
        due = self._checkpoints is not None and time.monotonic() - self._saved_at >= self._checkpoints.seconds
        stops, dues = self._ranks.all_reduce(np.array([stop, due], np.int64))
        if dues:
            self.save(progress.run)
        return bool(stops)

    def save(self, run: Run) -> None:
        """Leave the duals of this rank's pieces in the folder of checkpoints, if there is one."""
        if self._checkpoints is not None and isinstance(run, DistributedRun):
            state, checkpoints = self.state(run), self._checkpoints
            if self._ranks.rank > 0:
                del state[ACCELERATION]
            self._ranks.together(lambda: checkpoints.save_all(state))
            self._saved_at = time.monotonic()

    def blocks(self, k: int) -> tuple[int, int]:
        """The sequences of piece k: from the first to before the second."""
        first, end = self._share.bounds[k : k + 2].tolist()
        return first, end

    def state(self, run: DistributedRun) -> dict[str, Arrays]:
        """The duals of each piece of this rank, and what acceleration knows."""
        acceleration, names = run.acceleration(), self._share.names
        duals = run.duals([self.blocks(k) for k in range(len(names))])
        return {**dict(zip(names, duals, strict=True)), ACCELERATION: acceleration}
