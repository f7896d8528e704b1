"""``mpirun -n 2 dualfield train FOLDER --distributed mpi``: real processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.partitions import open_partitions, write_partitions

HOME = Path(sys.executable).parent
MPIEXEC = shutil.which("mpiexec", path=str(HOME)) or shutil.which("mpiexec")
pytest.importorskip("mpi4py", reason="needs mpi4py: pip install 'dualfield[mpi]' mpich")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec: pip install mpich")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mpi") / "data"
    sentences = travel_sentences(300)
    X = [[[f"w={word.lower()}", f"s={word[-2:]}"] for word, _ in sentence] for sentence in sentences]
    write_partitions([(X, [[label for _, label in sentence] for sentence in sentences])], path, positions=600)
    return path


def started(ranks: int, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-m", "dualfield", "train", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=240)
    return process.returncode, output, errors


def trained(ranks: int, *arguments: str | Path) -> tuple[int, str, str]:
    return ended(started(ranks, *arguments))


def test_two_processes_train_the_model_of_one(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    code, output, errors = trained(
        2, folder, "--distributed", "mpi", "-o", model, "--l2", "0.5", "--tol", "1e-5", "--json"
    )
    assert code == 0, errors
    assert "on 2 ranks" in errors
    data = open_partitions(folder)
    alone = ChainCRF(l2=0.5, tol=1e-7, random_state=0).fit(*data.load()[:2]).solution_
    found = ChainCRF.load(model).solution_
    assert json.loads(output)["training_data"] == {"sequences": 300, "positions": data.n_positions}
    assert found.status == "converged"
    assert found.dual <= alone.primal
    assert alone.dual <= found.primal <= alone.primal * (1 + 1e-5)


def test_gradients_are_added_up_by_mpi(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    code, _, errors = trained(2, folder, "--distributed", "mpi", "-o", model, "--solver", "lbfgs", "--l1", "0.1")
    assert code == 0, errors
    assert ChainCRF.load(model).solution_.relative_gap <= 1e-3


def test_a_checkpoint_is_where_the_next_job_goes_on(folder: Path, tmp_path: Path) -> None:
    model, kept = tmp_path / "model.safetensors", tmp_path / "kept"
    options = (folder, "--distributed", "mpi", "-o", model, "--checkpoints", kept)
    assert trained(2, *options)[0] == 0
    files = sorted(file.name for file in kept.iterdir())
    assert files == ["acceleration.npz", *(f"part-{k:05d}.npz" for k in range(len(files) - 2)), "problem.json"]
    first = ChainCRF.load(model).solution_
    code, _, errors = trained(1, *options)
    assert code == 2
    assert "has the checkpoints of an earlier run; resume from them" in errors
    code, _, errors = trained(3, *options, "--resume")
    assert code == 0, errors
    assert ChainCRF.load(model).solution_.passes < first.passes


@pytest.mark.parametrize(
    ("ranks", "options", "said"),
    [
        (2, ["--distributed", "mpi", "--jobs", "2"], "--jobs is for one process"),
        (2, ["--distributed", "mpi", "--resume"], "name their folder by --checkpoints"),
        (2, ["--distributed", "mpi", "--min-count", "3"], "was made with --min-count 1"),
        (2, ["--distributed", "mpi", "--solver", "sag"], "SAG does not run on several ranks"),
        (9, ["--distributed", "mpi"], "there are 9 ranks, each of which needs one"),
        (1, ["--checkpoints", "there"], "add --distributed mpi"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    ranks: int, options: list[str], said: str, folder: Path, tmp_path: Path
) -> None:
    code, _, errors = trained(ranks, folder, "-o", tmp_path / "model", *options)
    assert code == 2, errors
    assert said in errors
    assert "Traceback" not in errors


def test_a_process_that_hangs_is_named_and_ends_the_job(folder: Path, tmp_path: Path) -> None:
    """One of the two is stopped for good: the other says so after the time limit, and does not wait for ever."""
    options = ("--tol", "1e-30", "--max-passes", "1000000", "--time-limit", "2", "--checkpoints", tmp_path / "kept")
    process = started(2, folder, "--distributed", "mpi", "-o", tmp_path / "model", *options)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.startswith("pass 3:"):
                break
        os.kill(rank_one(tmp_path), signal.SIGSTOP)
        code, _, errors = ended(process)
    finally:
        process.kill()
    assert code != 0
    assert "Error: rank 1 (" in errors
    assert "did not come to exchange" in errors
    assert f"--resume --checkpoints {tmp_path / 'kept'}" in errors


def rank_one(mark: Path) -> int:
    """The process of rank 1 of the job whose command line has ``mark`` in it."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"PMI_RANK=1" in variables and str(mark).encode() in command:
            return int(process.name)
    raise AssertionError("rank 1 was not found")
