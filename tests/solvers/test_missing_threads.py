"""A thread that the system refuses means fewer threads and a warning."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

limits_memory = pytest.mark.skipif(
    sys.platform != "linux" or "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="limits the address space as Linux does, and a sanitizer needs all of it",
)

# The address space that is left holds the stacks of a few threads, not of all that are asked for.
SCARCE = """
import resource, sys, warnings
from dualfield import solve, fields
from tests.zoo import dense_sequences

name, n_jobs, room = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X, y = dense_sequences(4000 if name in ("lbfgs", "hybrid") else 200)  # enough work for many threads
field = fields.Chain(X, y)
alone = solve(field, name, tol=1e-4, random_state=0)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + room, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    solution = solve(field, name, tol=1e-4, random_state=0, n_jobs=n_jobs)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert solution.status == "converged", solution.message
assert abs(solution.primal - alone.primal) <= 2e-4 * alone.primal
print([str(w.message) for w in caught])
"""


def scarce(solver: str, n_jobs: int, megabytes: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCARCE, solver, str(n_jobs), str(megabytes << 20)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},  # else a thread's first allocation takes 64 MB of addresses
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@limits_memory
@pytest.mark.parametrize("solver", ["oeg", "sdca", "lbfgs", "hybrid", "sag", "saga"])
@pytest.mark.parametrize("megabytes", [4, 40])
def test_training_goes_on_with_the_threads_that_there_are(solver: str, megabytes: int) -> None:
    assert "The system refused" in scarce(solver, 8, megabytes)


@limits_memory
@pytest.mark.parametrize("solver", ["lbfgs", "hybrid"])
def test_far_too_many_threads_are_as_many_as_there_is_work_for(solver: str) -> None:
    assert "The system refused" in scarce(solver, 200_000, 100)
