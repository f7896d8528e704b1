"""What is not imported: a command starts without what it does not use, and every public name is still there."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from dualfield.datasets import travel_sentences
from dualfield.io import write_columns

ROOMS = "datasets estimators features fields inspection io labels models oracles reporting solvers tagging"
PACKAGES = ["dualfield", *(f"dualfield.{name}" for name in ROOMS.split())]
HEAVY = {"scipy", "sklearn", "pandas", "matplotlib", "jinja2"}
NOT_FOR_TAGGING = HEAVY | {"numpy", "typer", "rich", "pydantic", "dataclasses"}

# Runs a command and prints, last, which of the given modules it has imported.
COMMAND = """
import sys
from dualfield.cli import main
names, sys.argv = sys.argv[1].split(","), ["dualfield", *sys.argv[2:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print("imported:", *sorted(set(names) & set(sys.modules)))
"""


def imported(code: str, *arguments: str, folder: Path | None = None) -> set[str]:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].removeprefix("imported:").split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A column file, and a model that the command line has trained on it."""
    folder = tmp_path_factory.mktemp("imports")
    write_columns(travel_sentences(30, 0), folder / "train.txt")
    train = ["train", "train.txt", "--features", "ner", "-o", "m", "--quiet", "--max-passes", "3"]
    assert imported(COMMAND, ",".join(HEAVY), *train, folder=folder) == set()
    (folder / "bigrams.txt").write_text("U:%x[0,0]\nB:%x[0,0]\nB\n")
    train[3], train[5] = "bigrams.txt", "with_bigrams"
    assert imported(COMMAND, ",".join(HEAVY), *train, folder=folder) == set()
    return folder


def test_the_package_imports_nothing_heavy() -> None:
    names = ",".join(NOT_FOR_TAGGING)
    code = "import sys, dualfield; print('imported:', *set(sys.argv[1].split(',')) & set(sys.modules))"
    assert imported(code, names) == set()


def test_tagging_a_column_file_starts_without_numpy_and_typer(folder: Path) -> None:
    arguments = ("tag", "train.txt", "-m", "m", "-o", "tagged.txt")
    assert imported(COMMAND, ",".join(NOT_FOR_TAGGING), *arguments, folder=folder) == set()
    assert len((folder / "tagged.txt").read_text().splitlines()) == len((folder / "train.txt").read_text().splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("train", "--help"),
        ("tag", "train.txt", "-m", "m", "--strict", "-o", "tagged.txt"),
        ("tag", "train.txt", "-m", "with_bigrams", "-o", "tagged.txt"),
        ("eval", "train.txt", "-m", "m"),
        ("convert", "train.txt", "train.jsonl", "--from", "columns", "--to", "jsonl"),
        ("convert", "train.txt", "train.crfsuite", "--from", "columns", "--to", "attributes", "--features", "ner"),
    ],
    ids=" ".join,
)
def test_a_command_starts_without_scikit_learn_and_scipy(arguments: tuple[str, ...], folder: Path) -> None:
    assert imported(COMMAND, ",".join(HEAVY), *arguments, folder=folder) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_listed(package: str) -> None:
    module = import_module(package)
    names = [name for name in module.__all__ if name != "__version__"]
    assert len(names) >= 3
    assert set(module.__all__) <= set(dir(module))
    for name in names:
        value = getattr(module, name)
        home = getattr(value, "__module__", package)  # that of a plain value, and of a module, is not known
        assert home.startswith("dualfield")
        assert getattr(import_module(home), name, value) is value
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_is_also_that_of_a_module_with_other_content(package: str) -> None:
    module = import_module(package)
    within = {found.name for found in pkgutil.iter_modules(module.__path__)}
    for name in within & set(module.__all__):
        assert getattr(module, name).__name__ == f"{package}.{name}"
