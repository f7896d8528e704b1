"""One short sequence at a time: ``dualfield.compat.pycrfsuite`` beside python-crfsuite, on the same model files.

Addresses of five tokens are generated, with features as address parsers have them: nested dicts for the token before
and the one after, about 16 attributes a token, 25 labels. python-crfsuite trains the model. Both programs then tag the
same sequences in one process, in turns, so that both meet the same load. Printed are medians over the turns:

* one address: ``tag`` of dicts; the same, then ``marginal`` of each token's label; ``tag`` of an ``ItemSequence``;
* the same two of sequences of other shapes, each with a model of its own: a person's name (3 tokens, nested dicts), a
  line of a recipe (9 tokens, dicts of 30 strings), a Thai phrase (25 characters, lists of strings with the characters
  around), a Vietnamese name (4 tokens, lists of strings);
* one token with one attribute;
* opening a large generated model, about 37 MB, read and, for dualfield, also mapped, and the same as a model file of
  dualfield;
* cold start: a process that imports, opens the small model and tags one address; wall time and peak memory, and those
  of Python without either.

Labels and marginals are compared before anything is measured. Needs no data and takes about a minute.

    python benchmarks/peers/tagging_latency.py [--turns 40] [--json benchmarks/results/tagging_latency.json]
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
SHAPES = {
    "name": (3, "nested"),
    "recipe line": (9, "flat"),
    "Thai phrase": (25, "strings"),
    "Vietnamese name": (4, "strings"),
}
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
    load = round(os.getloadavg()[0], 2)
    print(f"load before: {load}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
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
        from benchmarks.papers.results import environment  # not before: it would make this process larger

        found = {"environment": {**environment(), "load": load}, "sizes": sizes, "results": results}
        arguments.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# ---- addresses ---------------------------------------------------------------------------------------------


def vocabulary(alphabet: str, longest: int = 9) -> list[str]:
    letters = random.Random(0)
    return ["".join(letters.choice(alphabet) for _ in range(letters.randint(2, longest))) for _ in range(4000)]


def sequences_of(shape: str, count: int, seed: int) -> list[tuple[list[Any], list[str]]]:
    """Sequences of one of the other shapes, with labels."""
    length, form = SHAPES[shape]
    thai = "".join(chr(code) for code in range(0x0E01, 0x0E2F))
    vietnamese = "aăâbcdđeêghiklmnoôơpqrstuưvxyáàảãạấầẩẫậếềểễệốồổỗộớờởỡợ"
    words = vocabulary({"Thai phrase": thai, "Vietnamese name": vietnamese}.get(shape, "abcdefghijklmnoprstu"), 6)
    rng, found = random.Random(seed), []
    for _ in range(count):
        tokens = [rng.choice(thai) if shape == "Thai phrase" else rng.choice(words) for _ in range(length)]
        x = (
            around(tokens)
            if form == "nested"
            else [(flat if form == "flat" else window)(tokens, t) for t in range(length)]
        )
        found.append((x, [LABELS[(len(token) + t) % 9] for t, token in enumerate(tokens)]))
    return found


def flat(tokens: list[str], t: int) -> dict[str, Any]:
    """Thirty strings for a token, as parsers of ingredients have them."""
    found = {"bias": "", "stem": tokens[t], "pos": tokens[t][-1:], "is_capitalised": tokens[t].istitle()}
    for d in (-3, -2, -1, 1, 2, 3):
        if 0 <= t + d < len(tokens):
            word = tokens[t + d]
            found |= {f"word{d}": word, f"pos{d}": word[-1:], f"pair{d}": word + "|" + tokens[t], f"short{d}": word[:3]}
    return {**found, **{f"prefix{k}": tokens[t][:k] for k in (2, 3)}, **{f"suffix{k}": tokens[t][-k:] for k in (2, 3)}}


def window(tokens: list[str], t: int) -> list[str]:
    """Strings with the tokens around, one by one, in pairs and in threes."""
    padded = ["<>"] * 3 + tokens + ["<>"] * 3
    ones = [f"{d}|{padded[t + 3 + d]}" for d in range(-3, 4)]
    return [
        "bias",
        *ones,
        *(ones[k] + ones[k + 1] for k in range(6)),
        *(ones[k] + ones[k + 1] + ones[k + 2] for k in range(5)),
    ]


def addresses(count: int, seed: int) -> list[tuple[list[dict[str, Any]], list[str]]]:
    words = vocabulary("abcdefghijklmnoprstu")
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        tokens = [rng.choice(words) if rng.random() < 0.7 else str(rng.randrange(20_000)) for _ in range(LENGTH)]
        found.append((around(tokens), [LABELS[int(5 * t + 5 * rng.random())] for t in range(LENGTH)]))
    return found


def around(tokens: list[str]) -> list[dict[str, Any]]:
    """The features of each token, with those of the token before and the one after in dicts of their own."""
    own = [features(token) for token in tokens]
    whole = [dict(one) for one in own]
    for t in range(len(tokens)):
        if t > 0:
            whole[t]["previous"] = own[t - 1]
        if t + 1 < len(tokens):
            whole[t]["next"] = own[t + 1]
    return whole


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

    for name, pairs in {
        "small": addresses(2000, 1),
        **{shape: sequences_of(shape, 2000, 1) for shape in SHAPES},
    }.items():
        trainer = pycrfsuite.Trainer(verbose=False)
        for x, y in pairs:
            trainer.append(x, y)
        trainer.set_params({"c2": 0.01, "max_iterations": 15})
        trainer.train(str(folder / name))
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

    for shape in SHAPES:
        given = [x for x, _ in sequences_of(shape, SEQUENCES, 3)]
        for tagger in taggers.values():
            tagger.open(str(folder / shape))
        check(*taggers.values(), given)
        for row, call in ((f"one {shape}, µs", tag), (f"one {shape} and its marginals, µs", tag_with_marginals)):
            seconds = in_turns({name: partial(over_all, call, taggers[name], given) for name in taggers}, turns)
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
