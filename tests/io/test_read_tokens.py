"""Every format, encoding and kind of file gives the same tokens, or one sentence."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from dualfield.io import read_columns, read_tokens

TEXT = "één NUM\n# SYM\n\n-DOCSTART- X\n\nja INTJ\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252"])
@pytest.mark.parametrize("packed", [False, True])
def test_all_encodings_and_packings_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, packed: bool
) -> None:
    data = TEXT.encode(encoding)
    data = gzip.compress(data, mtime=0) if packed else data
    path = tmp_path / "words"  # no suffix: the bytes tell
    path.write_bytes(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    for source in (path, str(path), io.BytesIO(data), "-"):
        tokens = read_tokens(source, encoding=encoding)
        assert tokens.rows() == [[("één", "NUM"), ("#", "SYM")], [("ja", "INTJ")]]
        assert tokens.lines.tolist() == [1, 6]


def test_comments_and_document_starts_are_options() -> None:
    def first_words(**options: Any) -> list[list[str]]:
        return [[row[0] for row in sentence] for sentence in read_tokens(io.StringIO(TEXT), **options).rows()]

    assert first_words() == [["één", "#"], ["ja"]]
    assert first_words(docstart="keep") == [["één", "#"], ["-DOCSTART-"], ["ja"]]
    assert first_words(comment="#") == [["één"], ["ja"]]
    assert [s[0][0] for s in read_columns(io.StringIO(TEXT))] == ["één", "-DOCSTART-", "ja"]


def test_lines_of_tokens_count_what_is_skipped() -> None:
    tokens = read_tokens(io.StringIO("# x\na\n# y\nb\n\n\nc"), comment="#")
    assert tokens.token_lines.tolist() == [2, 4, 7]
    assert tokens[1].lines.tolist() == [7]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"a b\nc\n", {}, "line 2: expected 2 columns as on line 1, found 1; mend the line or give the separator"),
        (b"a b\nc \xe9\n", {}, "line 2: byte 0xe9 is not valid utf-8; give the file's own encoding .*--encoding"),
        (b"a\n\x81\n", {"encoding": "cp1252"}, "line 2: byte 0x81 is not valid cp1252 .*--encoding"),
        (b"a b\n", {"format": "conllu"}, "line 1: expected the 10 columns of CoNLL-U"),
        (b"# a\n", {"comment": "#"}, "has no sentences"),
        (b"-DOCSTART- O\n", {}, "has no sentences"),
    ],
)
def test_mistakes_are_named_with_file_and_line(
    tmp_path: Path, content: bytes, options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"words\.txt.*{message}"):
        read_tokens(path, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "tsv"}, "there is no format 'tsv'; expected 'columns' or 'conllu'"),
        ({"docstart": "x"}, "docstart must be 'drop' or 'keep'"),
        ({"separator": ""}, "the separator must be a string without line breaks"),
        ({"comment": "\n"}, "the comment must be a string without line breaks"),
        ({"format": "conllu", "separator": "\t"}, "CoNLL-U fixes the separator"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_reading(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_tokens("no-such-file", **options)


def test_lone_surrogates_are_no_text() -> None:
    with pytest.raises(ValueError, match=r"the file, line 2: .* lone surrogate"):
        read_tokens(io.StringIO("a\n\ud800\n"))


@pytest.mark.parametrize(("part", "sentences", "words", "tags"), [("dev", 2001, 25147, 49), ("test", 2077, 25094, 48)])
def test_real_conllu_has_the_known_counts(data_folder: Path, part: str, sentences: int, words: int, tags: int) -> None:
    path = data_folder / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.gz"
    tokens = read_tokens(path, format="conllu")
    assert (len(tokens), tokens.n_tokens, len(set(tokens.column(4)))) == (sentences, words, tags)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("conll2000/train.txt.gz", {}, (8936, 211727, 3)),
        ("conll2002/ned.train.gz", {"docstart": "keep"}, (15806, 202931, 3)),
        ("conll2002/ned.train.gz", {}, (15806, 202644, 3)),
        ("jnlpba2004/Genia4ERtask1.iob2.gz", {"separator": "\t"}, (18546, 492551, 2)),
    ],
)
def test_real_files_have_the_known_counts(
    data_folder: Path, name: str, options: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    tokens = read_tokens(data_folder / name, **options)
    assert (tokens.n_sentences, tokens.n_tokens, tokens.n_columns) == expected
