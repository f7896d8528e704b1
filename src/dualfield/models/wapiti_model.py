"""Wapiti's model files, read and written.

The file is text. A string is written as ``length:string,`` with its length in bytes::

    #mdl#TYPE#COUNT      type 2 is a chain CRF; the number of weights that are not zero
    #rdr#P/T/A           the number of patterns, the last column that they see, and a switch
    P strings            the patterns
    #qrk#K               labels, and K strings
    #qrk#O               observations, and O strings
    COUNT lines          index=weight, the weight as C's %la writes it, such as 0x1.8p+1

:mod:`~dualfield.models.template_model` says which index belongs to what.
"""

from __future__ import annotations

import re
from typing import IO, TypeVar

import numpy as np

from dualfield.io.atomic import PathLike, atomic_write
from dualfield.io.content import read_packed
from dualfield.models.chain_model import ChainModel
from dualfield.models.template_model import Damage, Exportable, Syntax, TemplateModel, chain_of, template_model_of

__all__ = ["read_wapiti_model", "write_wapiti_model"]

_SYNTAX = Syntax("Wapiti", "wapiti", "u", "b")
_CRF = 2  # the type; 0 is a maximum entropy model, 1 a Markov model
# Wapiti's expressions match bytes, so an observation may have half a character. It is kept as lone surrogates, which no
# text has: our expressions match characters.
_ERRORS = "surrogateescape"
_KINDS = {"u": (True, False), "b": (False, True), "*": (True, True)}

Model = TypeVar("Model", bound=ChainModel)


def read_wapiti_model(
    path_or_file: PathLike | IO[bytes],
    kind: type[Model] = ChainModel,  # type: ignore[assignment]
    n_columns: int | None = None,
) -> Model:
    """Read a chain CRF that Wapiti has trained.

    On text where our templates make Wapiti's attributes (all of ASCII, see :meth:`~dualfield.features.Template.wapiti`)
    it gives Wapiti's labels and marginals.

    Parameters
    ----------
    path_or_file : str, path, or binary file
        The model, gzip or not, in UTF-8.
    kind : class
        What to read it as, as for :func:`~dualfield.models.read_crfsuite_model`.
    n_columns : int, optional
        How many columns files have beside the label. The model does not say so; by default as many as its patterns see.

    Raises
    ------
    ValueError
        If the file is no model of Wapiti's, of another type than a chain CRF, or damaged.
    """
    name, content = read_packed(path_or_file)
    if isinstance(content, str):
        raise TypeError(f"{name} was opened as text; open it in binary mode.")
    try:
        return chain_of(_read(_File(content)), n_columns, _SYNTAX, kind, name)
    except Damage as damage:
        raise ValueError(f"{name} cannot be read as a Wapiti model: {damage}.") from None


def write_wapiti_model(model: Exportable, path: PathLike) -> None:
    """Write a model that was trained on column files by a template of Wapiti's, as Wapiti's model file.

    Wapiti gives the same labels by it. Weights of bias, begin and end become patterns of their own, ``u!bias``,
    ``u!begin=%x[-1,0]`` and ``u!end=%x[1,0]``; the latter two are exact unless a token is the string that stands for
    the places outside of a sentence.

    Parameters
    ----------
    model : ChainModel or ChainCRF
        Fitted, with ``column_features_`` of a Wapiti template: ``dualfield train --template-syntax wapiti`` makes such.
    path : str or path
        The file to write.

    Raises
    ------
    ValueError
        If the model has no such template, or something that Wapiti's models cannot have.
    """
    found, _ = template_model_of(model, _SYNTAX)
    last_column = max(_SYNTAX.parse(found.lines).n_columns - 1, 0)
    lines = [f"#mdl#{_CRF}#{len(found.values)}", f"#rdr#{len(found.lines)}/{last_column}/0"]
    with atomic_write(path, "wb") as file:
        file.write("\n".join(lines).encode() + b"\n" + _strings(found.lines))
        for strings in (found.labels, found.names):
            file.write(f"#qrk#{len(strings)}\n".encode() + _strings(strings))
        pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
        file.write("".join(f"{index}={weight.hex()}\n" for index, weight in pairs).encode())


def _strings(strings: list[str]) -> bytes:
    encoded = (string.encode("utf-8", _ERRORS) for string in strings)
    return b"".join(b"%d:%s,\n" % (len(string), string) for string in encoded)


class _File:
    """The bytes of a file, read from the front."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def numbers(self, pattern: bytes, what: str) -> list[int]:
        """The numbers of a line."""
        found = re.compile(pattern + rb"\n").match(self.content, self.at)
        if found is None:
            line = self.content[self.at : self.at + 60].partition(b"\n")[0]
            raise Damage(f"expected {what} at byte {self.at}, found {line!r}")
        self.at = found.end()
        return [int(number) for number in found.groups()]

    def strings(self, count: int, what: str) -> list[str]:
        """So many strings, each as ``length:string,``."""
        found: list[str] = []
        length_at = re.compile(rb"(\d{1,9}):")
        for _ in range(count):
            length = length_at.match(self.content, self.at)
            begin = length.end() if length else 0
            end = begin + int(length[1]) if length else 0
            if length is None or self.content[end : end + 1] != b",":
                raise Damage(f"expected {count} {what}s, found {len(found)} and then something else at byte {self.at}")
            try:
                found.append(self.content[begin:end].decode("utf-8", _ERRORS if what == "observation" else "strict"))
            except UnicodeDecodeError:
                raise Damage(f"the {what} at byte {begin} is not in UTF-8; convert the model first") from None
            self.at = end + 2
        return found


def _read(file: _File) -> TemplateModel:
    kind, n_weights = file.numbers(rb"#mdl#(\d{1,9})#(\d{1,18})", "#mdl#TYPE#COUNT")
    if kind != _CRF:
        raise Damage(f"expected a chain CRF, which is type {_CRF}, found type {kind}")
    (n_patterns,) = file.numbers(rb"#rdr#(\d{1,9})/\d{1,9}(?:/\d)?", "#rdr#PATTERNS/COLUMN/SWITCH")
    if n_patterns == 0:
        raise Damage("it has no patterns; its data had the attributes, and there is nothing to make them by")
    lines = file.strings(n_patterns, "pattern")
    labels, names = (
        file.strings(file.numbers(rb"#qrk#(\d{1,18})", f"#qrk#COUNT of {what}s")[0], what)
        for what in ("label", "observation")
    )
    kinds = [_KINDS.get(name[:1]) for name in names]
    if None in kinds:
        raise Damage(f"the observation {names[kinds.index(None)]!r:.60} begins with none of u, b and *")
    entries = file.content[file.at :].split()
    if len(entries) != n_weights:
        raise Damage(f"expected {n_weights} weights, found {len(entries)}")
    try:
        pairs = [entry.decode().split("=") for entry in entries]
        indices = np.array([int(index) for index, _ in pairs], dtype=np.int64)
        values = np.array([float.fromhex(weight) for _, weight in pairs], dtype=np.float64)
    except (ValueError, OverflowError):
        raise Damage("a weight is not written as index=weight") from None
    if (np.diff(indices) <= 0).any():
        raise Damage("the numbers of its weights do not increase")
    has = np.array(kinds, dtype=bool).reshape(-1, 2)
    return TemplateModel(labels, lines, names, has[:, 0], has[:, 1], indices, values)
