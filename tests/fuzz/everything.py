"""Run all fuzzers, the time split evenly between them, and print a table: what ``make fuzz`` does.

Needs the drivers that the Makefile builds, and the build with sanitizers. New inputs and crashes are
under ``build/fuzz/finds/``. The exit status is 1 after any crash, hang or internal error.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parents[1]
BUILT = ROOT / "build" / "fuzz"
TARGETS = sorted(path.stem for path in (FUZZ / "targets").glob("*.cpp"))
PYTHON = ("api", "models")  # each takes the time of three targets: a call costs more than an input


def commands(seconds: float, seed: int, preload: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    """For each fuzzer its command and what it adds to the environment."""
    share = seconds / (len(TARGETS) + 3 * len(PYTHON))
    found: dict[str, tuple[list[str], dict[str, str]]] = {}
    for name in PYTHON:
        command = [
            sys.executable,
            str(FUZZ / f"{name}.py"),
            "--seconds",
            f"{3 * share:.1f}",
            "--seed",
            str(seed * 1_000_000),
        ]
        options = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        found[name] = command, {**options, "LD_PRELOAD": preload} if preload else {}
    for name in TARGETS:
        finds = BUILT / "finds" / name
        finds.mkdir(parents=True, exist_ok=True)
        command = [str(BUILT / name), "--name", name, "--seconds", f"{share:.1f}", "--seed", str(seed)]
        command += ["--dictionary", str(FUZZ / "tokens.dict"), "--finds", str(finds), str(FUZZ / "corpus" / name)]
        found[name] = command, {}
    return found


def run(command: list[str], added: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command, env={**os.environ, **added}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT
    )
    return done.returncode, done.stdout.decode(errors="replace")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="by the clock, for all fuzzers together")
    parser.add_argument("--workers", type=int, default=1, help="fuzzers at a time")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10_000, help="by default another one each time")
    parser.add_argument("--preload", default="", help="libraries to load first, for the build with sanitizers")
    given = parser.parse_args()
    print(f"seed {given.seed}: the same seed tries the same inputs first")
    all_commands = commands(60.0 * given.minutes * given.workers, given.seed, given.preload)
    with ThreadPoolExecutor(given.workers) as pool:
        waiting = {name: pool.submit(run, *parts) for name, parts in all_commands.items()}
        done = {name: job.result() for name, job in waiting.items()}
    failed, total = 0, 0
    rows = [("target", "inputs", "a second", "new coverage", "crashes")]
    for name, (status, output) in done.items():
        summary = dict(re.findall(r"(\w+)=(\S+)", output.splitlines()[-1])) if output.strip() else {}
        if status != 0:
            failed += 1
            print(f"---- {name}\n{output[-6000:]}")
        total += int(summary.get("inputs", 0))
        figures = (summary.get(key, "-") for key in ("inputs", "per_second", "new", "crashes"))
        rows.append((name, *figures))
    for row in rows:
        print(f"{row[0]:<12}" + "".join(f"{figure:>14}" for figure in row[1:]))
    print(f"fuzz total={total} failed={failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
