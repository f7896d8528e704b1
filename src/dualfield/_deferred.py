"""Names of a package that are imported when they are first asked for.

A program that uses one part of the package then does not import what the other parts need: tagging a file does without
NumPy, training without SciPy and scikit-learn. These imports take longer than the work on a small file.

A package writes each name once, as an import for type checkers and readers:

    if TYPE_CHECKING:
        from dualfield.solution import Solution as Solution

    __all__, __getattr__, __dir__ = deferred(__name__, written_imports())

The block never runs, but Python has compiled it, so its names stand in the code of the module: no source is read and
nothing is parsed. ("as Solution" tells type checkers that the name is public.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["MissingExtraError", "deferred", "explained", "written_imports"]


_EXTRAS = {
    "dask": "dask",
    "distributed": "dask",
    "mpi4py": "mpi",
    "scipy": "sklearn",
    "sklearn": "sklearn",
    "typer": "cli",
    "rich": "cli",
    "jinja2": "report",
    "PIL": "images",
    "torch": "torch",
}


class MissingExtraError(ModuleNotFoundError):
    """A package that only an extra of this one brings is not installed."""


def explained(error: ModuleNotFoundError, what: str) -> ModuleNotFoundError:
    """The same error, with the extra of this package that brings what is missing, if there is one.

    Examples
    --------
    >>> print(explained(ModuleNotFoundError(name="scipy.sparse"), "dualfield.GraphCRF"))
    dualfield.GraphCRF needs scipy, which is not installed: pip install "dualfield[sklearn]"
    """
    missing = (error.name or "").partition(".")[0]
    if missing not in _EXTRAS:
        return error
    advice = f'pip install "dualfield[{_EXTRAS[missing]}]"'
    return MissingExtraError(f"{what} needs {missing}, which is not installed: {advice}", name=error.name)


def written_imports() -> dict[str, str]:
    """The names that the calling module imports ``from dualfield...``, also where it never runs, and from which module.

    ``co_names`` of a code object has every name in the order of first use: the module of an import, then what is
    imported from it. So imports from one module stand together, and none gives a name another name.
    """
    home, home_of = "", {}
    for name in sys._getframe(1).f_code.co_names:
        if "." in name or name == "dualfield":
            home = name
        elif name.startswith("_"):  # __all__ and the like: the imports are over
            home = ""
        elif home and home != __name__:
            home_of[name] = home
    return home_of


def deferred(
    package: str, home_of: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package, whose names are those of the modules ``home_of``.

    A name from the package itself is a module of it. (A name must not be that of another module of the package:
    importing that module would put it in the name's place.)

    Examples
    --------
    >>> names, find, _ = deferred("dualfield", {"Solution": "dualfield.solution", "fields": "dualfield"})
    >>> find("Solution").__module__, find("fields").__name__
    ('dualfield.solution', 'dualfield.fields')
    """

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = home_of[name]
        try:
            value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        except ModuleNotFoundError as error:
            raise explained(error, f"{package}.{name}") from error
        setattr(sys.modules[package], name, value)  # so that it is looked for once
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return list(home_of), find, names
