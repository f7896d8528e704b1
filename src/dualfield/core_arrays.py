"""Arrays as the core takes them: contiguous, aligned and, where they hold indices, read-only.

The core checks indices once and then relies on them, without copying. If an index changed afterwards, the core would
read beyond the end of an array. So arrays of indices are read-only, and the caller's own are copied.
"""

from __future__ import annotations

from mmap import mmap
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["as_numbers", "check_sample_weight", "contiguous", "frozen", "handed_over"]

Number = TypeVar("Number", bound=np.generic)


def as_numbers(values: npt.ArrayLike, dtype: type[Number], name: str = "the array") -> npt.NDArray[Number]:
    """An array of this type; what cannot be one is refused by its ``name``."""
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be an array of numbers; got {type(values).__name__}, which cannot be one ({error})."
        ) from None


def contiguous(values: npt.ArrayLike, dtype: type[Number], name: str = "the array") -> npt.NDArray[Number]:
    """An array of this type in C order, aligned; the given one, where it is all that.

    Examples
    --------
    >>> import numpy as np
    >>> shifted = np.zeros(17, dtype=np.uint8)[1:].view(np.float64)
    >>> shifted.flags.aligned, contiguous(shifted, np.float64).flags.aligned
    (False, True)
    """
    array = np.ascontiguousarray(as_numbers(values, dtype, name))
    return array if array.flags.aligned else array.copy()


def frozen(values: npt.ArrayLike, dtype: type[Number]) -> npt.NDArray[Number]:
    """The same, read-only: a copy, unless it is read-only already and a view of nothing that can be written.

    A file that is mapped for reading counts as such; whoever changes or shortens it meanwhile breaks this program.

    Examples
    --------
    >>> import numpy as np
    >>> given = np.arange(3, dtype=np.int32)
    >>> kept = frozen(given, np.int32)
    >>> given[0] = 7
    >>> kept.tolist(), frozen(kept, np.int32) is kept
    ([0, 1, 2], True)
    """
    array = contiguous(values, dtype)
    if _can_be_written(array):
        array = array.copy()
        array.flags.writeable = False
    return array


def handed_over(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """A new array that nobody else has, made read-only in place, so that :func:`frozen` need not copy it."""
    array.flags.writeable = False
    return array


def check_sample_weight(sample_weight: npt.ArrayLike | None, n: int, what: str) -> npt.NDArray[np.float64] | None:
    """Return the weights as an array, or refuse them with the first offending place."""
    if sample_weight is None:
        return None
    weights = as_numbers(sample_weight, np.float64, "sample_weight")
    weights = np.full(n, float(weights)) if weights.ndim == 0 else contiguous(weights, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one entry per {what}, {n} in all; got shape {weights.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite and not negative.")
    if not weights.any():
        raise ValueError(f"Every sample_weight is zero; at least one {what} needs a positive weight.")
    return weights


def _can_be_written(array: npt.NDArray[Any]) -> bool:
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    if isinstance(owner, mmap):
        return not memoryview(owner).readonly
    return not (owner is None or isinstance(owner, bytes | memoryview))
