"""Ctrl-C at any moment: a KeyboardInterrupt, exit status 130, or a model that can be used."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pytest

from tests.faults.children import COMMAND, LONGEST, PROBLEM, interrupt_after, start

ENDS = """
    while True:
        %s
        say(".")
except KeyboardInterrupt:
    say("interrupted")
"""


@pytest.mark.parametrize(
    "what",
    [
        "ChainCRF(max_passes=3).fit(X, y)",
        "ChainCRF(max_passes=3, solver='lbfgs', n_jobs=2).fit(X, y)",
        "solve(field, 'sdca', max_passes=3)",
        "crf.predict(X)",
        "crf.predict_marginals(X)",
    ],
)
def test_work_in_a_loop_can_be_interrupted(tmp_path: Path, what: str) -> None:
    code = (
        PROBLEM + "crf = ChainCRF(max_passes=1).fit(X, y)\nfield = fields.Chain(X, y)\ntry:\n    say('.')" + ENDS % what
    )
    process = start([sys.executable, "-c", code], tmp_path)
    assert process.stdout is not None
    for _ in range(random.Random(what).randint(1, 4)):
        process.stdout.readline()
    said = ""
    while said not in ("interrupted\n",) and process.poll() is None:
        # A fit that is interrupted gives its model and the loop goes on, until a Ctrl-C meets the loop itself.
        process.send_signal(signal.SIGINT)
        said = process.stdout.readline()
    out, errors = process.communicate(timeout=LONGEST)
    assert (said + out).endswith("interrupted\n"), errors
    assert process.returncode == 0, errors


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_an_interrupted_fit_leaves_a_usable_model(tmp_path: Path, passes: int) -> None:
    code = (
        PROBLEM
        + """
try:
    crf = ChainCRF(tol=1e-15, max_passes=10**6, solver="sag").fit(X, y, callbacks=[lambda progress: say(".")])
    say(crf.solution_.status)
    assert len(crf.predict(X)) == len(X)
    assert np.isfinite(crf.weights_).all()
except KeyboardInterrupt:
    say("interrupted")
"""
    )
    status, out, errors = interrupt_after(start([sys.executable, "-c", code], tmp_path), passes)
    assert status == 0, errors
    assert out.splitlines()[-1] == "interrupted"


def test_an_interrupted_command_exits_with_130(model: Path) -> None:
    process = start([*COMMAND, "tag", "-", "-m", "model"], model.parent)
    assert process.stdin is not None
    process.stdin.write((model.parent / "columns").read_text())
    process.stdin.write("\n")
    process.stdin.flush()
    status, _, errors = interrupt_after(process, 1)
    assert status == 130
    assert "Traceback" not in errors


def test_interrupted_training_exits_with_130_or_writes_a_model(model: Path, tmp_path: Path) -> None:
    (tmp_path / "columns").write_bytes((model.parent / "columns").read_bytes())
    train = [
        *COMMAND,
        "train",
        "columns",
        "--output",
        "new",
        "--features",
        "pos",
        "--tol",
        "1e-15",
        "--max-passes",
        "1000000",
        "--solver",
        "sag",
    ]
    process = start(train, tmp_path)
    assert process.stderr is not None
    process.stderr.readline()
    status, _, errors = interrupt_after(process, 0)
    assert status in (0, 130)
    assert "Traceback" not in errors
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"columns", "new"}
