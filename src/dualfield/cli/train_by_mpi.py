"""``dualfield train FOLDER --distributed mpi``: what every process does that ``mpirun`` has started.

Rank 0 speaks and writes the model. What is wrong on all ranks ends all of them, and rank 0 says it. What is wrong on
one rank ends the job, since the others would wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import typer

from dualfield.cli.conduct import BAD_INPUT, NOT_CONVERGED, say
from dualfield.counted import counted
from dualfield.io.atomic import check_writable
from dualfield.models.chain_model import ChainModel
from dualfield.models.spec import ChainSpec
from dualfield.ranks.communicator import Communicator, PeerLost

__all__ = ["OnRanks", "train_by_mpi"]


class OnRanks(NamedTuple):
    """What the options of several ranks say."""

    checkpoints: str | None
    resume: bool
    time_limit: float


def train_by_mpi(
    folder: str, output: str, spec: ChainSpec, asked: dict[str, Any], options: OnRanks, quiet: bool
) -> tuple[dict[str, int], ChainModel] | None:
    """The counts of the folder and the model that it trains, on rank 0; None on the others."""
    from dualfield.distributed.mpi import MPICommunicator

    if not options.time_limit > 0:
        raise ValueError(f"--time-limit must be a positive number of seconds; got {options.time_limit:g}.")
    if options.resume and options.checkpoints is None:
        raise ValueError("--resume goes on from checkpoints; name their folder by --checkpoints.")
    rank: int | None = None
    try:
        ranks = MPICommunicator(time_limit=options.time_limit)
        rank = ranks.rank
        return _trained(ranks, folder, output, spec, asked, options, quiet)
    except BaseException as error:
        if getattr(error, "on_all_ranks", False):
            if rank == 0:
                raise
            raise typer.Exit(BAD_INPUT) from None
        say(f"Error: {error}" if isinstance(error, PeerLost) else f"Error: rank {rank}: {error!r}")
        if options.checkpoints is not None:
            say(f"--resume --checkpoints {options.checkpoints} goes on from the last checkpoint.")
        MPICommunicator.abort()
        raise typer.Exit(NOT_CONVERGED) from None


def _trained(
    ranks: Communicator,
    folder: str,
    output: str,
    spec: ChainSpec,
    asked: dict[str, Any],
    options: OnRanks,
    quiet: bool,
) -> tuple[dict[str, int], ChainModel] | None:
    from dualfield.distributed import Checkpoints, Training, share_of_folder, shared_out, train_share
    from dualfield.partitions import open_partitions

    first = ranks.rank == 0
    ranks.together(_only(first, lambda: check_writable(output)))
    data = ranks.together(lambda: open_partitions(folder))
    ranks.together(lambda: _check(len(data), ranks.size, folder, spec, data.min_count))
    mine = shared_out(data.position_counts, ranks.size)[ranks.rank]
    share = ranks.together(lambda: share_of_folder(data, mine))
    if first and not quiet:
        say(
            f"{counted(data.n_sequences, 'sentence')}, {counted(data.n_positions, 'token')} in "
            f"{counted(len(data), 'partition')} of {folder}, on {counted(ranks.size, 'rank')}"
        )
    checkpoints = None if options.checkpoints is None else Checkpoints(options.checkpoints, options.resume)
    training = Training(spec, **asked)
    field, solution = train_share(ranks, share, training, checkpoints=checkpoints, callbacks=_bar(first and not quiet))
    if not first:
        return None
    crf = training.model(field, solution, asked)
    crf.column_features_ = data.column_features
    return {"sequences": data.n_sequences, "positions": data.n_positions}, crf


def _only(here: bool, work: Callable[[], None]) -> Callable[[], None]:
    return work if here else lambda: None


def _check(partitions: int, size: int, folder: str, spec: ChainSpec, min_count: int) -> None:
    """Refuse a folder that these ranks cannot train on."""
    if partitions < size:
        raise ValueError(
            f"{folder} has {counted(partitions, 'partition')}, and there are {size} ranks, each of which needs one; "
            "start fewer, or make the folder anew with a smaller --positions."
        )
    if spec.min_count not in (1, min_count):
        raise ValueError(
            f"--min-count {spec.min_count}, but {folder} was made with min_count={min_count}; leave it out, or make "
            "the folder anew."
        )


def _bar(shown: bool) -> Any:
    if not shown:
        return ()
    return _line


def _line(progress: Any) -> None:
    """A line a pass: a bar that moves would be lost among what other ranks and mpirun print."""
    gap = progress.gap_estimate / (progress.dual + progress.gap_estimate)
    say(f"pass {progress.passes}: {progress.seconds:.1f} s, gap ≈ {gap:.1e}")
