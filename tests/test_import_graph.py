"""Rooms stand above each other: no two folders of the package, and no two modules, import each other.

Every import counts: at the top of a module, inside a function, and those for type checkers alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import dualfield

ROOT = Path(dualfield.__file__).parent
FOLDERS_BELOW_MODELS = {"io", "labels", "features", "oracles"}


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("dualfield", *(part for part in parts if part != "__init__")))] = path
    return found


MODULES = _modules()


def _written(module: str) -> Iterator[tuple[str, str]]:
    """(module, name in it or nothing) of each import from the package."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import, which this test does not follow"
            yield from ((str(node.module), name.name) for name in node.names)


# Where the names come from that the packages pass on.
HOMES = {
    (package, name): home
    for package, path in MODULES.items()
    if path.name == "__init__.py" and package != "dualfield"
    for home, name in _written(package)
    if home.startswith(f"{package}.")
}


def _imported(module: str) -> Iterator[str]:
    """The modules of the package that a module imports; its own package, which Python imports first, is none."""
    for home, name in _written(module):
        whole = f"{home}.{name}"
        found = whole if whole in MODULES else HOMES.get((home, name), home)
        if (found in MODULES and not module.startswith(f"{found}.")) or found == "dualfield":
            yield found


IMPORTS = {module: set(_imported(module)) for module in MODULES if module != "dualfield"}


def _room(module: str) -> str:
    """The folder below the root that a module is in; a module of the root is a room of its own."""
    return module.split(".")[1]


def _cycle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_rooms_do_not_import_each_other_in_a_circle() -> None:
    rooms: dict[str, set[str]] = {}
    for module, imported in IMPORTS.items():
        rooms.setdefault(_room(module), set()).update(_room(other) for other in imported if other != "dualfield")
    graph = {room: below - {room} for room, below in rooms.items()}
    assert _cycle(graph) == []
    assert graph["models"] & {path.parent.name for path in ROOT.glob("*/__init__.py")} <= {
        *FOLDERS_BELOW_MODELS,
        "_core",
    }


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert _cycle({module: imported - {module} for module, imported in IMPORTS.items()}) == []


def test_nobody_below_imports_the_top() -> None:
    assert [module for module, imported in IMPORTS.items() if "dualfield" in imported] == []


def test_circles_are_found() -> None:
    assert _cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
