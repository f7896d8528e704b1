"""Model files: what is saved is what is loaded, and anything else is refused in a sentence."""

from __future__ import annotations

import math
import os
import pickle
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save, save_file
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from dualfield import LBFGS, SDCA, ChainCRF, Progress
from dualfield.models import model_file
from tests.model_files import described, header_of, sealed, with_arrays, with_header, with_metadata
from tests.sequences import as_arrays, as_dicts, as_sparse, labelled_sequences

X, Y = labelled_sequences(12)
INTEGERS = [[len(label) for label in labels] for labels in Y]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small file that has every kind of array: names, observed pairs, weights."""
    path = tmp_path_factory.mktemp("model") / "small"
    small = ChainCRF(state_features="observed", transitions="observed", random_state=0)
    small.fit([[["a"], ["b"]], [["b"]]], [["N", "V"], ["V"]]).save(path)
    return path.read_bytes()


def assert_equal_models(loaded: ChainCRF, crf: ChainCRF, data: Any) -> None:
    assert loaded.predict(data) == crf.predict(data)
    assert loaded.get_params() == crf.get_params()
    assert loaded.classes_.tolist() == crf.classes_.tolist()
    assert loaded.classes_.dtype == crf.classes_.dtype
    assert loaded.vocabulary_ == crf.vocabulary_
    np.testing.assert_array_equal(loaded.weights_, crf.weights_)
    for a, b in zip(loaded.predict_marginals(data), crf.predict_marginals(data), strict=True):
        np.testing.assert_array_equal(a, b)


# The round trip


MODELS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "names": ({}, X, Y),
    "dicts": ({}, as_dicts(X), Y),
    "columns": ({}, as_arrays(X), Y),
    "sparse columns": ({"min_count": 3}, as_sparse(X), Y),
    "integer labels": ({}, X, INTEGERS),
    "observed pairs": ({"state_features": "observed", "transitions": "observed"}, X, Y),
    "observed columns": ({"state_features": "observed", "bias": False}, as_arrays(X), INTEGERS),
    "no extra weights": ({"bias": False, "begin": False, "end": False}, X, Y),
    "solver object": ({"solver": SDCA(sampling="uniform", epsilon=0.5)}, X, Y),
    "another solver": ({"solver": LBFGS(corrections=np.int64(4)), "l2": np.float64(0.5), "n_jobs": None}, X, Y),
    "odd names": ({}, [[["", "ü", "日本", "a\nb", '"', "\x00"], ["\ud800"]]], [["é", '"\\\n']]),
    "no attributes": ({}, [[[], []]], [["A", "B"]]),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_loaded_model_is_the_saved_one(kind: str, tmp_path: Path) -> None:
    parameters, data, labels = MODELS[kind]
    crf = ChainCRF(random_state=0, **parameters).fit(data, labels)
    crf.save(tmp_path / "model")
    assert_equal_models(ChainCRF.load(tmp_path / "model"), crf, data)
    assert os.listdir(tmp_path) == ["model"]


def test_a_loaded_model_keeps_its_certificate(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    crf.save(tmp_path / "model")
    loaded = ChainCRF.load(tmp_path / "model").solution_
    for name in ("primal", "dual", "duality_gap", "relative_gap", "certificate", "status", "message", "passes"):
        assert getattr(loaded, name) == getattr(crf.solution_, name)
    assert loaded.history == {}


def test_an_unknown_gap_stays_unknown(tmp_path: Path) -> None:
    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    crf = ChainCRF(random_state=0)
    with pytest.warns(ConvergenceWarning):
        crf.fit(X, Y, callbacks=[interrupt])
    crf.save(tmp_path / "model")
    loaded = ChainCRF.load(tmp_path / "model")
    assert math.isnan(loaded.solution_.duality_gap)
    assert loaded.solution_.certificate == "none"
    assert loaded.predict(X) == crf.predict(X)


def test_a_loaded_model_can_be_saved_fitted_and_pickled_again(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0, warm_start=True).fit(X, Y)
    crf.save(tmp_path / "first")
    loaded = ChainCRF.load(tmp_path / "first")
    loaded.save(tmp_path / "second")
    assert_equal_models(ChainCRF.load(tmp_path / "second"), crf, X)
    assert pickle.loads(pickle.dumps(loaded)).predict(X) == crf.predict(X)
    np.testing.assert_array_equal(loaded.fit(X, Y).weights_, ChainCRF(random_state=0).fit(X, Y).weights_)


def test_the_same_model_is_the_same_file(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    for name in map(str, range(12)):
        crf.save(str(tmp_path / name))
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_a_generator_is_not_part_of_a_model(tmp_path: Path) -> None:
    ChainCRF(random_state=np.random.RandomState(0)).fit(X, Y).save(tmp_path / "model")
    assert ChainCRF.load(tmp_path / "model").random_state is None
    ChainCRF(random_state=np.int64(7)).fit(X, Y).save(tmp_path / "model")
    assert ChainCRF.load(tmp_path / "model").random_state == 7


def test_a_subclass_loads_as_itself(tmp_path: Path) -> None:
    class Tagger(ChainCRF):
        """Another name, nothing else."""

    ChainCRF(random_state=0).fit(X, Y).save(tmp_path / "model")
    assert type(Tagger.load(tmp_path / "model")) is Tagger


def test_float32_halves_the_file_and_rounds_the_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(5, 2000)) for _ in range(5)]
    labels = [["a", "b", "c", "d", "e"]] * 5
    crf = ChainCRF(random_state=0).fit(data, labels)
    crf.save(tmp_path / "double")
    crf.save(tmp_path / "single", dtype=np.float32)
    sizes = [(tmp_path / name).stat().st_size for name in ("double", "single")]
    assert sizes[0] - sizes[1] == pytest.approx(4 * len(crf.weights_), abs=64)
    loaded = ChainCRF.load(tmp_path / "single")
    assert loaded.weights_.dtype == np.float64
    np.testing.assert_array_equal(loaded.weights_, crf.weights_.astype(np.float32))
    assert loaded.predict(data) == crf.predict(data) == labels


@pytest.mark.parametrize("dtype", [np.float16, np.int32, "complex128"])
def test_other_number_types_are_refused(dtype: Any, tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="dtype must be float64 or float32"):
        crf.save(tmp_path / "model", dtype=dtype)
    assert os.listdir(tmp_path) == []


# Where to save


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        ChainCRF().save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_and_a_folder_are_refused(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        crf.save(tmp_path / "missing" / "model")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        crf.save(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_existing_file_survives_a_failed_save(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    crf.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(type(error)):
            ChainCRF(l2=5.0, random_state=0).fit(X, Y).save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_a_parameter_that_json_cannot_hold_writes_nothing(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y).set_params(verbose=object())
    with pytest.raises(TypeError):
        crf.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


# What is not a model


def refuse(path: Path, content: bytes, match: str) -> None:
    """Loading raises a ValueError of one sentence that names the file."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match) as caught:
        ChainCRF.load(path)
    message = str(caught.value)
    assert message.startswith(repr(str(path)))
    assert message.endswith(".")
    assert "\n" not in message
    assert "Error(" not in message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"not a model",
        b"\x00" * 100,
        b"\xff" * 100,
        np.random.default_rng(0).bytes(1000),
        pickle.dumps(ChainCRF()),
        b"PK\x03\x04" + bytes(200),
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2) + b"{}" + bytes(8),
    ],
    ids=["empty", "newline", "text", "zeros", "ones", "noise", "pickle", "zip", "list", "trailing"],
)
def test_a_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", content, "is not a model file, or it is damaged")


def test_a_foreign_safetensors_file_is_refused(tmp_path: Path) -> None:
    save_file({"weights": np.ones(3)}, tmp_path / "other")
    refuse(tmp_path / "model", (tmp_path / "other").read_bytes(), "safetensors file, but not a dualfield model")
    foreign = save({"weights": np.ones(3)}, metadata={"format": "pt"})
    refuse(tmp_path / "model", foreign, "safetensors file, but not a dualfield model")


def test_a_missing_file_and_a_folder_have_their_own_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no model file"):
        ChainCRF.load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        ChainCRF.load(tmp_path)


def test_a_header_that_declares_enormous_sizes_is_refused(tmp_path: Path, content: bytes) -> None:
    refuse(tmp_path / "model", struct.pack("<Q", 2**63) + content[8:], "damaged")
    refuse(tmp_path / "model", struct.pack("<Q", 99_999_999) + content[8:], "damaged")
    header = header_of(content)
    for size in (2**40, 2**62, 2**64 - 1):
        huge = header | {"weights": {"dtype": "F64", "shape": [size], "data_offsets": [0, 8 * size % 2**64]}}
        refuse(tmp_path / "model", with_header(content, huge), "damaged")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_cut_anywhere_is_refused(data: st.DataObject, content: bytes, tmp_path: Path) -> None:
    cut = data.draw(st.integers(0, len(content) - 1))
    refuse(tmp_path / "model", content[:cut], "damaged")


def test_a_file_with_something_after_its_end_is_refused(content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", content + b"\x00", "damaged")


def load_and_predict(path: Path, content: bytes) -> None:
    """Whatever the file says, it is used or refused with a ValueError.

    A changed letter of a name or digit of a weight makes another model; a changed parameter may be refused in use.
    """
    path.write_bytes(content)
    with suppress(ValueError):
        loaded = ChainCRF.load(path)
        assert [len(labels) for labels in loaded.predict([[["a"], ["b"]], [["b"]]])] == [2, 1]
        assert all(np.isfinite(table).all() for table in loaded.predict_marginals([[["a"], ["b"]]]))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_used_or_refused(data: st.DataObject, content: bytes, tmp_path: Path) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    load_and_predict(tmp_path / "model", sealed(bytes(changed)))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(noise=st.binary(max_size=200), data=st.data())
def test_noise_in_the_middle_is_used_or_refused(
    noise: bytes, data: st.DataObject, content: bytes, tmp_path: Path
) -> None:
    place = data.draw(st.integers(0, len(content)))
    load_and_predict(tmp_path / "model", sealed(content[:place] + noise + content[place + len(noise) :]))


# What is a model, but damaged


def test_these_helpers_leave_a_good_file_good(content: bytes, tmp_path: Path) -> None:
    for same in (with_metadata(content), described(content, lambda _: None), with_arrays(content)):
        (tmp_path / "model").write_bytes(same)
        assert ChainCRF.load(tmp_path / "model").predict([[["a"], ["b"]]]) == [["N", "V"]]


def test_a_newer_format_is_refused_with_the_way_out(content: bytes, tmp_path: Path) -> None:
    newer = str(model_file.FORMAT_VERSION + 1)
    refuse(tmp_path / "model", with_metadata(content, format_version=newer), "update dualfield")


@pytest.mark.parametrize("version", [None, "", "one", "1.5", "0", "-1", " 1", "1" * 5000])
def test_a_file_without_a_version_is_refused(version: str | None, content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", with_metadata(content, format_version=version), "has no format version")


@pytest.mark.parametrize("text", [None, "", "{", "{'a': 1}", "[" * 100_000, "\ud800"])
def test_a_description_that_is_not_json_is_refused(text: str | None, content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", with_metadata(content, model=text), "damaged")


@pytest.mark.parametrize("text", ["[]", "1", "null", '"text"'])
def test_a_description_that_is_no_object_is_refused(text: str, content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", with_metadata(content, model=text), "its description is not an object")


KEYS = ["estimator", "parameters", "classes", "columns", "layout", "solution"]


@pytest.mark.parametrize("key", KEYS)
def test_an_incomplete_description_is_refused(key: str, content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", described(content, lambda d: d.pop(key)), f"it lacks '{key}'")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [0, -1, 1.5, "text", [], {}, [[]], True, {"a": {}}], ids=repr)
def test_a_description_of_wrong_types_is_refused(key: str, value: Any, content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", described(content, lambda d: d.update({key: value})), "cannot be used as a ChainCRF")


def test_an_endless_number_in_the_description_is_refused(content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", with_metadata(content, model='{"classes": ' + "1" * 5000 + "}"), "damaged")


def test_a_refusal_ends_in_one_full_stop(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(described(content, lambda d: d.update(columns=-1)))
    with pytest.raises(ValueError, match=r"[^.]\.$"):
        ChainCRF.load(tmp_path / "model")


def test_a_model_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    other = described(content, lambda d: d.update(estimator="GraphCRF"))
    refuse(tmp_path / "model", other, "a model of another kind, 'GraphCRF'")


@pytest.mark.parametrize(
    ("solver", "match"),
    [
        ({"name": "Newton"}, "its solver 'Newton' is unknown"),
        ({}, "lacks 'name'"),
        ({"name": ["SDCA"]}, "cannot be used"),
        ({"name": "SDCA", "speed": 2}, "speed"),
        ({"name": "SDCA", "epsilon": "big"}, "epsilon"),
        ({"name": "SDCA", "subprecision": None}, "cannot be used"),
        ({"name": "LBFGS", "corrections": 0}, "corrections"),
    ],
)
def test_a_damaged_solver_is_refused(solver: Any, match: str, content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", described(content, lambda d: d["parameters"].update(solver=solver)), match)


def test_an_unknown_parameter_is_refused(content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", described(content, lambda d: d["parameters"].update(depth=3)), "depth")


@pytest.mark.parametrize(
    "classes",
    [
        [],
        ["N"],
        [["N", "V"]],
        ["N", 1],
        [None, "N"],
        [1.5, 2.5],
        ["N", "N"],
    ],
    ids=repr,
)
def test_damaged_labels_are_refused(classes: Any, content: bytes, tmp_path: Path) -> None:
    refuse(tmp_path / "model", described(content, lambda d: d.update(classes=classes)), "cannot be used")


@pytest.mark.parametrize(
    "columns",
    [-1, 1.5, True, 10**30],
    ids=repr,
)
def test_a_damaged_number_of_columns_is_refused(columns: Any, tmp_path: Path) -> None:
    ChainCRF(random_state=0).fit([np.eye(2)], [["N", "V"]]).save(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    refuse(tmp_path / "model", described(good, lambda d: d.update(columns=columns)), "cannot be used")


ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "too few weights": ({"weights": np.ones(3)}, "it should have .* weights but has"),
    "a matrix of weights": ({"weights": np.ones((2, 3))}, "weights but has"),
    "no weights": ({"weights": None}, "it lacks 'weights'"),
    "no vocabulary": ({"vocabulary_text": None}, "it lacks 'vocabulary_text'"),
    "no offsets": ({"vocabulary_offsets": None}, "it lacks 'vocabulary_offsets'"),
    "offsets past the text": ({"vocabulary_offsets": np.array([0, 1, 99])}, "vocabulary_offsets"),
    "offsets that decrease": ({"vocabulary_offsets": np.array([0, 5, 2])}, "vocabulary_offsets"),
    "a name twice": ({"vocabulary_text": np.frombuffer(b"aa", np.uint8)}, "occurs twice"),
    "no text": ({"vocabulary_text": np.frombuffer(b"\xff\xfe", np.uint8)}, "not valid UTF-8"),
    "a transition too high": ({"transitions": np.array([4], np.int32)}, "its transitions are damaged"),
    "a transition too low": ({"transitions": np.array([-1], np.int32)}, "its transitions are damaged"),
    "a matrix of transitions": ({"transitions": np.zeros((2, 2), np.int32)}, "its transitions are damaged"),
    "a row label too high": ({"row_labels": np.array([0, 2], np.int32)}, "its table of observed pairs is damaged"),
    "a row label too low": ({"row_labels": np.array([0, -1], np.int32)}, "its table of observed pairs is damaged"),
    "rows that decrease": ({"row_starts": np.array([0, 3, 2])}, "its table of observed pairs is damaged"),
    "rows past the end": ({"row_starts": np.array([0, 1, 9])}, "its table of observed pairs is damaged"),
    "too few rows": ({"row_starts": np.array([0, 2])}, "its table of observed pairs is damaged"),
    "no row labels": ({"row_labels": None}, "it lacks 'row_labels'"),
}


@pytest.mark.parametrize("damage", ARRAYS)
def test_damaged_arrays_are_refused(damage: str, content: bytes, tmp_path: Path) -> None:
    changes, match = ARRAYS[damage]
    refuse(tmp_path / "model", with_arrays(content, **changes), match)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(value: float, content: bytes, tmp_path: Path) -> None:
    weights = load(content)["weights"].copy()
    weights[-1] = value
    refuse(tmp_path / "model", with_arrays(content, weights=weights), "some weights are not finite")


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", ["weights", "transitions", "row_starts", "row_labels"])
def test_arrays_of_another_type_are_refused(name: str, content: bytes, tmp_path: Path) -> None:
    other = load(content)[name].astype(np.complex64)
    refuse(tmp_path / "model", with_arrays(content, **{name: other}), name)


def test_a_transition_beyond_32_bits_is_refused(content: bytes, tmp_path: Path) -> None:
    beyond = load(content)["transitions"].astype(np.int64) + 2**32
    refuse(tmp_path / "model", with_arrays(content, transitions=beyond), "transitions are of type int64")


def test_repeated_transitions_are_refused(content: bytes, tmp_path: Path) -> None:
    arrays = load(content)
    twice = np.repeat(arrays["transitions"], 2)
    weights = np.append(arrays["weights"], 1.0)
    refuse(tmp_path / "model", with_arrays(content, transitions=twice, weights=weights), "transitions are damaged")


def test_labels_repeated_within_a_row_are_refused(content: bytes, tmp_path: Path) -> None:
    arrays = load(content)
    changes = {
        "row_starts": np.array([0, 2, 3]),
        "row_labels": np.array([0, 0, 1], np.int32),
        "weights": np.append(arrays["weights"], 1.0),
    }
    refuse(tmp_path / "model", with_arrays(content, **changes), "observed pairs is damaged")
