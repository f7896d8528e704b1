"""Lists of lists."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

__all__ = ["flatten"]

Item = TypeVar("Item")


def flatten(y: Iterable[Iterable[Item]]) -> list[Item]:
    """All items of all sequences as one list.

    Examples
    --------
    >>> flatten([["a"], ["b", "c"]])
    ['a', 'b', 'c']
    """
    return list(chain.from_iterable(y))
