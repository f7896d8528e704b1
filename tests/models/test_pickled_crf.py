"""Pickled CRFs become models without running anything; whatever else a pickle names is refused."""

from __future__ import annotations

import gzip
import io
import pickle
import pickletools
import sys
import types
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield import ChainCRF
from dualfield.models import read_crfsuite_model, read_pickled_crf
from tests.core.strategies import few_examples

X = [[{"w": "a"}, {"w": "b", "n": 2.0}], [{"w": "b"}, {"w": "a"}]]
Y = [["A", "B"], ["B", "A"]]


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> tuple[type, type]:
    return stand_ins(monkeypatch)


def stand_ins(monkeypatch: pytest.MonkeyPatch) -> tuple[type, type]:
    """Classes of the names that sklearn-crfsuite's have, which pickle as they do."""
    found = []
    for module, name in (("sklearn_crfsuite.estimator", "CRF"), ("sklearn_crfsuite._fileresource", "FileResource")):
        made = types.ModuleType(module)
        monkeypatch.setitem(sys.modules, module, made)
        made.__dict__[name] = type(name, (), {"__module__": module})
        found.append(made.__dict__[name])
    monkeypatch.setitem(sys.modules, "sklearn_crfsuite", types.ModuleType("sklearn_crfsuite"))
    return tuple(found)  # type: ignore[return-value]


def crfsuite_bytes(folder: Path) -> tuple[bytes, Any]:
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(folder / "m"))
    return (folder / "m").read_bytes(), trainer.logparser


def an_estimator(classes: tuple[type, type], data: bytes | None, log: Any = None, name: str | None = None) -> Any:
    """As sklearn-crfsuite's state is, with parameters as a search over them leaves them."""
    crf, file = (kind() for kind in classes)
    file.__dict__.update(name=name, auto=name is None, keep_tempfiles=False, suffix=".crfsuite", prefix="model", fd=5)
    if data is not None:
        file.__dict__["__FILE_RESOURCE_DATA__"] = data
    crf.__dict__.update(algorithm="lbfgs", c1=np.float64(0.1), c2=0.1, all_possible_states=None, modelfile=file)
    crf.__dict__.update(verbose=False, trainer_cls=None, training_log_=log, _tagger=None, _info_cached=None)
    return crf


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_model_is_that_of_the_pickle(protocol: int, classes: tuple[type, type], tmp_path: Path) -> None:
    data, log = crfsuite_bytes(tmp_path)
    log.iterations[0]["item_accuracy"] = Fraction(1, 3)
    content = pickle.dumps(an_estimator(classes, data, log), protocol)
    for name in ("sklearn_crfsuite.estimator", "sklearn_crfsuite._fileresource", "sklearn_crfsuite"):
        sys.modules.pop(name)  # reading asks for none of them
    (tmp_path / "crf.pkl").write_bytes(content)
    crf, expected = read_pickled_crf(tmp_path / "crf.pkl"), read_crfsuite_model(tmp_path / "m")
    np.testing.assert_array_equal(crf.weights_, expected.weights_)
    assert crf.predict(X) == expected.predict(X)
    assert crf.solution_.message.startswith("Read from the pickled sklearn_crfsuite.CRF crf.pkl: ")
    assert "sklearn_crfsuite" not in sys.modules
    for packed in (zlib.compress(content), gzip.compress(content)):
        np.testing.assert_array_equal(read_pickled_crf(io.BytesIO(packed), ChainCRF).weights_, expected.weights_)


def test_a_pickle_of_sklearn_crfsuite_itself_is_read(tmp_path: Path) -> None:
    original = pytest.importorskip("sklearn_crfsuite")
    theirs = original.CRF(c1=0.1, c2=0.1).fit(X, Y, X, Y)
    (tmp_path / "crf.pkl").write_bytes(pickle.dumps(theirs))
    assert read_pickled_crf(tmp_path / "crf.pkl").predict(X) == [list(labels) for labels in theirs.predict(X)]


class Harmful:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("function", "arguments", "named"),
    [
        (exec, ("raise SystemExit(9)",), "builtins.exec"),
        (getattr, (object, "__subclasses__"), "builtins.getattr"),
        (__import__, ("os",), "builtins.__import__"),
        (Path, ("x",), f"{Path.__module__}.Path"),
    ],
)
def test_what_else_a_pickle_names_is_refused_and_not_run(
    function: Any, arguments: Any, named: str, classes: tuple[type, type]
) -> None:
    crf = an_estimator(classes, b"lCRF")
    crf.extra = Harmful(function, *arguments)
    with pytest.raises(ValueError, match=f"it names {named}, which the pickle of a CRF has no use for; nothing of it"):
        read_pickled_crf(io.BytesIO(pickle.dumps(crf)))


def test_pickles_that_hold_no_model_are_refused(classes: tuple[type, type]) -> None:
    def refused(content: bytes, match: str) -> None:
        with pytest.raises(ValueError, match=match):
            read_pickled_crf(io.BytesIO(content))

    refused(pickle.dumps(an_estimator(classes, None)), "it was pickled before fit")
    refused(pickle.dumps(an_estimator(classes, None, name="a.crfsuite")), "in the file 'a.crfsuite', as model_filename")
    refused(pickle.dumps(an_estimator(classes, b"lCRF")), "cannot be read as a CRFsuite model: the header would end")
    refused(pickle.dumps([1, 2]), "it holds an object of type list")
    refused(pickle.dumps(classes[0]), "it holds an object of type type")
    refused(b"", "it is no whole pickle")
    refused(b"x\x9cnot zlib", "it looks packed by zlib, but is not")
    with pytest.raises(TypeError, match="opened as text"):
        read_pickled_crf(io.StringIO("x"))  # type: ignore[arg-type]


@given(data=st.data())
@few_examples
def test_no_damage_ends_in_anything_but_a_sentence(data: st.DataObject, tmp_path_factory: Any) -> None:
    content = bytearray(_whole(tmp_path_factory))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.sampled_from([len(content), data.draw(st.integers(0, len(content)))]))
    try:
        read_pickled_crf(io.BytesIO(bytes(content[:end])))
    except ValueError as error:
        sentence = str(error)
    else:
        return  # the damage was in what is not read
    assert sentence.endswith(".")


_WHOLE: list[bytes] = []


def _whole(folders: Any) -> bytes:
    if not _WHOLE:
        with pytest.MonkeyPatch.context() as patch:
            data, log = crfsuite_bytes(folders.mktemp("pickled"))
            _WHOLE.append(pickle.dumps(an_estimator(stand_ins(patch), data, log)))
        assert any(op.name == "BUILD" for op, *_ in pickletools.genops(_WHOLE[0]))
    return _WHOLE[0]
