"""What one worker does: the task that trains on its pieces until the run ends or a worker is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from distributed import Actor, get_worker

from dualfield.distributed.checkpoints import Checkpoints
from dualfield.distributed.dask.hub import DaskCommunicator, Hub, forget_hubs, hub_here
from dualfield.distributed.share import EncodedPiece, Share, encoded_piece, share_of_folder, share_of_pieces
from dualfield.distributed.training import Interrupted, Training, train_share
from dualfield.driver import Progress
from dualfield.features import Encoded
from dualfield.features.sequences.dense import Standard
from dualfield.fields import DistributedChain
from dualfield.models.chain_layout import ChainLayout
from dualfield.partitions import open_partitions
from dualfield.ranks import Communicator, PeerLost
from dualfield.solution import Solution

__all__ = ["Outcome", "Problem", "Run", "count_positions", "encode_bag_part", "encode_part", "forget", "train_rank"]

_kept: dict[str, dict[str, Any]] = {}  # duals of runs that lost a worker, by run and piece, until the run has ended


class Run(NamedTuple):
    """What all ranks of a run are told."""

    name: str
    asked: Training
    workers: list[str]  # by rank
    hubs: list[str]  # the keys of their actors
    checkpoints: Checkpoints | None
    time_limit: float
    topic: str  # under which rank 0 tells the client of its passes


class Problem(NamedTuple):
    """What a model takes over from the problem."""

    classes: npt.NDArray[Any]
    layout: ChainLayout
    l1: float
    standard: Standard | None
    encoded: Encoded  # without sequences


class Outcome(NamedTuple):
    """How a rank ended: lost others, or with the solution, which rank 0 brings along."""

    lost: str = ""
    late: tuple[int, ...] = ()  # the ranks that were waited for in vain
    problem: Problem | None = None
    solution: Solution | None = None


def train_rank(run: Run, rank: int, folder: str | None, pieces: Mapping[str, Any]) -> Outcome:
    """Train as one rank. ``pieces``: encoded ones by name, or of a folder the numbers of its partitions."""
    # Made here: an actor that is passed would be a dependency, and Dask drops a task whose dependency is lost.
    hubs = [Actor(Hub, worker, key) for worker, key in zip(run.workers, run.hubs, strict=True)]
    ranks = DaskCommunicator(run.name, rank, hubs, run.workers, run.time_limit)
    hub = hub_here(run.name, rank)
    try:
        share = _share(ranks, folder, pieces, run.asked.spec.min_count)
        field, solution = train_share(
            ranks,
            share,
            run.asked,
            callbacks=_teller(run.topic) if rank == 0 else (),
            checkpoints=run.checkpoints,
            kept=_kept.get(run.name),
            stop=lambda: hub.stopped,
        )
    except Interrupted as lost:
        _kept.setdefault(run.name, {}).update(lost.state)
        return Outcome(str(lost), lost.late)
    except PeerLost as lost:
        return Outcome(str(lost), lost.late)
    return Outcome() if rank > 0 else Outcome(problem=_problem(field), solution=solution)


def forget(name: str) -> None:
    """Drop what this process keeps of a run that has ended."""
    _kept.pop(name, None)
    forget_hubs(name)


def encode_part(given: Any) -> EncodedPiece | None:
    """A part of the data as :func:`~dualfield.distributed.encoded_piece` has it."""
    return encoded_piece(given)


def encode_bag_part(pairs: Any) -> EncodedPiece | None:
    """A part of a bag of pairs ``(sequence, labels)``."""
    listed = list(pairs)
    for number, pair in enumerate(listed):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"element {number} of a part of the bag is {pair!r:.60}; expected (sequence, labels).")
    return encoded_piece(([sequence for sequence, _ in listed], [labels for _, labels in listed]))


def count_positions(piece: EncodedPiece | None) -> int:
    """How many positions a piece has."""
    return 0 if piece is None else piece.X.n_positions


def _share(ranks: Communicator, folder: str | None, pieces: Mapping[str, Any], min_count: int) -> Share:
    if folder is None:
        return share_of_pieces(ranks, pieces, min_count)
    data = ranks.together(lambda: open_partitions(folder))
    return ranks.together(lambda: share_of_folder(data, list(pieces.values())))


def _teller(topic: str) -> Callable[[Progress], None]:
    worker = get_worker()

    def tell(progress: Progress) -> None:
        primal = progress.dual + progress.gap_estimate
        told = {"pass": progress.passes, "seconds": progress.seconds, "gap": float(progress.gap_estimate / primal)}
        worker.log_event(topic, told)

    return tell


def _problem(field: DistributedChain) -> Problem:
    return Problem(field.classes, field.layout, field.l1, field.standard, _without_sequences(field.encoded))


def _without_sequences(encoded: Encoded) -> Encoded:
    none = np.zeros(1, np.int64)
    pairs = encoded.bigrams
    bigrams = None if pairs is None else Encoded(none, none, np.empty(0, np.int32), None, pairs.vocabulary)
    return Encoded(none, none, np.empty(0, np.int32), None, encoded.vocabulary, bigrams)
