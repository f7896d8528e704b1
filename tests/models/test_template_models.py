"""Models of Wapiti and CRF++: what their files say is what is read, and what is written is read back the same."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield import ChainCRF
from dualfield.features import Template
from dualfield.io import write_columns
from dualfield.models import read_crfpp_model, read_wapiti_model, write_crfpp_model, write_wapiti_model
from dualfield.models.chain_model import ChainModel
from dualfield.models.recipe import FileLayout, Recipe, recipe_of
from tests.core.strategies import few_examples

LINES = {
    "wapiti": ["u:w=%x[0,0]", "u:p=%X[-1,0]/%x[0,1]", '*:t=%t[1,0,"^\\u"]', 'u:m=%M[@-1,0,".?$"]', "b", "b:n=%x[1,1]"],
    "crfpp": ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,1]", "B", "B1:%x[1,1]"],
}
READ: dict[str, Callable[..., ChainModel]] = {"wapiti": read_wapiti_model, "crfpp": read_crfpp_model}
WRITE: dict[str, Callable[..., None]] = {"wapiti": write_wapiti_model, "crfpp": write_crfpp_model}
both = pytest.mark.parametrize("syntax", ["wapiti", "crfpp"])

WAPITI = """#mdl#2#7
#rdr#4/1/0
8:u%x[0,0],
9:*y%x[1,1],
1:b,
9:bz%x[0,1],
#qrk#2
1:Y,
1:A,
#qrk#4
2:ua,
4:*ycd,
1:b,
3:bzd,
0=0x1p+0
2=-0x1.8p+0
3=0x1p-1
5=0x1p-2
8=0x1p-3
11=0x1p-4
13=-0x1p-5
"""
# With labels Y, A: ua has 0, 1; *ycd has 2, 3 and the pairs 4 .. 7; b the pairs 8 .. 11; bzd the pairs 12 .. 15.
WAPITI_WEIGHTS: dict[str, Any] = {
    "unigram": {("ua", "Y"): 1.0, ("*ycd", "Y"): -1.5, ("*ycd", "A"): 0.5},
    "pair": {
        ("*ycd", "Y", "A"): 0.25,
        ("b", "Y", "Y"): 0.125,
        ("b", "A", "A"): 0.0625,
        ("bzd", "Y", "A"): -0.03125,
    },
}
CRFPP = """version: 100
cost-factor: 2
maxid: 12
xsize: 2

Y
A

U:%x[0,0]
B
B1:%x[0,1]

4 B
8 B1:d
0 U:a
2 U:cd

0.5
0
-0.75
0.25
0.0625
0
0
0.03125
0
0.5
0
0
"""
CRFPP_WEIGHTS: dict[str, Any] = {
    "unigram": {("U:a", "Y"): 1.0, ("U:cd", "Y"): -1.5, ("U:cd", "A"): 0.5},
    "pair": {("B", "Y", "Y"): 0.125, ("B", "A", "A"): 0.0625, ("B1:d", "Y", "A"): 1.0},
}
SENTENCES = [[("a", "d"), ("cd", "cd"), ("a", "d")], [("cd", "d")], [("x", "cd"), ("a", "d"), ("a", "d"), ("cd", "d")]]


def strings_of(syntax: str, sentence: list[tuple[str, str]], t: int) -> tuple[list[str], list[str]]:
    """What the lines of the two files above make at a token, written out."""

    def cell(row: int, column: int) -> str:
        outside = {"wapiti": "_x+1", "crfpp": "_B+1"}[syntax]
        return sentence[t + row][column] if t + row < len(sentence) else outside

    if syntax == "crfpp":
        return [f"U:{cell(0, 0)}"], ["B", f"B1:{cell(0, 1)}"]
    star = f"*y{cell(1, 1)}"
    return [f"u{cell(0, 0)}", star], [star, "b", f"bz{cell(0, 1)}"]


@pytest.mark.parametrize(
    ("syntax", "text", "weights"), [("wapiti", WAPITI, WAPITI_WEIGHTS), ("crfpp", CRFPP, CRFPP_WEIGHTS)]
)
def test_probabilities_are_those_of_the_weights_in_the_file(syntax: str, text: str, weights: dict[str, Any]) -> None:
    crf = READ[syntax](io.BytesIO(text.encode()))
    assert crf.classes_.tolist() == ["A", "Y"]
    for sentence in SENTENCES:
        made = [strings_of(syntax, sentence, t) for t in range(len(sentence))]
        found = recipe_of(crf.column_features_).template.encode(
            [sentence], crf.vocabulary_, bigram_vocabulary=crf.bigram_vocabulary_
        )
        scores = {}
        for y in product("AY", repeat=len(sentence)):
            total = sum(weights["unigram"].get((s, y[t]), 0.0) for t in range(len(y)) for s in made[t][0])
            total += sum(
                weights["pair"].get((s, before, after), 0.0)
                for t, (before, after) in enumerate(pairwise(y), 1)
                for s in made[t][1]
            )
            scores[y] = np.exp(total)
        z = sum(scores.values())
        for labels, p in crf.predict_kbest(found, k=20)[0]:
            assert p == pytest.approx(scores[tuple(labels)] / z, rel=1e-12)


def data(seed: int, n: int = 25) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    random = np.random.default_rng(seed)
    words = ["Ada", "met", "the", "engine", "B.", "x1"]
    X = [[(words[i], "cd"[i % 2]) for i in random.integers(len(words), size=random.integers(1, 7))] for _ in range(n)]
    return X, [[str(random.choice(["O", "B-X", "I-X"])) for _ in x] for x in X]


def trained(syntax: str, lines: list[str] | None = None, **parameters: Any) -> tuple[ChainCRF, Any]:
    """A model as the command line trains it, and its data."""
    X, y = data(0)
    text = "\n".join(LINES[syntax] if lines is None else lines)
    template = Template.wapiti(text) if syntax == "wapiti" else Template.crfpp(text)
    encoded = template.encode(X)
    crf = ChainCRF(random_state=0, **parameters).fit(encoded, y)
    crf.column_features_ = Recipe(FileLayout(), 3, 2, (0, 1), template.to_dict(), None).to_dict()
    return crf, encoded


def encoded_by(crf: ChainModel, X: Any) -> Any:
    template = recipe_of(crf.column_features_).template
    return template.encode(X, crf.vocabulary_, bigram_vocabulary=crf.bigram_vocabulary_)


@both
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bias": False, "begin": False, "end": False},
        {"l1": 0.3},
        {"state_features": "observed", "transitions": "observed", "bigram_features": "observed", "begin": False},
    ],
)
def test_what_is_written_is_read_back_with_the_same_probabilities(
    syntax: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    crf, _ = trained(syntax, **parameters)
    crf.export(tmp_path / "m", format=syntax)
    back = READ[syntax](tmp_path / "m")
    X, _ = data(1)
    expected = crf.predict_marginals(encoded_by(crf, X))
    for ours, theirs in zip(back.predict_marginals(encoded_by(back, X)), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    back.export(tmp_path / "again", format=syntax)
    again = READ[syntax](tmp_path / "again")
    np.testing.assert_array_equal(again.weights_, back.weights_)
    assert again.vocabulary_ == back.vocabulary_
    assert back.solution_.status == "imported"
    back.save(tmp_path / "ours")
    assert ChainCRF.load(tmp_path / "ours").predict(encoded_by(back, X)) == back.predict(encoded_by(back, X))


@both
def test_templates_without_a_line_for_transitions_get_one(syntax: str, tmp_path: Path) -> None:
    crf, _ = trained(syntax, LINES[syntax][:1])
    WRITE[syntax](crf, tmp_path / "m")
    back = READ[syntax](tmp_path / "m")
    X, _ = data(1)
    for ours, theirs in zip(
        back.predict_marginals(encoded_by(back, X)), crf.predict_marginals(encoded_by(crf, X)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@both
def test_models_that_the_program_cannot_have_are_refused(syntax: str, tmp_path: Path) -> None:
    def refused(crf: ChainCRF, match: str) -> None:
        with pytest.raises(ValueError, match=match):
            WRITE[syntax](crf, tmp_path / "m")
        assert not (tmp_path / "m").exists()

    other = {"wapiti": "crfpp", "crfpp": "wapiti"}[syntax]
    refused(trained(other)[0], f"train the model with --template-syntax {syntax}")
    refused(
        ChainCRF(random_state=0).fit([[["a"], ["b"]]], [["A", "B"]]), "trained on attributes that a program or a file"
    )
    crf, _ = trained(syntax)
    crf.column_features_ = {**(crf.column_features_ or {}), "label": 0, "columns": [1, 2]}
    refused(crf, "column 1 of 3")
    crf, _ = trained(syntax)
    crf.column_features_ = {**(crf.column_features_ or {}), "hash_bits": 10}
    refused(crf, "are hashed")
    crf, _ = trained(syntax)
    crf.weights_[0] = np.inf
    refused(crf, "not finite")
    crf, _ = trained(syntax)
    crf.classes_ = np.array(["a b", "c", "d"])
    refused(crf, "'a b' is no label of column files")


def test_a_gazetteer_is_no_pattern(tmp_path: Path) -> None:
    from dualfield.features.templates.rules import Cell, Rule, shape

    crf, _ = trained("wapiti")
    template = Template([Rule(("u:", Cell(0, 0, (shape(),))))], outside="wapiti")
    crf.column_features_ = Recipe(FileLayout(), 3, 2, (0, 1), template.to_dict(), None).to_dict()
    with pytest.raises(ValueError, match="is none of Wapiti's"):
        write_wapiti_model(crf, tmp_path / "m")


@pytest.mark.parametrize(
    ("syntax", "old", "new", "message"),
    [
        ("wapiti", "#mdl#2#7", "#mdl#0#7", "expected a chain CRF, which is type 2, found type 0"),
        ("wapiti", "#mdl#2#7", "#mdl#2#8", "expected 8 weights, found 7"),
        ("wapiti", "#mdl#2#7", "#mdl#", "expected #mdl#TYPE#COUNT at byte 0"),
        ("wapiti", "#rdr#4", "#rdr#0", "it has no patterns"),
        ("wapiti", "2:ua", "9:ua", "expected 4 observations, found 0"),
        ("wapiti", "2:ua", "2:xa", "begins with none of u, b and"),
        ("wapiti", "1:A,", "1:Y,", "at least two labels, all different"),
        ("wapiti", "13=", "16=", "a weight has the number 16, and its strings have 16"),
        ("wapiti", "13=", "11=", "do not increase"),
        ("wapiti", "0x1p-4", "infinity", "a weight is not finite"),
        ("wapiti", "0x1p-4", "zero", "a weight is not written as index=weight"),
        ("wapiti", "8:u%x[0,0]", "8:u%q[0,0]", "its template cannot be used"),
        ("crfpp", "version: 100", "version: 99", "expected version 100, found 99"),
        ("crfpp", "version: 100\n", "", "expected the lines version, cost-factor, maxid, xsize"),
        ("crfpp", "maxid: 12", "maxid: 13", "expected 13 weights, found 12"),
        ("crfpp", "xsize: 2", "xsize: 1", "refers to column 1"),
        ("crfpp", "8 B1:d", "7 B1:d", "do not follow each other"),
        ("crfpp", "8 B1:d", "8", "not written as ID STRING"),
        ("crfpp", "8 B1:d", "8 X:d", "begins with neither U nor B"),
        ("crfpp", "\n0.25\n", "\nx\n", "a weight is not a number"),
        ("crfpp", "\n\nU:", "\nU:", "expected five parts"),
    ],
)
def test_damage_is_named(syntax: str, old: str, new: str, message: str) -> None:
    text = {"wapiti": WAPITI, "crfpp": CRFPP}[syntax]
    assert old in text
    with pytest.raises(ValueError, match=re.escape(message)):
        READ[syntax](io.BytesIO(text.replace(old, new, 1).encode()))
    with pytest.raises(TypeError, match="opened as text"):
        READ[syntax](io.StringIO(text))


@pytest.mark.filterwarnings("ignore:line .* of the template")  # a damaged rule is one that CRF++ skips
@given(data=st.data())
@few_examples
def test_no_damage_ends_in_anything_but_a_sentence(data: st.DataObject) -> None:
    syntax, text = data.draw(st.sampled_from([("wapiti", WAPITI), ("crfpp", CRFPP)]))
    content = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.sampled_from(list(b"0195:,=#ub*UB \n\xff")))
    try:
        crf = READ[syntax](io.BytesIO(bytes(content)))
    except ValueError as error:
        sentence = str(error)
    else:
        assert np.isfinite(crf.weights_).all()
        return
    assert sentence.endswith(".")


def test_observations_of_half_characters_come_through(tmp_path: Path) -> None:
    content = WAPITI.encode().replace(b"2:ua,", b"3:u\xc3a,")
    crf = read_wapiti_model(io.BytesIO(content))
    write_wapiti_model(crf, tmp_path / "m")
    assert b"3:u\xc3a,\n" in (tmp_path / "m").read_bytes()


@pytest.mark.skipif(shutil.which("wapiti") is None, reason="Wapiti is not installed")
def test_wapiti_gives_the_same_labels(tmp_path: Path) -> None:
    crf, _ = trained("wapiti")
    crf.export(tmp_path / "m", format="wapiti")
    X, _ = data(1)
    write_columns(X, tmp_path / "in.txt")
    subprocess.run(["wapiti", "label", "-l", "-m", "m", "in.txt", "out.txt"], cwd=tmp_path, check=True)
    found = [sentence.split() for sentence in (tmp_path / "out.txt").read_text().strip().split("\n\n")]
    assert found == crf.predict(encoded_by(crf, X))


@pytest.mark.skipif(shutil.which("crf_learn") is None, reason="CRF++ is not installed")
def test_crfpp_gives_the_same_labels_and_marginals(tmp_path: Path) -> None:
    crf, _ = trained("crfpp")
    crf.export(tmp_path / "text", format="crfpp")
    X, _ = data(1)
    write_columns(X, tmp_path / "in.txt")
    subprocess.run(["crf_learn", "-C", "text", "binary"], cwd=tmp_path, check=True, capture_output=True)
    labelled = subprocess.run(
        ["crf_test", "-v2", "-m", "binary", "in.txt"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    lines = [line.split("\t") for line in labelled.stdout.splitlines() if line and not line.startswith("#")]
    encoded = encoded_by(crf, X)
    # Near a tie its float32 weights may decide otherwise; these sequences have none.
    assert [line[2].rsplit("/", 1)[0] for line in lines] == [
        label for labels in crf.predict(encoded) for label in labels
    ]
    theirs = [[float(entry.rsplit("/", 1)[1]) for entry in line[3:]] for line in lines]
    names = [entry.rsplit("/", 1)[0] for entry in lines[0][3:]]
    order = [crf.classes_.tolist().index(name) for name in names]
    np.testing.assert_allclose(theirs, np.vstack(crf.predict_marginals(encoded))[:, order], atol=2e-6)


@pytest.mark.skipif(shutil.which("crf_learn") is None, reason="CRF++ is not installed")
def test_a_model_that_crfpp_trained_gives_its_labels(tmp_path: Path) -> None:
    X, y = data(0)
    write_columns(
        [[(*x, label) for x, label in zip(*one, strict=True)] for one in zip(X, y, strict=True)], tmp_path / "train"
    )
    write_columns(data(1)[0], tmp_path / "in.txt")
    (tmp_path / "template").write_text("\n".join(LINES["crfpp"]) + "\n")
    subprocess.run(["crf_learn", "-t", "template", "train", "model"], cwd=tmp_path, check=True, capture_output=True)
    labelled = subprocess.run(
        ["crf_test", "-m", "model", "in.txt"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    crf = read_crfpp_model(tmp_path / "model.txt", ChainCRF)
    found = [line.split("\t")[2] for line in labelled.stdout.splitlines() if line]
    assert found == [label for labels in crf.predict(encoded_by(crf, data(1)[0])) for label in labels]
