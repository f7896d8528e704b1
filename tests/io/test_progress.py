"""Reading tells how far it is, and Ctrl-C or an error of whoever is told ends it."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from dualfield.io import read_attributes, read_json_lines, read_tokens
from dualfield.reporting.reading import reading_shown

MIB = 1 << 20
COLUMNS = b"the DT\ncat NN\n\n"
ATTRIBUTES = b"A\tw=the\nB\tw=cat\n\n"
JSON = b'{"tokens": ["the", "cat"], "labels": ["A", "B"]}\n'
Reader = Callable[..., Any]
readers = pytest.mark.parametrize(
    ("read", "text"), [(read_tokens, COLUMNS), (read_attributes, ATTRIBUTES), (read_json_lines, JSON)]
)
in_the_core = pytest.mark.parametrize(("read", "text"), [(read_tokens, COLUMNS), (read_attributes, ATTRIBUTES)])


def of_size(text: bytes, size: int) -> io.BytesIO:
    return io.BytesIO(text * (size // len(text)))


@readers
def test_progress_is_told_of_every_mebibyte(read: Reader, text: bytes) -> None:
    told: list[tuple[int, int]] = []
    file = of_size(text, 3 * MIB + MIB // 2)
    read(file, progress=lambda done, total: told.append((done, total)))
    assert [done // MIB for done, _ in told] == [1, 2, 3]
    assert {total for _, total in told} == {len(file.getvalue())}


@readers
def test_progress_changes_nothing_of_what_is_read(read: Reader, text: bytes) -> None:
    told: list[int] = []
    quiet, watched = (read(of_size(text, 2 * MIB), **o) for o in ({}, {"progress": lambda done, _: told.append(done)}))
    assert told
    if read is read_tokens:
        assert quiet.rows() == watched.rows()
    elif read is read_attributes:
        assert (quiet[0].indices == watched[0].indices).all()
        assert quiet[1].tolist() == watched[1].tolist()
    else:
        assert (quiet.sequences, quiet.labels) == (watched.sequences, watched.labels)


@readers
def test_an_error_of_progress_ends_the_reading(read: Reader, text: bytes) -> None:
    told: list[int] = []

    def fail(done: int, total: int) -> None:
        told.append(done)
        raise RuntimeError("my own")

    with pytest.raises(RuntimeError, match="my own"):
        read(of_size(text, 4 * MIB), progress=fail)
    assert len(told) == 1


@in_the_core
@pytest.mark.skipif(os.name == "nt", reason="there are no timers of CPU time")
def test_ctrl_c_ends_the_reading_of_a_large_file(read: Reader, text: bytes) -> None:
    # The core sees the signal: a method of dict runs no Python code, in which it would be seen. A timer of CPU time
    # sends it, however busy the machine is, and what handles it is what handles Ctrl-C.
    told: dict[int, int] = {}
    mebibytes = 48
    content = of_size(text, mebibytes * MIB)
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            read(content, progress=told.__setitem__)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    assert len(told) < mebibytes - 1


def test_the_bar_is_for_large_files_with_the_time_that_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    with reading_shown() as progress:
        read_tokens(of_size(COLUMNS, 2 * MIB), progress=progress)
    assert capsys.readouterr().err == ""
    large = of_size(COLUMNS, 5 * MIB)
    with reading_shown() as progress:
        read_tokens(large, progress=progress)
    size = f"{len(large.getvalue()):,}"
    out, err = capsys.readouterr()
    assert out == ""
    assert f"reading: byte {size} of {size}" in err
    with reading_shown(False) as progress:
        assert progress is None


def test_the_bar_foretells_the_end_by_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    from dualfield.reporting import progress as module

    now = 0.0
    monkeypatch.setattr(module.time, "perf_counter", lambda: now)
    shown: list[str] = []
    with module.CountBar(8 * MIB, "reading: byte") as bar:
        monkeypatch.setattr(bar._display, "update", lambda task, **fields: shown.append(fields["left"]))
        now = 5.0
        bar.show(2 * MIB)
        bar.show_end()
    assert shown == ["about 15 s left", ""]
