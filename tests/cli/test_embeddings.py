"""``--embeddings``: rows of numbers for the tokens of a file, in training, tagging and evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.features import Tokens
from dualfield.io import write_columns
from dualfield.models.recipe import recipe_of

Run = Callable[..., tuple[int, str, str]]


def rows_of(sentences: list[list[tuple[str, ...]]], seed: int) -> np.ndarray:
    """A row a token that tells, with noise, whether its label is O."""
    random = np.random.default_rng(seed)
    told = [float(token[-1] == "O") for sentence in sentences for token in sentence]
    return np.column_stack([told, random.normal(size=(len(told), 2))]).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("template.txt").write_text("U00:%x[0,0]\nU01:%x[-1,0]\nB\n")
    for name, count, seed in (("train", 60, 0), ("test", 20, 1)):
        sentences = travel_sentences(count, seed)
        write_columns(sentences, f"{name}.txt")
        np.save(f"{name}.npy", rows_of(sentences, seed))
    return tmp_path


def trained(command: Run, *options: object) -> ChainCRF:
    with_files = ("--features", "template.txt", "--embeddings", "train.npy")
    code, _, err = command("train", "train.txt", "-o", "m", "-q", *with_files, *options)
    assert (code, err) == (0, "")
    return ChainCRF.load("m")


@pytest.mark.parametrize("options", [(), ("--standardize",), ("--state-features", "observed")], ids=" ".join)
def test_files_are_tagged_as_python_labels_them(command: Run, folder: Path, options: tuple[str, ...]) -> None:
    crf = trained(command, *options)
    assert crf.layout_.n_columns == 3
    rows = [[token[:1] for token in sentence] for sentence in travel_sentences(20, 1)]
    template = recipe_of(crf.column_features_).template
    X = template.encode(Tokens.from_rows(rows), crf.vocabulary_).with_dense(np.load("test.npy"))
    expected = crf.predict(X)
    code, out, err = command("tag", "test.txt", "-m", "m", "--embeddings", "test.npy")
    assert (code, err) == (0, "")
    assert [[line.split()[-1] for line in block.split("\n")] for block in out.strip().split("\n\n")] == expected
    lines = "".join(json.dumps({"tokens": [word for (word,) in sentence]}) + "\n" for sentence in rows)
    code, out, err = command(
        "tag", "-", "-m", "m", "--format", "jsonl", "--embeddings", "test.npy", stdin=lines.encode()
    )
    assert (code, err) == (0, "")
    assert [json.loads(line)["predicted"] for line in out.splitlines()] == expected
    code, out, _ = command("eval", "test.txt", "-m", "m", "--embeddings", "test.npy", "--json")
    truth = [[token[-1] for token in sentence] for sentence in travel_sentences(20, 1)]
    right = [a == b for y, found in zip(truth, expected, strict=True) for a, b in zip(y, found, strict=True)]
    assert json.loads(out)["accuracy"] == pytest.approx(np.mean(right))


def test_files_of_attributes_take_rows_too(command: Run, folder: Path) -> None:
    for name in ("train", "test"):
        sentences = travel_sentences(60 if name == "train" else 20, int(name == "test"))
        blocks = ("".join(f"{tag}\tw={word}\n" for word, tag in sentence) for sentence in sentences)
        Path(f"{name}.crfsuite").write_text("\n".join(blocks))
    code, _, err = command("train", "train.crfsuite", "-o", "m", "-q", "--embeddings", "train.npy")
    assert (code, err) == (0, "")
    words = [[[f"w={word}"] for word, _ in sentence] for sentence in travel_sentences(20, 1)]
    crf = ChainCRF.load("m")
    expected = crf.predict(crf.encode(words, dense=np.load("test.npy")))
    code, out, err = command("tag", "test.crfsuite", "-m", "m", "--embeddings", "test.npy")
    assert (code, err) == (0, "")
    assert [block.split("\n") for block in out.strip().split("\n\n")] == expected


def test_inspect_shows_dense_columns(command: Run, folder: Path) -> None:
    trained(command)
    code, out, _ = command("inspect", "m", "--json")
    assert code == 0
    assert json.loads(out)["model"]["dense_columns"] == 3
    code, out, _ = command("inspect", "m")
    assert "3 dense columns" in out
    code, out, _ = command("inspect", "m", "--attribute", "0")
    assert (code, "dense column 0" in out) == (0, True)


@pytest.mark.parametrize("verb", ["tag", "eval"])
def test_other_rows_than_tokens_are_refused(command: Run, folder: Path, verb: str) -> None:
    trained(command)
    rows = np.load("test.npy")
    np.save("short.npy", rows[:-1])
    np.save("long.npy", np.concatenate([rows, rows[:1]]))
    np.save("wide.npy", np.ones((len(rows), 4)))
    np.save("whole.npy", np.ones((len(rows), 3), int))
    Path("text.npy").write_text("no array")
    for name, sentence in {
        "short": "has more tokens",
        "long": "expected as many",
        "wide": "has 4 columns, but the model was trained on 3",
        "whole": "expected one matrix of floating numbers",
        "text": "is no file of numpy.save",
    }.items():
        code, _, err = command(verb, "test.txt", "-m", "m", "--embeddings", f"{name}.npy")
        assert code == 2
        assert sentence in err
    code, _, err = command(verb, "test.txt", "-m", "m")
    assert (code, "give --embeddings FILE.npy" in err) == (2, True)
    code, _, err = command(verb, "test.txt", "-m", "m", "--embeddings", "missing.npy")
    assert code == 2


def test_a_model_without_columns_refuses_embeddings(command: Run, folder: Path) -> None:
    command("train", "train.txt", "-o", "m", "-q", "--features", "template.txt")
    code, _, err = command("tag", "test.txt", "-m", "m", "--embeddings", "test.npy")
    assert (code, "the model was trained without any" in err) == (2, True)


def test_training_refuses_rows_that_do_not_fit(command: Run, folder: Path) -> None:
    options = ("train", "train.txt", "-o", "m", "-q", "--features", "template.txt", "--embeddings")
    code, _, err = command(*options, "test.npy")
    assert (code, "expected as many" in err) == (2, True)
    code, _, err = command(*options, "train.npy", "--report", "r.html")
    assert (code, "--report has no place for the embeddings" in err) == (2, True)
    code, _, err = command(*options, "train.npy", "--no-bias", "--standardize")
    assert (code, "needs a bias" in err) == (2, True)
    assert not Path("m").exists()
