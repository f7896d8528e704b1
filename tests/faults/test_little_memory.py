"""Too little memory, and threads that cannot start: an error that Python can catch, never a signal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.faults.children import PROBLEM, python

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="limits of address space are Linux's, and the address sanitizer needs more than any",
)

# What the process has, and some more: set when all is imported and the data made.
LIMIT = """
import resource
def limit(more):
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + more, resource.RLIM_INFINITY))
"""


@pytest.mark.parametrize("more", [0, 1 << 20])
@pytest.mark.parametrize(
    "what", ["ChainCRF(max_passes=2, n_jobs=1).fit(X, y)", "crf.predict(X)", "crf.predict_marginals(X)"]
)
def test_no_memory_is_an_error(tmp_path: Path, what: str, more: int) -> None:
    code = (
        PROBLEM
        + LIMIT
        + f"""
crf = ChainCRF(max_passes=1).fit(X, y)
X = X * 50
y = y * 50
limit({more})
try:
    {what}
    word = "done"
except (MemoryError, ValueError, OSError) as error:
    word = "refused"
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
say(word)
"""
    )
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("done\n", "refused\n")


@pytest.mark.parametrize(
    "what",
    [
        "ChainCRF(max_passes=2, n_jobs=4).fit(X, y)",
        "ChainCRF(max_passes=2, solver='lbfgs', n_jobs=4).fit(X, y)",
        "ChainCRF(max_passes=2, solver='sag', n_jobs=4).fit(X, y)",
        "crf.predict(X)",
    ],
)
def test_threads_that_cannot_start_are_an_error_or_not_needed(tmp_path: Path, what: str) -> None:
    code = (
        PROBLEM
        + LIMIT
        + f"""
import threading
crf = ChainCRF(max_passes=1, n_jobs=4).fit(X[:50], y[:50])
limit(4 << 20)  # the stack of a thread takes 8 MiB
try:
    {what}
    word = "done"
except (MemoryError, ValueError, OSError, RuntimeError) as error:
    word = "refused"
say(word)
"""
    )
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("done\n", "refused\n")


def test_a_model_larger_than_memory_is_refused(tmp_path: Path) -> None:
    code = (
        PROBLEM
        + LIMIT
        + """
crf = ChainCRF(max_passes=1).fit(X, y)
crf.save("model")
with open("model", "r+b") as file:
    file.truncate(1 << 32)  # sparse: no disk is needed
limit(1 << 28)
try:
    ChainCRF.load("model")
except (MemoryError, ValueError, OSError) as error:
    say("refused")
"""
    )
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
