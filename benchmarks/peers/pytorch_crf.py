"""dualfield.torch.CRF beside pytorch-crf: seconds of a training step and of decoding, and how far results differ.

A step is forward and backward through the layer, float32, batch first. Sequences have random lengths from half of T
to all. Programs alternate; CPU seconds of the process are measured, the least of several rounds, so that other work on
the machine counts little. Differences are those of log-likelihoods and gradients, relative to the largest entry, in
float32 and in float64.

    pip install pytorch-crf
    python benchmarks/peers/pytorch_crf.py [--threads 1] [--rounds 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from torchcrf import CRF as Peer

from dualfield.torch import CRF

SHAPES = ((64, 50, 9), (64, 50, 49), (64, 384, 25))  # batch, T, K


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(
        f"torch {torch.__version__}, {arguments.threads} thread(s); milliseconds of CPU time, pytorch-crf / dualfield"
    )
    for shape in SHAPES:
        compare(shape, arguments.rounds)


def compare(shape: tuple[int, int, int], rounds: int) -> None:
    torch.manual_seed(0)
    chains, length, labels = shape
    layers = {"peer": Peer(labels, batch_first=True), "ours": CRF(labels, batch_first=True)}
    layers["ours"].load_state_dict(layers["peer"].state_dict())
    emissions = torch.randn(shape)
    tags = torch.randint(labels, shape[:2])
    mask = torch.arange(length) < torch.randint(length // 2, length + 1, (chains, 1))

    def step(layer: Any) -> list[torch.Tensor]:
        inputs = emissions.clone().requires_grad_()
        value = layer(inputs, tags, mask)
        return [value.detach(), *torch.autograd.grad(value, [inputs, *layer.parameters()])]

    def decode(layer: Any) -> list[list[int]]:
        with torch.no_grad():
            return layer.decode(emissions, mask)

    differences = {}
    for dtype in (torch.float32, torch.float64):
        emissions = emissions.to(dtype)
        ours, peer = (step(layers[key].to(dtype)) for key in ("ours", "peer"))
        differences[dtype] = max(
            ((one - two).abs().max() / two.abs().max()).item() for one, two in zip(ours, peer, strict=True)
        )
    emissions = emissions.float()
    for layer in layers.values():
        layer.float()
    wrong = sum(one != two for one, two in zip(decode(layers["ours"]), decode(layers["peer"]), strict=True))
    line = [f"{chains} x {length} x {labels}:"]
    for name, work in (("step", step), ("decoding", decode)):
        ours, peer = least({key: lambda layer=layer, work=work: work(layer) for key, layer in layers.items()}, rounds)
        line.append(f"{name} {1e3 * peer:.1f} / {1e3 * ours:.2f} ({peer / ours:.1f} times),")
    line.append(
        f"differences {differences[torch.float32]:.1e} in float32, {differences[torch.float64]:.1e} in float64,"
    )
    print(*line, f"{wrong} of {chains} decoded otherwise", flush=True)


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> tuple[float, float]:
    """The least CPU seconds of a call of ours and of the peer's; the short ones are repeated."""
    seconds: dict[str, list[float]] = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            repeats = 10 if key == "ours" else 1
            start = time.process_time()
            for _ in range(repeats):
                call()
            seconds[key].append((time.process_time() - start) / repeats)
    return min(seconds["ours"]), min(seconds["peer"])


if __name__ == "__main__":
    main()
