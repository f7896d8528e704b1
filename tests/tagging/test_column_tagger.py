"""The tagger in the core gives the labels that the model gives in Python, line by line, and refuses damaged models."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualfield import ChainCRF
from dualfield.features import Template, Tokens
from dualfield.features.templates.rules import Cell, Rule, suffix, window
from dualfield.models import ChainModel
from dualfield.models.chain_contents import read_chain
from dualfield.models.model_file import read_model, write_model
from dualfield.models.recipe import FileLayout, Recipe, recipe_of
from dualfield.tagging.column_tagger import column_tagger
from dualfield.tagging.model_tagger import ModelTagger
from tests.model_files import sealed

WORDS = ["a", "b", "Abc", "né", "9", "x-y"]
LABELS = ["B-X", "I-X", "O"]
ROWS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(["P", "Q"])), min_size=1, max_size=12)
TEMPLATE = Template(
    [
        *window("w", 0, (-1, 0, 1)),
        *window("p", 1, (0,), order=2),
        Rule(("s=", Cell(0, transforms=(suffix(1),)))),
        Rule(("twice",)),
        Rule(("twice",)),  # an attribute of value 2
        Rule(("first",), where="first"),
    ]
)


def model(kind: str, path: Path) -> ChainModel:
    """A model of random weights, saved as a file, that knows how to read columns."""
    rng = np.random.default_rng(5)
    pairs = "observed" if kind == "observed" else "all"
    hash_bits = 7 if kind == "hashed" else None
    rows = [[(WORDS[i], "PQ"[j]) for i, j in rng.integers((6, 2), size=(5, 2))] for _ in range(8)]
    y = [[LABELS[k] for k in (2, 0, 1, 2, 0)] for _ in rows]
    X = TEMPLATE.encode(Tokens.from_rows(rows), hash_bits=hash_bits)
    options: dict[str, Any] = {"constraints": "bio"} if kind == "constrained" else {}
    crf = ChainCRF(state_features=pairs, transitions=pairs, random_state=0, **options).fit(X, y)
    crf.weights_ = rng.normal(size=crf.weights_.shape).astype(np.float32).astype(np.float64)
    crf.column_features_ = Recipe(FileLayout(), 3, 2, (0, 1), TEMPLATE.to_dict(), hash_bits).to_dict()
    crf.save(path, dtype=np.float32 if kind == "single precision" else np.float64)
    return ChainModel.load(path)


KINDS = ("all", "observed", "hashed", "constrained", "single precision")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("taggers")
    for kind in KINDS:
        model(kind, folder / kind)
    return folder


def tagger_of(path: Path, strict: bool = False, separator: str | None = None) -> Any:
    contents = read_chain(path)
    recipe = recipe_of(contents.file.description["column_features"])
    return column_tagger(contents, recipe, FileLayout(separator=separator), strict)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sentences=st.lists(ROWS, min_size=1, max_size=5),
    labelled=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
    ended=st.booleans(),
)
def test_every_line_gets_the_label_that_the_model_predicts(
    sentences: list[Any], labelled: bool, newline: str, ended: bool, kind: str, folder: Path
) -> None:
    crf = ChainModel.load(folder / kind)
    X = recipe_of(crf.column_features_).attributes(Tokens.from_rows(sentences), crf)
    given = [[" ".join((*row, "O") if labelled else row) for row in sentence] for sentence in sentences]
    expected = [
        [f"{line} {label}" for line, label in zip(lines, labels, strict=True)]
        for lines, labels in zip(given, crf.predict(X), strict=True)
    ]
    text, want = ((2 * newline).join(newline.join(lines) for lines in each) for each in (given, expected))
    ending = newline if ended else ""
    tagged, n_sentences, faults = tagger_of(folder / kind).tag((text + ending).encode(), 1)
    assert (n_sentences, faults) == (len(sentences), [])
    assert tagged.decode() == want + (newline if ended else "\n")


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_in_python_tags_the_same(kind: str, folder: Path) -> None:
    crf = ChainModel.load(folder / kind)
    in_python = ModelTagger(crf, recipe_of(crf.column_features_), FileLayout(), strict=False)
    for chunk in (b"", b"\n \n", b"a P\r\nb Q\r\n\nAbc Q O extra\n\nx-y P O\n9 Q O", b"-DOCSTART- X\n\na P\n"):
        assert in_python.tag(chunk, 7) == tagger_of(folder / kind).tag(chunk, 7)


def test_lines_of_another_width_are_passed_on_or_end_the_work(folder: Path) -> None:
    chunk = b"\na P\n\nb Q O extra\nb Q\n\n\nb Q\n"
    tagged, n_sentences, faults = tagger_of(folder / "all").tag(chunk, 100)
    lines = tagged.decode().split("\n")
    assert [len(line.split()) for line in lines] == [0, 3, 0, 4, 2, 0, 0, 3, 0]
    assert n_sentences == 2
    assert faults == [(103, "expected 2 or 3 columns, found 4; mend the line or give the separator.")]
    with pytest.raises(ValueError, match=r"^line 103: expected 2 or 3 columns, found 4"):
        tagger_of(folder / "all", strict=True).tag(chunk, 100)


def test_the_label_follows_the_separator(folder: Path) -> None:
    tagged, *_ = tagger_of(folder / "all", separator="\t").tag(b"a b\tP\n", 1)
    assert tagged.startswith(b"a b\tP\t")


def test_nothing_is_labelled_as_nothing(folder: Path) -> None:
    assert tagger_of(folder / "all").tag(b"", 1) == (b"", 0, [])
    assert tagger_of(folder / "all").tag(b"\n \n", 1) == (b"\n \n", 0, [])


def damaged(folder: Path, kind: str, change: Any) -> Path:
    arrays, description = read_model(folder / kind)
    change(arrays, description)
    path = folder / "damaged"
    write_model(path, arrays, description)
    return path


def put(name: str, value: Any) -> Any:
    return lambda arrays, _: arrays.update({name: value(arrays[name])})


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("all", put("weights", lambda w: w[:-1]), "it should have 108 weights but has 107"),
        ("all", put("weights", lambda w: w * np.inf), "some weights are not finite"),
        ("all", put("weights", lambda w: w.astype(np.int64)), "its weights are of type int64, not float64 or float32"),
        ("all", put("transitions", lambda t: t[::-1]), "its transitions are damaged"),
        ("all", put("transitions", lambda t: t + 1), "its transitions are damaged"),
        (
            "all",
            put("vocabulary_offsets", lambda o: o[::-1]),
            "vocabulary_offsets are damaged: bounds",
        ),
        ("all", put("vocabulary_text", lambda t: t * 0 + 97), "a name occurs twice"),
        ("observed", put("row_labels", lambda r: r + 3), "observed pairs is damaged"),
        ("observed", put("row_starts", lambda r: r[1:] - r[1]), "observed pairs is damaged"),
        ("constrained", put("allowed_begin", lambda b: b[1:]), "its masks of constraints are damaged"),
        ("all", lambda _, d: d.update(classes=["b", "a"]), "its labels are damaged"),
        ("all", lambda _, d: d.update(classes=["a", "b"]), "weights|transitions"),
        ("all", lambda _, d: d.update(estimator="GraphCRF"), "a model of another kind, 'GraphCRF'"),
        ("all", lambda _, d: d.pop("layout"), "it lacks 'layout'"),
        ("all", lambda a, _: a.pop("weights"), "it lacks 'weights'"),
        ("hashed", lambda _, d: d.update(columns=100), "it should have 318 weights but has 402"),
        (
            "hashed",
            lambda _, d: d["column_features"].update(hash_bits=8),
            "128 columns of arrays, but hash_bits=8",
        ),
        (
            "all",
            lambda _, d: d["column_features"].update(width=float("inf")),
            "must be an integer, not negative; got inf",
        ),
        ("all", lambda _, d: d["column_features"].update(label=1.5), "must be an integer, not negative; got 1.5"),
        ("all", lambda _, d: d["column_features"].update(columns=[0, 2**70]), "below 2"),
        ("all", lambda _, d: d["column_features"].update(columns=[0]), "a column that it does not see"),
        ("all", lambda _, d: d["column_features"].update(columns=[0, 7]), "it has 3 columns, but refers to"),
        ("all", lambda _, d: d["column_features"]["template"]["rules"][0].update(kind="odd"), "the unknown kind 'odd'"),
        ("all", lambda _, d: d["column_features"]["template"]["rules"][0].update(where="odd"), "unknown word"),
        ("all", lambda _, d: d["column_features"]["template"].pop("outside"), "rules, outside and transitions"),
        ("all", lambda _, d: d["column_features"]["layout"].update(separator=7), "a layout of text, found separator=7"),
        ("all", lambda _, d: d["column_features"]["layout"].update(colour="red"), "damaged"),
        ("all", lambda _, d: d["column_features"].update(hash_bits=50), "hash_bits from 1 to 30"),
        ("all", lambda _, d: d.update(column_features=None), "was not trained on a column file"),
        ("all", lambda _, d: d["column_features"]["template"]["rules"][0].update(pieces=[{"column": 0}]), "damaged"),
    ],
)
def test_a_damaged_model_is_refused(kind: str, change: Any, message: str, folder: Path) -> None:
    path = damaged(folder, kind, change)
    with pytest.raises(ValueError, match=message) as caught:
        tagger_of(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_used_or_refused(data: st.DataObject, folder: Path) -> None:
    changed = bytearray((folder / "observed").read_bytes())
    place = data.draw(st.integers(0, len(changed) - 1))
    changed[place] ^= data.draw(st.integers(1, 255))
    path = folder / "flipped"
    path.write_bytes(sealed(bytes(changed)))
    with suppress(ValueError):
        tagger = tagger_of(path)
        with suppress(ValueError):
            tagged, n_sentences, faults = tagger.tag(b"a P\nb Q\n\nAbc Q\n", 1)
            assert n_sentences + len(faults) <= 2
            assert tagged.count(b"\n") >= 4


def test_what_constraints_forbid_is_never_written(folder: Path) -> None:
    rows = "\n\n".join(f"{a} P\n{b} Q\n{c} P" for a in WORDS for b in WORDS for c in WORDS)
    tagged, n_sentences, _ = tagger_of(folder / "constrained").tag(rows.encode(), 1)
    assert n_sentences == len(WORDS) ** 3
    for sentence in tagged.decode().strip().split("\n\n"):
        labels = ["O", *(line.split()[-1] for line in sentence.split("\n"))]
        assert ("O", "I-X") not in pairwise(labels)


def test_the_file_is_plain_json_and_numbers(folder: Path) -> None:
    """Another reader of the format, the safetensors library, sees the same arrays."""
    from safetensors import safe_open

    arrays, description = read_model(folder / "observed")
    with safe_open(folder / "observed", framework="numpy") as file:
        assert json.loads(file.metadata()["model"]) == description
        assert set(file.keys()) == set(arrays)
        for name in arrays:
            np.testing.assert_array_equal(file.get_tensor(name), arrays[name])
