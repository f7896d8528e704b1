"""CRFsuite's model files, read as a :class:`~dualfield.models.ChainModel`.

What is read is what CRFsuite 0.12 and python-crfsuite write: a first-order model (type ``FOMC``, version 100). All
numbers are little-endian::

    header      lCRF, size of the file, FOMC, version, then 32-bit numbers of features, labels and attributes, and where
                the parts below are
    labels      a CQDB: strings by number
    attributes  a CQDB
    LFRF        for every label the numbers of its transition features
    AFRF        for every attribute the numbers of its state features
    FEAT        the features: type (0 state, 1 transition), source, destination, weight

A CQDB has a header, 256 hash tables, which are for finding numbers by strings and are not needed here, records of
(number, length, string, NUL), and a list of where the record of each number is.

Nothing of the file is trusted: an offset, a number or a string that does not fit ends in a sentence.
"""

from __future__ import annotations

import os
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dualfield.features.vocabulary import Vocabulary
from dualfield.io.atomic import PathLike
from dualfield.io.content import CRFSUITE, read_packed
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.chain_model import ChainModel
from dualfield.models.spec import ChainSpec
from dualfield.models.stored_model import imported_solution

__all__ = ["model_of_bytes", "read_crfsuite_model"]

_TYPE, _VERSION = b"FOMC", 100
_HEADER_SIZE, _CHUNK_SIZE = 48, 12
_CQDB_HEADER_SIZE, _CQDB_TABLES, _CQDB_BYTE_ORDER = 24, 256 * 8, 0x62445371
_STATE, _TRANSITION = 0, 1
_SPEC = ChainSpec(state_features="observed", transitions="observed", bias=False, begin=False, end=False)
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("destination", "<u4"), ("weight", "<f8")])

Numbers = npt.NDArray[np.int64]
Model = TypeVar("Model", bound=ChainModel)


def read_crfsuite_model(
    path_or_file: PathLike | IO[bytes],
    kind: type[Model] = ChainModel,  # type: ignore[assignment]
) -> Model:
    """Read a model that CRFsuite or python-crfsuite has trained.

    It gives the same labels and marginals as CRFsuite's own tagger: state and transition weights are taken as they are,
    and there are no bias, begin and end weights, which CRFsuite does not have.

    Parameters
    ----------
    path_or_file : str, path, or binary file
        The model, gzip or not.
    kind : class
        What to read it as: ``ChainModel``, which answers every question, or :class:`~dualfield.ChainCRF`, which can
        also be trained further.

    Returns
    -------
    crf : ChainModel, or what ``kind`` says
        Fitted, without a certificate: ``crf.solution_.message`` says where it comes from. ``crf.save`` writes it as a
        model file of this package.

    Raises
    ------
    ValueError
        If the file is none of CRFsuite's models, or is damaged, with what is wrong.
    """
    name, content = read_packed(path_or_file)
    if isinstance(content, str):
        raise TypeError(f"{name} was opened as text; open it in binary mode.")
    return model_of_bytes(name, content, kind, origin=f"the CRFsuite model {os.path.basename(name)}")


def model_of_bytes(name: str, content: bytes, kind: type[Model], origin: str) -> Model:
    """The model that these bytes are; ``name`` is for errors, ``origin`` for the message of the solution."""
    try:
        return _model(kind, origin, _File(content))
    except _Damage as damage:
        raise ValueError(f"{name} cannot be read as a CRFsuite model: {damage}.") from None


class _Damage(Exception):
    """What is wrong with a file."""


class _File:
    """The bytes of a file, and numbers from wherever one may ask."""

    def __init__(self, content: bytes) -> None:
        self.bytes = np.frombuffer(content, np.uint8)

    def array(self, what: str, start: int, count: int, dtype: npt.DTypeLike = "<u4") -> npt.NDArray[Any]:
        """``count`` numbers from ``start`` on."""
        size = np.dtype(dtype).itemsize * count
        if start + size > len(self.bytes):
            raise _Damage(f"{what} would end at byte {start + size} but the file has {len(self.bytes)}")
        found = np.frombuffer(self.bytes[start : start + size].tobytes(), dtype)
        return found if found.dtype.names else found.astype(np.int64)

    def at(self, what: str, starts: Numbers) -> Numbers:
        """One 32-bit number at each place."""
        if len(starts) and starts.max() + 4 > len(self.bytes):
            raise _Damage(f"{what} would be at byte {starts.max()} but the file has {len(self.bytes)}")
        return self.bytes[starts[:, None] + np.arange(4)].view("<u4")[:, 0].astype(np.int64)

    def tag(self, start: int) -> bytes:
        return self.bytes[start : start + 4].tobytes()


def _model(kind: type[Model], origin: str, file: _File) -> Model:
    if file.tag(0) != CRFSUITE:
        raise _Damage(f"expected the first bytes to be {CRFSUITE.decode()}, found {file.tag(0)!r}")
    header = file.array("the header", 0, _HEADER_SIZE // 4).tolist()
    size, version, (n_labels, n_attributes, features_at, labels_at, attributes_at, label_refs_at, attribute_refs_at) = (
        header[1],
        header[3],
        header[5:],
    )
    if size != len(file.bytes):
        raise _Damage(f"its header says {size} bytes but the file has {len(file.bytes)}; it is cut off or not whole")
    if file.tag(8) != _TYPE or version != _VERSION:
        raise _Damage(
            f"expected a model of type {_TYPE.decode()}, version {_VERSION}, found {file.tag(8)!r}, version {version}"
        )
    labels = _vocabulary(file, "label", labels_at, n_labels).names
    vocabulary = _vocabulary(file, "attribute", attributes_at, n_attributes)
    if n_labels < 2:
        raise _Damage(f"expected at least two labels, found {n_labels}")
    if any(label.endswith("\0") for label in labels):
        raise _Damage("a label ends in a NUL character")
    if file.tag(features_at) != b"FEAT":
        raise _Damage(f"expected FEAT at byte {features_at}, found {file.tag(features_at)!r}")
    n_features = int(file.array("the number of features", features_at + 8, 1)[0])
    features = file.array("the features", features_at + _CHUNK_SIZE, n_features, _FEATURE)
    if not np.isfinite(features["weight"]).all():
        raise _Damage(f"the weight of feature {int(np.argmin(np.isfinite(features['weight'])))} is not finite")

    classes = np.array(sorted(labels))
    code_of = np.argsort(np.argsort(np.array(labels, dtype=object))).astype(np.int64)  # labels are distinct
    source, chosen = _references(file, "LFRF", label_refs_at, n_labels, features, _TRANSITION, n_labels)
    flat = code_of[source] * n_labels + code_of[features["destination"][chosen].astype(np.int64)]
    transitions, transition_weights = _sorted("transition", flat, features["weight"][chosen])
    n_transitions = len(chosen)
    source, chosen = _references(file, "AFRF", attribute_refs_at, n_attributes, features, _STATE, n_labels)
    flat = source * n_labels + code_of[features["destination"][chosen].astype(np.int64)]
    if n_transitions + len(chosen) != n_features:
        raise _Damage(
            f"it has {n_features} features, but {n_transitions} belong to labels and {len(chosen)} to attributes"
        )
    pairs, state_weights = _sorted("state", flat, features["weight"][chosen])
    starts = np.searchsorted(pairs, np.arange(n_attributes + 1, dtype=np.int64) * n_labels).astype(np.int64)

    crf = kind._of_spec(_SPEC, {"solver": "auto"})
    crf.classes_, crf.vocabulary_ = classes, vocabulary
    rows = starts, (pairs % n_labels).astype(np.int32)
    crf.layout_ = ChainLayout(n_attributes, n_labels, transitions.astype(np.int32), rows, False, False, False)
    crf.weights_ = np.concatenate((state_weights, transition_weights))
    crf.column_features_ = {"attributes": "attributes"}
    crf.solution_ = imported_solution(crf.weights_, origin, "CRFsuite")
    return crf


def _vocabulary(file: _File, what: str, start: int, count: int) -> Vocabulary:
    """The strings of a CQDB, by their numbers."""
    if file.tag(start) != b"CQDB":
        raise _Damage(f"expected a CQDB of {what}s at byte {start}, found {file.tag(start)!r}")
    _, size, _, byte_order, _, backward = file.array(f"the header of the {what}s", start, 6).tolist()
    if byte_order != _CQDB_BYTE_ORDER:
        raise _Damage(f"the {what}s are of another byte order, {byte_order:#x}; models are read as x86 writes them")
    if count == 0:
        return Vocabulary([])
    data = _CQDB_HEADER_SIZE + _CQDB_TABLES
    if backward < data or backward + 4 * count > size:
        raise _Damage(f"the list of {count} {what}s does not lie within their {size} bytes")
    records = start + file.array(f"the list of {what}s", start + backward, count)
    if records.min() < start + data:
        raise _Damage(f"{what} {int(np.argmin(records))} has no record")
    if (file.at(f"a {what}", records) != np.arange(count)).any():
        raise _Damage(f"the numbers of the {what}s are mixed up")
    lengths = file.at(f"the length of a {what}", records + 4)  # the NUL included
    begins, ends = records + 8, records + 8 + lengths
    if lengths.min() < 1 or ends.max() > min(start + size, len(file.bytes)) or lengths.sum() > len(file.bytes):
        raise _Damage(f"a {what} is longer than the part of the file that holds it")
    if file.bytes[ends - 1].any():
        raise _Damage(f"a {what} does not end in NUL")
    bounds = np.concatenate(([0], np.cumsum(lengths - 1)))
    places = np.arange(bounds[-1]) + np.repeat(begins - bounds[:-1], lengths - 1)
    try:
        return Vocabulary.from_arrays(file.bytes[places], bounds)
    except ValueError as error:
        raise _Damage(f"its {what}s are damaged or not in UTF-8 ({str(error).rstrip('.')})") from None


def _references(
    file: _File, tag: str, start: int, count: int, features: npt.NDArray[Any], kind: int, n_labels: int
) -> tuple[Numbers, Numbers]:
    """The features of each of ``count`` labels or attributes: pairs of (owner, number of the feature)."""
    if file.tag(start) != tag.encode():
        raise _Damage(f"expected {tag} at byte {start}, found {file.tag(start)!r}")
    places = file.array(f"the list of {tag}", start + _CHUNK_SIZE, count)
    counts = file.at(f"an entry of {tag}", places)
    if counts.sum() > len(features):
        raise _Damage(f"{tag} refers to {counts.sum()} features, of which there are {len(features)}")
    owners = np.repeat(np.arange(count), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = file.at(f"a reference of {tag}", np.repeat(places, counts) + 4 + 4 * within)
    if len(chosen) and chosen.max() >= len(features):
        raise _Damage(f"{tag} refers to feature {chosen.max()}, of which there are {len(features)}")
    found = features[chosen]
    wrong = (found["type"] != kind) | (found["source"] != owners) | (found["destination"] >= n_labels)
    if wrong.any():
        raise _Damage(f"feature {chosen[int(np.argmax(wrong))]} does not fit the reference to it in {tag}")
    return owners, chosen


def _sorted(what: str, flat: Numbers, weights: npt.NDArray[np.float64]) -> tuple[Numbers, npt.NDArray[np.float64]]:
    order = np.argsort(flat, kind="stable")
    flat, weights = flat[order], weights[order]
    if (np.diff(flat) == 0).any():
        raise _Damage(f"a {what} feature stands twice")
    return flat, weights
