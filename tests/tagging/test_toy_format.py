"""A format of one's own: an object and a line in the table, and every command has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from dualfield.datasets import travel_sentences
from dualfield.features import Tokens
from dualfield.io import read_columns, write_columns
from dualfield.models.recipe import FileLayout
from dualfield.tagging import FORMATS, AttributeFile, Format, TokenFile

Run = Callable[..., tuple[int, str, str]]


class Slashes(Format):
    """A sentence a line, its words with their tags: ``we/O fly/O``."""

    name: ClassVar[str] = "slashes"
    holds: ClassVar[frozenset[str]] = frozenset({"tokens"})

    def read(self, path: str, layout: FileLayout, encoding: str, vocabulary: object = None) -> TokenFile:
        lines = Path(path).read_text(encoding).splitlines()
        tokens = Tokens.from_rows([[tuple(word.split("/")) for word in line.split()] for line in lines])
        return TokenFile(path, tokens, tokens.n_columns - 1 if tokens.n_columns > 1 else None)

    def write(self, content: TokenFile | AttributeFile, path: str) -> None:
        assert isinstance(content, TokenFile)
        lines = [" ".join("/".join(row) for row in sentence) for sentence in content.tokens.rows()]
        Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sentences in slashes and in columns; without labels; and the format in the table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(FORMATS, "slashes", Slashes())
    for name, sentences in (("train", travel_sentences(60, 0)), ("test", travel_sentences(20, 1))):
        write_columns(sentences, f"{name}.txt")
        Path(f"{name}.sl").write_text("\n".join(" ".join(map("/".join, sentence)) for sentence in sentences))
    words = [[(word,) for word, _ in sentence] for sentence in travel_sentences(20, 1)]
    write_columns(words, "words.txt")
    Path("words.sl").write_text("\n".join(" ".join(word for (word,) in sentence) for sentence in words))


@pytest.fixture
def trained(command: Run) -> None:
    for name, format in (("txt", "columns"), ("sl", "slashes")):
        arguments = ("train", f"train.{name}", "--features", "ner", "-o", f"{name}.model", "--format", format)
        code, _, err = command(*arguments)
        assert code == 0, err


def test_training_and_tagging_give_what_columns_give(command: Run, trained: None) -> None:
    assert command("tag", "words.txt", "-m", "txt.model", "-o", "tagged.txt")[0] == 0
    code, _, err = command("tag", "words.sl", "-m", "sl.model", "-o", "tagged.sl")
    assert code == 0, err
    found = [[tuple(word.split("/")) for word in line.split()] for line in Path("tagged.sl").read_text().splitlines()]
    assert found == [list(sentence) for sentence in read_columns("tagged.txt")]
    # and a model that was trained on columns tags slashes
    assert command("tag", "words.sl", "-m", "txt.model", "-o", "again.sl", "--format", "slashes")[0] == 0
    assert Path("again.sl").read_text() == Path("tagged.sl").read_text()


def test_evaluation_gives_what_columns_give(command: Run, trained: None) -> None:
    _, expected, _ = command("eval", "test.txt", "-m", "txt.model", "--json")
    code, scores, err = command("eval", "test.sl", "-m", "sl.model", "--json")
    assert code == 0, err
    assert json.loads(scores) == json.loads(expected)


def test_conversion_goes_both_ways(command: Run) -> None:
    assert command("convert", "test.sl", "there.txt", "--from", "slashes", "--to", "columns")[0] == 0
    assert [list(s) for s in read_columns("there.txt")] == [list(s) for s in read_columns("test.txt")]
    assert command("convert", "there.txt", "back.sl", "--from", "columns", "--to", "slashes")[0] == 0
    assert Path("back.sl").read_text().split() == Path("test.sl").read_text().split()
    code, _, err = command("convert", "back.sl", "x", "--from", "slashes", "--to", "attributes")
    assert (code, "give --features" in err) == (2, True)


def test_what_it_has_no_place_for_is_refused(command: Run, trained: None) -> None:
    code, _, err = command("tag", "words.sl", "-m", "sl.model", "--separator", "x")
    assert (code, "--separator is for column files; leave it out with --format slashes" in err) == (2, True)
    code, _, err = command("train", "words.sl", "--features", "ner", "-o", "m", "--format", "slashes")
    assert (code, "words.sl has no labels, which training needs." in err) == (2, True)


def test_the_model_loads_where_the_format_is_unknown(
    command: Run, trained: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(FORMATS, "slashes")
    assert command("inspect", "sl.model")[0] == 0
    code, _, err = command("tag", "words.sl", "-m", "sl.model")
    assert (code, "there is no format 'slashes'; expected one of columns, " in err) == (2, True)
