"""Sizes that come from outside: what no memory holds is refused in a sentence, before anything is written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dualfield import ChainCRF, GraphCRF, _core, oracles

NODE, EDGE = np.zeros((4, 2)), np.zeros((2, 2))


@pytest.mark.parametrize("count", [2**60, 2**61, 2**62, 2**63 - 1])
@pytest.mark.parametrize(
    "ask",
    [
        lambda n: oracles.sample(NODE, EDGE, n),
        lambda n: oracles.kbest(np.zeros((200, 2)), EDGE, n),
        lambda n: oracles.kbest(np.zeros((200, 2)), EDGE, n // 2**24),
        lambda n: oracles.JunctionTree(4, [(0, 1)], 2).sample(NODE, EDGE, n),
    ],
    ids=["sample", "kbest", "fewer", "tree"],
)
def test_an_oracle_refuses_more_samples_than_memory_holds(ask: Callable[[int], object], count: int) -> None:
    with pytest.raises(MemoryError, match=r"labellings of length .* needs about .* of memory.*; ask for fewer\."):
        ask(count)


def test_models_refuse_more_samples_than_memory_holds() -> None:
    X, y = [[["a"], ["b"]], [["b"], ["b"]]], [["X", "Y"], ["Y", "Y"]]
    crf = ChainCRF(random_state=0).fit(X, y)
    graph = (np.eye(3), [(0, 1), (1, 2)])
    on_graphs = GraphCRF(random_state=0).fit([graph], [["a", "b", "a"]])
    for ask in (lambda: crf.sample(X, 2**62), lambda: on_graphs.sample([graph], 2**62)):
        with pytest.raises(MemoryError, match="A sample of 4,611,686,018,427,387,904 labellings"):
            ask()


def test_a_list_of_the_best_labellings_that_does_not_fit_is_refused() -> None:
    X, y = [[["a"]] * 200], [["X", "Y"] * 100]
    crf = ChainCRF(random_state=0).fit(X, y)
    for k in (2**40, 2**58, 2**62):
        with pytest.raises(MemoryError, match=r"A list of [\d,]+ labellings of length 200 needs about"):
            crf.predict_kbest(X, k)


def test_the_core_refuses_sizes_whose_product_does_not_fit() -> None:
    with pytest.raises(MemoryError, match="an array of 4611686018427387904 x 4 numbers is larger than any memory"):
        _core.chain_sample(NODE, EDGE[np.newaxis], 2**62, 0)
    with pytest.raises(MemoryError, match=r"not enough memory|larger than any memory"):
        _core.chain_kbest(np.zeros((200, 2)), EDGE[np.newaxis], 2**60)


def test_nothing_is_a_size_too() -> None:
    assert oracles.sample(NODE, EDGE, 0).shape == (0, 4)
