"""Folders that are either written whole or not at all, as :mod:`~dualfield.io.atomic` does for files.

The folder is filled under another name beside its place, and renamed at the end. A writer holds a lock on the folder
that it fills. The folder of a killed writer has no lock, and the next writer for the same place removes it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # a system without such locks: nothing is locked, and nothing removed
    fcntl = None  # type: ignore[assignment]

from dualfield.io.atomic import PathLike

__all__ = ["atomic_folder", "check_new_folder"]

_STEM = 100  # bytes: with what is added, far from 255


def check_new_folder(path: PathLike) -> str:
    """The absolute path, where a new folder can be made; OSError otherwise, with one sentence.

    Examples
    --------
    >>> check_new_folder("missing/folder")
    Traceback (most recent call last):
        ...
    FileNotFoundError: cannot make the folder 'missing/folder': 'missing' does not exist; create it first.
    """
    shown = os.fsdecode(path)
    if not shown.rstrip(os.sep) or "\0" in shown:
        raise ValueError(f"cannot make the folder {shown!r}: expected the name of a new folder.")
    target = os.path.abspath(shown)
    parent, shown_parent = os.path.dirname(target), os.path.dirname(shown.rstrip(os.sep)) or "."
    if os.path.lexists(target):
        raise FileExistsError(f"cannot make the folder {shown!r}: it exists already; remove it or choose another name.")
    if not os.path.isdir(parent):
        kind = "is not a folder; choose another path" if os.path.exists(parent) else "does not exist; create it first"
        error = NotADirectoryError if os.path.exists(parent) else FileNotFoundError
        raise error(f"cannot make the folder {shown!r}: {shown_parent!r} {kind}.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot make the folder {shown!r}: permission denied; choose another path.")
    return target


@contextmanager
def atomic_folder(path: PathLike) -> Iterator[str]:
    """Make a folder that appears only when the block ends without an error.

    Parameters
    ----------
    path : str or path
        The folder to make; it must not exist.

    Yields
    ------
    temporary : str
        The folder to fill.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with atomic_folder(os.path.join(home, "data")) as folder:
    ...         open(os.path.join(folder, "a"), "w").close()
    ...     os.listdir(home), os.listdir(os.path.join(home, "data"))
    (['data'], ['a'])
    """
    target = check_new_folder(path)
    temporary, lock = _create_temporary(target)
    try:
        yield temporary
        _sync_all(temporary)
        check_new_folder(path)
        os.rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync(os.path.dirname(target))


def _create_temporary(target: str) -> tuple[str, int | None]:
    """A new folder beside the target, locked; what dead writers of the target have left is removed."""
    parent, name = os.path.split(target)
    stem = name
    while len(os.fsencode(stem)) > _STEM:
        stem = stem[:-1]
    _remove_leftovers(parent, stem)
    temporary = os.path.join(parent, f".{stem}.{os.urandom(6).hex()}.tmp")
    os.mkdir(temporary)
    if fcntl is None:
        return temporary, None
    lock = os.open(temporary, os.O_RDONLY)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(lock, fcntl.LOCK_EX)
    return temporary, lock


def _remove_leftovers(parent: str, stem: str) -> None:
    if fcntl is None:
        return
    ours = re.compile(re.escape(f".{stem}.") + r"[0-9a-f]{12}\.tmp")
    with suppress(OSError):  # a folder that one may write to, but not list
        for name in filter(ours.fullmatch, os.listdir(parent)):
            leftover = os.path.join(parent, name)
            if os.path.isdir(leftover) and not os.path.islink(leftover):
                with suppress(OSError):  # not ours to open, or locked: its writer lives
                    _remove_if_free(leftover)


def _remove_if_free(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(descriptor)


def _sync_all(folder: str) -> None:
    """Make the system write the content to the disk, so that it is there before the name."""
    for home, _, files in os.walk(folder):
        for name in files:
            _sync(os.path.join(home, name))
        _sync(home)


def _sync(path: str) -> None:
    with suppress(OSError):  # some systems cannot
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
