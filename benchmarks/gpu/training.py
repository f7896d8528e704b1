"""Training on a GPU: seconds to 1e-3 and 1e-6 of the optimum and to certified gaps, beside threads of the same machine.

CoNLL-2000 chunking, and with --task pos the Penn tags of UD English EWT (49 labels), with all and with observed pairs.
Times on the GPU are from data on the device: kernels are compiled and arrays uploaded before, which is reported by
itself; the copy of the weights back is counted. The optimum is a certified one.

    python benchmarks/gpu/training.py [--task conll] [--threads 1 16] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks import tasks
from dualfield import fields, solve
from dualfield.features import encode, extract_all
from dualfield.io import read_columns
from dualfield.solvers import LBFGS
from dualfield.solvers.on_cuda import CudaLBFGS

LEVELS = (1e-2, 1e-3, 1e-4, 1e-6)


def chunking(pairs: str) -> fields.Chain:
    sentences = read_columns(tasks.data_file("conll2000/train.txt.gz"))
    X = encode(extract_all("chunking", [[row[:-1] for row in sentence] for sentence in sentences]))
    y = [[row[-1] for row in sentence] for sentence in sentences]
    return fields.Chain(X, y, 1.0, state_features=pairs, transitions=pairs, bias=False, begin=False, end=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=("conll", "pos"), default="conll")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 16])
    parser.add_argument("--corrections", type=int, nargs="*", default=[10])
    parser.add_argument("--pairs", nargs="*", default=["all", "observed"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}; {platform.processor() or platform.machine()}")
    rows = []
    for pairs in arguments.pairs:
        field = chunking(pairs) if arguments.task == "conll" else tasks.pos(1.0)[0]
        for corrections in arguments.corrections:
            rows.append({"pairs": pairs, **on_gpu(field, corrections)})
            print(json.dumps(rows[-1]), flush=True)
        for threads in arguments.threads:
            for solver in ("oeg", LBFGS()):
                rows.append({"pairs": pairs, **on_cpu(field, solver, threads)})
                print(json.dumps(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text("\n".join(map(json.dumps, rows)) + "\n")


def on_gpu(field: Any, corrections: int) -> dict[str, Any]:
    start = time.perf_counter()
    solver = CudaLBFGS(corrections)
    first = solver.start_to(field, 0, 1e-3)
    first.advance(1.0)
    prepared = time.perf_counter() - start
    start = time.perf_counter()
    first.confirm(1.0)
    prepared_to_confirm = time.perf_counter() - start
    solution = solve(field, state=again(first), solver=solver, tol=1e-8, max_passes=600)
    optimum = solution.dual if np.isfinite(solution.dual) else np.nan
    result = {
        "where": "gpu",
        "corrections": corrections,
        "seconds to compile and upload": prepared,
        "and to confirm in float64": prepared_to_confirm,
        "optimum": optimum,
        "last": solution.message,
        "milliseconds an evaluation": evaluation(first),
    }
    run = again(first)
    torch.cuda.synchronize()
    start, left, passes = time.perf_counter(), list(LEVELS), 0
    while left and passes < 600 and not run.stalled:
        run.advance(1.0)
        passes += 1
        while left and run.estimate()[1] <= optimum * (1 + left[0]):
            result[f"s to {left[0]:g}"] = time.perf_counter() - start
            result[f"evaluations to {left.pop(0):g}"] = run._evaluations
    for tol in (1e-2, 1e-3, 1e-4, 1e-6):
        times = []
        for _ in range(3):
            run = again(first)
            torch.cuda.synchronize()
            start = time.perf_counter()
            proven = solve(field, state=run, solver=solver, tol=tol, max_passes=600)
            times.append(time.perf_counter() - start)
        result[f"s to certified {tol:g}"] = min(times)
        result[f"passes to certified {tol:g}"] = proven.passes
        result[f"gap at {tol:g}"] = proven.relative_gap
        result[f"true at {tol:g}"] = proven.primal / optimum - 1
    result["GB at most"] = torch.cuda.max_memory_allocated() / 1e9
    return result


def again(run: Any) -> Any:
    """A run on the same data, from zero."""
    run.engine.clear(0)
    return type(run)(run.solver, run.field, run.engine, run._tol)


def evaluation(run: Any) -> float:
    """Milliseconds of an evaluation and its products, on the GPU's clock."""
    graph = run.engine._graphs[0]
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay()
    begin.record()
    for _ in range(50):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 50


def on_cpu(field: Any, solver: Any, threads: int) -> dict[str, Any]:
    name = solver if isinstance(solver, str) else "lbfgs"
    start = time.perf_counter()
    solution = solve(field, name, tol=1e-3, n_jobs=threads, random_state=0)
    return {
        "where": f"{threads} threads",
        "solver": name,
        "s to certified 0.001": time.perf_counter() - start,
        "passes": solution.passes,
        "gap": solution.relative_gap,
    }


if __name__ == "__main__":
    main()
