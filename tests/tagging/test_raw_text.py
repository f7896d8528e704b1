"""Raw text is labelled, with the places of its words, from the command line and from Python."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.model_selection import GridSearchCV

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.features import Template, extract, tokenize
from dualfield.io import write_columns
from dualfield.tagging import entities_in_text, tag_text

Run = Callable[..., tuple[int, str, str]]
BinaryRun = Callable[..., tuple[int, bytes, str]]

TEXT = "Ada flies from Paris to Berlin. Dr. Grace Hopper paid $300.\n\nIt rained in Zürich\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    sentences = travel_sentences(60, 0)
    write_columns(sentences, str(folder / "train.txt"))
    write_columns([[(word, "X", tag) for word, tag in sentence] for sentence in sentences], str(folder / "wide.txt"))
    conllu = "\n".join(
        "".join(f"{t}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for t, (word, tag) in enumerate(sentence, 1))
        for sentence in sentences
    )
    (folder / "train.conllu").write_text(conllu, encoding="utf-8")
    (folder / "pos.tpl").write_text("U:%x[0,1]\nB\n")
    (folder / "word.tpl").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB0:%x[0,0]\nB\n")
    (folder / "raw.txt").write_text(TEXT, encoding="utf-8")
    return folder


@pytest.fixture
def tagged(binary_command: BinaryRun) -> Run:
    """Runs a command whose output is UTF-8."""

    def run(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        code, out, err = binary_command(*arguments, stdin=stdin)
        return code, out.decode(), err

    return run


@pytest.fixture
def model(folder: Path, binary_command: BinaryRun, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Trains a model, once for each name."""
    monkeypatch.chdir(folder)

    def trained(name: str, file: str = "train.txt", features: str = "ner") -> str:
        if not (folder / name).exists():
            assert binary_command("train", file, "--features", features, "-o", name, "-q")[0] == 0
        return name

    return trained


def expected(crf: ChainCRF, text: str) -> list[list[Any]]:
    """The labels that a model of words by the preset gives."""
    sentences = [[(token.text,) for token in sentence] for sentence in tokenize(text)]
    return crf.predict([extract("ner", sentence) for sentence in sentences])


def test_words_come_with_their_places_and_labels(tagged: Run, model: Callable[..., str]) -> None:
    code, out, err = tagged("tag", "raw.txt", "-m", model("ner"), "--tokenize")
    assert (code, err) == (0, "")
    blocks = [block.split("\n") for block in out.strip("\n").split("\n\n")]
    rows = [[line.split("\t") for line in block] for block in blocks]
    assert [[row[3] for row in block] for block in rows] == expected(ChainCRF.load("ner"), TEXT)
    assert all(TEXT[int(start) : int(end)] == word for block in rows for word, start, end, _ in block)
    assert [row[0] for row in rows[2]] == ["It", "rained", "in", "Zürich"]
    assert ["Paris", "15", "20", "B-CITY"] in rows[0]


def test_it_goes_with_every_answer(tagged: Run, model: Callable[..., str]) -> None:
    tag = ("tag", "raw.txt", "-m", model("ner"), "--tokenize")
    labels = expected(ChainCRF.load("ner"), TEXT)
    records = [json.loads(line) for line in tagged(*tag, "--json", "--probabilities")[1].splitlines()]
    assert [record["predicted"] for record in records] == labels
    assert all(0 < p <= 1 for record in records for p in record["probabilities"])
    for record in records:
        assert [TEXT[a:b] for a, b in record["offsets"]] == record["tokens"]
    bare = [json.loads(line) for line in tagged(*tag, "--json", "--labels-only")[1].splitlines()]
    assert bare == [{"predicted": sequence} for sequence in labels]
    alone = tagged(*tag, "--labels-only")[1]
    assert alone == "".join("\n".join(sequence) + "\n\n" for sequence in labels)
    best = tagged(*tag, "--nbest", 2)[1].split("\n")
    assert [line[:4] for line in best if line.startswith("# ")] == ["# 0 ", "# 1 "] * 3
    wide = tagged(*tag, "--marginals", "--jobs", 2)[1].split("\n")[0].split("\t")
    assert len(wide) == 4 + len(ChainCRF.load("ner").classes_)


def test_places_go_on_over_the_pieces_of_a_stream(
    binary_command: BinaryRun, model: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT * 30
    (folder / "long.txt.gz").write_bytes(gzip.compress(("\ufeff" + text.replace("\n", "\r\n")).encode()))
    monkeypatch.setattr("dualfield.tagging.stream._CHUNK", 100)
    code, out, _ = binary_command("tag", "long.txt.gz", "-m", model("ner"), "--tokenize", "-o", "out.txt.gz")
    assert (code, out) == (0, b"")
    lines = gzip.decompress((folder / "out.txt.gz").read_bytes()).decode().split("\n")
    rows = [line.split("\t") for line in lines if line]
    read = text.replace("\n", "\r\n")
    assert [read[int(start) : int(end)] for _, start, end, _ in rows] == [row[0] for row in rows]
    assert [row[0] for row in rows] == [token.text for sentence in tokenize(text) for token in sentence]


def test_other_encodings_count_characters_and_come_back(binary_command: BinaryRun, model: Callable[..., str]) -> None:
    options = ("-m", model("ner"), "--tokenize", "--encoding", "latin-1")
    code, out, _ = binary_command("tag", "-", *options, stdin="é à Zürich\n".encode("latin-1"))
    assert code == 0
    assert [line.split("\t")[:3] for line in out.decode("latin-1").strip().split("\n")] == [
        ["é", "0", "1"],
        ["à", "2", "3"],
        ["Zürich", "4", "10"],
    ]


@pytest.mark.parametrize(
    ("name", "file", "features"), [("conllu", "train.conllu", "pos"), ("bigrams", "train.txt", "word.tpl")]
)
def test_models_that_read_words_alone_take_raw_text(
    tagged: Run, model: Callable[..., str], name: str, file: str, features: str
) -> None:
    code, out, _ = tagged("tag", "raw.txt", "-m", model(name, file, features), "--tokenize")
    assert (code, out.count("\n\n")) == (0, 3)
    sentences = tag_text(ChainCRF.load(name), TEXT)
    assert [token.label for sentence in sentences for token in sentence] == [
        line.split("\t")[3] for line in out.split("\n") if line
    ]


def test_a_single_column_that_is_read_is_that_of_words(tagged: Run, model: Callable[..., str]) -> None:
    assert tagged("tag", "raw.txt", "-m", model("second", "wide.txt", "pos.tpl"), "--tokenize")[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "jsonl"), "--format is for files of tokens, and --tokenize for raw text; leave one of them out."),
        (("--separator", ","), "--separator is for files of tokens"),
        (("--nbest", "2", "--probabilities"), "--nbest writes each labelling with the probability of the whole"),
    ],
)
def test_options_of_other_files_are_refused(
    tagged: Run, model: Callable[..., str], options: tuple[str, ...], message: str
) -> None:
    code, out, err = tagged("tag", "raw.txt", "-m", model("ner"), "--tokenize", *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {message}")


def test_what_raw_text_has_not_is_said(tagged: Run, model: Callable[..., str], folder: Path) -> None:
    def refusal(name: str, text: bytes = b"Paris\n") -> str:
        code, out, err = tagged("tag", "-", "-m", name, "--tokenize", stdin=text)
        assert (code, out) == (2, "")
        return err

    assert refusal(model("wide", "wide.txt", "chunking")) == (
        "Error: the model's features read columns 1 and 2 of its files, and raw text has words alone; tag a file that "
        "has these columns.\n"
    )
    ChainCRF(random_state=0).fit([[["a"], ["b"]]], [["A", "B"]]).save(folder / "python")
    assert refusal("python").startswith("Error: the model was trained on attributes, so it does not know how to make")
    assert refusal(model("ner"), b" \n\n") == "Error: standard input has no words.\n"
    assert refusal("ner", b"Paris\ncaf\xe9\n") == (
        "Error: standard input, line 2: byte 0xe9 is not valid utf-8; give the file's own encoding by --encoding.\n"
    )


def test_a_text_is_labelled_in_python(model: Callable[..., str]) -> None:
    crf = ChainCRF.load(model("ner"))
    found = tag_text(crf, TEXT)
    assert [[token.label for token in sentence] for sentence in found] == expected(crf, TEXT)
    assert all(TEXT[token.start : token.end] == token.text for sentence in found for token in sentence)
    marginals = crf.predict_marginals([extract("ner", [("Ada",), ("slept",)])])[0].max(axis=1)
    assert [token.probability for token in tag_text(crf, "Ada slept")[0]] == pytest.approx(marginals)
    assert tag_text(crf, " \n") == []


def test_features_are_a_function_a_preset_or_a_template() -> None:
    sentences = travel_sentences(40, 0)
    y = [[tag for _, tag in sentence] for sentence in sentences]

    def features(words: list[str]) -> list[list[str]]:
        return [[f"w={word}", f"end={word[-2:]}"] for word in words]

    crf = ChainCRF(random_state=0).fit([features([word for word, _ in sentence]) for sentence in sentences], y)
    template = Template.crfpp("U:%x[0,0]")
    by_template = ChainCRF(random_state=0).fit(
        template.encode([[(word,) for word, _ in sentence] for sentence in sentences]), y
    )
    by_preset = ChainCRF(random_state=0).fit(
        [extract("ner", [(word,) for word, _ in sentence]) for sentence in sentences], y
    )
    search = GridSearchCV(crf, {"l2": [1.0]}, cv=2).fit(
        [features([word for word, _ in sentence]) for sentence in sentences], y
    )
    given: list[tuple[Any, Any]] = [(crf, features), (by_template, template), (by_preset, "ner"), (search, features)]
    for model, how in given:
        labels = [token.label for token in tag_text(model, "from Paris to Berlin", how)[0]]
        assert labels[1] == "B-CITY"
    with pytest.raises(ValueError, match=r"column file with --features, or give tag_text\(\) the features\.$"):
        tag_text(crf, "Paris")
    with pytest.raises(TypeError, match=r"^features must be a function of words, a preset or a Template; got 3\.$"):
        tag_text(crf, "Paris", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^features gave 1 position for the 2 words \['in', 'Rome'\]; expected "):
        tag_text(crf, "in Rome", lambda words: features(words)[:1])


def test_entities_of_a_text_have_its_places_and_their_exact_probabilities(model: Callable[..., str]) -> None:
    crf = ChainCRF.load(model("ner"))
    text = "From  San   Rinburg to Berlin.\nOn Monday Ada paid $300 ."
    found = entities_in_text(crf, text)
    sentences = [[(token.text,) for token in sentence] for sentence in tokenize(text)]
    by_sentence = crf.predict_entities([extract("ner", sentence) for sentence in sentences])
    expected = [(entity.type, entity.probability) for entities in by_sentence for entity in entities]
    assert [(entity.type, pytest.approx(entity.probability)) for entity in found] == expected
    assert all(text[entity.start : entity.end] == entity.text for entity in found)
    assert ("San   Rinburg", 6, 19, "CITY") in [entity[:4] for entity in found]
    assert entities_in_text(crf, "\n") == []
