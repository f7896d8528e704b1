"""Running a command as a user would."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from dualfield.cli import main

Run = Callable[..., tuple[int, str, str]]
BinaryRun = Callable[..., tuple[int, bytes, str]]


def runner(monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[Any]) -> Callable[..., tuple[int, Any, Any]]:
    def run(*arguments: object, stdin: bytes = b"") -> tuple[int, Any, Any]:
        monkeypatch.setattr(sys, "argv", ["dualfield", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capture.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command, perhaps on some standard input; gives (exit code, standard output, standard error)."""
    return runner(monkeypatch, capsys)


@pytest.fixture
def binary_command(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> BinaryRun:
    """The same with standard output as bytes."""
    run = runner(monkeypatch, capsysbinary)

    def decoded(*arguments: object, stdin: bytes = b"") -> tuple[int, bytes, str]:
        code, out, err = run(*arguments, stdin=stdin)
        return code, out, err.decode()

    return decoded
