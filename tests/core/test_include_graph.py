"""The folders of ``core/`` build on each other in one direction, and comments name headers that exist."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "core"
SOURCES = sorted(path for path in CORE.rglob("*.[ch]*") if path.suffix in (".hpp", ".cpp", ".h", ".c"))


def included(path: Path) -> list[str]:
    """The headers of ours that a file includes, relative to ``core/``."""
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)


def graphs() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What each file, and what each folder, includes."""
    files: dict[str, set[str]] = {}
    folders: dict[str, set[str]] = {}
    for path in SOURCES:
        name = path.relative_to(CORE).as_posix()
        files[name] = {header for header in included(path) if (CORE / header).exists()}
        folder = name.rpartition("/")[0]
        folders.setdefault(folder, set()).update(header.rpartition("/")[0] for header in files[name])
    return files, {folder: others - {folder} for folder, others in folders.items()}


@pytest.mark.parametrize("graph", graphs(), ids=["files", "folders"])
def test_nothing_includes_itself_by_way_of_others(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle: {' -> '.join(error.args[1])}")


def test_a_cycle_would_be_found():
    with pytest.raises(CycleError):
        TopologicalSorter({"fields": {"solvers"}, "solvers": {"fields"}}).prepare()


def test_every_room_is_looked_at():
    _, folders = graphs()
    assert {"base", "simd", "threads", "oracles", "duality", "fields", "solvers/dual", "bindings"} <= set(folders)
    assert "fields" in folders["solvers/dual"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_comments_name_headers_that_exist(path):
    known = {source.name for source in SOURCES} | {source.relative_to(CORE).as_posix() for source in SOURCES}
    comments = "\n".join(line.partition("//")[2] for line in path.read_text().splitlines())
    named = set(re.findall(r"[\w/]+\.hpp", comments))
    assert named <= known
