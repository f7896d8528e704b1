"""Models written for CRFsuite: python-crfsuite opens them and gives our labels and marginals."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from dualfield import ChainCRF, Constraints
from dualfield.models import read_crfsuite_model, write_crfsuite_model
from dualfield.models.chain_model import ChainModel

PLAIN = {"bias": False, "begin": False, "end": False, "random_state": 0}
Sequences = list[list[dict[str, float]]]


def sequences(seed: int, n: int) -> tuple[Sequences, list[list[str]]]:
    """Attributes of many lengths and of several bytes a character, with values of both signs."""
    rng = random.Random(seed)

    def position() -> dict[str, float]:
        return {
            f"w={rng.randrange(3000)}": 1.0,
            f"é日𝄞:{rng.randrange(40)}" * rng.randint(1, 4): rng.choice([0.5, -2.0]),
            "x" * rng.randrange(1, 40): 1.0,
        }

    X = [[position() for _ in range(rng.randint(1, 9))] for _ in range(n)]
    return X, [[rng.choice(["z", "B", "é", "A", "10", "9"]) for _ in x] for x in X]


def opened(path: Path) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def assert_same_answers(crf: ChainModel, tagger: pycrfsuite.Tagger, X: Sequences) -> None:
    classes = crf.classes_.tolist()
    assert tagger.labels() == classes
    for x, found, marginals in zip(X, crf.predict(X), crf.predict_marginals(X), strict=True):
        theirs = tagger.tag(x)
        if found != theirs:  # only where two labellings are equally probable
            assert tagger.probability(found) == pytest.approx(tagger.probability(theirs), rel=1e-12)
        expected = [[tagger.marginal(label, t) for label in classes] for t in range(len(x))]
        np.testing.assert_allclose(marginals, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"l1": 1.0, "l2": 0.1},  # many weights are zero, and some attributes have none
        {"state_features": "observed", "transitions": "observed"},
    ],
)
def test_python_crfsuite_gives_the_same_labels_and_marginals(tmp_path: Path, parameters: dict[str, Any]) -> None:
    crf = ChainCRF(**PLAIN, **parameters, tol=1e-2).fit(*sequences(0, 400))
    write_crfsuite_model(crf, tmp_path / "m")
    X, _ = sequences(1, 2000)
    X[0][0]["never seen"] = 1.0
    assert_same_answers(crf, opened(tmp_path / "m"), X)


def test_only_weights_that_are_not_zero_are_written(tmp_path: Path) -> None:
    crf = ChainCRF(**PLAIN).fit(*sequences(0, 50))
    crf.weights_[::2] = 0.0
    crf.export(tmp_path / "m", format="crfsuite")
    info = opened(tmp_path / "m").info()
    assert len(info.state_features) + len(info.transitions) == np.count_nonzero(crf.weights_)
    parts, classes = crf.layout_.split(crf.weights_), crf.classes_.tolist()
    for (attribute, label), weight in info.state_features.items():
        found = parts["state"][crf.vocabulary_.index[attribute], classes.index(label)]
        assert found == pytest.approx(weight, abs=1e-6)  # CRFsuite prints six digits


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    crf = ChainCRF(**PLAIN, l1=0.5).fit(*sequences(0, 80))
    write_crfsuite_model(crf, tmp_path / "m")
    back = read_crfsuite_model(tmp_path / "m")
    assert back.vocabulary_ == crf.vocabulary_
    np.testing.assert_array_equal(back.weights_, crf.weights_)
    write_crfsuite_model(crf, tmp_path / "m.gz")
    assert gzip.decompress((tmp_path / "m.gz").read_bytes()) == (tmp_path / "m").read_bytes()
    assert read_crfsuite_model(tmp_path / "m.gz").predict([[{"w=1": 1.0}]]) == crf.predict([[{"w=1": 1.0}]])


def test_a_model_of_crfsuite_comes_through_unchanged(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in zip(*sequences(2, 60), strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "theirs"))
    write_crfsuite_model(read_crfsuite_model(tmp_path / "theirs"), tmp_path / "ours")
    theirs, ours = opened(tmp_path / "theirs").info(), opened(tmp_path / "ours").info()
    assert ours.state_features == theirs.state_features
    assert ours.transitions == theirs.transitions
    X, _ = sequences(3, 20)
    assert [opened(tmp_path / "ours").tag(x) for x in X] == [opened(tmp_path / "theirs").tag(x) for x in X]


def test_a_model_without_attributes_or_without_weights_is_written(tmp_path: Path) -> None:
    for X, zero in ([[{}, {}], [{}]], False), ([[{"a": 1.0}, {}], [{"b": 1.0}]], True):
        crf = ChainCRF(**PLAIN).fit(X, [["A", "B"], ["B"]])
        if zero:
            crf.weights_[:] = 0.0
        write_crfsuite_model(crf, tmp_path / "m")
        assert_same_answers(crf, opened(tmp_path / "m"), X)


def test_bias_begin_and_end_weights_are_refused_unless_they_are_zero(tmp_path: Path) -> None:
    X, y = sequences(0, 20)
    crf = ChainCRF(random_state=0).fit(X, y)
    parts = crf.layout_.split(crf.weights_)
    for name in ("bias", "begin", "end"):
        with pytest.raises(ValueError, match=rf"has {name} weights.*bias=False, begin=False, end=False"):
            crf.export(tmp_path / "m")
        parts[name][:] = 0.0  # a view of the weights
    crf.export(tmp_path / "m")
    assert_same_answers(crf, opened(tmp_path / "m"), X)


def test_what_crfsuite_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    X, y = [[["a"], ["b"]], [["b"], ["a"]]], [["A", "B"], ["B", "A"]]

    def refused(crf: ChainCRF, match: str) -> None:
        with pytest.raises(ValueError, match=match):
            write_crfsuite_model(crf, tmp_path / "m")
        assert not (tmp_path / "m").exists()

    refused(ChainCRF(**PLAIN).fit([np.eye(2), np.eye(2)], y), "2 attributes are numbered columns")
    bigrams = ChainCRF(**PLAIN)
    refused(bigrams.fit(bigrams.encode(X, bigrams=X), y), "bigram attributes")
    rules = Constraints(["A", "B"], transitions=[("A", "A")])
    refused(ChainCRF(**PLAIN, constraints=rules).fit(X, y), "has constraints")
    refused(ChainCRF(**PLAIN).fit(X, [[0, 1], [1, 0]]), "label 0 is of type int")
    refused(ChainCRF(**PLAIN).fit([[["a\0b"], ["c"]]], [["A", "B"]]), r"attribute 'a\\x00b' has a NUL")
    refused(ChainCRF(**PLAIN).fit(X, [["A\0B", "B"], ["B", "A\0B"]]), r"label 'A\\x00B' has a NUL")
    damaged = ChainCRF(**PLAIN).fit(X, y)
    damaged.weights_[0] = np.nan
    refused(damaged, "not finite")


def test_a_format_that_is_not_there_is_refused(tmp_path: Path) -> None:
    crf = ChainCRF(**PLAIN).fit(*sequences(0, 5))
    with pytest.raises(ValueError, match="there is no model format 'pmml' to write; expected one of crfsuite"):
        crf.export(tmp_path / "m", format="pmml")
