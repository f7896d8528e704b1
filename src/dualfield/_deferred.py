"""Names of a package that are imported when they are first asked for.

A command or a program that uses one part of the package then starts without what the others need: tagging a file
without NumPy, training without SciPy and scikit-learn, whose imports take longer than the work on a small file. Type
checkers and readers see ordinary imports, under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["deferred"]


def deferred(package: str, names_of: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    ``names_of`` has for each module of the package the names that it gives, with blanks between them; those of the
    module ``""`` are modules themselves. (A name must not be that of another module of the package: importing that
    module would put it in the name's place.)

    Examples
    --------
    >>> find, _ = deferred("dualfield", {"solution": "Solution", "": "fields solvers"})
    >>> find("Solution").__module__, find("fields").__name__
    ('dualfield.solution', 'dualfield.fields')
    """
    home_of = {name: module for module, names in names_of.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = home_of[name]
        value = getattr(import_module(f"{package}.{home}"), name) if home else import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, value)  # so that it is looked for once
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return find, names
