"""How much memory there is, and refusing what does not fit before it is asked for."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["DoesNotFit", "available_memory", "check_labellings", "check_memory", "main_memory"]

_NEGLIGIBLE = 1 << 26  # bytes, for which nobody asks the system
_MEMINFO, _CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


class DoesNotFit(MemoryError):
    """Work that needs more memory than there is, refused before it is begun; the message is a sentence."""


def main_memory() -> int | None:
    """The bytes of main memory, where the system tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def available_memory() -> int | None:
    """The bytes that this process could still get without others giving theirs up, where the system tells."""
    limits = [limit for limit in (_from_meminfo(), _from_cgroup()) if limit is not None]
    return min(limits) if limits else main_memory()


def check_memory(needed: int, what: str, way_out: str) -> None:
    """Refuse work that needs more bytes than are available: `what` it is, and a `way_out`, as clauses."""
    available = available_memory()
    if available is not None and needed > available:
        raise DoesNotFit(
            f"{what} needs about {_shown(needed)} of memory, and {_shown(available)} are available; {way_out}."
        )


def check_labellings(count: int, length: int, what: str, labels: int = 1) -> None:
    """Refuse to make so many labellings of a sequence or graph that they do not fit.

    A list of the best ones keeps prefixes for each of the ``labels``; samples need nothing else than themselves.
    """
    count, length = int(count), int(length)  # NumPy's integers would wrap around
    if labels > 1 and length * math.log2(labels) < 62:
        count = min(count, labels**length)
    bytes_each = 24 * labels if labels > 1 else 12  # a score and where it comes from; a code, and an entry of a list
    needed = bytes_each * count * length
    if needed > _NEGLIGIBLE:
        check_memory(needed, f"{what} of {count:,} labellings of length {length:,}", "ask for fewer")


def _from_meminfo() -> int | None:
    try:
        rows = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines())
        return sum(1024 * int(rows[name].split()[0]) for name in ("MemAvailable", "SwapFree"))
    except (OSError, KeyError, ValueError):
        return None


def _from_cgroup() -> int | None:
    try:
        limit, used = ((_CGROUP / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        return max(0, int(limit) - int(used))  # a limit of "max" is none
    except (OSError, ValueError):
        return None


def _shown(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
