"""How much memory is available, and an error before more than that is allocated."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["DoesNotFit", "available_memory", "check_labellings", "check_memory", "main_memory"]

_NEGLIGIBLE = 1 << 26  # bytes; smaller requests are not compared with the memory available
_MEMINFO, _CGROUP, _OWN_GROUPS = Path("/proc/meminfo"), Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


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
    """What the groups that this process is in leave it, of either version of cgroups; the page cache can be had."""
    found = [_left_in(group, names) for group, names in _groups()]
    known = [left for left in found if left is not None]
    return min(known) if known else None


def _groups() -> Iterator[tuple[Path, tuple[str, str]]]:
    """The group of this process and those above it, and the names of the files of limit and use."""
    second, first = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
    yield _CGROUP, second
    try:
        lines = _OWN_GROUPS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        root, names = (_CGROUP, second) if not kinds else (_CGROUP / "memory", first)
        if kinds in ("", "memory"):
            group = root / path.strip("/")
            yield from ((above, names) for above in (group, *group.parents) if above.is_relative_to(root))


def _left_in(group: Path, names: tuple[str, str]) -> int | None:
    try:
        limit, used = (int((group / name).read_text(encoding="ascii")) for name in names)  # a limit of "max" is none
    except (OSError, ValueError):
        return None
    try:
        rows = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        cached = sum(int(rows.get(f"{kind}_file", 0)) for kind in ("active", "inactive"))
    except (OSError, ValueError):
        cached = 0
    return max(0, limit - max(0, used - cached))


def _shown(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
