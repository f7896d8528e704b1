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
        ("lower n_jobs, or raise the limits", "lower --jobs, or raise the limits"),
        ("l2 must be a positive number", "--l2 must be a positive number"),
        ("12 MB; memory='float64' goes on", "12 MB; memory='float64' (in Python) goes on"),
        ("scale down or lower eta.", "scale down or lower eta (in Python)."),
        # What is no parameter stays as it is.
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
