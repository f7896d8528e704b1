"""``dualfield.torch.CRF`` on a GPU beside pytorch-crf there: a training step, decoding, and the kernels by themselves.

A step is forward and backward through the layer, float32, batch first, lengths from half of T to all, from the call to
the end of the GPU's work; medians. The kernels' time is that of messages, probabilities and pairs, launched as a graph,
beside T times the latency of one dependent step, which is measured as the growth of one chain's time with its length.

    pip install pytorch-crf
    python benchmarks/gpu/layer.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torchcrf import CRF as Peer

from dualfield.torch import CRF
from dualfield.torch.on_cuda import _Batch

SHAPES = ((64, 50, 9), (64, 50, 49), (64, 384, 25), (512, 100, 100), (64, 128, 256))


def main() -> None:
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}; milliseconds, pytorch-crf / dualfield")
    for shape in SHAPES:
        compare(shape)


def compare(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    chains, length, labels = shape
    layers = {"peer": Peer(labels, batch_first=True).cuda(), "ours": CRF(labels, batch_first=True).cuda()}
    layers["ours"].load_state_dict(layers["peer"].state_dict())
    emissions = torch.randn(shape, device="cuda")
    tags = torch.randint(labels, shape[:2], device="cuda")
    mask = torch.arange(length, device="cuda") < torch.randint(length // 2, length + 1, (chains, 1), device="cuda")
    mask[0] = True

    def step(layer: Any) -> list[torch.Tensor]:
        inputs = emissions.clone().requires_grad_()
        value = layer(inputs, tags, mask)
        return [value.detach(), *torch.autograd.grad(value, [inputs, *layer.parameters()])]

    def decode(layer: Any) -> list[list[int]]:
        with torch.no_grad():
            return layer.decode(emissions, mask)

    results = [step(layer) for layer in layers.values()]
    difference = max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(*results, strict=True))
    start = time.perf_counter()
    same = decode(layers["peer"]) == decode(layers["ours"])
    row = f"B {chains:4} T {length:4} K {labels:4}"
    for what, action in (("step", step), ("decode", decode)):
        times = {
            name: median(lambda action=action, layer=layer: action(layer), 5 if name == "peer" else 30)
            for name, layer in layers.items()
        }
        row += f"  {what} {times['peer']:8.2f} / {times['ours']:6.3f} = {times['peer'] / times['ours']:6.1f}x"
    kernels = graph_time(emissions, mask, layers["ours"])
    latency = step_latency(labels, layers["ours"])
    row += f"  kernels {kernels:.3f}, T x step {length * latency:.3f} (step {1e6 * latency:.0f} ns)"
    print(f"{row}  differences {difference:.1e}, same labels {same}, {time.perf_counter() - start:.1f} s", flush=True)


def median(action: Callable[[], Any], rounds: int) -> float:
    times = []
    action()
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        action()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def graph_time(emissions: torch.Tensor, mask: torch.Tensor | None, layer: Any) -> float:
    """Milliseconds of log-partitions with gradients, as a graph."""
    batch = _Batch(emissions, mask, layer.start_transitions, layer.transitions, layer.end_transitions, True)
    messages = batch.messages()
    return replayed(lambda: (messages.take(batch.emissions, batch.transitions, batch.start, batch.end),
                             batch.gradients(messages, 1.0)))  # fmt: skip


def replayed(work: Callable[[], Any]) -> float:
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay()
    begin.record()
    for _ in range(50):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 50


def step_latency(labels: int, layer: Any) -> float:
    """Milliseconds by which a chain's messages take longer with each position."""
    times = []
    for length in (1024, 2048):
        parameters = layer.start_transitions, layer.transitions, layer.end_transitions
        batch = _Batch(torch.randn(1, length, labels, device="cuda"), None, *parameters, True)
        messages = batch.messages()
        messages.pass_on(None, True)
        times.append(replayed(lambda messages=messages: messages.pass_on(None, True)))
    return (times[1] - times[0]) / 1024


if __name__ == "__main__":
    main()
