"""The reader of column files, held against Python's own splitting, and against any bytes at all."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualfield._core as core
from tests.core.strategies import few_examples

BLANKS = " \t\n\r\f\v"
lines = st.text("ab#-. \t\r\u00a0é|", max_size=6)
# Lines of two columns, mostly: other widths end the reading.
sound = st.sampled_from(["a b", " a  b ", "é\tb", "-DOCSTART- x", "# b", "a b\r", "", " ", "\t\r"])


def read(data: bytes, **options: Any) -> tuple[Any, list[tuple[int, str]]]:
    given_options: dict[str, Any] = {
        "separator": "",
        "comment": "",
        "conllu": False,
        "drop_docstart": False,
        "fewest": 0,
        "most": 0,
        "keep": 0,
        "tolerant": False,
        "first_line": 1,
    }
    return core.read_columns(data, **(given_options | options))


def cells(tokens: Any) -> list[list[tuple[str, ...]]]:
    """The sentences as rows of strings."""
    columns = []
    for c in range(tokens.n_columns):
        names = tokens.names(c).strings()
        columns.append([names[code] for code in tokens.codes(c).tolist()])
    rows = list(zip(*columns, strict=True))
    offsets = tokens.offsets.tolist()
    return [rows[a:b] for a, b in pairwise(offsets)]


def split_by_python(text: str, separator: str, comment: str, drop_docstart: bool) -> Any:
    """(sentences of rows, line of every token), or the first line of another width."""
    sentences: list[list[tuple[str, ...]]] = []
    current: list[tuple[str, ...]] = []
    numbers, width = [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line.strip(BLANKS):
            if current:
                sentences.append(current)
            current = []
            continue
        fields = line.split(separator) if separator else re.split(f"[{BLANKS}]+", line.strip(BLANKS))
        if (comment and line.startswith(comment)) or (drop_docstart and fields[0] == "-DOCSTART-"):
            continue
        width = width or len(fields)
        if len(fields) != width:
            return number
        current.append(tuple(fields))
        numbers.append(number)
    return ([*sentences, current] if current else sentences), numbers


@few_examples
@given(
    st.lists(sound, max_size=12) | st.lists(lines, max_size=8),
    st.sampled_from(["", "\t", "|", " "]),
    st.sampled_from(["", "#"]),
    st.booleans(),
    st.booleans(),
)
def test_files_are_read_as_python_splits_them(
    given_lines: list[str], separator: str, comment: str, drop: bool, ended: bool
) -> None:
    text = "\n".join(given_lines) + ("\n" if ended else "")
    expected = split_by_python(text, separator, comment, drop)
    options = {"separator": separator, "comment": comment, "drop_docstart": drop}
    if isinstance(expected, int):
        with pytest.raises(ValueError, match=f"line {expected}: expected"):
            read(text.encode(), **options)
        return
    tokens, faults = read(text.encode(), **options)
    assert (cells(tokens), tokens.lines.tolist()) == expected
    assert faults == []


@few_examples
@given(st.binary(max_size=60), st.sampled_from(["", "\t"]), st.booleans())
def test_any_bytes_are_read_or_refused_with_a_line(data: bytes, separator: str, conllu: bool) -> None:
    refusal = ""
    try:
        tokens, _ = read(data, separator=separator, conllu=conllu)
    except ValueError as error:
        refusal = str(error)
    valid = True
    try:
        data.decode()
    except UnicodeDecodeError as error:
        valid, line = False, data[: error.start].count(b"\n") + 1
    if valid and refusal:
        assert re.match(r"line \d+: expected", refusal)
    elif refusal:
        assert re.match(r"line \d+: (expected|byte 0x[0-9a-f]{2} is not valid utf-8)", refusal)
        assert int(refusal.split()[1][:-1]) <= line
    else:
        assert valid
        assert tokens.n_tokens == len(tokens.lines)


@few_examples
@given(st.lists(st.lists(st.sampled_from([b"a b", b"c", b"\xff x", b"d e f", b"g h"]), min_size=1), max_size=6))
def test_a_tolerant_reader_leaves_out_exactly_the_bad_sentences(sentences: list[list[bytes]]) -> None:
    data = b"\n\n".join(b"\n".join(sentence) for sentence in sentences)
    tokens, faults = read(data, fewest=2, most=3, keep=2, tolerant=True, first_line=11)
    good, bad, line = [], [], 11
    for sentence in sentences:
        widths = [None if b"\xff" in row else len(row.split()) for row in sentence]
        wrong = [i for i, width in enumerate(widths) if width not in (2, 3) or width != widths[0]]
        if wrong:
            bad.append(line + wrong[0])
        else:
            good.append([tuple(row.decode().split()[:2]) for row in sentence])
        line += len(sentence) + 1
    assert cells(tokens) == good
    assert [number for number, _ in faults] == bad


def test_conllu_skips_comments_ranges_and_empty_nodes() -> None:
    def row(number: str, form: str) -> str:
        return "\t".join([number, form, *"_" * 8])

    text = "\n".join(["# text = x y", row("1-2", "xy"), row("1", "x"), row("1.1", "e"), row("2", "y z"), ""])
    tokens, _ = read(text.encode(), separator="\t", comment="#", conllu=True, fewest=10, most=10)
    assert [[r[1] for r in sentence] for sentence in cells(tokens)] == [["x", "y z"]]
    assert tokens.lines.tolist() == [3, 5]
    with pytest.raises(ValueError, match="line 2: expected the 10 columns of CoNLL-U with tabs between them, found 1"):
        read(b"\n1 x\n", separator="\t", comment="#", conllu=True, fewest=10, most=10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fewest": 2, "most": 3}, "line 1: expected 2 or 3 columns, found 1"),
        ({"fewest": 2, "most": 2}, "line 1: expected 2 columns, found 1"),
    ],
)
def test_widths_that_are_known_beforehand_are_insisted_on(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(b"a\n", **options)


def test_sentences_may_have_either_width_but_not_both() -> None:
    tokens, _ = read(b"a b\n\nc d e\n", fewest=2, most=3, keep=2)
    assert cells(tokens) == [[("a", "b")], [("c", "d")]]
    with pytest.raises(ValueError, match="line 2: expected 2 columns as on the lines before, found 3"):
        read(b"a b\nc d e\n", fewest=2, most=3, keep=2)


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xc3",
    ],
)
def test_bytes_that_are_not_utf8_are_refused(wrong: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        wrong.decode()
    with pytest.raises(ValueError, match=f"line 2: byte 0x{wrong[0]:02x} is not valid utf-8; .*--encoding"):
        read(b"good\nbad" + wrong + b"\n")
