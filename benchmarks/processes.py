"""A program as its user sees it: the seconds and the memory of a whole process, its start included."""

from __future__ import annotations

import os
import subprocess
import sys
import time

__all__ = ["run"]


def run(command: list[str]) -> dict:
    """Wall and CPU seconds, peak memory in bytes, and what was printed.

    The caller must stay small: until a child becomes the program, its parent's memory counts as its own.
    """
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}.")
    cpu = used.ru_utime + used.ru_stime
    return {"wall": wall, "cpu": cpu, "memory": used.ru_maxrss * 1024, "began": began, "output": output}
