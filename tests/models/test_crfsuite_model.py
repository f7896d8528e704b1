"""Models of CRFsuite, as python-crfsuite writes them: the same answers, and no damage that is not noticed."""

from __future__ import annotations

import gzip
import io
import random
import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield import ChainCRF
from dualfield.models import read_crfsuite_model
from tests.core.strategies import few_examples

Sequences = list[list[dict[str, float]]]


def sequences(seed: int, n: int = 30) -> tuple[Sequences, list[list[str]]]:
    rng = random.Random(seed)
    X = [
        [
            {f"a{rng.randrange(9)}": rng.choice([1.0, 0.5, -2.0]), f"é:{rng.randrange(4)}": 1.0, "bias": 1.0}
            for _ in range(rng.randint(1, 7))
        ]
        for _ in range(n)
    ]
    return X, [[rng.choice(["z", "B", "é", "A", "10", "9"]) for _ in sequence] for sequence in X]


def train(path: Path, seed: int, algorithm: str = "lbfgs", **parameters: Any) -> None:
    trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
    for x, y in zip(*sequences(seed), strict=True):
        trainer.append(x, y)
    trainer.train(str(path))


@cache
def model_bytes(folder: Path) -> bytes:
    train(folder / "m.crfsuite", 3)
    return (folder / "m.crfsuite").read_bytes()


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return model_bytes(tmp_path_factory.mktemp("crfsuite"))


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("lbfgs", {}),
        ("lbfgs", {"c1": 1.0, "c2": 0.01}),  # some weights are zero, and not in the file
        ("lbfgs", {"feature.possible_states": True, "feature.possible_transitions": True}),
        ("l2sgd", {"max_iterations": 20}),
        ("ap", {"max_iterations": 5}),
        ("pa", {"max_iterations": 5}),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_labels_and_marginals_are_crfsuites(
    tmp_path: Path, algorithm: str, parameters: dict[str, Any], seed: int
) -> None:
    train(tmp_path / "m", seed, algorithm, **parameters)
    crf = read_crfsuite_model(tmp_path / "m")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    assert sorted(tagger.labels()) == crf.classes_.tolist()
    X, _ = sequences(seed + 100)
    X[0][0]["never seen"] = 1.0
    crf.save(tmp_path / "ours")
    loaded = ChainCRF.load(tmp_path / "ours")
    for x in X:
        found, theirs = crf.predict([x]), tagger.tag(x)
        assert loaded.predict([x]) == found
        if found != [theirs]:  # only where two labellings are equally probable
            assert tagger.probability(found[0]) == pytest.approx(tagger.probability(theirs), rel=1e-12)
        expected = [[tagger.marginal(label, t) for label in crf.classes_.tolist()] for t in range(len(x))]
        np.testing.assert_allclose(crf.predict_marginals([x])[0], expected, rtol=0, atol=1e-9)


def test_it_says_where_it_comes_from(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "some.model").write_bytes(content)
    crf = read_crfsuite_model(tmp_path / "some.model")
    assert crf.solution_.certificate == "none"
    assert crf.solution_.status == "imported"
    assert crf.solution_.message.startswith("Read from the CRFsuite model some.model: ")
    assert np.isnan(crf.solution_.duality_gap)
    assert str(tmp_path) not in crf.solution_.message
    crf.save(tmp_path / "ours")
    assert ChainCRF.load(tmp_path / "ours").solution_.message == crf.solution_.message


def test_weights_are_those_that_crfsuite_shows(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m").write_bytes(content)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    info, crf = tagger.info(), read_crfsuite_model(tmp_path / "m")
    parts, classes = crf.layout_.split(crf.weights_), crf.classes_.tolist()
    for (attribute, label), weight in info.state_features.items():
        found = parts["state"][crf.vocabulary_.index[attribute], classes.index(label)]
        assert found == pytest.approx(weight, abs=1e-6)  # CRFsuite prints six digits
    for (one, other), weight in info.transitions.items():
        assert parts["transitions"][classes.index(one), classes.index(other)] == pytest.approx(weight, abs=1e-6)
    assert len(crf.weights_) == len(info.state_features) + len(info.transitions)


def test_packed_models_and_open_files_are_read(content: bytes) -> None:
    weights = read_crfsuite_model(io.BytesIO(content)).weights_
    packed = io.BytesIO(gzip.compress(content, mtime=0))
    np.testing.assert_array_equal(read_crfsuite_model(packed).weights_, weights)
    with pytest.raises(TypeError, match="opened as text"):
        read_crfsuite_model(io.StringIO("lCRF"))  # type: ignore[arg-type]


# ---- damage -------------------------------------------------------------------------------------------------


def refused_or_read(content: bytes) -> str:
    """The sentence of refusal; any other end is a mistake of ours."""
    try:
        crf = read_crfsuite_model(io.BytesIO(content))
    except ValueError as error:
        sentence = str(error)
    else:
        marginals = crf.predict_marginals([[{"bias": 1.0}, {"a1": 1.0}]])[0]
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0)
        return ""
    assert sentence.startswith("the file cannot be read as a CRFsuite model: ")
    assert sentence.endswith(".")
    return sentence


def test_a_model_cut_off_anywhere_is_refused(content: bytes) -> None:
    for length in range(len(content)):
        assert refused_or_read(content[:length]), length


def test_a_model_cut_off_whose_header_agrees_is_refused(content: bytes) -> None:
    for length in range(48, len(content), 7):
        assert refused_or_read(content[:4] + struct.pack("<I", length) + content[8:length]), length


def test_every_number_of_the_header_is_checked(content: bytes) -> None:
    for at in (*range(0, 16, 4), *range(20, 48, 4)):  # 16 is the number of features, which CRFsuite leaves at 0
        for value in (0, 1, 47, len(content) - 1, len(content), 2**31, 2**32 - 1):
            damaged = content[:at] + struct.pack("<I", value) + content[at + 4 :]
            if damaged != content:
                assert refused_or_read(damaged), (at, value)


@given(data=st.data())
@few_examples
def test_no_damage_ends_in_anything_but_a_sentence(data: st.DataObject, content: bytes) -> None:
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(8, len(content) - 4))
        number = data.draw(
            st.sampled_from([0, 1, 2, 5, 255, len(content) - 4, len(content), 2**31, 2**32 - 1])
            | st.integers(0, len(content))
        )
        damaged[at : at + 4] = struct.pack("<I", number)
    refused_or_read(bytes(damaged))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"the first bytes to be lCRF, found b''"),
        (b"PK\x03\x04 and so on", r"the first bytes to be lCRF, found b'PK"),
        (b"lCRF", "the header would end at byte 48 but the file has 4"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str) -> None:
    assert message in refused_or_read(content)


def test_kinds_of_damage_are_told_apart(content: bytes) -> None:
    header = struct.unpack("<4sI4sI8I", content[:48])
    features, labels, _, label_refs, _ = header[7:]

    def with_number(at: int, number: int) -> str:
        return refused_or_read(content[:at] + struct.pack("<I", number) + content[at + 4 :])

    assert "expected a model of type FOMC, version 100, found b'FOMC', version 200" in with_number(12, 200)
    assert "its header says 9 bytes but the file has" in with_number(4, 9)
    assert "expected FEAT at byte 4" in with_number(28, 4)
    assert "the labels are of another byte order, 0x71534462" in with_number(labels + 12, 0x71534462)
    assert "feature 0 does not fit the reference to it in AFRF" in with_number(features + 12, 7)
    assert "LFRF refers to" in with_number(struct.unpack_from("<I", content, label_refs + 12)[0], 10**6)
    assert "expected a CQDB of attributes" in with_number(36, 52)
    nan = content[: features + 24] + struct.pack("<d", np.nan) + content[features + 32 :]
    assert "the weight of feature 0 is not finite" in refused_or_read(nan)


def test_a_model_of_one_label_is_refused(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"], ["b"]], ["X", "X"])
    trainer.train(str(tmp_path / "m"))
    with pytest.raises(ValueError, match="expected at least two labels, found 1"):
        read_crfsuite_model(tmp_path / "m")
