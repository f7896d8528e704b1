"""Every example in a docstring, in the README and on the pages with code runs and gives what it says."""

from __future__ import annotations

import doctest
import io
import pkgutil
import re
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dualfield

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "docs/coming-from-sklearn-crfsuite.md",
    "docs/formats.md",
    "docs/graphs.md",
    "docs/label-knowledge.md",
    "docs/looking-inside.md",
    "docs/templates.md",
]
MODULES = [
    "dualfield",
    *(
        module.name
        for module in pkgutil.walk_packages(dualfield.__path__, "dualfield.")
        if not module.name.startswith("dualfield._core") and not module.name.endswith("__main__")
    ),
]


def test_the_modules_are_found() -> None:
    assert {"dualfield.driver", "dualfield.estimators.chain_crf", "dualfield.io.columns"} <= set(MODULES)


@pytest.mark.parametrize(
    "name",
    MODULES,
)
def test_the_examples_of_a_module_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = io.StringIO()
    with redirect_stdout(report), redirect_stderr(io.StringIO()):
        failed, _ = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0, report.getvalue()


@pytest.mark.parametrize("name", ["ChainCRF", "SoftmaxRegression", "SDCA", "solve"])
def test_the_public_surface_has_examples(name: str) -> None:
    assert ">>> " in (getattr(dualfield, name).__doc__ or "")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__page__"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert blocks
    for block in blocks:
        # line breaks in front give a traceback the page's own line numbers
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block.group(1), page, "exec"), namespace)
