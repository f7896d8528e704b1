"""Programs in processes of their own, with limits: faults of the system are made without harm to the tests."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

LONGEST = (
    30.0  # seconds that a child may take: far more than any needs, so that a hang fails and does not hang the tests
)
COMMAND = [sys.executable, "-c", "from dualfield.cli import main; main()"]

# A problem of some hundred sentences, for programs that must be in the middle of their work for a while.
PROBLEM = """
import sys
import numpy as np
from dualfield import ChainCRF, fields, solve
from dualfield.datasets import travel_sentences
sentences = travel_sentences(200, 0)
X = [[[f"w={row[0]}", f"l={row[0][-2:]}"] for row in sentence] for sentence in sentences]
y = [[row[-1] for row in sentence] for sentence in sentences]
def say(word):
    sys.stdout.write(word + "\\n")
    sys.stdout.flush()
"""


def python(code: str, folder: Path, limit: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run some code to its end; a limit is set in the child before it begins."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        preexec_fn=limit,
        check=False,
    )


def start(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start a program whose output is read line by line."""
    return subprocess.Popen(
        arguments, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def interrupt_after(process: subprocess.Popen[str], lines: int) -> tuple[int, str, str]:
    """Send Ctrl-C when the program has said so many lines; (exit status, the rest of its output, its errors)."""
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=LONGEST)
    return process.returncode, out, errors
