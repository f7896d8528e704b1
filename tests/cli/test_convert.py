"""``convert``: models of CRFsuite, and sequences between formats."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pycrfsuite
import pytest

from dualfield import ChainCRF
from dualfield.features import extract_all
from dualfield.io import read_attributes, read_columns, read_json_lines
from dualfield.models import read_crfsuite_model

Run = Callable[..., tuple[int, str, str]]
COLUMNS = "the DT O\ncat NN B\n\nit PRP O\n"
ROWS = [[("the", "DT", "O"), ("cat", "NN", "B")], [("it", "PRP", "O")]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(COLUMNS)


def test_a_model_of_crfsuite_becomes_ours(command: Run) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"], ["b", "c"]], ["X", "Y"])
    trainer.train("m.crfsuite")
    code, out, err = command("convert", "m.crfsuite", "m")
    assert (code, out) == (0, "")
    assert "2 labels" in err
    np.testing.assert_array_equal(ChainCRF.load("m").weights_, read_crfsuite_model("m.crfsuite").weights_)
    Path("packed").write_bytes(gzip.compress(Path("m.crfsuite").read_bytes()))
    assert command("convert", "packed", "n")[0] == 0
    np.testing.assert_array_equal(ChainCRF.load("n").weights_, ChainCRF.load("m").weights_)
    Path("n").unlink()
    assert command("convert", "m.crfsuite", "-")[0] == 2
    assert "is left out" in command("convert", "m.crfsuite", "n", "--to", "jsonl")[2]
    Path("m.crfsuite").write_bytes(Path("m.crfsuite").read_bytes()[:-1])
    code, _, err = command("convert", "m.crfsuite", "n")
    assert code == 2
    assert err.startswith("Error: m.crfsuite cannot be read as a CRFsuite model: its header says")
    assert not Path("n").exists()


def test_a_model_of_ours_asks_for_the_program_that_shall_read_it(command: Run) -> None:
    ChainCRF(bias=False, begin=False, end=False, random_state=0).fit([[["a"], ["b"]]], [["X", "Y"]]).save("m")
    code, out, err = command("convert", "m", "m.crfsuite")
    assert (code, out) == (2, "")
    assert err.startswith("Error: m is a model file of dualfield; give the program that shall read it, --to crfsuite ")
    assert command("convert", "m", "m.crfsuite", "--to", "crfsuite")[0] == 0


def test_columns_and_json_lines_and_back(command: Run) -> None:
    code, _, err = command("convert", "a.txt", "a.jsonl.gz", "--from", "columns", "--to", "jsonl")
    assert (code, err) == (0, "2 sentences, 3 tokens written to a.jsonl.gz\n")
    found = read_json_lines("a.jsonl.gz")
    assert found.sequences == [[row[:2] for row in sentence] for sentence in ROWS]
    assert found.labels == [["O", "B"], ["O"]]
    assert command("convert", "a.jsonl.gz", "b.txt", "--from", "jsonl", "--to", "columns")[0] == 0
    assert read_columns("b.txt") == ROWS


def test_another_label_column_moves_to_the_end(command: Run) -> None:
    options = ("--from", "columns", "--to", "columns", "--label-column", "2")
    assert command("convert", "a.txt", "b.txt", *options)[0] == 0
    assert read_columns("b.txt")[0] == [("the", "O", "DT"), ("cat", "B", "NN")]


def test_words_without_labels(command: Run) -> None:
    code, out, _ = command("convert", "-", "-", "--from", "columns", "--to", "jsonl", stdin=b"a\nb\n")
    assert (code, out) == (0, '{"tokens": ["a", "b"]}\n')
    options = ("--from", "columns", "--to", "attributes", "--features", "pos")
    assert "has no labels" in command("convert", "-", "-", *options, stdin=b"a\n")[2]


def test_conllu_is_read(command: Run) -> None:
    line = "\t".join(["1", "de", "_", "ADP", "IN", *"_" * 5])
    code, out, _ = command("convert", "-", "-", "--from", "conllu", "--to", "jsonl", stdin=line.encode())
    assert code == 0
    assert json.loads(out) == {"tokens": [["1", "de", "_", "IN", *"_" * 5]], "labels": ["ADP"]}


def test_tokens_become_attributes_by_a_template(command: Run) -> None:
    options = ("--from", "columns", "--features", "chunking")
    assert command("convert", "a.txt", "a.crfsuite", "--to", "attributes", *options)[0] == 0
    X, y = read_attributes("a.crfsuite")
    expected = extract_all("chunking", [[row[:2] for row in sentence] for sentence in ROWS])
    names = [[X.vocabulary.names[i] for i in X.indices[a:b]] for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    assert [sorted(position) for position in names] == [sorted(p) for sequence in expected for p in sequence]
    assert y.tolist() == [["O", "B"], ["O"]]
    assert command("convert", "a.txt", "a.jsonl", "--to", "jsonl", *options)[0] == 0
    assert command("convert", "a.jsonl", "b.crfsuite", "--from", "jsonl", "--to", "attributes")[0] == 0
    assert Path("a.crfsuite").read_bytes() == Path("b.crfsuite").read_bytes()


def test_attributes_and_json_lines_and_back(command: Run) -> None:
    text = "@weight:0.5\nA\ta\\:b:2.5\tc\nB\n\nA\tc\n\n"
    Path("a.crfsuite").write_text(text)
    assert command("convert", "a.crfsuite", "a.jsonl", "--from", "attributes", "--to", "jsonl")[0] == 0
    first = json.loads(Path("a.jsonl").read_text().splitlines()[0])
    assert first == {"features": [{"a:b": 2.5, "c": 1.0}, {}], "labels": ["A", "B"], "weight": 0.5}
    assert command("convert", "a.jsonl", "b.crfsuite", "--from", "jsonl", "--to", "attributes")[0] == 0
    assert Path("b.crfsuite").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("a.txt", "out"),
            "a.txt is no model of another program; to convert sequences, give their formats by --from and --to",
        ),
        (("missing", "out", "--from", "columns", "--to", "jsonl"), "missing"),
        (("a.txt", "out", "--from", "columns", "--to", "attributes"), "a.txt has tokens; give --features"),
        (("a.txt", "out", "--from", "columns", "--to", "conllu"), "CoNLL-U is read, not written"),
        (("a.crfsuite", "out", "--from", "attributes", "--to", "columns"), "no column file can be made"),
        (("a.crfsuite", "out", "--from", "attributes", "--to", "jsonl", "--features", "ner"), "leave it out"),
        (("a.crfsuite", "out", "--from", "attributes", "--to", "jsonl", "--comment", "x"), "--comment is for column"),
        (
            ("w.jsonl", "out", "--from", "jsonl", "--to", "columns"),
            "have weights, for which a column file has no",
        ),
        (("a.txt", "no/out", "--from", "columns", "--to", "jsonl"), "does not exist"),
    ],
)
def test_what_cannot_be_converted_is_refused(command: Run, arguments: tuple[str, ...], message: str) -> None:
    Path("a.crfsuite").write_text("A\tb\n")
    Path("w.jsonl").write_text('{"tokens": ["a"], "weight": 2}\n')
    code, out, err = command("convert", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("out").exists()


def test_a_model_is_converted_for_crfsuite(command: Run) -> None:
    X, y = [[["a"], ["b", "c"]], [["b"], ["a"]]], [["X", "Y"], ["Y", "X"]]
    crf = ChainCRF(bias=False, begin=False, end=False, random_state=0).fit(X, y)
    crf.save("m")
    code, out, err = command("convert", "m", "m.crfsuite", "--to", "crfsuite")
    assert (code, out) == (0, "")
    assert "3 attributes, 2 labels, " in err
    tagger = pycrfsuite.Tagger()
    tagger.open("m.crfsuite")
    assert [tagger.tag(x) for x in X] == crf.predict(X) == y
    assert command("convert", "m.crfsuite", "again", "--to", "crfsuite")[0] == 0
    assert Path("again").read_bytes() == Path("m.crfsuite").read_bytes()


def test_a_model_that_crfsuite_cannot_have_is_refused(command: Run) -> None:
    ChainCRF(random_state=0).fit([[["a"], ["b"]]], [["X", "Y"]]).save("m")
    code, out, err = command("convert", "m", "out", "--to", "crfsuite")
    assert (code, out) == (2, "")
    assert "--no-bias, --no-begin, --no-end" in err
    assert not Path("out").exists()
    assert "give its name instead of -" in command("convert", "-", "out", "--to", "crfsuite")[2]


def test_a_pickled_crf_becomes_ours(command: Run) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"], ["b", "c"]], ["X", "Y"])
    trainer.train("m.crfsuite")
    data = Path("m.crfsuite").read_bytes()
    # {"modelfile": FileResource with the bytes of the model}, as the last protocol but one writes it
    Path("crf.pkl").write_bytes(
        b"\x80\x03csklearn_crfsuite.estimator\nCRF\n)\x81}X\x09\x00\x00\x00modelfile"
        b"csklearn_crfsuite._fileresource\nFileResource\n)\x81}X\x16\x00\x00\x00__FILE_RESOURCE_DATA__"
        b"B" + len(data).to_bytes(4, "little") + data + b"sbsb."
    )
    assert command("convert", "crf.pkl", "m")[0] == 0
    for packed in (zlib.compress, gzip.compress):
        Path("packed").write_bytes(packed(Path("crf.pkl").read_bytes()))
        assert command("convert", "packed", "n")[0] == 0
    np.testing.assert_array_equal(ChainCRF.load("m").weights_, read_crfsuite_model("m.crfsuite").weights_)
    Path("bad.pkl").write_bytes(b"\x80\x03cos\nsystem\nX\x04\x00\x00\x00exit\x85R.")
    code, out, err = command("convert", "bad.pkl", "out")
    assert (code, out) == (2, "")
    assert "it names os.system" in err


@pytest.mark.parametrize(
    ("syntax", "lines"), [("crfpp", "U:%x[0,0]/%x[0,1]\nB\nB:%x[0,0]\n"), ("wapiti", "u:%x[ 0, 0]%X[@ 1,1]\nb\n")]
)
def test_models_of_templates_go_to_crfpp_and_wapiti_and_back(command: Run, syntax: str, lines: str) -> None:
    Path("template").write_text(lines)
    options = ("--features", "template", "--template-syntax", syntax, "-q")
    assert command("train", "a.txt", "-o", "m", *options)[0] == 0
    assert command("convert", "m", "theirs", "--to", syntax)[0] == 0
    assert command("convert", "theirs", "back")[0] == 0
    tagged = {model: command("tag", "a.txt", "-m", model)[:2] for model in ("m", "theirs", "back")}
    assert tagged["m"][0] == 0
    assert tagged["m"] == tagged["theirs"] == tagged["back"]
    assert command("inspect", "theirs")[0] == 0
    other = {"crfpp": "wapiti", "wapiti": "crfpp"}[syntax]
    assert f"train the model with --template-syntax {other}" in command("convert", "m", "out", "--to", other)[2]
