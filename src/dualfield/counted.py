"""Numbers with their nouns: "1 sentence", "1,000 sentences"."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str) -> str:
    """How many there are; the noun, given in the singular, takes an s where they are not one.

    Examples
    --------
    >>> counted(1, "sentence"), counted(1000, "sentence")
    ('1 sentence', '1,000 sentences')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
