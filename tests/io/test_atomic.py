"""A file appears whole or not at all, and a hopeless path is refused before any work."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
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


def refusing(monkeypatch: pytest.MonkeyPatch, number: int, ends: str) -> None:
    """The system refuses to open files whose name ends like this; the superuser may write anywhere."""
    open_file = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if os.fspath(path).endswith(ends):
            raise OSError(number, os.strerror(number), path)
        return open_file(path, *arguments, **options)

    monkeypatch.setattr("os.open", refuse)


@pytest.mark.parametrize(
    ("number", "kind", "reason"),
    [
        (errno.EACCES, PermissionError, "permission denied"),
        (errno.EROFS, OSError, "read-only file system"),
        (errno.EDQUOT, OSError, "disk quota exceeded"),
    ],
)
def test_what_the_system_refuses_is_seen_first_and_said_in_a_sentence(
    number: int, kind: type[OSError], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    existing, new = tmp_path / "model", tmp_path / "new"
    existing.write_text("")
    check_writable(existing)
    check_writable(new)
    for path, ends in ((existing, "model"), (new, ".tmp")):
        with monkeypatch.context() as patched:
            refusing(patched, number, ends)
            with pytest.raises(kind, match=rf"^cannot write '.*{path.name}': {reason}; choose another path\.$"):
                check_writable(path)
    assert list(tmp_path.iterdir()) == [existing]


def test_trying_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    existing = tmp_path / "model"
    existing.write_text("old")
    before = existing.stat()
    check_writable(existing)
    check_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == [existing]
    assert existing.read_text() == "old"
    assert existing.stat().st_mtime_ns == before.st_mtime_ns


# Long names: what the system limits are bytes, and a temporary file has a longer name than its target


@pytest.mark.parametrize("name", ["語" * 80, "語" * 85, "x" * 255, "é" * 127], ids=["80", "85", "ascii", "accents"])
def test_a_name_of_up_to_255_bytes_is_written(name: str, tmp_path: Path) -> None:
    check_writable(tmp_path / name)
    for text in ("first", "second"):
        with atomic_write(tmp_path / name) as file:
            file.write(text)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "second"


def test_a_longer_name_is_refused_before_any_work(tmp_path: Path) -> None:
    for name in ("語" * 86, "x" * 256):
        for writer in (check_writable, lambda path: atomic_write(path).__enter__()):
            with pytest.raises(OSError, match=r"^cannot write '.*': file name too long; choose another path\.$"):
                writer(tmp_path / name)
    assert os.listdir(tmp_path) == []


WITHOUT_ROOM = """
import resource, sys
from dualfield.io import atomic_write, check_writable
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    if sys.argv[2] == "try":
        check_writable(sys.argv[1])
    with atomic_write(sys.argv[1]) as file:
        file.write("x" * 10**6)
    print("written")
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("how", ["try", "write"])
def test_a_lack_of_room_is_said_in_a_sentence(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_ROOM, str(tmp_path / "model"), how]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"cannot write {str(tmp_path / 'model')!r}: file too large; choose another path.\n"
    assert os.listdir(tmp_path) == []


# What a killed writer leaves

KILLED = """
import os, signal, sys
from dualfield.io import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for _ in range(2):
        died = subprocess.run([sys.executable, "-c", KILLED, str(path), "die"])
        assert died.returncode == -signal.SIGKILL
        assert len(os.listdir(tmp_path)) == 1  # that of the first is gone with the second
    strangers = {".model.tmp", ".model.0123456789ab.tmp.old", ".other.0123456789ab.tmp", "model.0123456789ab.tmp"}
    for name in strangers:
        (tmp_path / name).write_text("somebody else's")
    with atomic_write(path) as file:
        file.write("whole")
    assert set(os.listdir(tmp_path)) == {"model", *strangers}


def test_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "model"
    command = [sys.executable, "-c", KILLED, str(path), "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        check_writable(path)
        with atomic_write(path) as file:
            file.write("ours")
            with atomic_write(path) as nested:
                nested.write("nested")
        assert path.read_text() == "ours"
        assert len(os.listdir(tmp_path)) == 2
        other.communicate()
        assert other.returncode == 0
    assert path.read_text() == "half"
    assert os.listdir(tmp_path) == ["model"]


def test_what_looks_like_a_leftover_but_is_no_file_stays(tmp_path: Path) -> None:
    folder, link, pipe = (tmp_path / f".model.{digit * 12}.tmp" for digit in "123")
    folder.mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("kept")
    os.mkfifo(pipe)
    with atomic_write(tmp_path / "model") as file:
        file.write("whole")
    assert len(os.listdir(tmp_path)) == 5


def test_the_content_is_on_the_disk_before_the_name_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "model", []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else f"{os.fstat(descriptor).st_size} bytes"
        steps.append(kind)
        sync(descriptor)

    def note_replace(*names: Any) -> None:
        steps.append("name")
        replace(*names)

    monkeypatch.setattr("os.fsync", note_sync)
    monkeypatch.setattr("os.replace", note_replace)
    with atomic_write(path) as file:
        file.write("whole")
    assert steps == ["5 bytes", "name", "folder"]


def test_a_folder_that_cannot_be_synchronised_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(_: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr("os.fsync", cannot)
    with atomic_write(tmp_path / "model") as file:
        file.write("whole")
    assert (tmp_path / "model").read_text() == "whole"


def test_a_disk_that_fails_at_the_end_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "model").write_text("old")
    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(OSError, match="input/output error"), atomic_write(tmp_path / "model") as file:
        file.write("new")
    assert (tmp_path / "model").read_text() == "old"
    assert os.listdir(tmp_path) == ["model"]
