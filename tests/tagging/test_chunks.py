"""Streams are cut between sentences, whatever their pieces; what is too long is passed on in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.io import write_columns, write_json_lines
from dualfield.tagging import chunks
from dualfield.tagging.chunks import Chunk, after_last_blank_line, whole_lines, whole_sentences
from dualfield.tagging.formats import jsonl
from dualfield.tagging.stream_parts import InParts

Run = Callable[..., tuple[int, str, str]]
BOUND = 12
streams = st.text("ab \r\n", max_size=60).map(str.encode)
cuts = st.lists(st.integers(1, 6), min_size=1)


def pieces_of(stream: bytes, sizes: list[int]) -> Iterator[bytes]:
    at, number = 0, 0
    while at < len(stream):
        size = sizes[number % len(sizes)]
        yield stream[at : at + size]
        at, number = at + size, number + 1


def sentences_of(stream: bytes, longest: int = 100) -> list[bytes]:
    """A blank line ends a sentence, empty or not; one that is too long does not count as blank."""
    found, lines = [], stream.split(b"\n")
    here = b""
    for number, line in enumerate(lines):
        last = number + 1 == len(lines)
        here += line if last and not line else line + b"\n"
        if (last and here) or (not last and not line.strip() and len(line) < longest):
            found.append(here)
            here = b""
    return found


@pytest.mark.parametrize("cut", [whole_lines, whole_sentences])
@given(stream=streams, sizes=cuts)
def test_chunks_are_the_stream_cut_between_sentences(
    cut: Callable[..., Iterator[Chunk]], stream: bytes, sizes: list[int]
) -> None:
    found = list(cut(pieces_of(stream, sizes)))
    ending = b"\n" if stream and not stream.endswith(b"\n") else b""
    assert b"".join(chunk.text for chunk in found) == stream + ending
    assert all(chunk.text and not chunk.over for chunk in found)
    for chunk in found[:-1]:
        line = chunk.text.split(b"\n")[-2]
        assert chunk.text.endswith(b"\n")
        assert cut is whole_lines or not line.strip()


@given(stream=streams, sizes=cuts, many=st.sampled_from([3, 100]))
def test_which_sentences_are_too_long_does_not_depend_on_the_pieces(stream: bytes, sizes: list[int], many: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "LONGEST", BOUND)
        patch.setattr(chunks, "MOST_TOKENS", many)
        found = list(whole_sentences(pieces_of(stream, sizes)))
        most_held = max((len(chunk.text) for chunk in found if chunk.over), default=0)
    over: list[bytes] = []
    for chunk in found:
        if chunk.begins:
            over.append(b"")
        if chunk.over:
            over[-1] += chunk.text
    expected = [s for s in sentences_of(stream, BOUND) if len(s) > BOUND or s.count(b"\n") > many]
    assert over == expected
    assert b"".join(chunk.text for chunk in found) == b"".join(sentences_of(stream))
    assert most_held <= 2 * BOUND + max(sizes)  # a sentence, a line, and a piece


def test_a_stream_without_blank_lines_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte is looked at a bounded number of times: what is looked at is the pieces, never what is held."""

    class Watched(bytes):
        looked_at = 0

        def find(self, *arguments: Any) -> int:
            Watched.looked_at += len(self)
            return super().find(*arguments)

        def rfind(self, *arguments: Any) -> int:
            Watched.looked_at += len(self)
            return super().rfind(*arguments)

        def __add__(self, other: bytes) -> bytes:
            raise AssertionError("pieces are joined once, at the end")

    monkeypatch.setattr(chunks, "LONGEST", 1 << 40)
    stream = [Watched(b"abc defg") for _ in range(20_000)]
    assert len(list(whole_lines(iter(stream)))) == 1
    assert Watched.looked_at <= 2 * sum(map(len, stream))


class Whole:
    """Counts the sentences of a chunk."""

    def tag(self, chunk: bytes, first_line: int) -> tuple[bytes, int, list[tuple[int, str]]]:
        return chunk, len(sentences_of(chunk)), [(first_line, "seen")]


@given(stream=streams.filter(bool), parts=st.integers(1, 70))
def test_parts_of_a_chunk_are_whole_sentences(stream: bytes, parts: int) -> None:
    text, n_sentences, faults = InParts(Whole(), parts).tag(stream, 1)
    assert (text, n_sentences) == (stream, len(sentences_of(stream)))
    assert [line for line, _ in faults] == sorted({line for line, _ in faults})


def test_the_last_blank_line_is_found_within_bounds() -> None:
    text = b"a\n\nb\n \nc\n"
    assert after_last_blank_line(text) == 7
    assert after_last_blank_line(text, 3, 6) == 0
    assert after_last_blank_line(text, 0, 6) == 3
    assert after_last_blank_line(text, 6, 7) == 7


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Run) -> None:
    monkeypatch.chdir(tmp_path)
    sentences = [["the", "cat"], ["a", "dog"]] * 3
    labels = [["D", "N"]] * 6
    rows = [list(zip(*pair, strict=True)) for pair in zip(sentences, labels, strict=True)]
    write_columns(rows, "train.txt")
    write_json_lines(sentences, "train.jsonl", kind="tokens", labels=labels)
    Path("train.crfsuite").write_text("D\tw=the\nN\tw=cat\n\n" * 4)
    for name, options in (
        ("columns", ("train.txt", "--features", "pos")),
        ("jsonl", ("train.jsonl", "--features", "pos", "--format", "jsonl")),
        ("attributes", ("train.crfsuite", "--format", "attributes")),
    ):
        assert command("train", *options, "-o", name, "-q")[0] == 0
    monkeypatch.setattr(chunks, "LONGEST", 4000)
    monkeypatch.setattr(chunks, "MOST_TOKENS", 300)
    monkeypatch.setattr(jsonl, "MOST_TOKENS", 300)
    monkeypatch.setattr("dualfield.tagging.stream._CHUNK", 100)


RULE = "the sentence that begins here has more than 4,000 bytes or 300 tokens; cut it into shorter ones, each with"


@pytest.mark.parametrize("long", ["a\n" * 301, "a" * 4001 + "\n", "a\n" + " " * 4001 + "a\nb\n", "a" * 6000])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.usefixtures("models")
def test_a_sentence_that_is_too_long_is_passed_on_without_labels(command: Run, long: str, jobs: int) -> None:
    stream = f"the\ncat\n\n{long}"
    code, out, err = command("tag", "-", "-m", "columns", "-j", jobs, stdin=stream.encode())
    assert (code, out) == (0, f"the D\ncat N\n\n{long}" + ("" if long.endswith("\n") else "\n"))
    assert err.splitlines() == [
        f"standard input, line 4: {RULE} a blank line after it.",
        "Warning: 1 of 2 sentences were passed on without labels.",
    ]
    code, out, err = command("tag", "-", "-m", "columns", "--strict", stdin=f"{stream.strip()}\n\nthe\n".encode())
    assert (code, out) == (2, "the D\ncat N\n\n")
    assert err == f"Error: standard input, line 4: {RULE} a blank line after it.\n"
    if long.endswith("\n"):
        code, out, _ = command("tag", "-", "-m", "columns", "-j", jobs, stdin=f"{stream}\nthe\ncat\n".encode())
        assert out.endswith(f"{long}\nthe D\ncat N\n")


@pytest.mark.usefixtures("models")
def test_a_line_of_json_that_is_too_long_is_passed_on_without_labels(command: Run) -> None:
    for long in (json.dumps({"tokens": ["a" * 4001]}), json.dumps({"tokens": ["a"] * 301})):
        stream = '{"tokens": ["the"]}\n' + long + '\n{"tokens": ["cat"]}'
        code, out, err = command("tag", "-", "-m", "jsonl", stdin=stream.encode())
        assert code == 0
        assert out.splitlines()[1] == long
        assert [json.loads(line).get("predicted") for line in out.splitlines()] == [["D"], None, ["N"]]
        assert err.splitlines()[0] == f"standard input, line 2: {RULE} a line break after it."
        code, _, err = command("tag", "-", "-m", "jsonl", "--strict", stdin=stream.encode())
        assert code == 2
        assert err == f"Error: standard input, line 2: {RULE} a line break after it.\n"


@pytest.mark.usefixtures("models")
def test_attributes_that_are_too_long_end_the_stream(command: Run) -> None:
    for long in ("D\tw=the\n" * 301, "D\t" + "a" * 4001):
        code, out, err = command("tag", "-", "-m", "attributes", stdin=f"D\tw=the\n\n{long}".encode())
        assert (code, out) == (2, "D\n\n")
        assert err == f"Error: standard input, line 3: {RULE} a blank line after it.\n"


@pytest.mark.usefixtures("models")
def test_a_nested_line_of_json_does_not_end_the_stream(command: Run) -> None:
    nested = f'{{"tokens": ["the"], "x": {"[" * 600}{"]" * 600}}}'
    code, out, err = command("tag", "-", "-m", "jsonl", stdin=f'{nested}\n{{"tokens": ["the"]}}\n'.encode())
    assert code == 0
    assert out.splitlines() == [nested, '{"tokens": ["the"], "predicted": ["D"]}']
    assert err.startswith("standard input, line 1: its lists and objects nest deeper than 100; flatten them.\n")
