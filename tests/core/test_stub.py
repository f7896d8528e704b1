"""The stub of the core, written by the build, names exactly what the compiled module has."""

import ast
from pathlib import Path

import pytest

import dualfield._core as core

PATH = Path(core.__file__).parent / "__init__.pyi"
if not PATH.exists():
    pytest.skip("a build with sanitizers writes no stub", allow_module_level=True)
STUB = ast.parse(PATH.read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def members(name: str) -> set[str]:
    """Methods and properties that the stub gives a class, inherited ones included."""
    node = CLASSES[name]
    own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return own.union(*(members(base.id) for base in node.bases if isinstance(base, ast.Name)))


def test_stub_lists_every_function_and_class():
    functions = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    listed = functions | {name for name in CLASSES if not name.startswith("_")}
    present = {name for name, value in vars(core).items() if type(value).__module__ == "nanobind"}
    present |= {name for name, value in vars(core).items() if isinstance(value, type)}
    assert listed == present


@pytest.mark.parametrize("name", [name for name in CLASSES if not name.startswith("_")])
def test_stub_lists_every_member(name):
    present = {member for member in dir(getattr(core, name)) if not member.startswith("__")}
    assert {member for member in members(name) if not member.startswith("__")} == present
