"""Ranks beside one process: seconds, passes, bytes exchanged, and what happens when a worker is killed.

Chains are generated chunk by chunk and written as a folder of partitions, as in ``out_of_core.py``. One process trains
on all of it in memory; then so many ranks do, as processes of MPI and as workers of Dask. All on this machine, so no
network is in between; ``bytes`` is what a rank gives to exchanges in a pass.

``--simulate 2,4,8,16`` runs ranks as threads of one process: their passes and bytes are those of so many machines,
their seconds are not. ``--kill 5`` kills a worker of Dask with SIGKILL at a random moment of each of five fits, and
compares the objective that the fit reports with one computed afresh from its weights.

    python benchmarks/scaling/clusters.py --tokens 5000000 --ranks 2
    python benchmarks/scaling/clusters.py --tokens 400000 --engines "" --simulate 2,4,8,16
    python benchmarks/scaling/clusters.py --tokens 400000 --engines "" --kill 5 --tol 1e-5
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.scaling.out_of_core import chunks
from dualfield import fields, solve
from dualfield.distributed import Training, share_of_folder, shared_out, train_share
from dualfield.models.spec import ChainSpec
from dualfield.partitions import open_partitions, write_partitions
from dualfield.ranks import Communicator, run_in_threads

Row = dict[str, Any]


def row(name: str, solution: Any, wall: float) -> Row:
    """What a run is told as; ``wall`` has reading and starting too."""
    given = solution.history.get("bytes_exchanged", np.zeros(1))
    return {
        "run": name,
        "status": solution.status,
        "objective": solution.primal,
        "relative_gap": solution.relative_gap,
        "passes": solution.passes,
        "seconds": solution.seconds,
        "wall": wall,
        "megabytes_a_pass": float(np.mean(given)) / 1e6,
    }


def alone(folder: str, asked: Training) -> Row:
    """One process, all data in memory."""
    begun = time.perf_counter()
    X, y, _ = open_partitions(folder).load()
    field = fields.Chain.of_spec(asked.spec, X, y)
    del X, y
    return row("one process", solve(field, asked.solver, asked.tol, random_state=0), time.perf_counter() - begun)


def of_rank(ranks: Communicator, folder: str, asked: Training) -> Any:
    """The solution of one rank."""
    data = open_partitions(folder)
    share = share_of_folder(data, shared_out(data.position_counts, ranks.size)[ranks.rank])
    return train_share(ranks, share, asked)[1]


def by_mpi(folder: str, asked: Training, ranks: int, arguments: list[str]) -> Row:
    """Processes of MPI, which run this file again."""
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if mpiexec is None:
        sys.exit("There is no mpiexec; pip install mpi4py mpich.")
    begun = time.perf_counter()
    command = [mpiexec, "-n", str(ranks), sys.executable, __file__, *arguments, "--rank-of", folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return {**found, "run": f"{ranks} ranks of MPI", "wall": time.perf_counter() - begun}


def one_of_mpi(folder: str, asked: Training) -> None:
    """What each of these processes does."""
    from dualfield.distributed import MPICommunicator

    ranks = MPICommunicator()
    solution = of_rank(ranks, folder, asked)
    if ranks.rank == 0:
        print(json.dumps(row("", solution, 0.0)))


def by_dask(folder: str, asked: Training, ranks: int, kill: float | None = None) -> tuple[Row, Any]:
    """Worker processes of Dask; one is killed after so many seconds of the fit."""
    from dask.distributed import Client, LocalCluster

    from dualfield.distributed.dask import ChainCRF

    with (
        LocalCluster(n_workers=ranks, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        victim = random.choice(sorted(client.run(os.getpid).values()))
        timer = threading.Timer(kill or 1e6, os.kill, (victim, signal.SIGKILL))
        timer.daemon = True
        timer.start()
        begun = time.perf_counter()
        crf = ChainCRF(client, l2=asked.spec.l2, l1=asked.spec.l1, tol=asked.tol, max_passes=2000, random_state=0)
        crf.fit(folder)
        wall = time.perf_counter() - begun
        timer.cancel()
    return row(f"{ranks} workers of Dask", crf.solution_, wall), crf.solution_


def kills(folder: str, asked: Training, ranks: int, times: int) -> list[Row]:
    """Fits of which each loses a worker."""
    X, y, _ = open_partitions(folder).load()
    field = fields.Chain.of_spec(asked.spec, X, y)
    undisturbed, _ = by_dask(folder, asked, ranks)
    print_row(undisturbed)
    found = []
    for number in range(times):
        moment = random.Random(number).uniform(0.2, 0.9) * undisturbed["wall"]
        told, solution = by_dask(folder, asked, ranks, moment)
        again = field.primal(solution.weights)
        told["run"] = f"killed after {moment:.1f} s"
        told["confirmed"] = abs(again - solution.primal) <= 1e-9 * again
        print_row(told)
        print(f"    objective computed afresh {again:.6f}: {'equal' if told['confirmed'] else 'DIFFERENT'}")
        print(f"    {solution.message}", flush=True)
        found.append(told)
    return found


def print_row(found: Row, seconds: bool = True) -> None:
    """One line of the table."""
    times = f"{found['seconds']:8.1f} s {found['wall']:8.1f} s in all" if seconds else ""
    print(
        f"{found['run']:>22} {found['status']:>10} {found['passes']:4} passes {times} gap {found['relative_gap']:.1e} "
        f"objective {found['objective']:.4f} {found['megabytes_a_pass']:8.1f} MB",
        flush=True,
    )


def main(given: list[str] | None = None) -> list[Row]:
    """What the arguments ask for; the rows that are printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=400_000)
    parser.add_argument("--vocabulary", type=int, default=100_000)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--engines", default="mpi,dask", help="some of mpi, dask")
    parser.add_argument("--simulate", default="", metavar="W,W", help="numbers of ranks that are threads")
    parser.add_argument("--kill", type=int, default=0, metavar="TIMES")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--solver", default="oeg")
    parser.add_argument("--rank-of", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    asked = Training(ChainSpec(l2=arguments.l2), arguments.solver, arguments.tol, 2000, 0)
    if arguments.rank_of:
        one_of_mpi(arguments.rank_of, asked)
        return []
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, "data")
        positions = max(1, min(1 << 18, arguments.tokens // 64))
        write_partitions(chunks(arguments.tokens, arguments.vocabulary), folder, positions=positions)
        rows = [alone(folder, asked)]
        print(f"{arguments.tokens:,} tokens; load {os.getloadavg()[0]:.1f}")
        print_row(rows[0])
        if "mpi" in arguments.engines:
            rows.append(
                by_mpi(folder, asked, arguments.ranks, ["--tol", str(arguments.tol), "--l2", str(arguments.l2)])
            )
            print_row(rows[-1])
        if "dask" in arguments.engines:
            rows.append(by_dask(folder, asked, arguments.ranks)[0])
            print_row(rows[-1])
        for size in map(int, filter(None, arguments.simulate.split(","))):
            solution = run_in_threads(size, lambda ranks: of_rank(ranks, folder, asked))[0]
            rows.append(row(f"{size} ranks", solution, 0.0))
            print_row(rows[-1], seconds=False)
        if arguments.kill:
            rows += kills(folder, asked, max(arguments.ranks, 3), arguments.kill)
    return rows


if __name__ == "__main__":
    main()
