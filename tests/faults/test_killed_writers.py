"""A writer that is killed leaves the old file or the new one, whole; what else it leaves goes with the next write."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from dualfield import ChainCRF
from tests.faults.children import LONGEST, start

SAVES = """
import sys
import numpy as np
from dualfield.models.model_file import write_model
turn = 0
while True:
    turn += 1
    write_model("model", {"weights": np.full(200_000, float(turn))}, {"estimator": "none", "turn": turn})
    sys.stdout.write(".\\n")
    sys.stdout.flush()
"""


def kill_in_the_middle(folder: Path, saves: int) -> None:
    process = start([sys.executable, "-c", SAVES], folder)
    assert process.stdout is not None
    for _ in range(saves):  # then it is somewhere in the next save
        process.stdout.readline()
    process.kill()
    process.communicate(timeout=LONGEST)


@pytest.mark.parametrize("seed", range(4))
def test_the_file_is_whole_after_a_kill(tmp_path: Path, seed: int) -> None:
    from dualfield.models.model_file import read_model

    kill_in_the_middle(tmp_path, random.Random(seed).randint(1, 12))
    arrays, description = read_model(tmp_path / "model")
    np.testing.assert_array_equal(arrays["weights"], np.full(200_000, float(description["turn"])))


HALF = """
import sys
from dualfield.io import atomic_write
with atomic_write("model", "wb") as file:
    file.write(b"half")
    file.flush()
    sys.stdout.write("written\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""


def test_a_writer_that_is_at_work_keeps_its_file(tmp_path: Path) -> None:
    process = start([sys.executable, "-c", HALF], tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    ChainCRF().fit([[["a"]], [["b"]]], [["N"], ["V"]]).save(tmp_path / "model")
    process.communicate(timeout=LONGEST)
    assert process.returncode == 0
    assert (tmp_path / "model").read_bytes() == b"half"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_leftover_of_a_killed_writer_goes_with_the_next_write(tmp_path: Path) -> None:
    crf = ChainCRF().fit([[["a"]], [["b"]]], [["N"], ["V"]])
    process = start([sys.executable, "-c", HALF], tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=LONGEST)
    assert [path.name for path in tmp_path.iterdir()] != []
    crf.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
