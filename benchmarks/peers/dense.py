"""Dense embeddings as features: dualfield beside entries of a CSR matrix, pytorch-crf with a linear layer,
scikit-learn.

Embeddings are generated: 384 columns of float32, strongly correlated, with a mean, two of them fifty times larger than
the others; 49 labels drawn from a chain on them. Everything runs on one thread, and CPU seconds count.

* pass: an evaluation of objective and gradient over the arrays where they lie, and over their entries, in turns;
* memory: what a compiled problem keeps and takes at its peak beyond the arrays, in processes of their own;
* chain: CPU seconds to a certified 1e-3 by each solver, and by L-BFGS of PyTorch over a linear layer and pytorch-crf,
  in batches of 256 sequences sorted by length, to the same value of the objective. Where that takes longer than
  ``--max-seconds``, the value reached and the seconds spent are printed;
* points: ``SoftmaxRegression`` to a certified 1e-3, and scikit-learn's ``LogisticRegression(solver="lbfgs")`` to the
  same objective; its bias is not penalised, so both are without;
* ewt: words of UD English EWT as attributes and random projections of words and their neighbours as embeddings: one
  call with both beside names for the columns, stacked by hand: objective, accuracy, memory, CPU seconds. Needs
  DUALFIELD_DATA.

    pip install torch pytorch-crf
    python benchmarks/peers/dense.py [pass memory chain points ewt] [--tokens 65000] [--l2 1 0.01]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

PARTS = ("pass", "memory", "chain", "points", "ewt")
COLUMNS, LABELS, RANK = 384, 49, 40
SOLVERS = ("oeg", "sdca", "lbfgs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--tokens", type=int, default=65_000)
    parser.add_argument("--l2", type=float, nargs="+", default=[1.0, 0.01])
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument(
        "--standardize", action="store_true", help="of dualfield's chains: another problem than the peer's"
    )
    parser.add_argument("--max-seconds", type=float, default=3600, help="of the peer (default: %(default)s)")
    parser.add_argument("--no-peer", action="store_true", help="leave pytorch-crf out")
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # memory, inside a process of its own
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(kept_and_peak(arguments.measure, arguments.tokens)))
        return
    print(f"load: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    for part in arguments.parts:
        {"pass": passes, "memory": memory, "chain": chains, "points": points, "ewt": ewt}[part](arguments)


def generated(tokens: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Sequences of embeddings and their labels."""
    random = np.random.default_rng(seed)
    lengths = []
    while sum(lengths) < tokens:
        lengths.append(int(random.integers(5, 41)))
    lengths[-1] -= sum(lengths) - tokens
    lengths = [length for length in lengths if length > 0]
    spectrum = 1.0 / np.sqrt(1.0 + np.arange(RANK))
    mixing = random.normal(size=(RANK, COLUMNS)) * spectrum[:, None]
    mean, scales = random.normal(size=COLUMNS), np.ones(COLUMNS)
    scales[[17, 301]] = 50.0
    to_labels = random.normal(size=(RANK, LABELS)) * 1.5
    transitions = random.normal(size=(LABELS, LABELS))
    X, y = [], []
    for length in lengths:
        latent = random.normal(size=(length, RANK))
        scores = latent @ to_labels + random.gumbel(size=(length, LABELS))
        labels = [int(scores[0].argmax())]
        for t in range(1, length):
            labels.append(int((scores[t] + transitions[labels[-1]]).argmax()))
        noise = 0.3 * random.normal(size=(length, COLUMNS))
        X.append(((latent @ mixing + noise + mean) * scales).astype(np.float32))
        y.append(labels)
    return X, y


def timed(work: Any) -> tuple[float, Any]:
    before = time.process_time()
    result = work()
    return time.process_time() - before, result


def passes(arguments: argparse.Namespace) -> None:
    from dualfield.fields import Chain

    field = Chain(*generated(arguments.tokens))
    entries = field.layout.compile(field.encoded.sparse(), field.codes, None, field.l2)
    w = np.random.default_rng(0).normal(size=field.dimension) * 0.01
    turns = [(timed(lambda: field.core.gradient(w)), timed(lambda: entries.gradient(w))) for _ in range(5)]
    dense, (value, gradient) = min((turn[0] for turn in turns), key=lambda one: one[0])
    sparse, (same, its) = min((turn[1] for turn in turns), key=lambda one: one[0])
    print(
        f"pass over {arguments.tokens:,} tokens: dense {dense:.3f} s, entries {sparse:.3f} s: {sparse / dense:.1f}x; "
        f"values differ by {abs(value / same - 1):.0e}, gradients by "
        f"{np.abs(gradient - its).max() / np.abs(its).max():.0e}"
    )


def memory(arguments: argparse.Namespace) -> None:
    size = arguments.tokens * COLUMNS * 4
    for kind in ("dense", "entries"):
        step = [sys.executable, __file__, "--measure", kind, "--tokens", str(arguments.tokens)]
        found = json.loads(subprocess.run(step, check=True, capture_output=True, text=True).stdout)
        kept, peak = found["kept"], found["peak"]
        print(
            f"memory, {kind}: arrays {size / 1e6:.0f} MB; kept beyond them {kept / 1e6:.0f} MB, at the peak "
            f"{peak / 1e6:.0f} MB: {1 + kept / size:.2f} and {1 + peak / size:.2f} times the arrays"
        )


def kept_and_peak(kind: str, tokens: int) -> dict[str, int]:
    """Bytes beyond the given arrays that a problem keeps, and that making it took at most."""
    from dualfield.fields import Chain

    Chain(*generated(200))  # what is imported and made once
    X, y = generated(tokens)
    if kind == "entries":
        from scipy import sparse

        X = [sparse.csr_matrix(x) for x in X]
    gc.collect()
    before, top = resident(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    field = Chain(X, y)
    gc.collect()
    if kind == "entries":
        del X
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert field.n_blocks
    return {"kept": resident() - before, "peak": peak - before if peak > top else resident() - before}


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def chains(arguments: argparse.Namespace) -> None:
    from dualfield import solve
    from dualfield.fields import Chain

    X, y = generated(arguments.tokens)
    for l2 in arguments.l2:
        target = None
        for name in arguments.solvers:
            seconds, field = timed(lambda l2=l2: Chain(X, y, l2=l2, standardize=arguments.standardize))
            more, found = timed(lambda f=field, n=name: solve(f, n, tol=1e-3, max_passes=5000, random_state=0))
            print(
                f"chain, l2 = {l2:g}: {name:6} {seconds + more:8.1f} s, {found.status}, {found.passes} passes, "
                f"objective {found.primal:.2f} (proven: above {found.dual:.2f})",
                flush=True,
            )
            if found.status == "converged":
                target = max(target or 0.0, found.primal)
        if target is not None and not arguments.no_peer and not arguments.standardize:
            peer_to(target, X, y, l2, arguments.max_seconds)


def peer_to(target: float, X: list[Any], y: list[Any], l2: float, limit: float) -> None:
    """A linear layer and pytorch-crf by PyTorch's L-BFGS, until the objective is at most ``target``."""
    import torch
    from torchcrf import CRF

    torch.set_num_threads(1)
    torch.manual_seed(0)
    linear, crf = torch.nn.Linear(COLUMNS, LABELS), CRF(LABELS, batch_first=True)
    parameters = [*linear.parameters(), *crf.parameters()]
    for parameter in parameters:
        torch.nn.init.zeros_(parameter)
    order = np.argsort([len(x) for x in X], kind="stable")
    batches = []
    for start in range(0, len(order), 256):
        some = order[start : start + 256]
        longest = max(len(X[i]) for i in some)
        rows, tags = torch.zeros(len(some), longest, COLUMNS), torch.zeros(len(some), longest, dtype=torch.long)
        mask = torch.zeros(len(some), longest, dtype=torch.bool)
        for place, i in enumerate(some):
            rows[place, : len(X[i])] = torch.from_numpy(X[i])
            tags[place, : len(X[i])] = torch.tensor(y[i])
            mask[place, : len(X[i])] = True
        batches.append((rows, tags, mask))
    best, calls = float("inf"), 0
    began = time.process_time()

    class Reached(Exception):
        pass

    def closure() -> Any:
        nonlocal best, calls
        optimiser.zero_grad()
        total = 0.0
        for rows, tags, mask in batches:
            loss = -crf(linear(rows), tags, mask, reduction="sum")
            loss.backward()
            total += float(loss.detach())
        penalty = 0.5 * l2 * sum(parameter.square().sum() for parameter in parameters)
        penalty.backward()
        value = total + float(penalty.detach())
        best, calls = min(best, value), calls + 1
        if best <= target or time.process_time() - began > limit:
            raise Reached
        return torch.tensor(value)

    optimiser = torch.optim.LBFGS(parameters, max_iter=100_000, history_size=10, line_search_fn="strong_wolfe")
    try:
        optimiser.step(closure)
        how = "stopped by itself"
    except Reached:
        how = "reached" if best <= target else "not reached"
    seconds = time.process_time() - began
    print(
        f"chain, l2 = {l2:g}: torch  {seconds:8.1f} s, {how}: {best:.2f} of {target:.2f}, {calls} evaluations",
        flush=True,
    )


def points(arguments: argparse.Namespace) -> None:
    from sklearn.linear_model import LogisticRegression

    from dualfield import SoftmaxRegression
    from dualfield.fields import Multiclass

    X, y = (np.concatenate(part) for part in generated(arguments.tokens))
    for l2 in arguments.l2:
        field = Multiclass(X, y, l2, bias=False)
        target = None
        for name in arguments.solvers:
            model = SoftmaxRegression(l2, name, bias=False, tol=1e-3, max_passes=5000, random_state=0)
            seconds, _ = timed(lambda m=model: m.fit(X, y))
            found = model.solution_
            print(
                f"points, l2 = {l2:g}: {name:6} {seconds:8.1f} s, {found.status}, {found.passes} passes, objective "
                f"{found.primal:.2f} (proven: above {found.dual:.2f})",
                flush=True,
            )
            if found.status == "converged":
                target = max(target or 0.0, found.primal)
        if target is None:
            continue
        spent, iterations = 0.0, 50
        while True:  # the fewest of 50, 100, 200, ... iterations that suffice; only the last run counts
            peer = LogisticRegression(C=1.0 / l2, solver="lbfgs", fit_intercept=False, tol=1e-12, max_iter=iterations)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, _ = timed(lambda p=peer: p.fit(X, y))
            spent += seconds
            value = field.primal(np.ascontiguousarray(peer.coef_.T, np.float64).ravel())
            done = value <= target or int(np.max(peer.n_iter_)) < iterations or spent > arguments.max_seconds
            if done:
                break
            iterations *= 2
        how = "reached" if value <= target else "not reached"
        outcome = f"{how}: {value:.2f} of {target:.2f}, {peer.n_iter_} iterations"
        print(f"points, l2 = {l2:g}: sklearn {seconds:7.1f} s, {outcome}", flush=True)


def ewt(arguments: argparse.Namespace) -> None:
    from dualfield import ChainCRF

    parts = {name: read_ewt(name) for name in ("train", "test")}
    random, width = np.random.default_rng(0), 64
    vectors: dict[str, Any] = {}

    def vector(word: str) -> Any:
        if word not in vectors:
            pieces = [word.lower(), *(word.lower()[-n:] for n in (2, 3)), *(word.lower()[:n] for n in (2, 3))]
            vectors[word] = sum(
                np.random.default_rng(abs(hash_of(piece))).normal(size=width) for piece in pieces
            ) / np.sqrt(len(pieces))
        return vectors[word]

    del random
    data: dict[str, Any] = {}
    for name, (words, labels) in parts.items():
        own = [[np.zeros(width)] + [vector(word) for word in sentence] + [np.zeros(width)] for sentence in words]
        dense = [np.concatenate([np.array(v[:-2]), np.array(v[1:-1]), np.array(v[2:])], axis=1) for v in own]
        names = [
            [[f"w={word.lower()}", f"s={word[-3:].lower()}", f"c={word[0].isupper()}"] for word in s] for s in words
        ]
        data[name] = names, [array.astype(np.float32) for array in dense], labels
    for kind in ("attributes", "embeddings", "both", "stacked by hand"):
        gc.collect()
        before = resident()
        crf = ChainCRF(random_state=0)

        def given(name: str, kind: str = kind, crf: Any = crf) -> Any:
            names, dense, _ = data[name]
            if kind == "attributes":
                return crf.encode(names)
            if kind == "embeddings":
                return crf.encode(dense)
            if kind == "both":
                return crf.encode(names, dense=dense)
            return crf.encode(
                [
                    [
                        {**dict.fromkeys(x, 1.0), **{f"d{i}": v for i, v in enumerate(row.tolist())}}
                        for x, row in zip(s, d, strict=True)
                    ]
                    for s, d in zip(names, dense, strict=True)
                ]
            )

        encoding, X = timed(lambda given=given: given("train"))
        kept = resident() - before
        training, _ = timed(lambda crf=crf, X=X: crf.fit(X, data["train"][2]))
        accuracy = crf.score(given("test"), data["test"][2])
        print(
            f"ewt, {kind:16}: encoded in {encoding:.1f} s to {kept / 1e6:.0f} MB, trained in {training:.1f} s and "
            f"{crf.solution_.passes} passes to {crf.solution_.primal:.1f} (gap {crf.solution_.relative_gap:.0e}), "
            f"accuracy {accuracy:.2%}",
            flush=True,
        )


def stacked(names: list[str], row: list[float]) -> dict[str, float]:
    """Attributes with a name for each column."""
    return {**dict.fromkeys(names, 1.0), **{f"d{i}": value for i, value in enumerate(row)}}


def hash_of(text: str) -> int:
    """A number of a string that does not depend on Python's seed."""
    import zlib

    return zlib.crc32(text.encode())


def read_ewt(part: str) -> tuple[list[list[str]], list[list[str]]]:
    """Words and universal tags of a part of UD English EWT."""
    from dualfield.io import read_tokens

    folder = os.path.join(os.environ["DUALFIELD_DATA"], "ud_english_ewt")
    name = next(name for name in sorted(os.listdir(folder)) if part in name and ".conllu" in name)
    rows = read_tokens(os.path.join(folder, name), format="conllu").rows()
    return [[row[1] for row in s] for s in rows], [[row[3] for row in s] for s in rows]


if __name__ == "__main__":
    main()
