"""What ``dualfield tag`` writes beside labels is what the model says in Python, in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.features import extract_all
from dualfield.io import write_attributes, write_columns, write_json_lines
from dualfield.labels import EncodedLabels
from dualfield.models import ChainModel

Run = Callable[..., tuple[int, str, str]]
NEW = travel_sentences(8, seed=3)
WORDS = [[word for word, _ in sentence] for sentence in NEW]
FEATURES = extract_all("ner", [[(word,) for word in words] for words in WORDS])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of column files and of attributes, and sentences to tag."""
    folder = tmp_path_factory.mktemp("answers")
    sentences = travel_sentences(60, seed=0)
    write_columns(sentences, folder / "train.txt")
    write_columns([[(word,) for word in words] for words in WORDS], folder / "new.txt")
    write_json_lines(WORDS, folder / "new.jsonl", kind="tokens")
    X = extract_all("ner", [[(word,) for word, _ in sentence] for sentence in sentences])
    y = [[tag for _, tag in sentence] for sentence in sentences]
    ChainCRF(random_state=0).fit(X, y).save(folder / "attributes.model")
    encoded = ChainCRF().encode(FEATURES)
    write_attributes(encoded, EncodedLabels.from_lists([["O"] * len(words) for words in WORDS]), folder / "new.att")
    return folder


@pytest.fixture
def model(folder: Path, command: Run) -> Path:
    path = folder / "columns.model"
    if not path.exists():
        assert command("train", folder / "train.txt", "--features", "ner", "-o", path)[0] == 0
    return path


@pytest.fixture
def said(model: Path) -> dict[str, Any]:
    """The same by hand."""
    crf = ChainModel.load(model)
    tables = crf.predict_marginals(FEATURES)
    classes = crf.classes_.tolist()
    predicted = crf.predict(FEATURES)
    return {
        "predicted": predicted,
        "probabilities": [
            [float(row[classes.index(label)]) for row, label in zip(table, labels, strict=True)]
            for table, labels in zip(tables, predicted, strict=True)
        ],
        "marginals": [[dict(zip(classes, row, strict=True)) for row in table.tolist()] for table in tables],
        "nbest": crf.predict_kbest(FEATURES, 3),
    }


def sentences_of(text: str) -> list[list[list[str]]]:
    assert text.endswith("\n")
    return [[line.split() for line in block.splitlines()] for block in text.strip("\n").split("\n\n")]


def close(found: list[Any], expected: list[Any]) -> bool:
    return all(a == pytest.approx(b, abs=1e-6) for a, b in zip(found, expected, strict=True))


def test_probabilities_are_a_further_column(command: Run, folder: Path, model: Path, said: dict[str, Any]) -> None:
    code, out, _ = command("tag", folder / "new.txt", "-m", model, "--probabilities")
    assert code == 0
    found = sentences_of(out)
    assert [[row[0] for row in rows] for rows in found] == WORDS
    assert [[row[1] for row in rows] for rows in found] == said["predicted"]
    assert close([[float(row[2]) for row in rows] for rows in found], said["probabilities"])


def test_marginals_are_a_column_for_each_label(command: Run, folder: Path, model: Path, said: dict[str, Any]) -> None:
    _, out, _ = command("tag", folder / "new.txt", "-m", model, "--marginals", "--labels-only")
    for rows, labels, tables in zip(sentences_of(out), said["predicted"], said["marginals"], strict=True):
        assert [row[0] for row in rows] == labels
        for row, table in zip(rows, tables, strict=True):
            pairs = [cell.rsplit(":", 1) for cell in row[1:]]
            assert {name: float(value) for name, value in pairs} == pytest.approx(table, abs=1e-6)


def test_labels_stand_alone_where_asked_for(command: Run, folder: Path, model: Path, said: dict[str, Any]) -> None:
    _, out, _ = command("tag", folder / "new.txt", "-m", model, "--labels-only")
    assert out == "".join("\n".join(labels) + "\n\n" for labels in said["predicted"])


def test_every_one_of_the_best_labellings_has_its_probability(
    command: Run, folder: Path, model: Path, said: dict[str, Any]
) -> None:
    _, out, _ = command("tag", folder / "new.txt", "-m", model, "--nbest", "3")
    blocks = iter(sentences_of(out))
    for words, best in zip(WORDS, said["nbest"], strict=True):
        for number, (labels, probability) in enumerate(best):
            (sign, shown, value), *rows = next(blocks)
            assert (sign, shown) == ("#", str(number))
            assert float(value) == pytest.approx(probability, abs=1e-6)
            assert rows == [[word, label] for word, label in zip(words, labels, strict=True)]
    assert next(blocks, None) is None


@pytest.mark.parametrize("source", ["new.txt", "new.jsonl", "new.att"])
def test_json_has_all_of_it(command: Run, folder: Path, model: Path, said: dict[str, Any], source: str) -> None:
    options: list[str] = ["--json", "--probabilities", "--marginals", "--nbest", "3"]
    if source.endswith("att"):
        options += ["--format", "attributes"]
        model = folder / "attributes.model"
        crf = ChainModel.load(model)
        said = said | {"predicted": crf.predict(FEATURES)}
    elif source.endswith("jsonl"):
        options += ["--format", "jsonl"]
    code, out, err = command("tag", folder / source, "-m", model, *options)
    assert code == 0, err
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["predicted"] for record in records] == said["predicted"]
    assert all(set(record) >= {"predicted", "probabilities", "marginals", "nbest"} for record in records)
    if not source.endswith("att"):
        assert [record["tokens"] for record in records] == WORDS
        for name in ("probabilities", "marginals"):
            for record, expected in zip(records, said[name], strict=True):
                assert all(a == pytest.approx(b, abs=1e-9) for a, b in zip(record[name], expected, strict=True))
        for record, best in zip(records, said["nbest"], strict=True):
            assert [one["labels"] for one in record["nbest"]] == [labels for labels, _ in best]
    _, out, _ = command("tag", folder / source, "-m", model, "--labels-only", *options[:1], *options[5:])
    assert [json.loads(line) for line in out.splitlines()] == [{"predicted": labels} for labels in said["predicted"]]


def test_attributes_have_columns_behind_a_tab(command: Run, folder: Path) -> None:
    arguments = ("tag", folder / "new.att", "-m", folder / "attributes.model", "--format", "attributes")
    _, plain, _ = command(*arguments)
    _, out, _ = command(*arguments, "--probabilities")
    lines = [line.split("\t") for line in out.splitlines()]
    assert [line[0] for line in lines] == plain.splitlines()
    assert all(0 < float(line[1]) <= 1 for line in lines if len(line) == 2)
    _, out, _ = command(*arguments, "--nbest", "1")
    assert [line for line in out.splitlines() if not line.startswith("#")] == plain.splitlines()


def test_a_sentence_that_cannot_be_read_is_passed_on_with_its_lines_only(
    command: Run, folder: Path, model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "bad.txt"
    file.write_text("Ada\nmet\n\none two three\n\nBob\n")
    code, out, err = command("tag", file, "-m", model, "--probabilities")
    assert code == 0
    assert "\none two three\n" in out
    assert "1 of 3 sentences were passed on" in err
    for option in ("--labels-only", "--json"):
        code, _, err = command("tag", file, "-m", model, option)
        assert code == 2
        assert "line 4" in err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--nbest", "0"], "--nbest must be a positive integer; got 0."),
        (["--nbest", "2", "--probabilities"], "probabilities of single labels beside it need --json."),
        (["--nbest", "2", "--marginals"], "probabilities of single labels beside it need --json."),
    ],
)
def test_what_has_no_place_is_refused(
    command: Run, folder: Path, model: Path, options: list[str], sentence: str
) -> None:
    code, out, err = command("tag", folder / "new.txt", "-m", model, *options)
    assert (code, out) == (2, "")
    assert sentence in err
