"""What the command line says names its own options, not Python's parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from dualfield.cli.app import command_line
from dualfield.cli.wording import _OPTIONS, in_options
from dualfield.datasets import travel_sentences
from dualfield.io import write_columns

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("stopped at max_passes=2 before tol=1e-09: ...", "stopped at --max-passes 2 before --tol 1e-09: ..."),
        ("raise max_passes or tol.", "raise --max-passes or --tol."),
        ("use solver='auto', 'oeg' or 'sgd'.", "use --solver auto, oeg or sgd."),
        ("train it with bias=False, begin=False.", "train it with --no-bias, --no-begin."),
        (
            "make it smaller, by state_features='observed' or l1.",
            "make it smaller, by --state-features observed or --l1.",
        ),
        ("standardize=True trains on columns of one scale.", "--standardize trains on columns of one scale."),
        ("lower n_jobs, or raise the limits", "lower --jobs, or raise the limits"),
        ("l2 must be a positive number", "--l2 must be a positive number"),
        ("12 MB; memory='float64' goes on", "12 MB; memory='float64' (in Python) goes on"),
        ("scale down or lower eta.", "scale down or lower eta (in Python)."),
        ("device='cuda' needs a GPU, or leave device out.", "--device cuda needs a GPU, or leave --device out."),
        ("hash_bits must be an integer, or None; got 60", "--hash-bits must be an integer; got 60"),
        # What is no parameter stays as it is.
        ("line 3: there is no device, or None", "line 3: there is no device, or None"),
        ("‖∇P‖²/(2 l2) is 1e-4 of P", "‖∇P‖²/(2 l2) is 1e-4 of P"),
        ("line 3: found 'l2=5' and x-tol=3", "line 3: found 'l2=5' and x-tol=3"),
        ("the solver begins at the end of transitions", "the solver begins at the end of transitions"),
    ],
)
def test_parameters_become_options(said: str, shown: str) -> None:
    assert in_options(said) == shown


def test_every_option_that_is_named_exists() -> None:
    train = typer.main.get_command(command_line(["train", "tag"])).commands["train"]  # type: ignore[attr-defined]
    known = {name for parameter in train.params for name in parameter.opts}
    assert set(_OPTIONS.values()) <= known


def test_messages_of_training_name_options_that_there_are(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_columns(travel_sentences(40, 0), "train.txt")
    train = ("train", "train.txt", "--features", "ner", "-o", "m", "--max-passes", 1, "--tol", 1e-9)
    for more in ((), ("-q",)):
        err = command(*train, *more)[2]
        assert "at --max-passes 1 before --tol 1e-09" in err
        assert not re.search(r"max_passes|\btol=|\(OEG was chosen", err)
    err = command(*train, "--l1", 1, "--solver", "perceptron")[2]
    assert "Error: Perceptron cannot minimise the penalty --l1 1; use --solver auto, oeg, " in err


def test_one_of_a_kind_is_said_in_the_singular(command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.crfsuite").write_text("B-NP\tw=a\nO\tw=a\n\n")
    said = [
        command("train", "one.crfsuite", "-o", "m"),
        command("eval", "one.crfsuite", "-m", "m"),
        command("inspect", "m"),
        command("encode", "one.crfsuite", "-o", "folder"),
        command("convert", "one.crfsuite", "one.jsonl"),
    ]
    assert [code for code, _, _ in said] == [0] * 5
    everything = "\n".join(out + err for _, out, err in said)
    assert "1 sentence, 2 tokens read" in everything
    assert "1 chunk, " in everything
    assert "1 sequence, 2 positions, 1 attribute and 2 labels written to folder, in 1 partition" in everything
    assert not re.search(r"(?<![\d,.])1 (sentence|sequence|attribute|chunk|partition|token|label|weight)s", everything)
    assert "1 sentence, 2 tokens in 1 partition of folder" in command("train", "folder", "-o", "n")[2]


def test_a_missing_file_is_said_to_be_missing_whatever_else_is(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for more in ((), ("--features", "ner"), ("--features", "nre")):
        code, out, err = command("train", "nowhere.txt", "-o", "m", *more)
        assert (code, out, err) == (2, "", "Error: nowhere.txt: No such file or directory.\n")
