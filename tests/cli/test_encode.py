"""``dualfield encode`` makes of files what reading them whole gives."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield.datasets import travel_sentences
from dualfield.io import read_tokens, write_attributes, write_columns, write_json_lines
from dualfield.models.recipe import FileLayout
from dualfield.partitions import open_partitions
from dualfield.tagging import labelled_chunks
from dualfield.tagging.reading import Labelled, read_for_training

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(labelled_chunks, "_CHUNK", 2000)
    write_columns(travel_sentences(60, 0), "train.txt")


def check_same(output: str, whole: Labelled) -> None:
    X, y, weights = open_partitions(output).load()
    expected = whole.X.translate(X.vocabulary)
    assert sorted(whole.X.vocabulary.names) == sorted(X.vocabulary.names)  # type: ignore[union-attr]
    for name in ("offsets", "indptr", "indices", "values"):
        assert np.array_equal(getattr(X, name), getattr(expected, name))
    assert y.tolist() == whole.y.tolist()
    assert (weights is None) == (whole.weights is None)
    assert weights is None or np.array_equal(weights, whole.weights)


@pytest.mark.parametrize("jobs", [1, 3])
def test_columns_become_what_training_reads(command: Run, jobs: int) -> None:
    options = ("--features", "ner", "--min-count", 2, "--positions", 100, "--jobs", jobs)
    code, _, err = command("encode", "train.txt", "-o", "out", *options)
    assert (code, "written to out, in" in err) == (0, True)
    assert len(open_partitions("out")) > 3
    whole = read_for_training("train.txt", "ner", "crfpp", FileLayout(), "utf-8", min_count=2)
    check_same("out", whole)
    assert open_partitions("out").column_features == whole.source.to_dict()


def test_patterns_and_gzip_are_one_file_after_the_other(command: Run) -> None:
    Path("b.txt.gz").write_bytes(gzip.compress(Path("train.txt").read_bytes()))
    Path("c.txt.gz").write_bytes(gzip.compress(b"Rome I-LOC\n"))
    both = Path("train.txt").read_text() + "Rome I-LOC\n"
    Path("both.txt").write_text(both)
    code, _, _ = command("encode", "*.gz", "-o", "out", "--features", "ner", "--quiet")
    assert code == 0
    check_same("out", read_for_training("both.txt", "ner", "crfpp", FileLayout(), "utf-8"))


def test_attribute_files_and_json_lines(command: Run) -> None:
    whole = read_for_training("train.txt", "ner", "crfpp", FileLayout(), "utf-8")
    weights = np.linspace(0.5, 2, len(whole.X))
    write_attributes(whole.X, whole.y, "a.crfsuite", sample_weight=weights)
    rows = read_tokens("train.txt").with_columns([0]).rows()
    write_json_lines(rows, "a.jsonl", kind="tokens", labels=whole.y.tolist(), weights=weights)
    features = [[[f"w={row[0]}"] for row in sentence] for sentence in rows]
    write_json_lines(features, "f.jsonl", kind="features", labels=whole.y.tolist())
    for file, option in (("a.crfsuite", None), ("a.jsonl", "ner"), ("f.jsonl", None)):
        given = () if option is None else ("--features", option)
        code, _, _ = command("encode", file, "-o", f"of-{file}", *given, "--positions", 50)
        assert code == 0
        format = "attributes" if file.endswith("crfsuite") else "jsonl"
        check_same(f"of-{file}", read_for_training(file, option, "crfpp", FileLayout(format), "utf-8"))


def test_hashed_attributes_need_no_names(command: Run) -> None:
    code, out, _ = command("encode", "train.txt", "-o", "out", "--features", "ner", "--hash-bits", 12, "--json")
    assert code == 0
    assert json.loads(out)["attributes"] == 4096
    check = read_for_training("train.txt", "ner", "crfpp", FileLayout(), "utf-8", hash_bits=12)
    X, _, _ = open_partitions("out").load()
    assert np.array_equal(X.indices, check.X.indices)


def test_standard_input_is_a_file(command: Run) -> None:
    code, _, _ = command(
        "encode", "-", "-o", "out", "--features", "ner", "--format", "columns", stdin=Path("train.txt").read_bytes()
    )
    assert code == 0
    assert open_partitions("out").n_sequences == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.txt"], "the files have tokens; give --features"),
        (["nothing*", "--features", "ner"], "no file matches 'nothing*'"),
        (["nothing", "--features", "ner"], "nothing: No such file or directory"),
        (["train.txt", "wide.txt", "--features", "ner"], "wide.txt has 3 columns, but train.txt has 2"),
        (["train.txt", "broken.txt", "--features", "ner"], "broken.txt, line 2: expected 2 columns"),
        (["train.txt", "empty.txt", "--features", "ner"], "empty.txt has no sequences"),
        (["train.txt", "a.jsonl", "--features", "ner"], "train.txt is read as columns, and a.jsonl as jsonl"),
        (["a.crfsuite", "--features", "ner"], "--features is for files of tokens"),
        (["f.jsonl", "--features", "ner"], "--features, --hash-bits and --label-column are for files of tokens"),
        (["train.txt", "--features", "ner", "--min-count", "0"], "--min-count must be a positive integer"),
    ],
)
def test_bad_input_ends_in_a_sentence_and_leaves_nothing(command: Run, arguments: list[str], message: str) -> None:
    Path("wide.txt").write_text("a b O\n")
    Path("broken.txt").write_text("a O\nb\n")
    Path("empty.txt").write_text("\n\n")
    Path("a.jsonl").write_text('{"tokens": ["a"], "labels": ["O"]}\n')
    Path("f.jsonl").write_text('{"features": [["a"]], "labels": ["O"]}\n')
    Path("a.crfsuite").write_text("O\ta\n")
    code, _, err = command("encode", *arguments, "-o", "out")
    assert code == 2
    assert message in err
    assert not [path for path in Path().iterdir() if path.is_dir()]


def test_an_existing_folder_is_refused_first(command: Run) -> None:
    Path("out").mkdir()
    code, _, err = command("encode", "nothing", "-o", "out")
    assert (code, err) == (
        2,
        "Error: cannot make the folder 'out': it exists already; remove it or choose another name.\n",
    )


def test_a_sentence_without_an_end_is_refused(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualfield.tagging.chunks.MOST_TOKENS", 5)
    Path("long.txt").write_text("a O\n\n" + "b O\n" * 9)
    pieces = labelled_chunks.utf8_pieces

    def in_lines(*given: Any) -> Iterator[bytes]:
        return (line for piece in pieces(*given) for line in piece.splitlines(keepends=True))

    monkeypatch.setattr(labelled_chunks, "utf8_pieces", in_lines)
    code, _, err = command("encode", "long.txt", "-o", "out", "--features", "ner")
    assert code == 2
    assert "long.txt, line 3: the sentence that begins here has more than" in err


@pytest.mark.parametrize("packed", [False, True])
def test_a_bar_counts_the_bytes_of_the_files(command: Run, packed: bool) -> None:
    name = "b.txt.gz" if packed else "train.txt"
    if packed:
        Path(name).write_bytes(gzip.compress(Path("train.txt").read_bytes()))
    size = Path(name).stat().st_size
    err = command("encode", name, name, "-o", "out", "--features", "ner")[2]
    assert f"byte {2 * size:,} of {2 * size:,}" in err
    chunks = labelled_chunks.LabelledChunks([name, name], FileLayout(), "utf-8", labelled_chunks.Maker("ner", "crfpp"))
    seen = [chunks.bytes_read for _ in chunks]
    assert seen == sorted(seen)
    assert size <= seen[-1] <= 2 * size
    assert "byte" not in command("encode", name, "-o", "quiet", "--features", "ner", "--quiet")[2]


def test_training_on_the_folder_gives_a_model_that_tags_files(command: Run) -> None:
    assert command("encode", "train.txt", "-o", "out", "--features", "ner", "--positions", 200, "--quiet")[0] == 0
    code, out, err = command("train", "out", "-o", "m.safetensors", "--json", "--l2", 0.5)
    assert (code, "60 sentences" in err, "partitions of out" in err) == (0, True, True)
    found = json.loads(out)
    assert found["training_data"]["sequences"] == 60
    assert found["model"]["relative_gap"] <= 1e-3
    assert command("eval", "train.txt", "-m", "m.safetensors")[0] == 0
    code, _, err = command("train", "out", "-o", "m.safetensors", "--features", "ner")
    assert (code, "--features is for a file, and out is a folder" in err) == (2, True)
    Path("empty").mkdir()
    code, _, err = command("train", "empty", "-o", "m.safetensors")
    assert (code, "empty has no manifest.json" in err) == (2, True)
    code, _, err = command("train", "out", "-o", "m.safetensors", "--solver", "lbfgs")
    assert (code, "--solver oeg" in err) == (2, True)
