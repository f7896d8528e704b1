"""Pickled ``sklearn_crfsuite.CRF`` objects, read as a model without running what the pickle says.

A pickle is a program: it names classes and functions, and calls them. Here every allowed name stands for an inert
object, which stores its arguments and does nothing. Other names are refused. Only one string of bytes is taken from the
object, its model in CRFsuite's format, which :mod:`~dualfield.models.crfsuite_model` reads.
"""

from __future__ import annotations

import io
import os
import pickle
import zlib
from typing import IO, Any, TypeVar

from dualfield.io.atomic import PathLike
from dualfield.io.content import read_packed
from dualfield.models.chain_model import ChainModel
from dualfield.models.crfsuite_model import model_of_bytes

__all__ = ["read_pickled_crf"]

Model = TypeVar("Model", bound=ChainModel)

_DATA = "__FILE_RESOURCE_DATA__"  # where sklearn-crfsuite keeps the bytes of its model
_CRF, _FILE = ("sklearn_crfsuite.estimator", "CRF"), ("sklearn_crfsuite._fileresource", "FileResource")

# Other names in such pickles: of older protocols, of the training log, and of NumPy's numbers among the parameters.
_INERT = {
    ("pycrfsuite._logparser", "TrainLogParser"),
    ("pycrfsuite._logparser", "LabelScore"),
    ("sklearn_crfsuite._fileresource", "FileResource"),
    ("fractions", "Fraction"),
    ("copy_reg", "_reconstructor"),
    ("copyreg", "_reconstructor"),
    ("__builtin__", "object"),
    ("builtins", "object"),
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
}


def read_pickled_crf(
    path_or_file: PathLike | IO[bytes],
    kind: type[Model] = ChainModel,  # type: ignore[assignment]
) -> Model:
    """Read a ``sklearn_crfsuite.CRF`` that was pickled, or written by joblib, after ``fit``.

    No code of the pickle is run, and neither sklearn_crfsuite nor python-crfsuite is needed.

    Parameters
    ----------
    path_or_file : str, path, or binary file
        The pickle; packed by gzip or zlib (as joblib does) or not.
    kind : class
        What to read it as, as for :func:`~dualfield.models.read_crfsuite_model`.

    Returns
    -------
    crf : ChainModel, or what ``kind`` says
        With the labels and marginals of the pickled model.

    Raises
    ------
    ValueError
        If the file is no such pickle, names anything that such pickles do not have, or is damaged.
    """
    name, content = read_packed(path_or_file)
    if isinstance(content, str):
        raise TypeError(f"{name} was opened as text; open it in binary mode.")
    try:
        data = _model_of(_unpickled(_unzipped(content)))
    except _Refusal as refusal:
        raise ValueError(f"{name} cannot be read as a pickled sklearn_crfsuite.CRF: {refusal}.") from None
    return model_of_bytes(name, data, kind, origin=f"the pickled sklearn_crfsuite.CRF {os.path.basename(name)}")


class _Refusal(Exception):
    """What is wrong with a pickle."""


def _unzipped(content: bytes) -> bytes:
    if content[:1] != b"x":
        return content
    try:
        return zlib.decompress(content)
    except zlib.error as error:
        raise _Refusal(f"it looks packed by zlib, but is not ({error})") from None


def _unpickled(content: bytes) -> Any:
    # New classes for each file: whatever a pickle does to them stays here.
    class Inert:
        """Keeps the state that it is given, and does nothing else."""

        of = ("", "")

        def __new__(cls, *arguments: Any, **named: Any) -> Any:
            made = object.__new__(cls)
            # copy_reg._reconstructor(class, base, state) stands for an object of the class.
            if cls.of[1] == "_reconstructor" and arguments and isinstance(arguments[0], type):
                return arguments[0].__new__(arguments[0]) if issubclass(arguments[0], Inert) else made
            return made

        def __init__(self, *arguments: Any, **named: Any) -> None:
            self.state: Any = None

        def __setstate__(self, state: Any) -> None:
            self.state = state

    kinds = {key: type(key[1], (Inert,), {"of": key}) for key in (*_INERT, _CRF, _FILE)}

    class Encode(Inert):
        """``_codecs.encode(text, "latin1")``, by which the first protocols write bytes."""

        def __new__(cls, *arguments: Any, **named: Any) -> Any:
            if len(arguments) != 2 or not isinstance(arguments[0], str) or arguments[1] != "latin1":
                raise _Refusal("it encodes a string in a way that such pickles do not")
            return arguments[0].encode("latin1")

    kinds["_codecs", "encode"] = Encode

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            try:
                return kinds[module, name]
            except KeyError:
                raise _Refusal(
                    f"it names {module}.{name}, which the pickle of a CRF has no use for; nothing of it was run"
                ) from None

    try:
        found = Reader(io.BytesIO(content), encoding="latin1").load()
    except _Refusal:
        raise
    except Exception as error:  # of damaged pickles, nearly any
        raise _Refusal(f"it is no whole pickle ({type(error).__name__}: {str(error).rstrip('.')})") from None
    if getattr(found, "of", None) != _CRF or isinstance(found, type):
        raise _Refusal(f"it holds an object of type {type(found).__name__}")
    return found


def _model_of(crf: Any) -> bytes:
    file = crf.state.get("modelfile") if isinstance(crf.state, dict) else None
    state = getattr(file, "state", None)
    if getattr(file, "of", None) != _FILE or not isinstance(state, dict):
        raise _Refusal("it has no model file")
    data = state.get(_DATA)
    if isinstance(data, str):  # bytes of Python 2
        data = data.encode("latin1", "replace")
    if isinstance(data, bytes):
        return data
    if isinstance(state.get("name"), str):
        raise _Refusal(
            f"its model is not in the pickle but in the file {state['name']!r}, as model_filename says; read that file "
            "by read_crfsuite_model"
        )
    raise _Refusal("it was pickled before fit, so that it has no model")
