"""The letters of chunk tags, for all schemes.

A tag is ``O``, or a letter, a hyphen and a type. Schemes differ in the letters: the last position of a chunk
is ``E`` in IOBES and BMES and ``L`` in BILOU; a chunk of one position is ``S`` there and ``U`` here, in BMEWO ``W``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["ROLES", "SCHEMES", "Letters", "Scheme"]

Scheme = Literal["bio", "iobes", "bilou", "bmes"]

# What a letter means, by the letter that IOBES has for it: outside, begins, inside, ends, alone.
ROLES = {"O": "O", "B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "W": "S"}


class Letters(NamedTuple):
    """The letters of a scheme: a chunk is ``alone``, or ``opens``, any number of ``inside``, ``closes``.

    Empty: the scheme has no such letter.
    """

    opens: str
    inside: str
    closes: str
    alone: str


SCHEMES: dict[str, Letters] = {
    "bio": Letters("B", "I", "", ""),
    "iobes": Letters("B", "I", "E", "S"),
    "bilou": Letters("B", "I", "L", "U"),
    "bmes": Letters("B", "M", "E", "S"),
}
