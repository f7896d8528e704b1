"""Models that python-crfsuite has trained, and sequences for them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import pycrfsuite
import pytest

LABELS = [f"L{i}" for i in range(9)]
WORDS = ["north", "main", "street", "élan", "東京", "", "a:b", "x" * 700, "100", "oak", "№ 7", "🚲", "apt"]


class Trained(NamedTuple):
    path: str
    sequences: list[list[dict[str, Any]]]

    def both(self) -> tuple[Any, Any]:
        """Their tagger and ours."""
        from dualfield.compat import pycrfsuite as ours

        theirs, mine = pycrfsuite.Tagger(), ours.Tagger()
        theirs.open(self.path)
        mine.open(self.path)
        return theirs, mine


def token(rng: random.Random) -> dict[str, Any]:
    word = rng.choice(WORDS)
    return {
        "word": word,
        "length": len(word),
        "share": rng.uniform(-1.5, 1.5),
        "upper": rng.random() < 0.5,
        "bias": 1.0,
        "nested": {"word": word[:2], "deep": {"flags": ["p", rng.choice("qrs")]}, "n": rng.randint(0, 3)},
        "letters": sorted(set(word))[:3],
        "seen only once " + str(rng.randrange(10**9)): True,
    }


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    rng = random.Random(0)
    trainer = pycrfsuite.Trainer(verbose=False)
    for _ in range(120):
        length = rng.randint(1, 7)
        trainer.append([token(rng) for _ in range(length)], [rng.choice(LABELS) for _ in range(length)])
    trainer.set_params({"c1": 0.05, "c2": 0.01, "max_iterations": 25})
    path = tmp_path_factory.mktemp("trained") / "medium.crfsuite"
    trainer.train(str(path))
    return Trained(str(path), [[token(rng) for _ in range(rng.randint(1, 9))] for _ in range(60)])


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([{"a": 1, "b": "x"}, {"c": True}], ["X", "Y"])
    trainer.append([["a"]], ["Y"])
    trainer.set_params({"c2": 0.1, "max_iterations": 5})
    path = tmp_path_factory.mktemp("trained") / "tiny.crfsuite"
    trainer.train(str(path))
    return Trained(str(path), [[{"a": 2, "b": "x"}, {"c": 1}], [["a"], ["c", "b:x"], []]])


@pytest.fixture
def content(tiny: Trained) -> bytes:
    return Path(tiny.path).read_bytes()
