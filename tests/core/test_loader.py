"""Which of the built modules the loader takes, and what it refuses."""

import os
import subprocess
import sys

import pytest

from dualfield import _core

ALL = ["v4", "v3", "v2"]


@pytest.mark.parametrize(
    ("cpu", "built", "wanted", "chosen"),
    [
        ("v4", ALL, None, "v4"),
        ("v3", ALL, None, "v3"),
        ("v2", ALL, None, "v2"),
        ("v4", ["v3"], None, "v3"),
        ("v4", ALL, "v2", "v2"),
        ("v4", ALL, "", "v4"),
        ("generic", ["generic"], None, "generic"),
    ],
)
def test_the_best_module_that_runs_is_loaded(cpu, built, wanted, chosen):
    assert _core._choose(cpu, built, wanted) == chosen


@pytest.mark.parametrize(
    ("cpu", "built", "wanted", "message"),
    [
        ("v3", ALL, "v4", "lacks"),
        ("v4", ["v4"], "v2", "was not built"),
        ("v4", ALL, "v9", "unknown"),
        ("v1", ALL, None, "this CPU offers only v1"),
    ],
)
def test_a_module_that_cannot_run_is_refused(cpu, built, wanted, message):
    with pytest.raises(ImportError, match=message):
        _core._choose(cpu, built, wanted)


def test_exactly_one_module_is_loaded_and_the_environment_is_heard():
    code = "import sys, dualfield._core; print([m for m in sys.modules if m.startswith('dualfield._core._core_')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == f"['dualfield._core._core_{_core.ISA}']"
    refused = subprocess.run(
        [sys.executable, "-c", "import dualfield._core"],
        capture_output=True,
        text=True,
        env={**os.environ, "DUALFIELD_ISA": "v9"},
    )
    assert refused.returncode == 1
    assert "DUALFIELD_ISA='v9' is unknown" in refused.stderr
