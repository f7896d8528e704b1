"""Every example in a docstring, in the README and on the pages with code runs and gives what it says."""

from __future__ import annotations

import doctest
import io
import os
import pkgutil
import re
import subprocess
import sys
import sysconfig
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dualfield

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in FILES}
# A block that begins so is run: Python in one namespace for the page, commands by bash, in the order of the page.
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What a line prints may stand behind it, with "..." for what does not matter.
SAID = re.compile(r"\bprint\(.*\)  # (.*)$")
# And a block without a language and of no commands, straight after one that is run, shows lines that it prints.
SHOWN = re.compile(r"\s*^```\n(?!dualfield |make |pip )(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<!\w)\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
PAGES = [page for page, text in TEXTS.items() if BLOCK.search(text)]
LINKED = {
    **TEXTS,
    **{
        page: (ROOT / page).read_text(encoding="utf-8")
        for page in ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md")
    },
}
NO_PYTORCH = "PyTorch, of the extra dualfield[torch], is not installed"
NO_DASK = "Dask, of the extra dualfield[dask], is not installed"
NO_MPI = "mpi4py, of the extra dualfield[mpi], is not installed"
MODULES = [
    "dualfield",
    *(
        module.name
        for module in pkgutil.walk_packages(dualfield.__path__, "dualfield.")
        if not module.name.startswith("dualfield._core") and not module.name.endswith("__main__")
    ),
]


def test_the_modules_are_found() -> None:
    assert {"dualfield.solving", "dualfield.estimators.chain_crf", "dualfield.io.columns"} <= set(MODULES)


@pytest.mark.parametrize(
    "name",
    MODULES,
)
def test_the_examples_of_a_module_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name.startswith(("dualfield.torch.", "dualfield.cuda.")):
        pytest.importorskip("torch", reason=NO_PYTORCH)
    if name.startswith("dualfield.distributed.dask."):
        pytest.importorskip("distributed", reason=NO_DASK)
    if name == "dualfield.distributed.mpi":
        pytest.importorskip("mpi4py", reason=NO_MPI)
    report = io.StringIO()
    with redirect_stdout(report), redirect_stderr(io.StringIO()):
        failed, _ = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0, report.getvalue()


@pytest.mark.parametrize("name", ["ChainCRF", "SoftmaxRegression", "SDCA", "solve"])
def test_the_public_surface_has_examples(name: str) -> None:
    assert ">>> " in (getattr(dualfield, name).__doc__ or "")


def test_the_pages_are_found() -> None:
    assert {"README.md", "docs/guides/answers.md", "docs/guides/coming-from-crfpp.md"} <= set(PAGES)


def test_tutorials_run_and_end_in_something_to_look_at() -> None:
    tutorials = [page for page in TEXTS if page.startswith("docs/tutorials/")]
    assert len(tutorials) >= 5
    for page in tutorials:
        last = list(BLOCK.finditer(TEXTS[page]))[-1]
        assert re.search(r"print\(|report\(|\.save\(|dualfield (tag|eval)", last[2]), f"{page} ends in nothing to see"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # the command is the one installed beside this Python
    monkeypatch.setenv("PATH", os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    text = TEXTS[page]
    if "from dualfield.torch import" in text:
        pytest.importorskip("torch", reason=NO_PYTORCH)
    if "from dualfield.distributed.dask import" in text:
        pytest.importorskip("distributed", reason=NO_DASK)
    if "--distributed mpi" in text:
        pytest.importorskip("mpi4py", reason=NO_MPI)
    printed: list[tuple[int, str]] = []

    def note(*values: object, **options: Any) -> None:
        printed.append((sys._getframe(1).f_lineno, " ".join(map(str, values))))

    def check_shown(end: int, output: str) -> None:
        shown = SHOWN.match(text, end)
        missing = unprinted(shown[1], output) if shown else ""
        assert not missing, f"{page} shows {missing!r}, which is not printed there:\n{output}"

    namespace: dict[str, Any] = {"__name__": "__page__", "print": note}
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", code]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert done.returncode == 0, f"{page}: {code}{done.stdout}"
            check_shown(block.end(), done.stdout)
            continue
        # line breaks in front give a traceback the page's own line numbers
        line = text.count("\n", 0, block.start(2))
        before = len(printed)
        exec(compile("\n" * line + code, page, "exec", dont_inherit=True), namespace)
        check_shown(block.end(), "\n".join(said for _, said in printed[before:]))
    lines = text.split("\n")
    for number, shown in printed:
        said = SAID.search(lines[number - 1])
        if said:
            assert agrees(said[1], shown), f"{page}:{number} prints {shown}"


def agrees(said: str, printed: str) -> bool:
    """Whether what was printed is what a page says, where "..." stands for anything."""
    pattern = ".*".join(map(re.escape, " ".join(said.split()).split("...")))
    return re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None


def alike(shown: str, printed: str) -> bool:
    """Whether a line that a page shows was printed, with numbers within a factor of two: machines round differently."""
    parts = NUMBER.split(" ".join(shown.split()))
    pattern = f"({NUMBER.pattern})".join(".*".join(map(re.escape, part.split("..."))) for part in parts)
    found = re.fullmatch(pattern, " ".join(printed.split()))
    if found is None:
        return False
    pairs = zip(NUMBER.findall(shown), found.groups(), strict=True)
    numbers = [tuple(float(text.replace(",", "")) for text in pair) for pair in pairs]
    return all(said == there or 0.5 <= said / (there or 1e-300) <= 2 for said, there in numbers)


def unprinted(shown: str, output: str) -> str:
    """The first line of those shown that is not in the output, after the lines before it; empty if all are."""
    lines = iter(output.split("\n"))
    for line in filter(str.strip, shown.split("\n")):
        if line.strip() != "..." and not any(alike(line, printed) for printed in lines):
            return line
    return ""


def test_what_a_page_shows_is_printed_in_that_order() -> None:
    output = "one  1\ntwo 2,340 s, 1e-3\nthree"
    assert unprinted("one 1\n...\n  three\n", output) == ""
    assert unprinted("two ... s, 1e-3\n", output) == ""
    assert unprinted("two 2,500 s, 9e-04\n", output) == ""
    assert unprinted("two 5,000 s, 1e-3\n", output) == "two 5,000 s, 1e-3"
    assert unprinted("three\none 1\n", output) == "one 1"
    assert unprinted("two 2,340 m, 1e-3\n", output) == "two 2,340 m, 1e-3"


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_to_files_and_headings(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", LINKED[page], flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.is_file(), f"{page} links to {target}, which is no file"
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            # a heading's address: lower case, without punctuation, spaces as hyphens
            slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
            assert heading in slugs, f"{page} links to {target}; the headings there are {slugs}"
