"""The same numbers on every processor: one machine writes them, another computes them anew and compares.

    python tests/portability/same_numbers.py write numbers.npz
    python tests/portability/same_numbers.py compare numbers.npz

Of each field of the tests' zoo: the objective, its gradient and the labels' probabilities at the same weights; the dual
value of the same dual variables; and the certificate of a run, whose interval must overlap the other machine's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dualfield import SDCA, Solution, _core, solve
from dualfield.fields import Field
from tests.zoo import PROBLEMS, finish, problem

TOLERANCE = 1e-9  # relative


def numbers_of(field: Field, weights: Any, state: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the field says at these weights and in this state of its duals; and the state, made if none is given."""
    value, gradient = field.gradient(weights)
    found: dict[str, Any] = {"objective": value, "gradient": gradient}
    found["marginals"] = field.core.marginals(weights, 0, field.core.blocks)
    if not SDCA().needs <= field.offers:
        return found, {}
    run = SDCA(accelerate=False).start(field, 0)
    finish(run.advance)
    if state:
        run.restore(state)
    else:
        for _ in range(3):
            finish(run.advance)
    state = run.arrays()
    finish(run.confirm)
    found["primal"], found["dual"] = run.bound.primal, run.bound.dual
    return found, state


def largest_difference(mine: Any, theirs: Any) -> float:
    """Relative to the largest number of the array."""
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.shape != theirs.shape:
        return np.inf
    return float(np.max(np.abs(mine - theirs), initial=0.0) / max(np.max(np.abs(theirs), initial=0.0), 1e-300))


def certificate(solution: Solution) -> tuple[float, float]:
    """The interval that holds the optimum."""
    return solution.dual, solution.primal


def main() -> None:
    task, path = sys.argv[1:]
    stored = dict(np.load(path)) if task == "compare" else {}
    rng = np.random.default_rng(0)
    worst = 0.0
    for name in PROBLEMS:
        field = problem(name)
        if task == "write":
            weights, state = rng.normal(size=field.dimension), None
        else:
            weights = stored[f"{name}/weights"]
            state = {key.rpartition("/state/")[2]: stored[key] for key in stored if key.startswith(f"{name}/state/")}
        found, state = numbers_of(field, weights, state)
        interval = certificate(solve(field, tol=1e-6, max_passes=5000, random_state=0))
        if task == "write":
            stored[f"{name}/weights"], stored[f"{name}/interval"] = weights, np.array(interval)
            stored |= {f"{name}/{key}": np.asarray(value) for key, value in found.items()}
            stored |= {f"{name}/state/{key}": array for key, array in state.items()}
            continue
        apart = {key: largest_difference(value, stored[f"{name}/{key}"]) for key, value in found.items()}
        low, high = stored[f"{name}/interval"]
        overlap = interval[0] <= high and low <= interval[1]
        print(f"{name:26}", "  ".join(f"{key} {value:.1e}" for key, value in apart.items()), "" if overlap else "APART")
        worst = max(worst, *apart.values())
        assert max(apart.values()) <= TOLERANCE, f"{name} differs"
        assert overlap, f"{name}: the certificates {interval} and {(low, high)} have no number in common"
    if task == "write":
        np.savez(path, **stored)
        print(f"{_core.ISA}: wrote the numbers of {len(PROBLEMS)} fields")
    else:
        print(f"{_core.ISA}: all {len(PROBLEMS)} fields agree, by {worst:.1e} at worst; all certificates overlap")


if __name__ == "__main__":
    main()
