"""Files that are either written whole or not at all.

:func:`atomic_write` writes beside the target and puts the result in its place at the end, so an error, a Ctrl-C or a
power cut leaves the old file as it was. :func:`check_writable` tries, before an hour of training, whether that would
work.

A program that is killed leaves its temporary file behind, and the next writer of the same target removes it. A writer
holds a lock on its temporary file, and the system frees the lock when the writer ends, however it ends. So a temporary
file whose lock can be taken is an abandoned one.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal

try:
    import fcntl
except ImportError:  # a system without such locks: nothing is locked, and nothing removed
    fcntl = None  # type: ignore[assignment]

__all__ = ["atomic_write", "check_writable"]

PathLike = str | os.PathLike[str]

_STEM = 100  # bytes: with what is added, far from 255, and from the 143 of encrypted folders
_BLOCK = 4096  # bytes: a disk that does not take these is full
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CANNOT_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def check_writable(path: PathLike) -> None:
    """Raise unless a file can be written at ``path``, which is tried: a file beside it appears and goes.

    Parameters
    ----------
    path : str or path
        The file to be written later; it need not exist, its folder must.

    Raises
    ------
    OSError
        FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError or another, with one sentence that
        names the path and the reason.

    Examples
    --------
    >>> check_writable("missing/a.txt")
    Traceback (most recent call last):
        ...
    FileNotFoundError: cannot write 'missing/a.txt': the folder 'missing' does not exist; create it first.
    """
    target = _target(path)
    if _in_place(target):
        return
    with _explained(path):
        temporary, descriptor = _create_temporary(target)
        try:
            with open(descriptor, "wb") as file:
                file.write(bytes(_BLOCK))
        finally:
            os.unlink(temporary)


@contextmanager
def atomic_write(path: PathLike, mode: Literal["w", "wb"] = "w", *, encoding: str = "utf-8") -> Iterator[IO[Any]]:
    r"""Open a file for writing that appears only when the block ends without an error.

    Parameters
    ----------
    path : str or path
        The file to write; an existing one keeps its permissions and is replaced at the end. A device or a
        pipe, such as ``/dev/null``, is written in place.
    mode : "w" or "wb"
        Text or bytes.
    encoding : str
        For text. Lines end in ``\n`` on every system.

    Yields
    ------
    file : text or binary file
        Opened on a temporary file in the same folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(os.path.join(folder, "a.txt")) as file:
    ...         _ = file.write("whole")
    ...     os.listdir(folder)
    ['a.txt']
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb'; found {mode!r}.")
    target = _target(path)
    options: dict[str, Any] = {} if mode == "wb" else {"encoding": encoding, "newline": "\n"}
    if _in_place(target):
        with open(target, mode, **options) as file:
            yield file
        return
    with _explained(path):
        temporary, descriptor = _create_temporary(target)
    lock = os.dup(descriptor)  # shares the lock, which has to outlive the file that the caller writes to
    try:
        with _explained(path, _NO_ROOM), open(descriptor, mode, **options) as file:
            yield file
        with _explained(path):
            _sync(lock)
            if os.path.exists(target):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    finally:
        os.close(lock)
    _sync_folder(os.path.dirname(target))


def _target(path: PathLike) -> str:
    """The file that a path leads to, links followed. Refuses what cannot be a file, and write-protected files."""
    shown = os.fsdecode(path)
    if "\0" in shown:
        raise ValueError(f"cannot write {shown!r}: a file name cannot hold the character NUL; choose another name.")
    target = os.path.realpath(shown)
    folder = os.path.dirname(target)
    shown_folder = os.path.dirname(shown) or "."
    if not shown:
        raise FileNotFoundError("cannot write to an empty path; give a file name.")
    if os.path.isdir(target):
        raise IsADirectoryError(f"cannot write {shown!r}: it is a folder; give a file name.")
    if not os.path.exists(folder):
        # a/b.txt/c: the first part that is there may be a file
        there = folder
        while not os.path.exists(there):
            there = os.path.dirname(there)
        if os.path.isdir(there):
            raise FileNotFoundError(
                f"cannot write {shown!r}: the folder {shown_folder!r} does not exist; create it first."
            )
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"cannot write {shown!r}: {shown_folder!r} is not a folder; choose another path.")
    with _explained(path), suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(target).st_mode):
            if not os.access(target, os.W_OK):  # not tried: to open a pipe waits for its reader
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            # Renaming would replace it all the same, but it is write-protected on purpose.
            os.close(os.open(target, os.O_WRONLY))
    return target


def _in_place(target: str) -> bool:
    """Whether the target is a device or a pipe, which is written in place."""
    return os.path.exists(target) and not os.path.isfile(target)


@contextmanager
def _explained(path: PathLike, only: tuple[int, ...] = ()) -> Iterator[None]:
    """Errors of the system, or ``only`` some, as a sentence that names the path."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (only and error.errno not in only):
            raise
        reason = os.strerror(error.errno)
        raise type(error)(
            f"cannot write {os.fspath(path)!r}: {reason[0].lower()}{reason[1:]}; choose another path."
        ) from error


def _create_temporary(target: str) -> tuple[str, int]:
    """A new file beside the target, locked; what dead writers of the target have left is removed."""
    folder, name = os.path.split(target)
    stem = name
    while len(os.fsencode(stem)) > _STEM:
        stem = stem[:-1]
    _remove_leftovers(folder, stem)
    while True:
        temporary = os.path.join(folder, f".{stem}.{os.urandom(6).hex()}.tmp")
        # 0o666 less the umask, like any new file; tempfile's 0o600 would lock out the user's colleagues
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is None:
            return temporary, descriptor
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.exists(temporary):
            return temporary, descriptor
        os.close(descriptor)  # another writer took it for a leftover, before it was locked


def _remove_leftovers(folder: str, stem: str) -> None:
    if fcntl is None:
        return
    ours = re.compile(re.escape(f".{stem}.") + r"[0-9a-f]{12}\.tmp")
    with suppress(OSError):  # a folder that one may write to, but not list
        for name in filter(ours.fullmatch, os.listdir(folder)):
            with suppress(OSError):  # not ours to open, or locked: its writer lives
                _remove_if_free(os.path.join(folder, name))


def _remove_if_free(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    """Make the system write the content to the disk, so that it is there before the name."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def _sync_folder(folder: str) -> None:
    """Make the system write the new name to the disk, where it can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
