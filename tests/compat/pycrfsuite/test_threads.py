"""A model is shared by threads; a tagger too, as long as each call brings its sequence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from dualfield.compat.pycrfsuite import ItemSequence, Tagger
from tests.compat.pycrfsuite.conftest import Trained

THREADS, ROUNDS = 8, 12


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Slow:
    """A value whose conversion runs Python code, so that other threads get in."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return sum([self.value])


def slowed(sequence: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: Slow(v) if isinstance(v, float) else v for k, v in position.items()} for position in sequence]


def hammer(work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, thread) for thread in range(THREADS)]:
            done.result()


def test_taggers_of_one_model_do_not_disturb_each_other(trained: Trained) -> None:
    first = Tagger().open(trained.path)
    sequences = [slowed(x) for x in trained.sequences]
    expected = []
    for x in sequences:
        labels = first.tag(x)
        expected.append((labels, first.marginals(), first.probability(labels)))

    def work(thread: int) -> None:
        tagger = Tagger()
        assert first.model is not None
        tagger.open_model(first.model)
        for i in range(ROUNDS * len(sequences)):
            k = (i + 7 * thread) % len(sequences)
            labels = tagger.tag(sequences[k])
            assert (labels, tagger.marginals(), tagger.probability(labels)) == expected[k]

    hammer(work)


def test_threads_that_share_a_tagger_get_the_labels_of_their_own_sequence(trained: Trained) -> None:
    tagger = Tagger().open(trained.path)
    sequences = [slowed(x) for x in trained.sequences]
    expected = [tagger.tag(x) for x in sequences]

    def work(thread: int) -> None:
        for i in range(ROUNDS * len(sequences)):
            k = (i + 7 * thread) % len(sequences)
            assert tagger.tag(sequences[k]) == expected[k]

    hammer(work)


def test_closing_and_opening_under_the_hands_of_others_ends_in_an_error_at_worst(
    trained: Trained, tiny: Trained
) -> None:
    tagger = Tagger().open(trained.path)
    items = ItemSequence(trained.sequences[0])

    def work(thread: int) -> None:
        for i in range(ROUNDS * 20):
            with suppress(ValueError):  # what it may end in
                if thread == 0:
                    tagger.close() if i % 3 else tagger.open(tiny.path if i % 2 else trained.path)
                elif thread == 1:
                    items.__init__(trained.sequences[i % 60])  # type: ignore[misc]
                else:
                    tagger.tag(slowed(trained.sequences[i % 60]) if i % 2 else items)
                    tagger.marginal("L1", 0)
                    tagger.probability(tagger.tag())

    hammer(work)
    tagger.open(trained.path)
    assert len(tagger.tag(trained.sequences[0])) == len(trained.sequences[0])
