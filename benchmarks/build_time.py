"""How long the builds take and how much memory a compiler needs, each beside its ceiling; fails where one is passed.

Seconds are those of a machine with two idle cores, from an empty build folder and without ccache. CPU seconds are
printed too: they say more where others share the cores.

    make build-time
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = {"development build": 60.0, "release wheel": 150.0}
MOST_MEGABYTES = 600.0


def build(folder: Path, options: list[str]) -> tuple[float, float]:
    """(seconds, CPU seconds) of a wheel with the build tools of this environment."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_COMPILER_LAUNCHER")}
    environment |= {"CCACHE_DISABLE": "1", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    command = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-build-isolation", "--no-deps", "-w", str(folder)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [*command, f"--config-settings=build-dir={folder / 'build'}", *options, str(ROOT)], check=True, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(CEILINGS), help="one of the two builds")
    only = parser.parse_args().only
    passed = True
    for name, ceiling in CEILINGS.items():
        if only not in (None, name):
            continue
        options = ["--config-settings=cmake.define.DUALFIELD_DEVELOPMENT=ON"] if name.startswith("development") else []
        with tempfile.TemporaryDirectory() as folder:
            seconds, cpu_seconds = build(Path(folder), options)
        print(f"{name:24} {seconds:6.1f} s of {ceiling:.0f} s   ({cpu_seconds:.1f} s of CPU)", flush=True)
        passed &= seconds <= ceiling
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest process
    print(f"{'largest compiler process':24} {megabytes:6.0f} MB of {MOST_MEGABYTES:.0f} MB")
    return 0 if passed and megabytes <= MOST_MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
