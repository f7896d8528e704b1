"""A file appears whole or not at all, and a hopeless path is refused before any work."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dualfield.io import atomic_write, check_writable


def test_the_file_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    with atomic_write(path) as file:
        file.write("é\n")
        assert not path.exists()
    assert path.read_bytes() == "é\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    with atomic_write(str(tmp_path / "model"), "wb") as file:
        file.write(b"\x00\r\n\xff")
    assert (tmp_path / "model").read_bytes() == b"\x00\r\n\xff"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "model.txt"
    path.write_text("old")

    def write_half() -> None:
        with atomic_write(path) as file:
            file.write("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path: Path) -> None:
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_text("")
    old.chmod(0o640)
    plain.write_text("")
    for path in (old, new):
        with atomic_write(path) as file:
            file.write("x")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="this system has no /dev/null")
def test_a_device_is_written_in_place() -> None:
    check_writable("/dev/null")
    with atomic_write("/dev/null") as file:
        file.write("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_only_writing_modes_are_accepted(tmp_path: Path) -> None:
    append: Any = "a"
    with pytest.raises(ValueError, match="mode must be 'w' or 'wb'; found 'a'"):
        atomic_write(tmp_path / "x", append).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_hopeless_paths_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cases: list[tuple[Path, type[OSError], str]] = [
        (
            tmp_path / "missing" / "model",
            FileNotFoundError,
            "the folder '.*missing' does not exist; create it first",
        ),
        (tmp_path / "file" / "model", NotADirectoryError, "'.*file' is not a folder"),
        (tmp_path / "file" / "deep" / "model", NotADirectoryError, "'.*deep' is not a folder"),
        (tmp_path, IsADirectoryError, "it is a folder; give a file name"),
    ]
    for path, error, message in cases:
        with pytest.raises(error, match=f"^cannot write '.*': {message}"):
            check_writable(path)
        with pytest.raises(error, match=message), atomic_write(path):
            pytest.fail("the block must not be entered")
    with pytest.raises(FileNotFoundError, match="empty path"):
        check_writable("")


def test_missing_permissions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    existing = tmp_path / "model"
    existing.write_text("")
    check_writable(existing)
    check_writable(tmp_path / "new")
    # the superuser may write anywhere, so the answer of the system is replaced
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="the file is write-protected"):
        check_writable(existing)
    with pytest.raises(PermissionError, match=r"the folder '.*' is not writable"):
        check_writable(tmp_path / "new")
