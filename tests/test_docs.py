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
    assert {"README.md", "docs/tutorials/tag-text.md", "docs/guides/coming-from-crfpp.md"} <= set(PAGES)


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

    namespace: dict[str, Any] = {"__name__": "__page__", "print": note}
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if language == "sh":
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], capture_output=True, text=True)
            assert done.returncode == 0, f"{page}: {code}{done.stderr}"
            continue
        # line breaks in front give a traceback the page's own line numbers
        line = text.count("\n", 0, block.start(2))
        exec(compile("\n" * line + code, page, "exec", dont_inherit=True), namespace)
    lines = text.split("\n")
    for number, shown in printed:
        said = SAID.search(lines[number - 1])
        if said:
            pattern = ".*".join(map(re.escape, said[1].split("...")))
            assert re.fullmatch(pattern, " ".join(shown.split()), re.DOTALL), f"{page}:{number} prints {shown}"


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
