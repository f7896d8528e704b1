"""Programs written for sklearn-crfsuite run with only their imports changed."""

from __future__ import annotations

import ast
import os
import re
import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))


def test_there_are_at_least_ten() -> None:
    assert len(SCRIPTS) >= 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_holds_what_it_claims(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = script.read_text(encoding="utf-8")
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(code))), "it claims nothing"
    if "DUALFIELD_DATA" in code and not os.environ.get("DUALFIELD_DATA"):
        pytest.skip("DUALFIELD_DATA is not set: the folder of the real data sets is unknown")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    out = capsys.readouterr().out
    assert out.strip()
    assert not re.search(r"\b(nan|inf)\b", out)
