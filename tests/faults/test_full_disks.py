"""No room on the disk: a sentence, the old file as it was, and nothing left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.faults.children import COMMAND, LONGEST, PROBLEM, python


def little_room() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write says that there is no room
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_model_that_does_not_fit_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("old")
    code = (
        PROBLEM
        + "crf = ChainCRF(max_passes=1).fit(X, y)\ntry:\n    crf.save('model')\nexcept OSError:\n    say('refused')"
    )
    done = python(code, tmp_path, little_room)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments", [["inspect", "model"], ["tag", "columns", "-m", "model"], ["eval", "columns", "-m", "model"]]
)
def test_a_full_output_ends_a_command_with_a_sentence(model: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=model.parent,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
