"""CRF++'s model files as text (``crf_learn -t``), read and written.

The parts of the file have a blank line between them::

    version: 100
    cost-factor: 1       by which all weights are multiplied
    maxid: 42            the number of weights
    xsize: 2             the number of columns beside the label

    labels               one a line
    templates            one a line, unigrams before bigrams
    ID STRING            where the block of a string begins
    weights              one a line

:mod:`~dualfield.models.template_model` says which weights a block has.
"""

from __future__ import annotations

import math
from typing import IO, TypeVar

import numpy as np

from dualfield.io.atomic import PathLike, atomic_write
from dualfield.io.content import read_packed
from dualfield.models.chain_model import ChainModel
from dualfield.models.template_model import Damage, Exportable, Syntax, TemplateModel, chain_of, template_model_of

__all__ = ["read_crfpp_model", "write_crfpp_model"]

_SYNTAX = Syntax("CRF++", "crfpp", "U", "B")
_VERSION = 100
_HEAD = ("version", "cost-factor", "maxid", "xsize")

Model = TypeVar("Model", bound=ChainModel)


def read_crfpp_model(
    path_or_file: PathLike | IO[bytes],
    kind: type[Model] = ChainModel,  # type: ignore[assignment]
) -> Model:
    """Read a model that CRF++ has written as text, by ``crf_learn -t``.

    It gives CRF++'s labels and marginals, and reads column files with the columns of the training file.

    Parameters
    ----------
    path_or_file : str, path, or binary file
        The text model, gzip or not, in UTF-8. (The other model that CRF++ writes is binary, and not read.)
    kind : class
        What to read it as, as for :func:`~dualfield.models.read_crfsuite_model`.

    Raises
    ------
    ValueError
        If the file is no text model of CRF++'s, of another version, or damaged.
    """
    name, content = read_packed(path_or_file)
    if isinstance(content, str):
        raise TypeError(f"{name} was opened as text; open it in binary mode.")
    try:
        model, n_columns = _read(content)
        return chain_of(model, n_columns, _SYNTAX, kind, name)
    except Damage as damage:
        raise ValueError(f"{name} cannot be read as a text model of CRF++: {damage}.") from None


def write_crfpp_model(model: Exportable, path: PathLike) -> None:
    """Write a model that was trained on column files by a template of CRF++'s, as CRF++'s text model.

    ``crf_learn -C`` makes of it the binary file that ``crf_test`` opens. Weights of bias, begin and end become
    templates of their own, ``U!bias``, ``U!begin=%x[-1,0]`` and ``U!end=%x[1,0]``; the latter two are exact unless a
    token is the string that stands for the places outside of a sentence.

    Parameters
    ----------
    model : ChainModel or ChainCRF
        Fitted, with ``column_features_`` of a CRF++ template: ``dualfield train --features FILE`` makes such.
    path : str or path
        The file to write.

    Raises
    ------
    ValueError
        If the model has no such template, or something that CRF++'s models cannot have.
    """
    found, n_columns = template_model_of(model, _SYNTAX)
    starts = found.starts
    weights = np.zeros(int(starts[-1]))
    weights[found.indices] = found.values
    lines = sorted(found.lines, key=lambda line: line[0] != "U")  # unigrams first
    head = [f"{name}: {value}" for name, value in zip(_HEAD, (_VERSION, 1, len(weights), n_columns), strict=True)]
    strings = [f"{start} {name}" for start, name in zip(starts.tolist(), found.names, strict=False)]
    parts = (head, found.labels, lines, strings, [repr(weight) for weight in weights.tolist()])
    with atomic_write(path) as file:
        file.write("\n\n".join("\n".join(part) for part in parts) + "\n")


def _read(content: bytes) -> tuple[TemplateModel, int]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise Damage(f"byte {error.start} is not UTF-8; it is a binary model, or in another encoding") from None
    parts = [part.split("\n") for part in text.replace("\r\n", "\n").rstrip("\n").split("\n\n")]
    if len(parts) != 5:
        raise Damage(f"expected five parts with blank lines between them, found {len(parts)}")
    head, labels, lines, strings, weights = parts
    version, factor, n_weights, n_columns = _numbers(head)
    if version != _VERSION:
        raise Damage(f"expected version {_VERSION}, found {version:g}")
    k = len(labels)
    pairs = [line.split(" ", 1) for line in strings]
    if not all(len(pair) == 2 and pair[0].isdecimal() and len(pair[0]) < 19 for pair in pairs):
        raise Damage("a string of its table is not written as ID STRING")
    pairs.sort(key=lambda pair: int(pair[0]))
    begins, names = np.array([int(begin) for begin, _ in pairs], dtype=np.int64), [name for _, name in pairs]
    unigram, bigram = (np.array([name[:1] == letter for name in names], dtype=bool) for letter in "UB")
    if not (unigram | bigram).all():
        raise Damage(f"the string {names[int(np.argmin(unigram | bigram))]!r:.60} begins with neither U nor B")
    if len(weights) != n_weights:
        raise Damage(f"expected {n_weights:g} weights, found {len(weights)}")
    try:
        values = factor * np.array(weights, dtype=np.float64)
    except ValueError:
        raise Damage("a weight is not a number") from None
    model = TemplateModel(
        labels, lines, names, unigram, bigram, np.flatnonzero(values).astype(np.int64), values[values != 0]
    )
    if not np.array_equal(model.starts[:-1], begins) or model.starts[-1] != len(values):
        raise Damage(f"the blocks of its strings, of {k} or {k * k} weights, do not follow each other")
    return model, int(n_columns)


def _numbers(head: list[str]) -> list[float]:
    fields = [line.partition(": ") for line in head]
    try:
        numbers = [float(value) for _, _, value in fields]
    except ValueError:
        numbers = []
    if tuple(name for name, _, _ in fields) != _HEAD or not all(map(math.isfinite, numbers)) or len(numbers) != 4:
        raise Damage(f"expected the lines {', '.join(_HEAD)} with a number each, found {head!r:.80}")
    if not 1 <= numbers[3] < 2**20:
        raise Damage(f"expected xsize to be a number of columns, found {numbers[3]:g}")
    return numbers
