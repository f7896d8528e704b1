"""The inputs that fuzzers have kept, past crashes among them, again through the normal build: none is a defect.

The drivers of the core need sanitizers and are run by ``make fuzz``; what can be asked from Python is asked here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualfield import _core
from tests.fuzz.api import run_program
from tests.fuzz.models import load_bytes, run_mutant

CORPUS = Path(__file__).parent / "corpus"
SEEDS = [int(line.split()[0]) for line in (CORPUS / "api_seeds.txt").read_text().splitlines() if line[:1].isdigit()]


def inputs(target: str) -> list[Path]:
    return sorted((CORPUS / target).iterdir())


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 200_000


def answer(function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """What a function gives, or the sentence of its refusal."""
    try:
        return function(*arguments), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("path", inputs("columns"), ids=lambda path: path.name)
def test_columns_are_read_or_refused(path: Path) -> None:
    for separator, conllu, tolerant in (("", False, False), ("\t", True, False), ("", False, True)):
        options = separator, "#", conllu, True, 0, 0, 0, tolerant, 1
        found, refusal = answer(_core.read_columns, path.read_bytes(), *options)
        assert refusal[:5] in ("", "line ")
        assert found is None or found[0].n_tokens == len(found[0].lines)
        assert found is not None or not tolerant


@pytest.mark.parametrize("path", inputs("attributes"), ids=lambda path: path.name)
def test_attributes_are_read_and_written_or_refused(path: Path) -> None:
    found, refusal = answer(_core.read_attributes, path.read_bytes(), None, 1)
    assert refusal[:5] in ("", "line ")
    if found is None:
        return
    written, refusal = answer(_core.write_attributes, *found)
    assert refusal.startswith(("the attribute ", "the label ")) if written is None else refusal == ""
    if written is not None:
        assert (_core.read_attributes(written, None, 1)[0] == found[0]).all()


@pytest.mark.parametrize("path", inputs("patterns"), ids=lambda path: path.name)
def test_patterns_match_or_are_refused(path: Path) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[:2], "big") % 1101
    pattern, text = (part.decode(errors="ignore") for part in (content[2 : 2 + length], content[2 + length :]))
    match, refusal = answer(_core.match_pattern, pattern, text)
    assert "regular expression" in refusal or refusal == ""
    assert match is None or 0 <= match[0] <= match[1] <= len(text)


@pytest.mark.parametrize("path", inputs("models"), ids=lambda path: path.name)
def test_models_load_or_are_refused(path: Path) -> None:
    kind = "crfsuite" if path.suffix == ".crfsuite" else path.name.split("-")[0]
    assert set(load_bytes(path.read_bytes(), path.name, kind, lambda name: None)) <= {"ok", "refused"}


@pytest.mark.parametrize("seed", range(40))
def test_mutants_of_models_load_or_are_refused(seed: int) -> None:
    assert sum(run_mutant(seed, lambda name: None).values()) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_answer_or_refuse(seed: int) -> None:
    assert sum(run_program(seed, lambda name: None).values()) > 0
