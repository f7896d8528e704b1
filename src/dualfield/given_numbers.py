"""Numbers that users give: one check for all of them, in Python and on the command line.

The core counts in 64 bits. A larger number is refused here with a sentence, since the message of the core's bindings
would speak of C++ types.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

__all__ = ["LARGEST", "as_float", "check_integer"]

LARGEST = 2**63 - 1
_SHOWN_BITS = 200  # Python refuses to write out very large integers


def check_integer(name: str, value: object, least: int, rule: str, most: int = LARGEST) -> int:
    """The integer, if it is one from ``least`` to ``most``; ``rule`` says so in words.

    Examples
    --------
    >>> check_integer("k", 3, 1, "a positive integer")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be {rule}; got {value!r}.")
    number = int(value)
    if least <= number <= most:
        return number
    bits = number.bit_length()
    shown = repr(number) if bits <= _SHOWN_BITS else f"one of {bits} bits"
    raise ValueError(f"{name} must be {rule}{f', below 2^{most.bit_length()}' if number > most else ''}; got {shown}.")


def as_float(value: Any) -> float:
    """The number as a float; infinite if it is an integer too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if int(value) > 0 else -math.inf
