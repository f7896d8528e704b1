"""Seeds of random numbers, as scikit-learn understands ``random_state``, without importing it."""

from __future__ import annotations

import numpy as np

__all__ = ["check_random_state"]


def check_random_state(given: int | np.random.RandomState | None) -> np.random.RandomState:
    """The generator of NumPy for None, a new one for an integer, the same for a generator.

    Examples
    --------
    >>> int(check_random_state(0).randint(100))
    44
    """
    if given is None:
        return np.random.mtrand._rand
    if isinstance(given, np.random.RandomState):
        return given
    if isinstance(given, int | np.integer) and 0 <= given < 2**32:
        return np.random.RandomState(given)
    raise ValueError(
        f"random_state must be an integer from 0 to 2^32 - 1, a numpy.random.RandomState or None; got {given!r}."
    )
