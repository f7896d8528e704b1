"""Files that are either written whole or not at all.

:func:`atomic_write` writes beside the target and puts the result in its place at the end, so an error or a
Ctrl-C leaves the old file as it was. :func:`check_writable` asks, before an hour of training, whether there
is a place to write to.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal

__all__ = ["atomic_write", "check_writable"]

PathLike = str | os.PathLike[str]


def check_writable(path: PathLike) -> None:
    """Raise unless a file can be written at ``path``.

    Parameters
    ----------
    path : str or path
        The file to be written later; it need not exist, its folder must.

    Raises
    ------
    FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError
        With one sentence that names the path and the reason.

    Examples
    --------
    >>> check_writable("missing/a.txt")
    Traceback (most recent call last):
        ...
    FileNotFoundError: cannot write 'missing/a.txt': the folder 'missing' does not exist; create it first.
    """
    shown, target = os.fspath(path), os.path.realpath(path)
    folder = os.path.dirname(target)
    shown_folder = os.path.dirname(shown) or "."
    if not shown:
        raise FileNotFoundError("cannot write to an empty path; give a file name.")
    if os.path.isdir(target):
        raise IsADirectoryError(f"cannot write {shown!r}: it is a folder; give a file name.")
    if os.path.exists(target):
        if not os.access(target, os.W_OK):
            raise PermissionError(f"cannot write {shown!r}: the file is write-protected; choose another name.")
        if not os.path.isfile(target):
            return  # a device or a pipe: written in place
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
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot write {shown!r}: the folder {shown_folder!r} is not writable; choose another.")


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
    check_writable(path)
    target = os.path.realpath(path)
    options: dict[str, Any] = {} if mode == "wb" else {"encoding": encoding, "newline": "\n"}
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, mode, **options) as file:
            yield file
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{os.urandom(6).hex()}.tmp")
    # 0o666 less the umask, like any new file; tempfile's 0o600 would lock out the user's colleagues
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, mode, **options) as file:
            yield file
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
