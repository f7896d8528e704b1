"""The results file: one line of JSON a cell, with where and how it was measured.

A cell is known by its key, what was measured on what; measuring it again replaces its line. Several processes may write
to one file: each locks it, reads it again, and replaces it as a whole. ``tidy`` gives one row an evaluation, as for a
table of pandas:

    python benchmarks/papers/results.py benchmarks/results/chains.jsonl > rows.csv
"""

from __future__ import annotations

import csv
import fcntl
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dualfield

__all__ = ["Results", "environment", "tidy"]

_ROOT = Path(__file__).parents[2]
_DIGITS = {"primal": 13, "dual": 13, "optimum": 13, "loss": 13, "objective": 13}  # differences of these count
_DEFAULT_DIGITS = 5

Row = dict[str, Any]


class Results:
    """The cells of one file.

    Parameters
    ----------
    path : Path
        Need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self.reload()

    def reload(self) -> None:
        """Take in what others have written."""
        if self.path.exists():
            for number, line in enumerate(self.path.read_text().splitlines(), 1):
                try:
                    row = json.loads(line)
                    self.rows[_name(row["key"])] = row
                except (json.JSONDecodeError, KeyError, TypeError):
                    sys.exit(f"{self.path}, line {number}: expected a cell as JSON; found {line[:60]!r}.")

    def get(self, key: Row) -> Row | None:
        """The line of a cell; None if it has not been measured."""
        return self.rows.get(_name(key))

    def find(self, **wanted: Any) -> Iterator[Row]:
        """The lines whose keys have these entries."""
        for row in self.rows.values():
            if all(row["key"].get(name) == value for name, value in wanted.items()):
                yield row

    def put(self, key: Row, result: Row, environment: Row) -> None:
        """Write a line, in place of an earlier one of the same key."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.reload()
            self.rows[_name(key)] = {"key": key, "result": _rounded(result), "environment": environment}
            ordered = sorted(self.rows.items())
            new = self.path.with_suffix(".new")
            new.write_text("".join(json.dumps(row, separators=(",", ":"), allow_nan=True) + "\n" for _, row in ordered))
            os.replace(new, self.path)


def environment(seed: int | None = None) -> Row:
    """What a reader must know to judge a measurement: machine, versions, commit, load, time."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "dualfield": dualfield.__version__,
        "commit": _commit(),
        "load": round(os.getloadavg()[0], 2),
        "when": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()),
        **({} if seed is None else {"seed": seed}),
    }


def _commit(root: Path = _ROOT) -> str:
    """The commit that was measured; "-dirty" if files differ from it, results aside: measuring changes those."""
    commit = _git(root, "rev-parse", "--short", "HEAD")
    if not commit:
        return "unknown"
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)benchmarks/results")
    return commit + ("-dirty" if changed else "")


def _git(root: Path, *command: str) -> str:
    return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True).stdout.strip()


def tidy(row: Row) -> Iterator[Row]:
    """One row an evaluation, with the key of its cell; a single row for a cell without curves."""
    curve, single = (
        row["result"].get("curve"),
        {k: v for k, v in row["result"].items() if not isinstance(v, dict | list)},
    )
    if not curve:
        yield {**row["key"], **single}
        return
    for values in zip(*curve.values(), strict=True):
        yield {**row["key"], **dict(zip(curve, values, strict=True))}


def _name(key: Row) -> str:
    return json.dumps(key, sort_keys=True)


def _rounded(value: Any, digits: int = _DEFAULT_DIGITS) -> Any:
    """Numbers with as many digits as mean something; a small file is one that is kept."""
    if isinstance(value, dict):
        return {name: _rounded(entry, _DIGITS.get(name, digits)) for name, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(entry, digits) for entry in value]
    if isinstance(value, float | np.floating):
        number = float(f"{value:.{digits}g}") if math.isfinite(value) else float(value)
        return int(number) if math.isfinite(number) and number.is_integer() and abs(number) < 1e15 else number
    return int(value) if isinstance(value, np.integer) else value


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("expected one results file: python benchmarks/papers/results.py FILE > rows.csv")
    rows = [row for cell in Results(Path(sys.argv[1])).rows.values() for row in tidy(cell)]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main()
