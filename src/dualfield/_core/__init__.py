"""The compiled core, in the build that suits this CPU.

A release carries one module per instruction set (x86-64-v2, -v3, -v4), a development build only one. Exactly
one is loaded: the best that was built and that the CPU runs, or the one that the environment variable
``DUALFIELD_ISA`` names. Its contents appear here, as ``dualfield._core.<name>``.
"""

import os
from importlib import import_module
from importlib.util import find_spec

from dualfield._core._cpu import instruction_set

_LEVELS = ("v4", "v3", "v2", "generic")  # best first; what a CPU runs, it runs with everything after it


def _choose(cpu: str, built: list[str], wanted: str | None) -> str:
    """Name the instruction set to load, or refuse in one sentence."""
    runs = _LEVELS[_LEVELS.index(cpu) :] if cpu in _LEVELS else ("generic",)
    names = ", ".join(built) or "none"
    if not wanted:
        usable = [level for level in built if level in runs]
        if not usable:
            raise ImportError(f"dualfield was built for {names}, but this CPU offers only {cpu}.")
        return usable[0]
    if wanted not in _LEVELS:
        raise ImportError(f"DUALFIELD_ISA={wanted!r} is unknown; use one of those built here: {names}.")
    if wanted not in runs:
        raise ImportError(f"DUALFIELD_ISA={wanted!r} needs instructions that this CPU ({cpu}) lacks.")
    if wanted not in built:
        raise ImportError(f"DUALFIELD_ISA={wanted!r} was not built; those built here: {names}.")
    return wanted


ISA: str = _choose(
    instruction_set(),
    [level for level in _LEVELS if find_spec(f"{__name__}._core_{level}")],
    os.environ.get("DUALFIELD_ISA"),
)

for _name, _value in vars(import_module(f"{__name__}._core_{ISA}")).items():
    if not _name.startswith("__"):
        if isinstance(_value, type):
            _value.__module__ = __name__  # so that a pickle made on one CPU loads on another
        globals()[_name] = _value
del _name, _value
