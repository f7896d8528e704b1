"""Small labelled sequences in every form that ``ChainCRF`` takes, with answers that a model can learn but not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dualfield.features import Encoded

Strings = list[list[list[str]]]
Labels = list[list[str]]

NAMES = [f"w={letter}" for letter in "abcdefgh"]
LABELS = ["ADJ", "NOUN", "VERB"]


def labelled_sequences(n: int = 20, seed: int = 0, longest: int = 5) -> tuple[Strings, Labels]:
    """``n`` sequences of attribute strings: a label follows its first attribute, or now and then the label before.

    The first sequence names every attribute in the order of ``NAMES``, so that numbering by appearance is
    numbering by ``NAMES``.
    """
    rng = np.random.default_rng(seed)
    X: Strings = [[[name] for name in NAMES]]
    X += [[_some(rng) for _ in range(rng.integers(1, longest + 1))] for _ in range(n - 1)]
    y: Labels = []
    for sequence in X:
        codes: list[int] = []
        for position in sequence:
            follow = codes and rng.random() < 0.3
            codes.append((codes[-1] + 1) % 3 if follow else NAMES.index(position[0]) % 3)
        y.append([LABELS[code] for code in codes])
    return X, y


def _some(rng: np.random.Generator) -> list[str]:
    return [NAMES[i] for i in rng.choice(len(NAMES), size=rng.integers(1, 4), replace=False)]


def as_dicts(X: Strings) -> list[list[dict[str, Any]]]:
    """The same attributes by python-crfsuite's conventions: ``w=a`` is the key ``w=a`` with a value of 1."""
    return [[dict.fromkeys(position, 1.0) for position in sequence] for sequence in X]


def as_arrays(X: Strings) -> list[npt.NDArray[np.float64]]:
    """One 0/1 matrix per sequence, with a column for each of ``NAMES``."""
    return [np.array([[float(name in position) for name in NAMES] for position in sequence]) for sequence in X]


def as_sparse(X: Strings) -> list[Any]:
    """The same matrices in CSR form."""
    return [sparse.csr_array(matrix) for matrix in as_arrays(X)]


def assert_same_encoded(found: Encoded, expected: Encoded) -> None:
    """The same numbers, where no values are ones."""
    for name in ("offsets", "indptr", "indices"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    ones = np.ones(len(found.indices))
    np.testing.assert_array_equal(
        ones if found.values is None else found.values, ones if expected.values is None else expected.values
    )
