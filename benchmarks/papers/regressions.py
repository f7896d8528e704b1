"""What became slower, or needs more passes, between two sets of results; exit code 1 if anything did.

    python benchmarks/papers/regressions.py OLD NEW [--threshold 1.2] [--time-threshold 1.5]

OLD and NEW are commits, whose ``benchmarks/results/*.jsonl`` are compared, or such files, or folders of them; ``.`` is
the working tree. Cells with the same key are laid side by side: updates / n, oracle calls / n (passes, where those are
not counted) and CPU seconds to 1e-2, 1e-4 and 1e-6 of P*, and the test error at the end; runs whose P* is not known are
left out. A run that was given too little to tell is no worse than one that was given more; test errors are compared
after the same number of passes. Counts depend on the seed and hardly on the machine. Times are compared only where both
were measured on the same processor with a load of at most the number of its cores.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.claims import ORACLE_CALLS, UPDATES, Run, needed
from benchmarks.papers.results import Row

__all__ = ["Change", "compare"]

ROOT = Path(__file__).parents[2]
FOLDER = "benchmarks/results"
LEVELS = (1e-2, 1e-4, 1e-6)
MORE_ERROR = 0.002  # of the labels


@dataclass(frozen=True)
class Change:
    """Something that differs by more than the threshold."""

    cell: str
    what: str
    old: float
    new: float
    worse: bool

    def __str__(self) -> str:
        numbers = f"{_number(self.old)} -> {_number(self.new)}"
        return f"{'WORSE ' if self.worse else 'better'}  {self.cell}: {self.what} {numbers}"


def compare(old: list[Row], new: list[Row], threshold: float, time_threshold: float) -> tuple[list[Change], int]:
    """The changes between cells of the same key, and how many such cells there are."""
    before = {json.dumps(row["key"], sort_keys=True): row for row in old}
    changes, shared = [], 0
    for row in new:
        earlier = before.get(json.dumps(row["key"], sort_keys=True))
        if earlier is None or not all("primal" in one["result"].get("curve", ()) for one in (row, earlier)):
            continue
        optima = [_optimum(rows, row["key"]) for rows in (old, new)]
        if any(math.isnan(optimum) for optimum in optima):
            continue
        shared += 1
        changes += _changes(earlier, row, max(optima), threshold, time_threshold)
    return changes, shared


def _changes(old: Row, new: Row, optimum: float, threshold: float, time_threshold: float) -> Iterator[Change]:
    name = _name(new["key"])
    runs = [Run(name, "", {"blocks": 1, **row["result"]}, optimum) for row in (old, new)]
    counted = [unit for unit in (UPDATES, ORACLE_CALLS) if all(unit in run.result["curve"] for run in runs)]
    units = dict.fromkeys(counted or ["passes"], threshold)
    if _comparable(old["environment"], new["environment"]):
        units["cpu_seconds"] = time_threshold
    for level in LEVELS:
        for unit, most in units.items():
            # in multiples of n, passes and seconds too: a ratio does not mind
            a, b = (needed(run, level, unit) for run in runs)
            if a is None and b is None:
                continue
            a, b = (math.inf if value is None else value for value in (a, b))
            # a level that was not reached takes more than the run was given
            more = max(a, b) if max(a, b) < math.inf else float(runs[b > a].column(unit, each_block=True)[-1])
            if more > most * min(a, b):
                scales = [1 if unit in counted else run.result["blocks"] for run in runs]
                text = f"{unit.replace('_', ' ')}{' / n' if unit in counted else ''} to {level:g}"
                yield Change(name, text, a * scales[0], b * scales[1], b > a)
    if runs[0].result["passes"] != runs[1].result["passes"]:
        return
    a, b = (run.column("test_error")[-1] if "test_error" in run.result["curve"] else math.nan for run in runs)
    if abs(a - b) > MORE_ERROR:
        yield Change(name, "test error at the end", a, b, b > a)


def _name(key: Row) -> str:
    """The data set, the penalty and the solver, and what else tells the cell from others."""
    parts = [str(key["dataset"])] + ([f"l2 = {key['l2']:g}"] if "l2" in key else [])
    parts += [str(key[name]) for name in ("solver", "method") if name in key]
    others = {name: value for name, value in key.items() if name in ("criterion", "rho", "gain", "seed") and value}
    return ", ".join([*parts, *(f"{name} {value}" for name, value in others.items())])


def _optimum(rows: list[Row], key: Row) -> float:
    """P* of the task: that of a cell whose key says nothing that the run's does not say too."""
    found = [
        row["result"]["optimum"]
        for row in rows
        if "optimum" in row["result"] and {**row["key"], "kind": ""}.items() <= {**key, "kind": ""}.items()
    ]
    return max(found, default=math.nan)


def _comparable(old: Row, new: Row) -> bool:
    quiet = all(max(one["load"], one.get("load_after", 0.0)) <= one["cores"] for one in (old, new))
    return bool(quiet and old["processor"] == new["processor"])


def _number(value: float) -> str:
    return "not reached" if math.isinf(value) else f"{value:.3g}"


# ---- from commits and files to rows -----------------------------------------------------------------------


def rows_of(text: str) -> list[Row]:
    """The cells of a commit, a file or a folder."""
    path = ROOT / FOLDER if text == "." else Path(text)
    if path.is_file():
        return _parsed(path.read_text(), text)
    if path.is_dir():
        return [row for file in sorted(path.glob("*.jsonl")) for row in _parsed(file.read_text(), str(file))]
    files = _git("ls-tree", "--name-only", text, f"{FOLDER}/")
    if files is None:
        sys.exit(f"{text!r} is neither a commit nor a results file nor a folder of them.")
    names = [name for name in files.splitlines() if name.endswith(".jsonl")]
    return [row for name in names for row in _parsed(_git("show", f"{text}:{name}") or "", f"{text}:{name}")]


def _parsed(content: str, place: str) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            row: Any = json.loads(line)
        except json.JSONDecodeError:
            sys.exit(f"{place}, line {number}: expected a cell as JSON; found {line[:60]!r}.")
        if isinstance(row, dict) and {"key", "result", "environment"} <= set(row):
            rows.append(row)
    return rows


def _git(*command: str) -> str | None:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--threshold", type=float, default=1.2, help="of counts (default: %(default)s)")
    parser.add_argument("--time-threshold", type=float, default=1.5, help="of CPU seconds (default: %(default)s)")
    options = parser.parse_args()
    if min(options.threshold, options.time_threshold) <= 1:
        parser.error("a threshold is a factor above 1")
    old, new = rows_of(options.old), rows_of(options.new)
    changes, shared = compare(old, new, options.threshold, options.time_threshold)
    for change in sorted(changes, key=lambda change: not change.worse):
        print(change)
    worse = sum(change.worse for change in changes)
    print(f"{shared} runs in both; {worse} numbers are worse, {len(changes) - worse} better.")
    if not shared:
        sys.exit("There is nothing to compare: no run is in both.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
