"""Templates with bigram lines on the command line: training, tagging, scores, tables, reports, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.features import NumberedColumns, Tokens
from dualfield.io import read_tokens, write_columns
from dualfield.models.chain_contents import read_chain
from dualfield.models.recipe import recipe_of
from dualfield.tagging.column_tagger import column_tagger

Run = Callable[..., tuple[int, str, str]]
CRFPP = "U00:%x[0,0]\nU01:%x[-1,0]\nB01:%x[0,0]\nB\n"
WAPITI = "*:%X[0,0]\nu:%x[-1,0]\nb\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_columns(travel_sentences(60, 0), "train.txt")
    write_columns(travel_sentences(20, 1), "test.txt")
    Path("crfpp.txt").write_text(CRFPP)
    Path("wapiti.txt").write_text(WAPITI)
    return tmp_path


def trained(command: Run, *options: object) -> ChainCRF:
    code, _, err = command("train", "train.txt", "-o", "m", "-q", *options)
    assert (code, err) == (0, "")
    return ChainCRF.load("m")


@pytest.mark.parametrize("pairs", ["all", "observed"])
@pytest.mark.parametrize("syntax", ["crfpp", "wapiti"])
def test_files_are_tagged_as_python_labels_them(command: Run, folder: Path, syntax: str, pairs: str) -> None:
    options = ("--features", f"{syntax}.txt", "--template-syntax", syntax, "--bigram-features", pairs)
    crf = trained(command, *options)
    assert crf.bigram_features == pairs
    assert (crf.layout_.bigrams.starts is None) == (pairs == "all")
    template = recipe_of(crf.column_features_).template
    rows = [[(word,) for word, _ in sentence] for sentence in travel_sentences(20, 1)]
    expected = crf.predict(template.encode(Tokens.from_rows(rows)))
    code, out, _ = command("tag", "test.txt", "-m", "m")
    assert code == 0
    tagged = [[line.split()[-1] for line in block.split("\n")] for block in out.strip().split("\n\n")]
    assert tagged == expected
    lines = "".join(json.dumps({"tokens": [word for (word,) in sentence]}) + "\n" for sentence in rows)
    code, out, _ = command("tag", "-", "-m", "m", "--format", "jsonl", stdin=lines.encode())
    assert [json.loads(line)["predicted"] for line in out.splitlines()] == expected


@pytest.mark.parametrize("options", [("--hash-bits", "6"), ("--constraints", "bio"), ("--l1", "0.1")], ids=" ".join)
def test_a_file_is_tagged_into_a_file(command: Run, folder: Path, options: tuple[str, ...]) -> None:
    crf = trained(command, "--features", "crfpp.txt", *options)
    assert crf.layout_.bigrams is not None
    recipe, tokens = recipe_of(crf.column_features_), read_tokens("test.txt")
    labels = [label for sequence in crf.predict(recipe.attributes(tokens, crf)) for label in sequence]
    assert command("tag", "test.txt", "-m", "m", "-o", "tagged.txt") == (0, "", "")
    given = iter(labels)
    lines = [f"{line} {next(given)}" if line else "" for line in Path("test.txt").read_text().splitlines()]
    assert Path("tagged.txt").read_text().splitlines() == lines
    assert next(given, None) is None


def test_a_bad_sentence_is_passed_on_or_ends_the_command(command: Run, folder: Path) -> None:
    trained(command, "--features", "crfpp.txt")
    Path("in.txt").write_bytes(b"Ada\r\n\r\nto many columns\r\n\r\nflew")
    code, out, err = command("tag", "in.txt", "-m", "m")
    assert code == 0
    assert [len(line.split()) for line in out.split("\n")] == [2, 0, 3, 0, 2, 0]
    assert "in.txt, line 3: expected 1 or 2 columns, found 3" in err
    code, _, err = command("tag", "in.txt", "-m", "m", "--strict", "-o", "out.txt")
    assert (code, err.count("\n")) == (2, 1)
    assert "Error: in.txt, line 3: expected 1 or 2 columns, found 3" in err
    assert not Path("out.txt").exists()


@pytest.mark.parametrize("pairs", ["all", "observed"])
def test_the_command_line_trains_what_the_estimator_trains(command: Run, folder: Path, pairs: str) -> None:
    found = trained(command, "--features", "crfpp.txt", "--bigram-features", pairs)
    recipe, tokens = recipe_of(found.column_features_), read_tokens("train.txt")
    X = recipe.template.encode(tokens.with_columns(recipe.columns))
    expected = ChainCRF(random_state=0, bigram_features=pairs).fit(X, tokens.labels())
    assert found.get_params() == expected.get_params()
    assert found.bigram_vocabulary_ == expected.bigram_vocabulary_
    np.testing.assert_array_equal(found.weights_, expected.weights_)


def test_the_tagger_of_the_core_refuses_bigrams(command: Run, folder: Path) -> None:
    trained(command, "--features", "crfpp.txt")
    contents = read_chain("m")
    recipe = recipe_of(contents.file.description["column_features"])
    with pytest.raises(ValueError, match=r"^'m' has bigrams, which the tagger of the core does not know"):
        column_tagger(contents, recipe, recipe.layout, False)
    with pytest.raises(ValueError, match="the template makes bigrams, which this tagger does not know"):
        column_tagger(contents._replace(bigrams=None), recipe, recipe.layout, False)


def test_sizes_and_tables_show_bigrams(command: Run, folder: Path) -> None:
    code, _, err = command("train", "train.txt", "-o", "m", "--features", "crfpp.txt", "--report", "r.html")
    crf = ChainCRF.load("m")
    count = len(crf.bigram_vocabulary_)
    assert code == 0
    assert f"{count} bigrams, {len(crf.classes_)} labels" in err
    assert f"{count} bigrams" in Path("r.html").read_text(encoding="utf-8")
    assert "<h3>Bigrams</h3>" in Path("r.html").read_text(encoding="utf-8")
    _, out, _ = command("inspect", "m")
    assert "Bigrams with the largest weights" in out
    _, out, _ = command("inspect", "m", "--json")
    record = json.loads(out)
    assert record["model"]["bigrams"] == count
    assert set(record["bigrams"][0]) == {"attribute", "from", "to", "weight"}
    name = crf.bigram_vocabulary_.names[0]
    _, out, _ = command("inspect", "m", "--attribute", name)
    assert f"Weights of the bigram {name}" in out
    code, out, _ = command("eval", "test.txt", "-m", "m", "--json")
    assert json.loads(out)["accuracy"] == pytest.approx(
        crf.score(*labelled(crf)),
    )


def labelled(crf: ChainCRF) -> tuple[object, list[list[str]]]:
    sentences = travel_sentences(20, 1)
    X = recipe_of(crf.column_features_).template.encode([[(word,) for word, _ in sentence] for sentence in sentences])
    return X, [[label for _, label in sentence] for sentence in sentences]


def test_a_name_that_is_both_shows_both_tables(command: Run, folder: Path) -> None:
    crf = trained(command, "--features", "wapiti.txt", "--template-syntax", "wapiti")
    name = next(name for name in crf.bigram_vocabulary_.names if name in crf.vocabulary_)
    _, out, _ = command("inspect", "m", "--attribute", name)
    assert f"Weights of the bigram {name}" in out
    assert f"Weights of {name}" in out


def test_hashed_bigrams_and_rare_ones(command: Run, folder: Path) -> None:
    crf = trained(command, "--features", "crfpp.txt", "--hash-bits", "6", "--bigram-features", "observed")
    assert crf.bigram_vocabulary_ == NumberedColumns(64)
    assert command("eval", "test.txt", "-m", "m")[0] == 0
    every = trained(command, "--features", "crfpp.txt")
    some = trained(command, "--features", "crfpp.txt", "--min-count", "5")
    assert 0 < len(some.bigram_vocabulary_) < len(every.bigram_vocabulary_)


@pytest.mark.parametrize("to", ["attributes", "jsonl"])
def test_files_of_attributes_have_no_place_for_bigrams(command: Run, folder: Path, to: str) -> None:
    code, _, err = command("convert", "train.txt", "out", "--from", "columns", "--to", to, "--features", "crfpp.txt")
    assert code == 2
    assert "crfpp.txt: 'B01:%x[0,0]' makes attributes of pairs of labels, for which files of attributes have no" in err
    assert not Path("out").exists()


def test_a_model_of_python_with_bigrams_tags_no_attribute_files(command: Run, folder: Path) -> None:
    crf = ChainCRF(random_state=0)
    X = crf.encode([[["a"], ["b"]]], bigrams=[[[], ["p"]]])
    crf.fit(X, [["A", "B"]]).save("m")
    code, _, err = command("tag", "-", "-m", "m", "--format", "attributes", stdin=b"A\ta\n\n")
    assert code == 2
    assert "the model has weights for bigram attributes, for which a file of format attributes has no place" in err
