"""A list with one answer for each member of X, which NumPy keeps apart.

Sequences differ in length, so their labels make no rectangular array. scikit-learn's ``cross_val_predict`` joins the
answers of its folds with NumPy: there such a list is a one-dimensional array of objects, one for each member of X,
whether or not the members happen to have the same length.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Answers"]

Answer = TypeVar("Answer")


class Answers(list[Answer]):
    """A list that is a one-dimensional array of objects to NumPy, and a plain list in all else.

    Examples
    --------
    >>> import numpy as np
    >>> answers = Answers([["A", "B"], ["A", "A"]])
    >>> answers == [["A", "B"], ["A", "A"]], np.asarray(answers).shape
    (True, (2,))
    >>> np.asarray(Answers([[0, 1], [1, 1]]), dtype=int).shape  # a type of numbers asks for the labels
    (2, 2)
    """

    __slots__ = ()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The answers as an array of objects; of another type, what NumPy makes of the plain list."""
        if copy is False:
            raise ValueError("a list of answers has no array of its own: leave copy=False out.")
        if dtype is not None and np.dtype(dtype) != np.dtype(object):
            return np.array(list(self), dtype=dtype)
        array = np.empty(len(self), dtype=object)
        for number, answer in enumerate(self):
            array[number] = answer
        return array
