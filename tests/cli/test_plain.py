"""The short way to ``tag``: what it takes, Typer takes in the same way, and all else is left to Typer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualfield.cli import app, tag
from dualfield.cli.plain import plain_tag
from dualfield.tagging.answers import Wanted

Run = Callable[..., tuple[int, str, str]]
WORDS = st.sampled_from(
    [
        "-m",
        "--model",
        "-o",
        "--output",
        "-",
        "a",
        "b.txt",
        "",
        "--",
        "--strict",
        "-mx",
        "--model=x",
        "--help",
        "-x",
        "tag",
    ]
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(WORDS, max_size=7))
def test_plain_arguments_mean_what_typer_says(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = plain_tag(["tag", *words])
    if plain is None:
        return
    calls: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(tag, "tag_file", lambda *given, report, **more: calls.append((given, more)))
        patched.setattr(sys, "argv", ["dualfield", "tag", *words])
        with pytest.raises(SystemExit) as ended:
            app.run()
    assert not ended.value.code
    asked = {"wanted": Wanted(), "tokenize": False, "embeddings": None}
    assert calls == [((*plain, None, None, None, None, "utf-8", False, 1), asked)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("tag a -m b", ("a", "b", "-")),
        ("tag -m b a -o c", ("a", "b", "c")),
        ("tag - --output - --model b", ("-", "b", "-")),
        ("tag", None),
        ("tag a", None),
        ("tag a -m", None),
        ("tag -m b", None),
        ("tag a b -m c", None),
        ("tag a -m b -m c", None),
        ("tag a -m -o c", None),
        ("tag a -m b --strict", None),
        ("tag a -m b --help", None),
        ("eval a -m b", None),
        ("", None),
    ],
)
def test_only_plain_arguments_are_taken(words: str, found: tuple[str, str, str] | None) -> None:
    assert plain_tag(words.split()) == found


def test_completion_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DUALFIELD_COMPLETE", "complete_bash")
    assert plain_tag("tag a -m b".split()) is None


def test_mistakes_of_both_ways_are_told_alike(command: Run) -> None:
    for words in ("tag a -m missing", "tag a -m missing --strict"):
        assert command(*words.split()) == (2, "", "Error: there is no model file 'missing'.\n")
