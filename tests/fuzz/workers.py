"""Seeds run by worker processes, watched by their parent: a signal, a hang and too much memory are seen from outside.

A worker is this program again with ``--worker``; it takes ranges of seeds from its input and says a line before each
call and after each program. Ten seconds of work without a line are a hang, and so is a minute by the clock: on a busy
machine a worker may have to wait.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SECONDS_A_CALL, SECONDS_BY_THE_CLOCK = 10.0, 60.0
MOST_MEMORY = 2 << 30  # bytes that a worker may have in memory, of which Python and NumPy need a tenth
_BATCH = 25  # seeds handed over at a time
_MOST = 300  # different defects, after which a run ends

Program = Callable[[int, Callable[[str], None]], dict[str, int]]  # (seed, say) -> how many calls ended how


class Defect(Exception):
    """What a program found."""


@dataclass
class Report:
    """What all workers have done."""

    programs: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    defects: Counter[str] = field(default_factory=Counter)  # how often each was seen

    def note(self, seed: int, defect: str) -> None:
        """Prints a defect when it is seen first."""
        if self.defects[defect] == 0:
            print(f"seed {seed}: {defect}", flush=True)
        self.defects[defect] += 1

    def line(self, target: str, seconds: float) -> str:
        calls = sum(self.calls.values())
        return (
            f"fuzz target={target} inputs={calls} per_second={calls / max(seconds, 1e-9):.0f} programs={self.programs} "
            f"ok={self.calls['ok']} refused={self.calls['refused']} seen={sum(self.defects.values())} "
            f"crashes={len(self.defects)}"
        )


def worker(program: Program) -> None:
    """Run the seeds that come in; what the library prints goes nowhere."""
    told = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)

    def say(message: dict[str, Any]) -> None:
        told.write(json.dumps(message) + "\n")
        told.flush()

    for line in sys.stdin:
        first, last = map(int, line.split())
        for seed in range(first, last):
            say({"seed": seed, "begins": "program"})
            try:
                counts = program(seed, lambda name, seed=seed: say({"seed": seed, "begins": name}))
            except Defect as defect:
                say({"seed": seed, "defect": str(defect)})
            else:
                say({"seed": seed, "counts": counts})
        say({"idle": True})


class _Worker:
    def __init__(self, command: list[str], log: str) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(log, "ab"), start_new_session=True
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.buffer, self.seed, self.doing, self.last, self.heard = b"", -1, "start", -1, time.monotonic() + 60.0
        self.worked = 0.0  # CPU seconds when it was last heard

    def hand_over(self, first: int, last: int) -> None:
        assert self.process.stdin is not None
        self.last = last
        self.process.stdin.write(f"{first} {last}\n".encode())
        self.process.stdin.flush()

    def cpu_seconds(self) -> float:
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                user, system = file.read().rpartition(")")[2].split()[11:13]
        except OSError:
            return 0.0
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def hear(self) -> None:
        self.heard, self.worked = time.monotonic(), self.cpu_seconds()

    def hangs(self) -> bool:
        silent = time.monotonic() - self.heard
        if silent <= SECONDS_A_CALL:
            return False
        return silent > SECONDS_BY_THE_CLOCK or self.cpu_seconds() - self.worked > SECONDS_A_CALL

    def memory(self) -> int:
        try:
            with open(f"/proc/{self.process.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            return 0

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def watch(command: list[str], first_seed: int, programs: int | None, seconds: float, workers: int, log: str) -> Report:
    """Run seeds from ``first_seed`` on until the programs or the seconds are used up."""
    report, next_seed, until = Report(), first_seed, time.monotonic() + seconds
    last_seed = None if programs is None else first_seed + programs
    selector = selectors.DefaultSelector()
    crews: dict[int, _Worker] = {}

    def more() -> tuple[int, int] | None:
        nonlocal next_seed
        if (
            time.monotonic() >= until
            or (last_seed is not None and next_seed >= last_seed)
            or len(report.defects) >= 200
        ):
            return None
        first, next_seed = next_seed, next_seed + _BATCH if last_seed is None else min(last_seed, next_seed + _BATCH)
        return first, next_seed

    def employ(seeds: tuple[int, int] | None) -> None:
        if seeds is not None and seeds[0] >= seeds[1]:  # the seed that ended a worker was its last
            seeds = more()
        if seeds is None:
            return
        made = _Worker(command, log)
        made.hand_over(*seeds)
        assert made.process.stdout is not None
        crews[made.process.stdout.fileno()] = made
        selector.register(made.process.stdout, selectors.EVENT_READ)

    def dismiss(descriptor: int, defect: str | None) -> None:
        made = crews.pop(descriptor)
        selector.unregister(made.process.stdout)  # type: ignore[arg-type]
        made.end()
        if defect is not None:
            report.note(made.seed, f"{defect} in {made.doing}")
            employ((made.seed + 1, made.last) if time.monotonic() < until else None)

    for _ in range(workers):
        employ(more())
    while crews:
        for key, _ in selector.select(timeout=0.5):
            descriptor = key.fileobj.fileno()  # type: ignore[union-attr]
            made = crews[descriptor]
            data = os.read(descriptor, 1 << 16)
            if not data:
                code = made.process.wait()
                name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
                dismiss(descriptor, f"the process died ({name})")
                continue
            made.hear()
            *lines, made.buffer = (made.buffer + data).split(b"\n")
            for line in lines:
                _note(json.loads(line), made, report)
                if b'"idle"' in line:
                    seeds = more()
                    if seeds is None:
                        dismiss(descriptor, None)
                        break
                    made.hand_over(*seeds)
        for descriptor, made in list(crews.items()):
            if made.hangs():
                dismiss(descriptor, f"more than {SECONDS_A_CALL:.0f} s")
            elif made.memory() > MOST_MEMORY:
                dismiss(descriptor, f"more than {MOST_MEMORY >> 20} MiB")
    return report


def _note(message: dict[str, Any], made: _Worker, report: Report) -> None:
    if "idle" in message:
        return
    made.seed = message["seed"]
    if "begins" in message:
        made.doing = message["begins"]
    elif "defect" in message:
        report.programs += 1
        report.note(made.seed, message["defect"])
    else:
        report.programs += 1
        report.calls.update(message["counts"])
