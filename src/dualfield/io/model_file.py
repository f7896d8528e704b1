"""Model files: arrays and a description, in the safetensors format.

A file holds named arrays (weights, vocabulary, layout) and, as metadata, a format version and one JSON object that
describes the model. Loading reads numbers and text and runs no code. A file appears whole or not at all.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from dualfield.io.atomic import atomic_write

__all__ = ["FORMAT_VERSION", "read_model", "write_model"]

FORMAT_VERSION = 2  # the newest; a file has the oldest version that knows all it holds
_MARK = "dualfield model"

Arrays = dict[str, npt.NDArray[Any]]


def write_model(path: str | os.PathLike[str], arrays: Arrays, description: dict[str, Any], version: int = 1) -> None:
    """Write a model file.

    Parameters
    ----------
    path : str or path
        Where to; a file of that name is replaced.
    arrays : dict of arrays
        The numbers of the model.
    description : dict
        Everything else, of types that JSON has.
    version : int
        Of the format: 2 for a model with bigrams, which readers of version 1 would not understand.
    """
    metadata = {"format": _MARK, "format_version": str(version), "model": json.dumps(description)}
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata=metadata)
    size = int.from_bytes(content[:8], "little")
    # The library writes the header's entries in random order; sorted, the same model is the same file.
    header = json.dumps(json.loads(content[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with atomic_write(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.write(memoryview(content)[8 + size :])


def read_model(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Read a model file.

    Returns
    -------
    (arrays, description)
        What :func:`write_model` was given.

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged, or was written by a newer version.
    """
    shown = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no model file {shown!r}.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{shown!r} is a folder; give a model file.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_format(shown, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, TypeError, KeyError, MemoryError) as error:
        raise ValueError(f"{shown!r} is not a model file, or it is damaged: {error}.") from error
    try:
        description = json.loads(metadata["model"])
    except (KeyError, ValueError, RecursionError) as error:
        raise ValueError(f"{shown!r} is damaged: its description cannot be read ({error}).") from error
    if not isinstance(description, dict):
        raise ValueError(f"{shown!r} is damaged: its description is not an object.")
    return arrays, description


def _check_format(shown: str, metadata: dict[str, str]) -> None:
    if metadata.get("format") != _MARK:
        raise ValueError(f"{shown!r} is a safetensors file, but not a dualfield model.")
    try:
        version = int(metadata.get("format_version", ""))
    except ValueError:
        raise ValueError(f"{shown!r} is damaged: it has no format version.") from None
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{shown!r} has format version {version}; this version of dualfield reads up to {FORMAT_VERSION}; "
            "update dualfield."
        )
