"""Random chains for hypothesis, and the tolerance that all comparisons with enumeration share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# The tests of the core also run under sanitizers, ten times slower: few examples, and no clock.
few_examples = settings(max_examples=60, deadline=None)

bounds = st.sampled_from([1.0, 30.0, 500.0, 1e4])


def assert_close(found: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-9) -> None:
    """Equal to ``tolerance · max(1, |expected|)``, entry by entry."""
    expected = np.asarray(expected, dtype=np.float64)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@st.composite
def sizes(draw: st.DrawFn, max_labellings: int = 256) -> tuple[int, int]:
    """(T, K), with at most so many labellings."""
    labels = draw(st.integers(1, 4))
    longest = 5 if labels == 1 else min(5, int(np.log(max_labellings) / np.log(labels) + 1e-9))
    return draw(st.integers(1, longest)), labels


@st.composite
def chains(draw: st.DrawFn, max_labellings: int = 256, bounds: st.SearchStrategy[float] = bounds) -> tuple[Any, Any]:
    """(node, edge): potentials within ±bound, the edges shared or one matrix for each pair of neighbours."""
    length, labels = draw(sizes(max_labellings))
    bound = draw(bounds)
    values = st.floats(-bound, bound, allow_subnormal=False)
    shared = draw(st.booleans())
    node = draw(hnp.arrays(np.float64, (length, labels), elements=values))
    edge_shape = (labels, labels) if shared else (length - 1, labels, labels)
    return node, draw(hnp.arrays(np.float64, edge_shape, elements=values))


# Weights of a field, from none to such that probabilities underflow.
scales = pytest.mark.parametrize("scale", [0.0, 0.5, 20.0, 2000.0])


def weights(field: Any, scale: float, seed: int = 0) -> npt.NDArray[np.float64]:
    """Normal weights of this size."""
    return scale * np.random.default_rng(seed).normal(size=field.dimension)
