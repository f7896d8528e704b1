"""Training, tagging and scoring on attribute files and JSON lines, with models of ours and of CRFsuite."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.features import encode, extract_all
from dualfield.io import read_attributes, write_attributes, write_columns, write_json_lines
from dualfield.labels import EncodedLabels

Run = Callable[..., tuple[int, str, str]]
SENTENCES = travel_sentences(60, 0)
WORDS = [[word for word, _ in sentence] for sentence in SENTENCES]
LABELS = [[label for _, label in sentence] for sentence in SENTENCES]
FEATURES = extract_all("ner", [[(word,) for word in words] for words in WORDS])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sentences in every format."""
    monkeypatch.chdir(tmp_path)
    names = sorted({label for labels in LABELS for label in labels})
    codes = [names.index(label) for labels in LABELS for label in labels]
    X = encode(FEATURES)
    write_columns(SENTENCES, "a.txt")
    write_attributes(X, EncodedLabels(names, np.array(codes), X.offsets), "a.crfsuite")
    write_json_lines(WORDS, "tokens.jsonl", kind="tokens", labels=LABELS)
    write_json_lines(FEATURES, "features.jsonl.gz", kind="features", labels=LABELS)


SOURCES = {
    "a.txt": ("--features", "ner"),
    "a.crfsuite": ("--format", "attributes"),
    "tokens.jsonl": ("--format", "jsonl", "--features", "ner"),
    "features.jsonl.gz": ("--format", "jsonl"),
}


def trained(command: Run, file: str, *options: object) -> ChainCRF:
    code, out, err = command("train", file, *SOURCES[file], "-o", "m", "-q", "--tol", "1e-6", *options)
    assert (code, out, err) == (0, "", "")
    return ChainCRF.load("m")


def weights_by_name(crf: ChainCRF) -> dict[Any, float]:
    parts = crf.layout_.split(crf.weights_)
    named = {
        (name, label): parts["state"][a, k]
        for a, name in enumerate(crf.vocabulary_.names)
        for k, label in enumerate(crf.classes_)
    }
    return named | {part: parts[part].tolist() for part in ("transitions", "bias", "begin", "end")}


def test_every_format_gives_the_same_model(command: Run) -> None:
    first, *others = [weights_by_name(trained(command, file)) for file in SOURCES]
    for other in others:
        assert other.keys() == first.keys()
        for name, weight in first.items():
            np.testing.assert_allclose(other[name], weight, atol=1e-3)


@pytest.mark.parametrize("file", SOURCES)
def test_every_format_is_tagged_and_scored(command: Run, file: str) -> None:
    crf = trained(command, file)
    predicted = crf.predict(FEATURES)
    code, out, err = command("tag", file, "-m", "m")
    assert (code, err) == (0, "")
    if file == "a.crfsuite":
        found = [block.split("\n") for block in out.strip().split("\n\n")]
    elif file == "a.txt":
        found = [[line.split()[-1] for line in block.split("\n")] for block in out.strip().split("\n\n")]
    else:
        records = [json.loads(line) for line in out.splitlines()]
        assert [record["labels"] for record in records] == LABELS
        found = [record["predicted"] for record in records]
    assert found == predicted
    code, out, _ = command("eval", file, "-m", "m", "--json")
    assert code == 0
    flat = [a == b for pair in zip(predicted, LABELS, strict=True) for a, b in zip(*pair, strict=True)]
    scores = json.loads(out)
    assert scores["accuracy"] == pytest.approx(np.mean(flat))
    assert scores["tokens"] == len(flat)
    assert set(scores["chunks"]) == {"precision", "recall", "f1", "true", "predicted", "correct"}
    assert sum(score["true"] for score in scores["chunks_by_type"].values()) == scores["chunks"]["true"]


def test_models_read_other_formats_of_the_same_kind(command: Run) -> None:
    trained(command, "a.txt")
    _, by_columns, _ = command("eval", "a.txt", "-m", "m")
    assert command("eval", "tokens.jsonl", "-m", "m", "--format", "jsonl") == (0, by_columns, "")
    trained(command, "a.crfsuite")
    assert command("eval", "features.jsonl.gz", "-m", "m", "--format", "jsonl") == (0, by_columns, "")


def test_tokens_of_json_need_no_labels_and_keep_other_keys(command: Run) -> None:
    trained(command, "a.txt")
    line = json.dumps({"id": 7, "tokens": WORDS[0]})
    code, out, err = command("tag", "-", "-m", "m", "--format", "jsonl", stdin=f"{line}\n\n{line}".encode())
    assert (code, err) == (0, "")
    first, blank, second = out.splitlines()
    assert (first, blank) == (second, "")
    assert json.loads(first)["id"] == 7
    assert len(json.loads(first)["predicted"]) == len(WORDS[0])


def test_attribute_files_pass_through_pipes(command: Run) -> None:
    crf = trained(command, "a.crfsuite")
    data = Path("a.crfsuite").read_bytes()
    for stdin in (data, gzip.compress(data, mtime=0)):
        code, out, _ = command("tag", "-", "-m", "m", stdin=stdin)
        assert code == 0
        assert out == "".join("\n".join(labels) + "\n\n" for labels in crf.predict(FEATURES))


def test_weights_of_sequences_reach_training(command: Run) -> None:
    X, y = read_attributes("a.crfsuite")
    weights = np.linspace(0, 3, len(X))
    write_attributes(X, y, "weighted.crfsuite", sample_weight=weights)
    expected = ChainCRF(tol=1e-6, random_state=0).fit(X, y, weights)
    options = ("--tol", "1e-6", "--format", "attributes", "-o", "m", "-q")
    assert command("train", "weighted.crfsuite", *options)[0] == 0
    assert ChainCRF.load("m").solution_.primal == expected.solution_.primal
    write_json_lines(FEATURES, "weighted.jsonl", kind="features", labels=LABELS, weights=weights)
    options = ("--tol", "1e-6", "--format", "jsonl", "-o", "m", "-q")
    assert command("train", "weighted.jsonl", *options)[0] == 0
    assert ChainCRF.load("m").solution_.primal == pytest.approx(expected.solution_.primal, rel=1e-5)
    assert "here all count alike" in command("eval", "weighted.jsonl", "-m", "m")[2]


def test_a_report_on_attributes(command: Run) -> None:
    assert trained(command, "a.crfsuite", "--report", "r.html", "--held-out", "a.crfsuite") is not None
    assert "On 60 sequences" in Path("r.html").read_text(encoding="utf-8")


def test_models_of_crfsuite_tag_score_and_show(command: Run) -> None:
    trainer = pycrfsuite.Trainer("lbfgs", {"max_iterations": 30}, verbose=False)
    for x, y in zip(FEATURES, LABELS, strict=True):
        trainer.append(x, y)
    trainer.train("crfsuite.model")
    tagger = pycrfsuite.Tagger()
    tagger.open("crfsuite.model")
    expected = "".join("\n".join(tagger.tag(x)) + "\n\n" for x in FEATURES)
    assert command("tag", "a.crfsuite", "-m", "crfsuite.model") == (0, expected, "")
    assert command("eval", "a.crfsuite", "-m", "crfsuite.model")[0] == 0
    assert "Read from the CRFsuite model" in command("inspect", "crfsuite.model")[1]
    assert "trained on attributes" in command("tag", "a.txt", "-m", "crfsuite.model", "--format", "columns")[2]


def test_a_bad_line_of_json_is_reported_and_passed_on(command: Run) -> None:
    trained(command, "a.txt")
    stream = b'{"tokens": ["Ada"]}\n{"tokens": 3}\n{"tokens": [["a", "b"]]}\n{"features": [["a"]]}\nno\n'
    code, out, err = command("tag", "-", "-m", "m", "--format", "jsonl", stdin=stream)
    assert code == 0
    assert out.encode().splitlines()[1:] == stream.splitlines()[1:]
    assert 'standard input, line 2: expected "tokens" to be a list' in err
    assert "standard input, line 3: expected tokens of 1 column as in training, found 2." in err
    assert 'standard input, line 4: expected "tokens", on which the model was trained, found "features".' in err
    assert "standard input, line 5: it is no JSON" in err
    assert "4 of 5 sentences were passed on without labels" in err
    code, _, err = command("tag", "-", "-m", "m", "--format", "jsonl", "--strict", stdin=stream)
    assert code == 2
    assert "line 2" in err
    assert command("tag", "-", "-m", "m", "--format", "jsonl", stdin=b"no\n")[0] == 2
    assert command("tag", "-", "-m", "m", "--format", "jsonl", stdin=b"\n")[0] == 2


def test_a_bad_line_of_attributes_ends_the_command(command: Run) -> None:
    trained(command, "a.crfsuite")
    code, _, err = command("tag", "-", "-m", "m", stdin=b"O\ta\n\nO\ta:x\n")
    assert code == 2
    assert err.startswith("Error: standard input, line 3: expected a finite number")
    assert "has no sequences" in command("tag", "-", "-m", "m", stdin=b"\n")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "a.txt"), "a.txt has tokens; give --features"),
        (("train", "tokens.jsonl", "--format", "jsonl"), "tokens.jsonl has tokens; give --features"),
        (("train", "a.crfsuite", "--format", "attributes", "--features", "ner"), "--features is for files of tokens"),
        (("train", "features.jsonl.gz", "--format", "jsonl", "--features", "ner"), "--features is for files of tokens"),
        (("train", "a.crfsuite", "--format", "attributes", "--hash-bits", "9"), "--hash-bits is for files of tokens"),
        (("train", "a.crfsuite", "--format", "attributes", "--separator", "|"), "--separator is for column files"),
        (("train", "a.txt", "--format", "attributes"), "at least two different labels"),
        (("train", "a.txt", "--format", "jsonl"), "a.txt, line 1: it is no JSON"),
        (("train", "bare.jsonl", "--format", "jsonl", "--features", "ner"), "bare.jsonl has no labels"),
    ],
)
def test_training_refuses_in_one_sentence(command: Run, arguments: tuple[str, ...], message: str) -> None:
    write_json_lines(WORDS, "bare.jsonl", kind="tokens")
    Path("a.txt").write_text("x\ty\n" if "attributes" in arguments else Path("a.txt").read_text())
    code, out, err = command(*arguments, "-o", "m", "-q")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("m").exists()


def test_kinds_of_files_and_models_are_not_confused(command: Run) -> None:
    trained(command, "a.txt")
    assert "makes its attributes of tokens" in command("tag", "a.crfsuite", "-m", "m", "--format", "attributes")[2]
    for option in (("--separator", "|"), ("--comment", "#"), ("--docstart", "keep")):
        code, _, err = command("tag", "tokens.jsonl", "-m", "m", "--format", "jsonl", *option)
        assert (code, f"{option[0]} is for column files" in err) == (2, True)
    trained(command, "a.crfsuite")
    assert "trained on attributes" in command("eval", "a.txt", "-m", "m", "--format", "columns")[2]
    ChainCRF().fit([np.eye(2)] * 2, [["a", "b"]] * 2).save("arrays")
    assert "trained on arrays" in command("tag", "a.crfsuite", "-m", "arrays", "--format", "attributes")[2]
    ChainCRF().fit(FEATURES, LABELS).save("python")
    assert command("eval", "a.crfsuite", "-m", "python", "--format", "attributes")[0] == 0
    assert command("eval", "a.crfsuite", "-m", "python")[0] == 0  # the name says it
    assert "give --format attributes or jsonl" in command("eval", "a.txt", "-m", "python")[2]
