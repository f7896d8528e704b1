"""Devices: their names, and a sentence where there is no such device."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from dualfield import LBFGS, SDCA, ChainCRF, fields, solve
from dualfield.devices import on_gpu
from dualfield.fields.base import Choice
from dualfield.solvers import resolve

X, Y = [[["a"], ["b"]]] * 3, [["X", "Y"]] * 3

try:
    import torch
except ModuleNotFoundError:
    torch = None
no_gpu = pytest.mark.skipif(torch is not None and torch.cuda.is_available(), reason="a GPU is here")


def test_names_of_devices() -> None:
    assert not on_gpu("cpu")
    assert on_gpu("cuda")
    assert on_gpu("cuda:3")


@pytest.mark.parametrize("device", ["gpu", "cuda:0,1", ["cuda:0", "cuda:1"], None, 0, "cuda:"])
def test_other_devices_are_refused(device: Any) -> None:
    with pytest.raises(ValueError, match=r"for one GPU.*Several GPUs cannot work together yet"):
        solve(fields.Chain(X, Y), device=device)


@no_gpu
@pytest.mark.parametrize("call", [
    lambda: solve(fields.Chain(X, Y), device="cuda"),
    lambda: ChainCRF(device="cuda").fit(X, Y),
    lambda: ChainCRF(device="cuda:1", solver=LBFGS()).fit(X, Y),
])  # fmt: skip
def test_without_a_gpu_the_way_out_is_named(call: Any) -> None:
    with pytest.raises((ImportError, ValueError), match="leave device out to use the CPU"):
        call()


@pytest.mark.parametrize("solver", ["oeg", "sdca", SDCA()])
def test_solvers_that_do_not_run_on_a_gpu_are_refused_by_name(solver: Any) -> None:
    with pytest.raises(TypeError, match="does not run on a GPU; with device='cuda' use solver='auto' or 'lbfgs'"):
        resolve(solver, Choice("oeg", "it is fast"), device="cuda")


def test_a_device_is_of_the_machine_not_of_the_model(tmp_path: Any) -> None:
    crf = ChainCRF().fit(X, Y)
    crf.device = "cuda"
    crf.save(tmp_path / "m")
    assert ChainCRF.load(tmp_path / "m").device == "cpu"


def test_training_on_the_cpu_imports_no_torch() -> None:
    code = (
        "import sys; from dualfield import ChainCRF; ChainCRF().fit([[['a'], ['b']]], [['X', 'Y']]);"
        "assert not {'torch', 'dualfield.cuda'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@no_gpu
def test_the_command_line_refuses_before_it_reads(tmp_path: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dualfield", "train", "nowhere.txt", "--device", "cuda", "-o", str(tmp_path / "m")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "leave --device out to use the CPU" in " ".join(done.stderr.split())
