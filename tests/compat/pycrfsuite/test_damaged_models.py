"""A file that is no model, or a damaged one, ends in a sentence or in other labels, never in a crash."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest

from dualfield.compat.pycrfsuite import Tagger
from tests.compat.pycrfsuite.conftest import Trained


def use(content: bytes, sequences: list[Any]) -> str:
    """Ask everything that can be asked of a model; says how far that went."""
    tagger = Tagger()
    said = ""
    try:
        tagger.open_inmemory(content)
    except ValueError as error:
        said = str(error)
    if said:
        assert said.startswith("Error opening model: the model is damaged: ")
        return "refused"
    try:
        for x in sequences:
            found = tagger.tag(x)
            assert len(found) == len(x)
            assert set(found) <= set(tagger.labels())
            tagger.marginals()
            tagger.probability(found)
        tagger.info()
        tagger.model.dump()
    except ValueError as error:
        said = str(error)
    assert said.startswith("the model is damaged: ") or not said
    return "damaged" if said else "used"


def test_flipped_bytes_never_crash(tiny: Trained, trained: Trained) -> None:
    rng = random.Random(0)
    outcomes = set()
    for path, sequences, rounds in ((tiny.path, tiny.sequences, 1500), (trained.path, trained.sequences[:3], 200)):
        content = Path(path).read_bytes()
        for _ in range(rounds):
            changed = bytearray(content)
            for _ in range(rng.choice([1, 1, 2, 8, 64])):
                changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            outcomes.add(use(bytes(changed), sequences))
    assert outcomes == {"refused", "damaged", "used"}


def test_numbers_that_lie_never_crash(tiny: Trained, content: bytes) -> None:
    rng = random.Random(1)
    outcomes = set()
    for place in range(0, len(content) - 3, 4):
        changed = bytearray(content)
        number = rng.choice(
            [0, 1, 8, len(content), len(content) - 4, 2**31 - 1, 2**31, 2**32 - 1, rng.randrange(2**32)]
        )
        struct.pack_into("<I", changed, place, number)
        outcomes.add(use(bytes(changed), tiny.sequences))
    assert "refused" in outcomes


def test_every_truncation_is_refused(tiny: Trained, content: bytes) -> None:
    for size in range(0, len(content), 7):
        assert use(content[:size], []) == "refused"
        if size >= 8:  # and where the header agrees
            agreeing = content[:4] + struct.pack("<I", size) + content[8:size]
            assert use(agreeing, tiny.sequences) in ("refused", "damaged")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: b"", "does not begin with the letters lCRF"),
        (lambda c: b"xCRF" + c[4:], "does not begin with the letters lCRF"),
        (lambda c: c[:30], "header is incomplete: it has 30 bytes of 48"),
        (lambda c: c[:-1], "it is cut off or not whole"),
        (lambda c: c + b"x", "it is cut off or not whole"),
        (lambda c: c[:8] + b"SOMC" + c[12:], "not a first-order model"),
        (lambda c: c[:12] + b"\xff" + c[13:], "not a first-order model"),
        (lambda c: c[:20] + bytes(4) + c[24:], "it has 0 labels"),
        (lambda c: c[:20] + b"\0\xff\0\0" + c[24:], "it has 65280 labels"),
        (lambda c: c.replace(b"qSDb", b"bDSq"), "another byte order"),
        (lambda c: c.replace(b"CQDB", b"CQDC"), "there is no CQDB at byte"),
        (lambda c: c.replace(b"FEAT", b"FEET"), "there is no FEAT at byte"),
        (lambda c: c.replace(b"LFRF", b"LFRG"), "there is no LFRF at byte"),
        (lambda c: c.replace(b"AFRF", b"AFRG"), "there is no AFRF at byte"),
        (lambda c: c.replace(b"\x02\0\0\0Y\0", b"\x02\0\0\0X\0"), "a label occurs twice"),
        (lambda c: c[:28] + b"\xff\xff\xff\xff" + c[32:], "would end at byte"),
    ],
)
def test_what_is_wrong_is_said(change: Any, said: str, content: bytes, tmp_path: Path) -> None:
    wrong = change(content)
    assert wrong != content
    with pytest.raises(ValueError, match=said):
        Tagger().open_inmemory(wrong)
    path = tmp_path / "wrong.crfsuite"
    path.write_bytes(wrong)
    if wrong[:4] == b"lCRF":
        for mapped in (False, True):
            with pytest.raises(ValueError, match=said) as refused:
                Tagger().open(path, mapped=mapped)
            assert "wrong.crfsuite" in str(refused.value)
    else:
        with pytest.raises(ValueError, match="Invalid model file"):
            Tagger().open(path)


def test_what_is_no_file_and_no_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Tagger().open(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        Tagger().open(tmp_path)
    with pytest.raises(TypeError):
        Tagger().open(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bytes of a model file"):
        Tagger().open_inmemory("text")  # type: ignore[arg-type]


def test_a_failed_opening_keeps_the_model_before(tiny: Trained) -> None:
    tagger = Tagger().open(tiny.path)
    with pytest.raises(ValueError, match="Error opening model"):
        tagger.open_inmemory(b"lCRF")
    assert tagger.labels() == ["X", "Y"]
