"""Fuzz the public interface: random programs of a few calls, with hostile values, in worker processes.

``python tests/fuzz/api.py --seconds 60`` runs programs from seed 0 on. Each defect is printed with its seed;
``python tests/fuzz/api.py --seed N --programs 1`` runs that program again, and ``--here`` in this process, with a
traceback. A defect is an error that is not a refusal in a sentence of ours, an answer that breaks a promise, a signal,
a hang, or too much memory.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz.verdicts import verdict
from tests.fuzz.workers import Defect, watch, worker

_FOLDER = ""


def run_program(seed: int, say: Callable[[str], None], show: bool = False) -> dict[str, int]:
    """Run the program of this seed; what each call did, or the first defect."""
    import numpy as np

    from tests.fuzz import programs

    random = Random(seed)
    scenario = random.choice(programs.SCENARIOS)
    counts: Counter[str] = Counter()

    def call(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        say(f"{scenario.__name__}: {name}")
        if show:
            print(f"{scenario.__name__}: {name}({_shown(arguments, named)})", flush=True)
        try:
            answer = function(*arguments, **named)
        except Exception as error:
            found = verdict(error)
            if show:
                print("   ", found if found != "refused" else f"{type(error).__name__}: {error}")
            if found != "refused":
                if show:
                    traceback.print_exc()
                raise Defect(f"{scenario.__name__}: {name}: {found}") from error
            counts["refused"] += 1
            return None
        counts["ok"] += 1
        return answer

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scenario(random, call, _folder())
    return dict(counts)


def _shown(arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    parts = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in named.items())]
    return ", ".join(part if len(part) < 300 else part[:300] + "..." for part in parts)


def _folder() -> str:
    global _FOLDER
    if not _FOLDER:
        _FOLDER = tempfile.mkdtemp(prefix="fuzz-", dir=os.environ.get("FUZZ_FOLDER"))
    return _FOLDER


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--programs", type=int, help="how many programs; without it, as many as the seconds allow")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="in this process, showing each call")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(run_program)
        return 0
    if given.here:
        for seed in range(given.seed, given.seed + (given.programs or 1)):
            print(f"seed {seed}")
            run_program(seed, lambda name: None, show=True)
        return 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.environ["FUZZ_FOLDER"] = folder
        log = os.path.join(folder, "errors")
        command = [sys.executable, os.path.abspath(__file__), "--worker"]
        seconds = given.seconds if given.programs is None else 1e9
        report = watch(command, given.seed, given.programs, seconds, given.workers, log)
        if report.defects:
            sys.stdout.write(Path(log).read_text(errors="replace")[-20000:])
    print(report.line("api", time.monotonic() - began))
    return 1 if report.defects else 0


if __name__ == "__main__":
    sys.exit(main())
