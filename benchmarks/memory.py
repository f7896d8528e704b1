"""The peak of this process's memory, from ``/proc``: Linux only."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

__all__ = ["peak", "reset_peak"]


def reset_peak() -> int:
    """Start a new peak; returns the memory in use now, in bytes, after what is free has gone back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _line("VmRSS")


def peak() -> int:
    """The most memory in use since the last :func:`reset_peak`, in bytes."""
    return _line("VmHWM")


def _line(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {name}; this benchmark needs Linux.")
