"""What threads gain, beside loops that use nothing but the machine: a line a problem, a part and a number of threads.

========  ==========================================================================================================
part      what
========  ==========================================================================================================
train     OEG to a certified 1e-3: seconds, passes, gap, and the peak of memory above the field's
lbfgs     15 gradients of L-BFGS, with l1 of OWL-QN: seconds
predict   labels of all blocks, as lists too: tokens a second
marginals probabilities of all blocks: tokens a second
encode    attributes of a column file, numbered newly and by a given vocabulary: tokens a second
control   loops: products of matrices in the second cache (compute), additions within 8 MB a thread (l3) and within
          128 MB a thread (memory), and rows of 22 weights fetched from 59 MB that all threads share (rows)
========  ==========================================================================================================

Problems: ``conll`` (the yardstick, all pairs), ``conll-observed``, ``pos`` (UD English EWT, XPOS), ``ner`` (CoNLL-2002
Dutch), and ``generated`` of ``--tokens`` tokens. Each problem and number of threads is a process of its own, which is
ended after ``--limit`` seconds; what it has measured by then counts. Times mean something on an idle machine only.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/scaling/threads.py --prepare data.npz      # for machines without the data
    python benchmarks/scaling/threads.py [PROBLEM ...] [--data data.npz] [--threads 1 2 4 8 16] [--json FILE]

The package and NumPy are all it needs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is there
import argparse
import inspect
import json
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.memory import peak, reset_peak
from benchmarks.scaling.generated import chains
from benchmarks.scaling.prepared import encoded_of, prepare, text_tokens
from dualfield import LBFGS, OEG, _core, fields, solve

PROBLEMS = ("conll", "conll-observed", "pos", "ner", "generated")
PARTS = ("control", "encode", "train", "lbfgs", "predict", "marginals")
WITHOUT_FIELD = ("control", "encode")
GRADIENTS = 15


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help=f"of {', '.join(PROBLEMS)}; default: all")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--l1", nargs="+", type=float, default=[0.0, 0.1])
    parser.add_argument("--tokens", type=int, default=10_000_000, help="of the generated corpus")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a problem on a number of threads")
    parser.add_argument("--data", type=Path, help="a file that --prepare has written")
    parser.add_argument("--prepare", type=Path, help="write the data sets into this file, and measure nothing")
    parser.add_argument("--json", type=Path, help="write the results here, after each process")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # inside a process of its own
    options = parser.parse_args(given)
    unknown = sorted(set(options.problems) - set(PROBLEMS))
    if unknown:
        parser.error(f"there is no problem {unknown[0]!r}; expected some of {', '.join(PROBLEMS)}.")
    if options.prepare:
        prepare(options.prepare)
        print(f"{options.prepare}: {options.prepare.stat().st_size / 1e6:.1f} MB")
        return
    if options.one:
        for row in measured(options.one, options):
            print(json.dumps(row), flush=True)
        return
    machine = {"machine": platform.platform(), "processor": processor(), "cores": os.cpu_count()}
    print(", ".join(str(value) for value in machine.values()) + f" cores; load before: {os.getloadavg()[0]:.2f}")
    rows: list[dict[str, Any]] = []
    for problem in problems_of(options):
        for threads in options.threads:
            for row in in_a_process(problem, threads, options):
                rows.append({"problem": problem, "threads": threads, "load": os.getloadavg()[0], **row})
                print(line_of(rows[-1], rows), flush=True)
            if options.json:
                options.json.write_text(json.dumps({**machine, "rows": rows}, indent=1))
    print(f"load after: {os.getloadavg()[0]:.2f}")


def problems_of(options: argparse.Namespace) -> list[str]:
    """What needs no field goes first, under the name of its part."""
    first = [part for part in WITHOUT_FIELD if part in options.parts]
    return first + ([*(options.problems or PROBLEMS)] if set(options.parts) - set(WITHOUT_FIELD) else [])


def in_a_process(problem: str, threads: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows that it prints before its end, or before the limit."""
    command = [sys.executable, __file__, "--one", problem, "--threads", str(threads), "--tokens", str(options.tokens)]
    command += ["--limit", str(options.limit), "--parts", *options.parts, "--l1", *(str(l1) for l1 in options.l1)]
    command += ["--data", str(options.data.absolute())] if options.data else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(1.5 * options.limit + 60, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
        finally:
            timer.cancel()
            process.kill()
    if process.returncode:
        yield {"part": "failed", "value": 0.0, "what": f"exit status {process.returncode}"}


def measured(problem: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows of one problem on one number of threads."""
    threads, clock = options.threads[0], time.perf_counter()
    if problem in WITHOUT_FIELD:
        yield from (controls if problem == "control" else lambda n: encoding(n, options.data))(threads)
        return
    for l1 in options.l1:
        field = field_of(problem, l1, options)
        if "train" in options.parts:
            yield {"part": "train", "l1": l1, **training(field, threads, left(clock, options.limit))}
        if "lbfgs" in options.parts:
            yield {"part": "lbfgs", "l1": l1, **gradients(field, threads, left(clock, options.limit))}
    for part in ("predict", "marginals"):
        if part in options.parts:
            yield {"part": part, **answers(field, part, threads)}


def left(clock: float, limit: float) -> float:
    return max(1.0, limit - (time.perf_counter() - clock))


def field_of(problem: str, l1: float, options: argparse.Namespace) -> fields.Chain:
    name, _, mode = problem.partition("-")
    pairs = "observed" if mode or name == "pos" else "all"  # of the 49 labels of EWT all pairs are 22 million weights
    shape: dict[str, Any] = {"state_features": pairs, "transitions": pairs, "l1": l1}
    if name == "generated":
        return chains(max(1, options.tokens // 20), 20, 10, 10, 200_000, l1=l1)
    X, y = encoded_of(name, options.data)
    return fields.Chain(X, y, 1.0, bias=False, begin=False, end=False, **shape)


# ---- the parts --------------------------------------------------------------------------------------------


def training(field: fields.Chain, threads: int, limit: float) -> dict[str, Any]:
    level = reset_peak()
    solution = solve(
        field,
        OEG(n_jobs=threads),
        tol=1e-3,
        max_passes=500,
        random_state=0,
        callbacks=lambda progress: progress.seconds > limit,
    )
    return {
        "value": solution.seconds,
        "passes": solution.passes,
        "gap": solution.relative_gap,
        "status": solution.status,
        "primal": solution.primal,
        "memory": peak() - level,
        "field_memory": level,
    }


def gradients(field: fields.Chain, threads: int, limit: float) -> dict[str, Any]:
    """Seconds of a gradient, with the step that follows."""
    level = reset_peak()
    solution = solve(
        field,
        LBFGS(n_jobs=threads),
        tol=0.0,
        max_passes=GRADIENTS,
        callbacks=lambda progress: progress.seconds > limit,
    )
    seconds = solution.seconds / max(1, solution.passes)
    return {"value": seconds, "passes": solution.passes, "primal": solution.primal, "memory": peak() - level}


def answers(field: fields.Chain, part: str, threads: int) -> dict[str, Any]:
    """Seconds of labels or marginals of all blocks, the fastest of some; the weights are anything."""
    w, n = np.random.default_rng(0).normal(size=field.dimension), field.n_blocks
    core = field.layout.compile(field.encoded)
    if part == "marginals":
        return {"value": fastest(lambda: core.marginals(w, 0, n, threads)), "tokens": field.encoded.n_positions}
    labels = field.classes.tolist()
    codes = fastest(lambda: core.decode(w, 0, n, threads))
    lists = fastest(lambda: _core.label_lists(core.decode(w, 0, n, threads), field.encoded.offsets, labels))
    return {"value": lists, "codes": codes, "tokens": field.encoded.n_positions}


def encoding(threads: int, data: Path | None) -> Iterator[dict[str, Any]]:
    tokens, template = text_tokens(data)
    jobs = {"n_jobs": threads} if "n_jobs" in inspect.signature(template.encode).parameters else {}
    vocabulary = template.encode(tokens).vocabulary
    for what, given in (("new", None), ("given", vocabulary)):
        seconds = fastest(lambda given=given: template.encode(tokens, given, **jobs))
        yield {"part": "encode", "what": what, "value": seconds, "tokens": tokens.n_tokens}


def fastest(work: Callable[[], Any], seconds: float = 2.0, least: int = 3) -> float:
    """Of as many runs as take so long."""
    laps: list[float] = []
    while len(laps) < least or (sum(laps) < seconds and len(laps) < 50):
        start = time.perf_counter()
        work()
        laps.append(time.perf_counter() - start)
    return min(laps)


def controls(threads: int) -> Iterator[dict[str, Any]]:
    """Seconds of one unit of work in each loop: the time of all threads, divided by the units of all."""
    table = np.ones((335_000, 22))

    def compute(random: np.random.Generator) -> Callable[[], Any]:
        a, out = random.random((200, 200)), np.empty((200, 200))
        return lambda: [np.matmul(a, a, out=out) for _ in range(20)]

    def additions(size: int, repeats: int) -> Callable[[np.random.Generator], Callable[[], Any]]:
        def made(random: np.random.Generator) -> Callable[[], Any]:
            a = random.random(size)
            return lambda: [np.add(a, 1.0, out=a) for _ in range(repeats)]

        return made

    def rows(random: np.random.Generator) -> Callable[[], Any]:
        which, out = (random.random(4096) ** 3 * len(table)).astype(np.int64), np.empty((4096, 22))
        return lambda: [np.take(table, which, axis=0, out=out, mode="clip") for _ in range(20)]

    loops = {"compute": compute, "l3": additions(1_000_000, 10), "memory": additions(16_000_000, 1), "rows": rows}
    for what, made in loops.items():
        yield {"part": "control", "what": what, "value": min(unit_seconds(made, threads) for _ in range(3))}


def unit_seconds(made: Callable[[np.random.Generator], Callable[[], Any]], threads: int, seconds: float = 0.7) -> float:
    done, together = [0] * threads, threading.Barrier(threads)
    times: list[float] = [0.0] * threads

    def loop(member: int) -> None:
        work = made(np.random.default_rng(member))
        work()
        together.wait()
        start, units = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            work()
            units += 1
        done[member], times[member] = units, time.perf_counter() - start

    team = [threading.Thread(target=loop, args=(member,)) for member in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    return 1.0 / sum(units / spent for units, spent in zip(done, times, strict=True))


# ---- what is shown ----------------------------------------------------------------------------------------


def line_of(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """A row beside that of fewest threads."""
    key = ("problem", "part", "l1", "what")
    first = next(other for other in rows if all(other.get(name) == row.get(name) for name in key))
    names = " ".join(str(row[name]) for name in ("part", "what") if name in row)
    names += f" l1={row['l1']:g}" if "l1" in row else ""
    gain = f"{first['value'] / row['value']:6.2f} times" if row["value"] > 0 else ""
    text = f"{row['problem']:15}{names:17}{row['threads']:3} threads {row['value']:10.5f} s {gain} {first['threads']}'s"
    if "gap" in row:
        text += f"; {row['passes']} passes, {row['status']}, gap {row['gap']:.1e}"
    if "tokens" in row:
        text += f"; {row['tokens'] / row['value']:,.0f} tokens a second"
    if "memory" in row:
        text += f"; {row['memory'] / 1e6:.0f} MB"
    return text


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    main()
