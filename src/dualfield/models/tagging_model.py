"""A model that only tags: opened in microseconds to milliseconds, without NumPy.

Files are used as they lie, by the hash tables that they have; for dualfield's files of a version before these had one,
it is made when they are opened. Either way the model never changes, and threads share it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dualfield._tagger import Model, stored_model
from dualfield._tagger import crfsuite_model as model_of_crfsuite

if TYPE_CHECKING:
    import mmap

__all__ = ["crfsuite_model", "open_tagging_model"]

_CRFSUITE = b"lCRF"
_INDEX = "vocabulary_index"
_LARGE = 1 << 20  # bytes; a larger file is read into large pages, which takes a third of the time


def open_tagging_model(path: str | bytes | os.PathLike[Any], mapped: bool = False) -> Model:
    """The model of a file of CRFsuite or of :meth:`dualfield.ChainCRF.save`.

    Parameters
    ----------
    path : str, bytes or path
        The file.
    mapped : bool
        Map the file into memory instead of reading it. Opening then takes the same time whatever the size, and
        processes share the memory. But the file must stay as it is: if somebody truncates it, the next look-up ends
        the process. Replacing it by renaming another file is safe. The checksum of dualfield's files is not compared,
        and those of a version without an index are read all the same.
    """
    with open(path, "rb", buffering=0) as file:
        begin = file.read(4)
        if begin == _CRFSUITE:
            return crfsuite_model(_mapped(file.fileno()) if mapped else _read(file), f"model file {_shown(path)!r}")
    return _stored_model(os.fspath(path), begin, mapped)


def crfsuite_model(content: Any, name: str) -> Model:
    """The model that the bytes of a file of CRFsuite hold; ``name`` is for the sentence that refuses them."""
    try:
        return model_of_crfsuite(content)
    except ValueError as error:
        raise ValueError(f"Error opening {name}: {error}") from None


def _shown(path: str | bytes | os.PathLike[Any]) -> str:
    return os.fsdecode(path)


def _mapped(descriptor: int) -> mmap.mmap:
    from mmap import ACCESS_READ, mmap

    return mmap(descriptor, 0, access=ACCESS_READ)


def _read(file: Any) -> bytes | memoryview:
    """All bytes of a file, in memory of our own."""
    size = os.fstat(file.fileno()).st_size
    file.seek(0)
    if size < _LARGE:
        return file.read()
    import mmap

    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return file.read()
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        pass  # a system built without them
    view, place = memoryview(memory), 0
    while got := file.readinto(view[place:]):
        place += got
    return view[:place].toreadonly()  # shorter where the file has become so; the header then says otherwise


def _stored_model(path: str | bytes, begin: bytes, mapped: bool) -> Model:
    from dualfield.models.model_file import DAMAGED, read_parts, refusal

    shown = os.fsdecode(path)
    if len(begin) < 4:
        raise ValueError(f"Invalid model file {shown!r}: it has {len(begin)} bytes.")
    try:
        parts, description = read_parts(shown, mapped)
        if mapped and _INDEX not in parts:  # its hash table would point into what may change
            parts, description = read_parts(shown)
    except ValueError as error:
        raise ValueError(f"Invalid model file {shown!r}: it is no model of CRFsuite, and {error}") from None
    try:
        return _of_parts(parts, description)
    except DAMAGED as error:
        raise refusal(shown, "model for tagging single sequences", error) from error


def _of_parts(parts: Any, description: dict[str, Any]) -> Model:
    """The model of a chain whose attributes have names; raises one of ``DAMAGED``."""
    if description["estimator"] != "ChainCRF":
        raise ValueError(f"it holds a model of another kind, {description['estimator']!r}")
    if "bigram_columns" in description:
        raise ValueError("it has bigrams, which only ChainCRF.load reads")
    if "dense_columns" in description:
        raise ValueError("it has dense columns, which only ChainCRF.load reads")
    if description["columns"] is not None:
        raise ValueError("its attributes are columns of arrays and have no names")
    classes, layout = description["classes"], description["layout"]
    if not isinstance(classes, list) or {type(label) for label in classes} not in ({str}, {int}):
        raise ValueError("its labels are damaged")

    def numbers(name: str, codes: str) -> memoryview:
        found: memoryview = parts[name].numbers
        if found.format not in codes:
            raise ValueError(f"its {name} are of another type")
        return found

    masks = None
    if "allowed_transitions" in parts:
        masks = b"".join(bytes(numbers(f"allowed_{name}", "B")) for name in ("transitions", "begin", "end"))
    elif description["parameters"].get("constraints") == "given":
        raise KeyError("allowed_transitions")
    observed = "row_starts" in parts
    weights = numbers("weights", "df")
    return stored_model(
        labels=tuple(classes),
        weights=weights,
        double=weights.format == "d",
        transitions=numbers("transitions", "i"),
        row_starts=numbers("row_starts", "ql") if observed else None,
        row_labels=numbers("row_labels", "i") if observed else None,
        text=numbers("vocabulary_text", "B"),
        offsets=numbers("vocabulary_offsets", "ql"),
        index=numbers(_INDEX, "i") if _INDEX in parts else None,
        bias=layout["bias"],
        begin=layout["begin"],
        end=layout["end"],
        masks=masks,
    )
