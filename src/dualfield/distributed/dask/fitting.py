"""What the client does: it gives each worker its pieces, starts the ranks, and starts them anew when a worker is lost.

A worker whose process ends is seen within about a second, since Dask's scheduler loses its connection; one that hangs
is named by the others after the time limit. The ranks that are left end with their duals. The pieces of the lost one go
to other workers, with the duals of their last checkpoint or at the truth, and a new run begins from the weights of all
duals together.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from distributed import Client, wait

from dualfield.distributed.checkpoints import Checkpoints
from dualfield.distributed.dask.hub import Hub
from dualfield.distributed.dask.rank import Outcome, Problem, Run, forget, train_rank
from dualfield.distributed.training import Training
from dualfield.ranks import PeerLost
from dualfield.solution import Solution

__all__ = ["Pieces", "assigned", "lost", "train_on_workers"]

_LOOK = 0.1  # seconds between two looks at the ranks
_LOOK_FOR_WORKERS = 1.0
_GRACE = 10.0  # seconds in which the other ranks end, once one has ended without them
_MOST_RUNS = 30  # until it seems that no run will end


class Pieces(NamedTuple):
    """The data: of each piece its name, and where it comes from."""

    folder: str | None  # the numbers of whose partitions the sources are; otherwise they are futures
    sources: dict[str, Any]
    sizes: dict[str, int]


def train_on_workers(
    client: Client,
    pieces: Pieces,
    asked: Training,
    checkpoints: Checkpoints | None,
    time_limit: float,
    most_workers: int | None,
    topic: str,
) -> tuple[Problem, Solution]:
    """Train on the workers of a cluster until there is a solution, whatever becomes of single workers."""
    name = f"dualfield-{uuid.uuid4().hex[:12]}"
    homes: dict[str, str] = {}  # the worker of each piece
    losses: list[str] = []
    hung: set[str] = set()
    try:
        while len(losses) < _MOST_RUNS:
            workers = _workers(client, hung, time_limit)[:most_workers]
            holders = {} if pieces.folder is not None else _holders(client, pieces)
            homes = assigned(pieces.sizes, workers, homes, holders)
            attempt = _Attempt(
                client, f"{name}-{len(losses)}", name, homes, pieces, asked, checkpoints, time_limit, topic
            )
            outcome = attempt.outcome()
            if outcome.problem is not None and outcome.solution is not None:
                solution = outcome.solution
                if losses:
                    solution.message += f" ({len(losses)} times workers were lost, and their pieces went on elsewhere.)"
                return outcome.problem, solution
            losses.append(outcome.lost)
            hung |= attempt.hung
            if checkpoints is not None:
                checkpoints = _resumed(checkpoints)
    finally:
        with suppress(Exception):
            client.run(forget, name, workers=sorted(set(client.nthreads()) - hung), on_error="ignore")
    raise PeerLost(
        f"the run was started {_MOST_RUNS} times, and each time a worker was lost; the last time: {losses[-1]}"
    )


def assigned(
    sizes: Mapping[str, int],
    workers: Sequence[str],
    homes: Mapping[str, str],
    holders: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    """The worker of each piece: where it was, or one that holds it, or the one that has least.

    Examples
    --------
    >>> assigned({"a": 2, "b": 1, "c": 1}, ["one", "two"], {}, {})
    {'a': 'one', 'b': 'two', 'c': 'two'}
    >>> assigned({"a": 2, "b": 1, "c": 1}, ["one", "three"], {"a": "one", "b": "two", "c": "two"}, {})
    {'a': 'one', 'b': 'three', 'c': 'three'}
    """
    load = dict.fromkeys(workers, 0)
    found: dict[str, str] = {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        near = [worker for worker in holders.get(name, ()) if worker in load]
        choice = homes.get(name)
        if choice not in load:
            choice = min(near or workers, key=lambda worker: load[worker])
        load[choice] += sizes[name]
        found[name] = choice
    return {name: found[name] for name in sizes}


def _workers(client: Client, hung: set[str], time_limit: float) -> list[str]:
    """The workers that are there, but for those that hung; waits for one."""
    until = time.monotonic() + time_limit
    while True:
        found = sorted(set(client.nthreads()) - hung)
        if found:
            return found
        if time.monotonic() > until:
            raise PeerLost(f"the cluster has had no worker for {time_limit:g} s; start some, and fit again.")
        time.sleep(_LOOK_FOR_WORKERS)


def _holders(client: Client, pieces: Pieces) -> dict[str, Sequence[str]]:
    """The workers that hold each piece, once all are encoded; Dask makes lost ones again where it can."""
    for name, future in pieces.sources.items():
        wait([future])
        if future.status != "finished":
            raise lost(name, future.status)
    held = client.who_has(list(pieces.sources.values()))
    return {name: held.get(future.key, ()) for name, future in pieces.sources.items()}


def lost(piece: str, error: object) -> PeerLost:
    """The error of a piece that Dask cannot make again."""
    return PeerLost(
        f"{piece} was lost with its worker, and Dask cannot make it again ({error}); give a folder, or delayed pieces."
    )


def _resumed(checkpoints: Checkpoints) -> Checkpoints:
    return Checkpoints(checkpoints.folder, True, checkpoints.seconds, may_be_missing=True)


class _Attempt:
    """One run, from its start to its end or to the loss of a worker."""

    def __init__(
        self,
        client: Client,
        key: str,
        name: str,
        homes: Mapping[str, str],
        pieces: Pieces,
        asked: Training,
        checkpoints: Checkpoints | None,
        time_limit: float,
        topic: str,
    ) -> None:
        self._client = client
        self._workers = sorted(set(homes.values()))
        self._interrupted = self._given_up = False
        self._time_limit = time_limit
        self._outcomes: dict[Any, Outcome] = {}  # of the ranks that have ended
        self.hung: set[str] = set()  # workers that the others have waited for in vain
        size = len(self._workers)

        def on(worker: str, task: str) -> dict[str, Any]:
            return {
                "key": f"{key}-{task}",
                "workers": [worker],
                "allow_other_workers": False,
                "pure": False,
                "priority": 10,
            }

        hubs = [
            client.submit(Hub, name, rank, size, time_limit, actor=True, **on(worker, f"hub-{rank}"))
            for rank, worker in enumerate(self._workers)
        ]
        self._hub_futures, self._ranks = hubs, []
        self._hubs = self._made(hubs, time_limit)
        if not self._hubs:
            return
        keys = [str(hub.key) for hub in hubs]
        run = Run(name, asked, self._workers, keys, checkpoints, time_limit, topic)
        for rank, worker in enumerate(self._workers):
            mine = {piece: pieces.sources[piece] for piece, home in homes.items() if home == worker}
            self._ranks.append(
                client.submit(train_rank, run, rank, pieces.folder, mine, retries=0, **on(worker, f"rank-{rank}"))
            )

    def outcome(self) -> Outcome:
        """How the run ended; what a rank raised is raised again."""
        try:
            while True:
                try:
                    return self._watched()
                except KeyboardInterrupt:
                    if self._interrupted:
                        raise
                    self._interrupted = True
                    for hub in self._hubs:
                        hub.stop()
        finally:
            self._client.cancel([*self._ranks, *self._hub_futures], force=True)

    def _watched(self) -> Outcome:
        if not self._hubs:
            return Outcome(lost="a worker was lost before the run began.")
        looked, gone, others_ended = 0.0, set[str](), 0.0
        while True:
            waiting = {
                worker
                for future, worker in zip(self._ranks, self._workers, strict=True)
                if future.status == "pending" and worker not in gone
            }
            if not waiting:
                return self._ended(_gone(gone))
            self._give_up_after_an_error(gone)
            if self._lost_some():
                others_ended = others_ended or time.monotonic()
                late = {self._workers[rank] for outcome in self._outcomes.values() for rank in outcome.late}
                # Who was waited for has had its time; others may be busy between two exchanges.
                patience = _GRACE if waiting <= late else self._time_limit
                if time.monotonic() - others_ended > patience:
                    self.hung = waiting
                    return self._ended(f"worker {' and '.join(sorted(waiting))} hangs.")
            if time.monotonic() - looked > _LOOK_FOR_WORKERS:
                missing = set(self._workers) - set(self._client.nthreads())
                looked = time.monotonic()
                if missing - gone:
                    gone |= missing
                    self._give_up(_gone(gone), gone)
            time.sleep(_LOOK)

    def _give_up_after_an_error(self, gone: set[str]) -> None:
        """The others need not wait for a rank that has ended with an error."""
        if not self._given_up and any(future.status == "error" for future in self._ranks):
            self._given_up = True
            self._give_up("a rank has ended with an error.", gone)

    def _lost_some(self) -> bool:
        """Whether a rank has ended without the others."""
        for future in self._ranks:
            if future.status == "finished" and future.key not in self._outcomes:
                self._outcomes[future.key] = future.result()
        return any(outcome.lost for outcome in self._outcomes.values())

    def _give_up(self, reason: str, gone: set[str]) -> None:
        for worker, hub in zip(self._workers, self._hubs, strict=True):
            if worker not in gone:
                with suppress(Exception):  # it may go as well
                    hub.give_up(reason)

    def _ended(self, reason: str) -> Outcome:
        outcomes: list[Outcome] = []
        for future in self._ranks:
            if future.status == "finished":
                outcomes.append(future.result())
            elif future.status == "error":
                error = future.exception()
                if getattr(error, "on_all_ranks", False) or not _of_a_lost_worker(error):
                    raise error
                reason = reason or str(error)
            else:
                reason = reason or "a worker is gone."
        reason = reason or next((outcome.lost for outcome in outcomes if outcome.lost), "")
        if reason or outcomes[0].solution is None:
            return Outcome(lost=reason or "rank 0 ended without a solution.")
        found = outcomes[0]
        return found._replace(solution=_interrupted(found.solution)) if self._interrupted else found

    def _made(self, futures: list[Any], time_limit: float) -> list[Any]:
        """The actors; none, where a worker went away before its own was made."""
        until = time.monotonic() + time_limit
        while any(future.status == "pending" for future in futures):
            if set(self._workers) - set(self._client.nthreads()):
                return []
            if time.monotonic() > until:
                raise PeerLost(f"the workers have not begun within {time_limit:g} s; are they busy with other tasks?")
            time.sleep(_LOOK)
        return [future.result() for future in futures]


def _gone(workers: set[str]) -> str:
    return f"worker {' and '.join(sorted(workers))} is gone." if workers else ""


def _of_a_lost_worker(error: BaseException | None) -> bool:
    """Whether Dask says with an error that a worker has gone."""
    return type(error).__module__.startswith("distributed")


def _interrupted(solution: Solution | None) -> Solution:
    """A run that ended since the client was interrupted: certified as it is."""
    assert solution is not None
    if solution.status != "stopped":
        return solution
    message = solution.message.replace("was stopped by a callback", "was interrupted")
    return replace(solution, status="interrupted", message=message)
