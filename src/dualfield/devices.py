"""The devices that training can run on: their names, and an error in one sentence for a device that is not there."""

from __future__ import annotations

import re

from dualfield._deferred import MissingExtraError

__all__ = ["check_device", "on_gpu"]


def on_gpu(device: object) -> bool:
    """Whether a device is a GPU, "cuda" or "cuda:N"; refuses what is no device."""
    if device == "cpu":
        return False
    if isinstance(device, str) and re.fullmatch(r"cuda(:\d+)?", device):
        return True
    raise ValueError(
        f"device must be 'cpu', 'cuda' or 'cuda:N' for one GPU; got {device!r}. Several GPUs cannot work together yet."
    )


def check_device(device: str) -> None:
    """Refuse a GPU that is not there, or that nothing here can use."""
    if not on_gpu(device):
        return
    way_out = "leave device out to use the CPU"
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtraError(
            f'device={device!r} needs PyTorch with CUDA, which is not installed: pip install "dualfield[torch]", or '
            f"{way_out}."
        ) from None
    if torch.version.cuda is None:
        raise ValueError(
            f"device={device!r} needs a CUDA build of PyTorch, and the one here, {torch.__version__}, is for the CPU; "
            f"install one that has it, or {way_out}."
        )
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().split("\n")[0].partition(". ")[0].rstrip(".")
        raise ValueError(f"device={device!r}: PyTorch cannot use a GPU here ({reason}); {way_out}.") from None
    number = int(device.partition(":")[2] or 0)
    if number >= torch.cuda.device_count():
        raise ValueError(
            f"device={device!r} does not exist: there are {torch.cuda.device_count()} GPUs, numbered from 0."
        )
