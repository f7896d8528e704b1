"""Training on a folder of partitions within a memory limit, beside training in memory.

Chains are generated chunk by chunk and written as a folder of partitions. Then processes of their own train on it: one
on the folder, in a memory cgroup of ``--limit`` bytes where the system lets us make one, and with ``--in-memory`` one
on all data in memory, without a limit. Each tells its seconds a pass, its peak RssAnon (memory that is not the page
cache), and how many bytes of duals it wrote.

    python benchmarks/scaling/out_of_core.py                              # a million tokens
    python benchmarks/scaling/out_of_core.py --tokens 50000000 --limit 2e9 --folder /large/disk
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dualfield import fields, solve
from dualfield.features import Encoded, NumberedColumns
from dualfield.labels import EncodedLabels
from dualfield.partitions import open_partitions, write_partitions

LABELS, LENGTH, ATTRIBUTES = 10, 20, 10
CHUNK = 1 << 18  # tokens


def chunks(tokens: int, vocabulary: int) -> Iterator[tuple[Encoded, EncodedLabels]]:
    """Sequences as ``generated.chains`` makes them, some at a time."""
    part = vocabulary // ATTRIBUTES
    points_to = np.random.default_rng(0).integers(0, LABELS, part)
    names = [str(label) for label in range(LABELS)]
    for first in range(0, tokens, CHUNK):
        n = max(1, min(CHUNK, tokens - first) // LENGTH)
        rng, positions = np.random.default_rng([1, first]), n * LENGTH
        drawn = (part * rng.random((positions, ATTRIBUTES)) ** 3).astype(np.int32)
        y = np.where(rng.random(positions) < 0.2, rng.integers(0, LABELS, positions), points_to[drawn[:, 0]])
        drawn += part * np.arange(ATTRIBUTES, dtype=np.int32)
        offsets = np.arange(n + 1, dtype=np.int64) * LENGTH
        indptr = np.arange(positions + 1, dtype=np.int64) * ATTRIBUTES
        X = Encoded(offsets, indptr, drawn.ravel(), None, NumberedColumns(part * ATTRIBUTES))
        yield X, EncodedLabels(names, y.astype(np.int32), offsets)


class PeakAnonymous:
    """The largest RssAnon of this process, looked at again and again."""

    def __init__(self) -> None:
        self.peak, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.look()

    def look(self) -> int:
        """The peak so far, in bytes."""
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                self.peak = max(self.peak, 1024 * int(line.split()[1]))
        return self.peak


def trained(folder: str, in_memory: bool, tol: float, l2: float) -> dict[str, Any]:
    """Train in this process, and tell how that went."""
    memory = PeakAnonymous()
    data = open_partitions(folder)
    if in_memory:
        X, y, _ = data.load()
        field: Any = fields.Chain(X, y, l2=l2)
        del X, y
    else:
        field = fields.PartitionedChain(data, l2=l2)
    begun = time.perf_counter()
    solution = solve(field, tol=tol, random_state=0)
    seconds = time.perf_counter() - begun
    return {
        "in_memory": in_memory,
        "status": solution.status,
        "relative_gap": solution.relative_gap,
        "objective": solution.primal,
        "passes": solution.passes,
        "seconds": seconds,
        "seconds_a_pass": seconds / max(solution.passes, 1),
        "bytes_written_a_pass": float(np.mean(solution.history.get("bytes_written", [0.0]))),
        "peak_anonymous": memory.look(),
        "message": solution.message,
    }


@contextmanager
def limited(limit: float) -> Iterator[str]:
    """A file into which a process writes its number to join a memory cgroup; empty where none can be made."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root) / f"dualfield-{os.getpid()}"
        made = False
        try:
            if not (Path(root) / "cgroup.procs").exists():
                continue
            group.mkdir()
            made = True
            (group / name).write_text(str(int(limit)))
            yield str(group / "cgroup.procs")
            return
        except OSError:
            continue
        finally:
            if made:
                with suppress(OSError):
                    group.rmdir()
    yield ""


def in_process(folder: str, in_memory: bool, tol: float, l2: float, join: str) -> dict[str, Any]:
    """The same in a process of its own, which joins a cgroup first."""
    told = ["--train", folder, "--tol", str(tol), "--l2", str(l2), "--join", join]
    command = [sys.executable, __file__, *told, *(["--in-memory"] if in_memory else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """What the arguments ask for; the rows that are printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--vocabulary", type=int, default=100_000)
    parser.add_argument("--limit", type=float, default=400e6, help="bytes of the memory cgroup")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--folder", help="where to make the data")
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--join", default="", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.train:
        if given.join:
            Path(given.join).write_text(str(os.getpid()))
        print(json.dumps(trained(given.train, given.in_memory, given.tol, given.l2)))
        return []
    rows = []
    with tempfile.TemporaryDirectory(dir=given.folder) as home:
        begun = time.perf_counter()
        data = write_partitions(chunks(given.tokens, given.vocabulary), f"{home}/data")
        size = sum(file.stat().st_size for file in Path(home).rglob("*.npy"))
        print(f"{data}, {size / 1e9:.2f} GB, made in {time.perf_counter() - begun:.0f} s", flush=True)
        with limited(given.limit) as join:
            print(f"limit of memory: {given.limit / 1e9:g} GB" if join else "no memory cgroup can be made here")
            rows.append(in_process(data.path, False, given.tol, given.l2, join))
        if given.in_memory:
            rows.append(in_process(data.path, True, given.tol, given.l2, ""))
    for row in rows:
        print(
            f"{'in memory' if row['in_memory'] else 'out of core'}: {row['status']} at {row['relative_gap']:.1e} after "
            f"{row['passes']} passes, {row['seconds_a_pass']:.2f} s a pass, peak RssAnon "
            f"{row['peak_anonymous'] / 1e6:.0f} MB, {row['bytes_written_a_pass'] / 1e6:.0f} MB written a pass\n"
            f"    {row['message']}"
        )
    return rows


if __name__ == "__main__":
    main()
