"""How time and memory grow with the shape of the problem: one axis at a time, exponents by least squares.

For each axis (sequences n, tiny sequences, length T, labels K, attributes a position, vocabulary, threads) and each of
its values, in a process of its own: CPU seconds a pass of the default solver, CPU seconds to a certified 1e-3, and the
peak of memory above the level before training. ``cost ~ size^exponent`` is fitted on log-log scales. Chains are
generated (``generated.py``).

    python benchmarks/scaling/sweep.py [AXIS ...] [--quick] [--plot-only]

writes ``benchmarks/results/scaling.jsonl``, ``scaling.txt`` and ``scaling.png``; with ``--quick``, small sizes, a
minute, into ``build/scaling-quick``. Times mean something on an idle machine only.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.memory import peak, reset_peak

ROOT = Path(__file__).parents[2]

SHAPE = {"n": 1000, "length": 20, "labels": 10, "attributes": 10, "vocabulary": 20_000, "threads": 1}
AXES: dict[str, list[int]] = {
    "n": [1, 10, 100, 1000, 10_000, 100_000, 1_000_000],
    "tiny": [1000, 10_000, 100_000, 1_000_000, 10_000_000],
    "length": [1, 10, 100, 1000, 10_000, 100_000],
    "labels": [5, 10, 25, 50, 100, 200, 500],
    "attributes": [3, 10, 30, 100],
    "vocabulary": [1000, 10_000, 100_000, 1_000_000],
    "threads": [1, 2],
}
QUICK: dict[str, list[int]] = {
    "n": [100, 400],
    "tiny": [100, 1000],
    "length": [1, 10, 100],
    "labels": [5, 10, 25, 50],
    "attributes": [3, 10],
    "vocabulary": [1000, 10_000],
    "threads": [1, 2],
}
MEASURES = {"pass": "CPU s a pass", "to_level": "CPU s to a certified 1e-3", "memory": "peak bytes above the start"}
# No faster than this the cost of a pass may grow with the axis; of threads and vocabulary nothing is asked.
LIMITS = {"n": 1.1, "tiny": 1.1, "length": 1.1, "labels": 2.0, "attributes": 1.1}
TOKENS = 20_000  # of the axes on which n shrinks as blocks grow, so that a pass stays short
LEAST = 10
LONGEST = 10.0  # seconds: where a pass takes longer, only passes are measured


def shape_at(axis: str, value: int, quick: bool) -> dict[str, int]:
    """The problem at one point of an axis: all else as in ``SHAPE``, but n such that the work fits."""
    if axis == "tiny":  # as many sequences as fit
        return {**SHAPE, "n": value, "length": 2, "labels": 3, "attributes": 3}
    shape = {**SHAPE, axis: value}
    if quick:
        shape["n"] = value if axis == "n" else 100
    if axis == "threads":
        shape["n"] = 100 if quick else 10_000
    if axis == "length":
        shape["n"] = max(1, (TOKENS // 10 if quick else TOKENS) // value)
    if axis == "labels":
        least = 2 * value // shape["length"] + LEAST  # room for all labels
        shape |= {
            "attributes": 3,
            "vocabulary": 3000,
            "n": max(least, shape["n"] * 100 // max(100, value * value // 4)),
        }
    return shape


def measure(shape: dict[str, int]) -> dict[str, Any]:
    from benchmarks.scaling.generated import chains
    from dualfield import OEG, solve

    sizes = dict(shape)
    solver = OEG(n_jobs=sizes.pop("threads"))
    field = chains(**sizes)
    level = reset_peak()
    run = solver.start(field, 0)
    laps: list[tuple[float, float]] = []
    while len(laps) < 6 and (len(laps) < 3 or sum(cpu for cpu, _ in laps) < 10):
        before = time.process_time(), time.perf_counter()
        while not run.advance(1e9):
            pass
        laps.append((time.process_time() - before[0], time.perf_counter() - before[1]))
    used = peak() - level
    del run
    cpu, wall = (min(lap[k] for lap in laps[1:]) for k in (0, 1))
    found = {"pass": cpu, "pass_wall": wall, "memory": used, "weights": field.dimension, "labels": len(field.classes)}
    if cpu > LONGEST:
        return found | {"to_level": math.nan, "wall_to_level": math.nan, "passes": 0}
    level = reset_peak()
    solution = solve(field, solver, tol=1e-3, max_passes=200, random_state=0)
    return found | {
        "to_level": solution.cpu_seconds if solution.status == "converged" else math.nan,
        "wall_to_level": solution.seconds,
        "passes": solution.passes,
        "memory": peak() - level,
    }


def work(axis: str, row: dict[str, Any]) -> float:
    """What a cost is divided by before it is fitted: where n changes along an axis, costs are those of one sequence."""
    return float(row["shape"]["n"]) if axis in ("length", "labels") else 1.0


def exponent(axis: str, rows: list[dict[str, Any]], measure_name: str) -> float:
    """Of size in cost, by least squares on logarithms; NaN with fewer than two points."""
    pairs = [
        (math.log(row["value"]), math.log(row[measure_name] / work(axis, row)))
        for row in rows
        if row[measure_name] and row[measure_name] > 0 and math.isfinite(row[measure_name])
    ]
    if len({x for x, _ in pairs}) < 2:
        return math.nan
    x, y = np.array(pairs).T
    return float(np.polyfit(x, y, 1)[0])


def table(results: list[dict[str, Any]]) -> list[str]:
    lines = []
    for axis in AXES:
        rows = sorted((row for row in results if row["axis"] == axis), key=lambda row: row["value"])
        if not rows:
            continue
        fixed = {key: value for key, value in rows[0]["shape"].items() if key not in (axis, "n")}
        lines.append(f"{axis}: " + ", ".join(f"{key} {value:,}" for key, value in fixed.items()))
        lines.append(
            f"{axis:>12}{'n':>12}{'CPU s a pass':>15}{'ns a token':>12}{'s to 1e-3':>11}{'passes':>8}{'peak MB':>9}"
        )
        for row in rows:
            tokens = row["shape"]["n"] * row["shape"]["length"]
            lines.append(
                f"{row['value']:12,}{row['shape']['n']:12,}{row['pass']:15.4f}{1e9 * row['pass'] / tokens:12.0f}"
                f"{row['to_level']:11.3f}{row['passes']:8d}{row['memory'] / 1e6:9.1f}"
            )
        if axis == "threads":
            times = {row["value"]: row["wall_to_level"] for row in rows}
            lines.append(f"  to 1e-3, by the clock: {', '.join(f'{k}: {v:.3f} s' for k, v in times.items())}")
        else:
            fitted = {name: exponent(axis, rows, name) for name in MEASURES}
            each = " of one sequence" if axis in ("length", "labels") else ""
            lines.append(f"  exponents{each}: " + ", ".join(f"{MEASURES[k]} {v:.2f}" for k, v in fitted.items()))
            if axis in LIMITS:  # a fit over all sizes hides how the largest behave
                ends = {"all sizes": fitted["pass"], "the last two": exponent(axis, rows[-2:], "pass")}
                shown = ", ".join(f"{of} {x:.2f}" for of, x in ends.items())
                verdict = "within" if max(ends.values()) <= LIMITS[axis] else "ABOVE"
                lines.append(f"  a pass, {shown}: {verdict} the limit of {LIMITS[axis]:g}")
        lines.append("")
    return lines


def draw(results: list[dict[str, Any]], path: Path) -> None:
    from benchmarks.papers.figures import SEQUENCE, new_figure, save_figure

    axes_shown = [axis for axis in AXES if axis != "threads" and any(row["axis"] == axis for row in results)]
    if not axes_shown:
        return
    figure, panels = new_figure(len(axes_shown), 2 if len(axes_shown) > 3 else 1)
    for panel, axis in zip(panels, axes_shown, strict=True):
        rows = sorted((row for row in results if row["axis"] == axis), key=lambda row: row["value"])
        for (name, label), style in zip(MEASURES.items(), SEQUENCE, strict=False):
            unit = 1e6 if name == "memory" else 1.0
            y = [row[name] / work(axis, row) / unit for row in rows]
            shown = f"{'MB' if name == 'memory' else label}: {exponent(axis, rows, name):.2f}"
            panel.loglog([row["value"] for row in rows], y, label=shown, **style)
        panel.set_xlabel(axis)
        panel.legend(fontsize=6, framealpha=0.5)
    save_figure(figure, path)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axes", nargs="*", metavar="AXIS", help=f"which of {', '.join(AXES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute")
    parser.add_argument("--plot-only", action="store_true", help="measure nothing")
    parser.add_argument("--folder", type=Path, help="where the results are and go")
    parser.add_argument("--shape", help=argparse.SUPPRESS)  # inside a process of its own
    arguments = parser.parse_args(given)
    if arguments.shape:
        print(json.dumps(measure(json.loads(arguments.shape))))
        return
    unknown = sorted(set(arguments.axes) - set(AXES))
    if unknown:
        parser.error(f"there is no axis {unknown[0]!r}; expected some of {', '.join(AXES)}.")
    default = ROOT / ("build/scaling-quick" if arguments.quick else "benchmarks/results")
    folder = arguments.folder or default
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "scaling.jsonl"
    results = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    if not arguments.plot_only:
        asked = arguments.axes or list(AXES)
        results = [row for row in results if row["axis"] not in asked]
        for axis in asked:
            for value in (QUICK if arguments.quick else AXES)[axis]:
                shape = shape_at(axis, value, arguments.quick)
                command = [sys.executable, __file__, "--shape", json.dumps(shape)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                row = json.loads(done.stdout.splitlines()[-1])
                results.append({"axis": axis, "value": value, "shape": shape, "load": os.getloadavg()[0], **row})
                store.write_text("".join(json.dumps(row) + "\n" for row in results))
                print(f"{axis} {value:,}: {row['pass']:.4f} CPU s a pass", flush=True)
    lines = table(results)
    (folder / "scaling.txt").write_text("\n".join(lines))
    print("\n".join(lines))
    draw(results, folder / "scaling.png")


if __name__ == "__main__":
    main()
