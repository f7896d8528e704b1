"""Column files are read as they stand, or refused with file and line; what is written reads back."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.io import Sentence, read_columns, write_columns

cells = st.text(st.characters(exclude_categories=("Cs",), exclude_characters=" \t\n\r\f\v\ufeff"), min_size=1)
corpora = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(st.tuples(*[cells] * width), min_size=1, max_size=4), min_size=1, max_size=4)
)


@given(corpora, st.sampled_from([" ", "\t", " \t "]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_layout_of_the_same_columns_reads_the_same(
    corpus: list[list[tuple[str, ...]]], gap: str, newline: str, trailing: bool
) -> None:
    blocks = [newline.join(gap.join(row) for row in rows) for rows in corpus]
    text = f"{newline} \t{newline}{newline}".join(blocks) + (newline * 2 if trailing else "")
    for source in (
        io.StringIO(text, newline=""),
        io.BytesIO(text.encode()),
        io.BytesIO(b"\xef\xbb\xbf" + text.encode()),
    ):
        sentences = read_columns(source)
        assert sentences == corpus
        lines = text.split("\n")
        for sentence in sentences:
            for i, row in enumerate(sentence):
                assert lines[sentence.first_line - 1 + i].strip(" \t\r") == gap.join(row).strip(" \t\r")


@given(corpora, st.sampled_from([" ", "\t"]))
def test_what_is_written_reads_back(corpus: list[list[tuple[str, ...]]], separator: str) -> None:
    file = io.StringIO()
    write_columns(corpus, file, separator=separator)
    assert read_columns(io.StringIO(file.getvalue())) == corpus


@given(
    st.lists(st.lists(st.tuples(st.text(), st.text()), min_size=1), min_size=1),
    st.sampled_from([" ", "\t", "|"]),
)
def test_rows_of_any_text_are_refused_or_read_back(corpus: list[list[tuple[str, str]]], separator: str) -> None:
    file = io.StringIO(newline="")
    refusal = ""
    try:
        write_columns(corpus, file, separator=separator)
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert "cannot be written with the separator" in refusal
    else:
        expected = "\ufeff" + file.getvalue()  # a mark of its own, lest a first word that is one be taken for it
        assert read_columns(io.StringIO(expected), separator=None if separator == " " else separator) == corpus


@pytest.mark.parametrize("name", ["plain.txt", "packed.txt.gz"])
def test_paths_are_written_and_read_packed_or_not(tmp_path: Path, name: str) -> None:
    corpus = [[("één", "Num"), ("#", "#")], [("no\u00a0break", "N")]]
    path = tmp_path / name
    write_columns(corpus, path)
    assert read_columns(path) == corpus
    assert read_columns(str(path)) == corpus
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_dash_is_standard_input_and_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a b\n\nc d\n")))
    sentences = read_columns("-")
    assert sentences == [[("a", "b")], [("c", "d")]]
    write_columns(sentences, "-")
    assert capsys.readouterr().out == "a b\n\nc d\n\n"


def test_a_separator_allows_spaces_and_empty_columns() -> None:
    text = "New York\tCITY\r\n\tO\r\n \t \r\nx\ty"
    assert read_columns(io.StringIO(text, newline=""), separator="\t") == [
        [("New York", "CITY"), ("", "O")],
        [("x", "y")],
    ]


def test_other_encodings_are_read() -> None:
    assert read_columns(io.BytesIO("é x\n".encode("latin-1")), encoding="latin-1") == [[("é", "x")]]
    assert read_columns(io.BytesIO("é x\n".encode("utf-16")), encoding="utf-16") == [[("é", "x")]]


def test_line_numbers_count_blank_lines() -> None:
    sentences = read_columns(io.StringIO("\n\na b\nc d\n\n\ne f"))
    assert [sentence.first_line for sentence in sentences] == [3, 7]
    assert Sentence([("a",)]).first_line == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b\nc d\n\ne\n", "line 4: expected 2 columns as on line 1, found 1"),
        (b"\na b\nc d e\n", "line 3: expected 2 columns as on line 2, found 3"),
        (b"a b\nc \xff\n", "line 2: byte 0xff is not valid utf-8"),
        (b"", "has no sentences; expected one token a line"),
        (b" \n\t\n", "has no sentences"),
        (b"\xef\xbb\xbf", "has no sentences"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"words\.txt.*{message}"):
        read_columns(path)
    packed = tmp_path / "words.txt.gz"
    packed.write_bytes(gzip.compress(content, mtime=0))
    with pytest.raises(ValueError, match=rf"words\.txt\.gz.*{message}"):
        read_columns(packed)


@pytest.mark.parametrize(
    "content", [b"plain text", gzip.compress(b"a b\n" * 99, mtime=0)[:-12], b"\x1f\x8b\x08\x00" + b"\xff" * 40]
)
def test_a_damaged_gzip_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "words.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"words\.gz is not a whole gzip file"):
        read_columns(path)


def test_a_missing_file_is_a_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing-here"):
        read_columns(tmp_path / "nothing-here")


@pytest.mark.parametrize("separator", ["", "a\nb"])
def test_impossible_separators_are_refused(separator: str) -> None:
    with pytest.raises(ValueError, match="the separator must be a string without line breaks"):
        read_columns(io.StringIO("a"), separator=separator)


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([[("a", "b")], [("a", "x y")]], "row 0 of sentence 1, .* cannot be written with the separator ' '"),
        ([[("a", "")]], "a column is empty or holds the separator"),
        ([[("a\n", "b")]], "row 0 of sentence 0"),
        ([[("a", "b"), ()]], "row 1 of sentence 0"),
        ([[("a", "b")], []], "sentence 1 has no rows"),
    ],
)
def test_rows_that_would_not_read_back_leave_no_file(tmp_path: Path, corpus: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_columns(corpus, tmp_path / "out.txt")
    with pytest.raises(ValueError, match=message):
        write_columns(corpus, tmp_path / "out.gz")
    assert list(tmp_path.iterdir()) == []
