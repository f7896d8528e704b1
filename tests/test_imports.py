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
HEAVY = {"scipy", "sklearn", "pandas", "matplotlib", "jinja2", "torch"}
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


def test_the_chain_estimator_imports_neither_scikit_learn_nor_scipy() -> None:
    code = "import sys; from dualfield import ChainCRF; ChainCRF(l2=2.0)"
    code += "; print('imported:', *set(sys.argv[1].split(',')) & set(sys.modules))"
    assert imported(code, ",".join(HEAVY | {"typer", "rich"})) == set()


# Beside NumPy nothing is installed; then some code.
BARE = """
import sys
class Absent:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {"scipy", "sklearn", "pandas", "typer", "rich", "jinja2"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""
USE = """
import numpy as np
from dualfield import ChainCRF, solve, fields, l2_path
from dualfield.inspection import explain
X = [[{"word": "Ada", "upper": True}, {"word": "met"}], [{"word": "the"}, {"word": "engine"}]]
y = [["B-PER", "O"], ["O", "O"]]
crf = ChainCRF(random_state=0).fit(X, y)
assert crf.predict(X) == y
crf.save("bare.safetensors")
assert ChainCRF.load("bare.safetensors").predict_marginals(X)[0].shape == (2, 2)
assert "word:Ada" in str(explain(crf, X[0], 0))
assert repr(crf.set_params(l2=3.0)) == "ChainCRF(l2=3.0, random_state=0)"
assert crf.fit([np.eye(2)], [[0, 1]]).predict([np.eye(2)]) == [[0, 1]]
assert len(l2_path(fields.Chain(X, y), [1.0, 0.1], random_state=0)) == 2
"""


def test_numpy_alone_trains_tags_explains_and_saves(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", BARE + USE], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("from dualfield import GraphCRF", 'GraphCRF needs scipy, which is not installed: pip install "dualfield[sk'),
        ("import dualfield; dualfield.ChainCRFCV", "ChainCRFCV needs sklearn, which is not installed"),
        (
            "from dualfield import ChainCRF; ChainCRF(verbose=1).fit([[['a'], ['b']]], [['x', 'y']])",
            "needs rich, which is not installed",
        ),
        ("from dualfield import ChainCRF; ChainCRF().predict([[['a']]])", "NotFittedError: This ChainCRF instance is"),
    ],
)
def test_what_needs_an_extra_says_which(code: str, sentence: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", BARE + code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert sentence in done.stderr.splitlines()[-1]


def test_a_command_without_typer_ends_with_a_sentence(tmp_path: Path) -> None:
    code = BARE + "sys.argv = ['dualfield', 'eval', 'x', '-m', 'y']; from dualfield.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert 'needs typer, which is not installed: pip install "dualfield[cli]"' in done.stderr


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
