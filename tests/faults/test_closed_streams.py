"""Commands whose standard streams are closed end without a traceback and without a signal."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.children import COMMAND, LONGEST

CALLS = {
    "train": ["train", "columns", "--output", "new", "--features", "pos"],
    "eval": ["eval", "columns", "-m", "model"],
    "inspect": ["inspect", "model"],
    "convert": ["convert", "columns", "new", "--from", "columns", "--to", "attributes", "--features", "pos"],
    "demo": ["demo", "--help"],
}
TAGGING = {"tag": ["tag", "columns", "-m", "model"], "tag a stream": ["tag", "-", "-m", "model"]}
CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="closing a stream needs a shell of POSIX")


@pytest.fixture
def folder(model: Path, tmp_path: Path) -> Path:
    for name in ("model", "columns"):
        shutil.copy(model.parent / name, tmp_path)
    return tmp_path


def called(folder: Path, arguments: list[str], closed: str = "") -> tuple[int, str]:
    """(exit status, all that was said)"""
    with open(folder / "columns") as sentences:
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *arguments],
            cwd=folder,
            stdin=sentences,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [*CALLS.values(), *TAGGING.values()])
def test_the_commands_work_with_all_streams_open(folder: Path, arguments: list[str]) -> None:
    assert called(folder, arguments)[0] == 0


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("call", CALLS)
def test_a_closed_stream_is_no_crash(folder: Path, call: str, closed: str) -> None:
    status, said = called(folder, CALLS[call], closed)
    assert status in (0, 1, 2)
    assert "Traceback" not in said
    assert "Exception ignored" not in said


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("call", TAGGING)
def test_tagging_with_a_closed_stream_is_no_crash(folder: Path, call: str, closed: str) -> None:
    status, said = called(folder, TAGGING[call], closed)
    assert status in (0, 1, 2)
    assert "Traceback" not in said
    assert "Exception ignored" not in said
