"""One short sequence at a time: ``dualfield.compat.pycrfsuite`` beside python-crfsuite, on the same model files.

Addresses of five tokens are generated, with features as address parsers have them: nested dicts for the token before
and the one after, about 16 attributes a token, 25 labels. python-crfsuite trains the model. Both programs then tag the
same sequences in one process, in turns, so that both meet the same load. Printed are medians over the turns:

* one address: ``tag`` of dicts; the same, then ``marginal`` of each token's label; ``tag`` of an ``ItemSequence``;
* one token with one attribute;
* opening a large generated model, about 37 MB, read and, for dualfield, also mapped, and the same as a model file of
  dualfield;
* cold start: a process that imports, opens the small model and tags one address; wall time and peak memory, and those
  of Python without either.

Labels and marginals are compared before anything is measured. Needs no data and takes about a minute.

    python benchmarks/peers/tagging_latency.py [--turns 40] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.processes import run

LABELS = [f"Label{i}" for i in range(25)]
LENGTH, SEQUENCES = 5, 200
COLD = (
    "import sys; {imports}; t = pycrfsuite.Tagger(); t.open(sys.argv[1]); "
    "t.tag([{{'word': 'main', 'previous': {{'word': 'oak'}}}}, {{'word': 'street', 'digits': True}}])"
)
IMPORTS = {
    "python-crfsuite": "import pycrfsuite",
    "dualfield": "from dualfield.compat import pycrfsuite",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=40, metavar="N", help="how often each program is measured")
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--run", nargs=2, metavar=("STEP", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        step, folder = arguments.run
        print(json.dumps({"train": train, "measure": measure}[step](Path(folder), arguments.turns)))
        return
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        # In processes of their own: this one stays small, or its memory would count as that of a cold start.
        step = [sys.executable, __file__, "--turns", str(arguments.turns), "--run"]
        sizes = json.loads(run([*step, "train", folder])["output"].splitlines()[-1])
        results = json.loads(run([*step, "measure", folder])["output"].splitlines()[-1])
        results |= cold_starts(folder, arguments.turns)
    print(f"models: {sizes['small'] / 1e6:.1f} MB and {sizes['large'] / 1e6:.1f} MB")
    print(f"{'':<44}{'python-crfsuite':>18}{'dualfield':>14}{'ratio':>9}")
    for name, row in results.items():
        theirs, ours = row["python-crfsuite"], row["dualfield"]
        print(f"{name:<44}{theirs:>18.2f}{ours:>14.2f}{ours / theirs:>9.2f}")
    print(f"load after: {os.getloadavg()[0]:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"sizes": sizes, "results": results}, indent=1))


# ---- addresses ---------------------------------------------------------------------------------------------


def addresses(count: int, seed: int) -> list[tuple[list[dict[str, Any]], list[str]]]:
    letters, words = random.Random(0), []
    for _ in range(4000):
        words.append("".join(letters.choice("abcdefghijklmnoprstu") for _ in range(letters.randint(2, 9))))
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        tokens = [rng.choice(words) if rng.random() < 0.7 else str(rng.randrange(20_000)) for _ in range(LENGTH)]
        own = [features(token) for token in tokens]
        whole = [dict(one) for one in own]
        for t in range(LENGTH):
            if t > 0:
                whole[t]["previous"] = own[t - 1]
            if t + 1 < LENGTH:
                whole[t]["next"] = own[t + 1]
        found.append((whole, [LABELS[int(5 * t + 5 * rng.random())] for t in range(LENGTH)]))
    return found


def features(token: str) -> dict[str, Any]:
    return {
        "word": token,
        "digits": "all" if token.isdigit() else "none",
        "length": f"w:{len(token)}",
        "trailing.zeros": token.endswith("0"),
        "vowels": sum(token.count(vowel) for vowel in "aeiou") / len(token),
        "ending": token[-2:],
    }


def train(folder: Path, turns: int) -> dict[str, int]:
    import pycrfsuite

    from dualfield.models import read_crfsuite_model

    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in addresses(2000, 1):
        trainer.append(x, y)
    trainer.set_params({"c2": 0.01, "max_iterations": 15})
    trainer.train(str(folder / "small"))
    rng = random.Random(2)
    trainer = pycrfsuite.Trainer(verbose=False, algorithm="ap")
    for _ in range(22_500):
        xs = [[f"feature{k}={rng.randrange(60_000)}" for k in range(8)] for _ in range(LENGTH)]
        trainer.append(xs, [rng.choice(LABELS) for _ in xs])
    trainer.set_params({"max_iterations": 1})
    trainer.train(str(folder / "large"))
    read_crfsuite_model(folder / "large").save(folder / "large.safetensors")
    return {name: os.path.getsize(folder / name) for name in ("small", "large")}


# ---- measuring ---------------------------------------------------------------------------------------------


def measure(folder: Path, turns: int) -> dict[str, dict[str, float]]:
    import pycrfsuite

    from dualfield.compat import pycrfsuite as compatible

    modules = {"python-crfsuite": pycrfsuite, "dualfield": compatible}
    taggers = {name: module.Tagger() for name, module in modules.items()}
    for tagger in taggers.values():
        tagger.open(str(folder / "small"))
    sequences = [x for x, _ in addresses(SEQUENCES, 3)]
    check(*taggers.values(), sequences)

    def tag(tagger: Any, x: Any) -> None:
        tagger.tag(x)

    def tag_with_marginals(tagger: Any, x: Any) -> None:
        for t, label in enumerate(tagger.tag(x)):
            tagger.marginal(label, t)

    encoded = {name: [module.ItemSequence(x) for x in sequences] for name, module in modules.items()}
    plain = dict.fromkeys(modules, sequences)
    one = dict.fromkeys(modules, [[{"word": "main"}]] * SEQUENCES)
    rows: dict[str, tuple[Callable[[Any, Any], None], dict[str, Any]]] = {
        "one address, µs": (tag, plain),
        "one address and its marginals, µs": (tag_with_marginals, plain),
        "one address as an ItemSequence, µs": (tag, encoded),
        "one token with one attribute, µs": (tag, one),
    }
    found = {}

    def over_all(call: Callable[[Any, Any], None], tagger: Any, given: list[Any]) -> None:
        for x in given:
            call(tagger, x)

    for row, (call, given) in rows.items():
        calls = {name: partial(over_all, call, taggers[name], given[name]) for name in taggers}
        seconds = in_turns(calls, turns)
        found[row] = {name: 1e6 * value / SEQUENCES for name, value in seconds.items()}

    def opened(name: str, file: str, mapped: bool = False) -> None:
        modules[name].Tagger().open(str(folder / file), **({"mapped": True} if mapped else {}))

    for row, file, mapped in (
        ("opening the large model, ms", "large", False),
        ("the same, mapped, ms", "large", True),
        ("as a file of dualfield, ms", "large.safetensors", False),
        ("as a file of dualfield, mapped, ms", "large.safetensors", True),
    ):
        calls = {
            "python-crfsuite": partial(opened, "python-crfsuite", "large"),
            "dualfield": partial(opened, "dualfield", file, mapped),
        }
        seconds = in_turns(calls, max(5, turns // 4))
        found[row] = {name: 1e3 * value for name, value in seconds.items()}
    return found


def check(theirs: Any, ours: Any, sequences: list[Any]) -> None:
    """Refuse to measure two programs that say different things."""
    for x in sequences:
        labels = theirs.tag(x)
        if ours.tag(x) != labels:
            sys.exit("The two programs give different labels.")
        if any(abs(ours.marginal(y, t) - theirs.marginal(y, t)) > 1e-12 for t, y in enumerate(labels)):
            sys.exit("The two programs give different marginals.")


def in_turns(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """The median CPU seconds of each call."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            began = time.process_time()
            call()
            seconds[name].append(time.process_time() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}


def cold_starts(folder: str, turns: int) -> dict[str, dict[str, float]]:
    codes = {name: COLD.format(imports=imports) for name, imports in IMPORTS.items()} | {"python": "pass"}
    runs: dict[str, list[dict]] = {name: [] for name in codes}
    for _ in range(turns):
        for name, code in codes.items():
            runs[name].append(run([sys.executable, "-c", code, f"{folder}/small"]))
    wall = {name: 1e3 * statistics.median(one["wall"] for one in found) for name, found in runs.items()}
    memory = {name: statistics.median(one["memory"] for one in found) / 1e6 for name, found in runs.items()}
    print(f"python alone: {wall['python']:.1f} ms, {memory['python']:.1f} MB")
    return {"cold start to the first labels, ms": wall, "its peak memory, MB": memory}


if __name__ == "__main__":
    main()
