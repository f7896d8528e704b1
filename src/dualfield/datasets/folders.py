"""Files of a data set in a folder that the user names."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Folder", "required_file"]

Folder = str | os.PathLike[str]


def required_file(folder: Folder, name: str, data_set: str) -> Path:
    """The path of a file that a data set cannot do without.

    Parameters
    ----------
    folder : str or path
        The folder that holds the data set.
    name : str
        Name of the file.
    data_set : str
        What the file belongs to, for the message.

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or no such file in it.

    Examples
    --------
    >>> required_file("no/such/folder", "snakes.npz", "the snakes")
    Traceback (most recent call last):
    FileNotFoundError: the folder no/such/folder of the snakes does not exist; give the folder that holds snakes.npz.
    """
    path = Path(folder)
    if not path.is_dir():
        found = "is not a folder" if path.exists() else "does not exist"
        raise FileNotFoundError(f"the folder {path} of {data_set} {found}; give the folder that holds {name}.")
    if not (path / name).is_file():
        raise FileNotFoundError(f"the folder {path} has no file {name}; give the folder that holds {data_set}.")
    return path / name
