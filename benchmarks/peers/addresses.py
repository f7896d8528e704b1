"""Training an address parser by python-crfsuite's ``Trainer`` and by the drop-in, side by side.

1,634 addresses are generated, as many as usaddress is trained on, with token features of its kind: nested dicts for the
token before and the token after. The penalties are parserator's, ``c1 = 0.1`` and ``c2 = 0.01``. Each program runs in
processes of its own, in turns, so that both meet the same load. Printed are the CPU seconds of ``append`` for all
addresses and of ``train`` with its model file, and their sum as a ratio; the memory that the addresses take after
``append``; the loss that training ends with, computed for both models by dualfield; and how many labels of 2,000 other
addresses are right. CRFsuite stops by its own rule, and the drop-in when its distance from the optimum is proven to be
small. Needs no data and takes about a minute.

    python benchmarks/peers/addresses.py [--addresses 1634] [--turns 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.processes import run

Address = tuple[list[str], list[str]]
PROGRAMS = ("python-crfsuite", "dualfield")
PENALTIES = {"c1": 0.1, "c2": 0.01}
TEST = 2000
DIRECTIONS = ["N", "S", "E", "W", "N.", "S.", "North", "South", "East", "West", "NE", "SW"]
TYPES = ["St", "St.", "Street", "Ave", "Ave.", "Avenue", "Rd", "Road", "Blvd", "Dr", "Drive", "Ln", "Ct", "Way", "Pkwy"]
OCCUPANCIES = ["Apt", "Apt.", "Suite", "Ste", "Unit", "Room", "#"]
STATES = ["IL", "CA", "NY", "TX", "WA", "Ohio", "Maine", "Texas", "Oregon", "OR", "WI", "MI"]
FLOORS = ["first", "second", "third", "ground", "top"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--addresses", type=int, default=1634, metavar="N", help="how many to train on")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="how often each program trains")
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--run", nargs=2, metavar=("PROGRAM", "MODEL"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.addresses < 1 or arguments.turns < 1:
        parser.error("--addresses and --turns take whole numbers from 1.")
    if arguments.run:
        print(json.dumps(train(*arguments.run, arguments.addresses)))
        return
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    found: dict[str, list[dict[str, float]]] = {program: [] for program in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        models = {program: os.path.join(folder, program) for program in PROGRAMS}
        step = [sys.executable, __file__, "--addresses", str(arguments.addresses), "--run"]
        for _ in range(arguments.turns):
            for program, model in models.items():
                found[program].append(json.loads(run([*step, program, model])["output"].splitlines()[-1]))
        quality = {program: judged(model, arguments.addresses) for program, model in models.items()}
    results = {program: medians(turns) | quality[program] for program, turns in found.items()}
    show(results)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def medians(turns: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}


def show(results: dict[str, dict[str, float]]) -> None:
    theirs, ours = (results[program] for program in PROGRAMS)
    print(f"{'':32}{PROGRAMS[0]:>18}{PROGRAMS[1]:>14}{'ratio':>9}")
    for name in theirs:
        print(f"{name:32}{theirs[name]:18.4f}{ours[name]:14.4f}{theirs[name] / ours[name]:9.2f}")
    print(f"load after: {os.getloadavg()[0]:.2f}")


# ---- one program -------------------------------------------------------------------------------------------


def train(program: str, model: str, count: int) -> dict[str, float]:
    """Trains in this process; CPU seconds, and memory in MB that ``append`` has added."""
    if program == "dualfield":
        from dualfield.compat import pycrfsuite
    else:
        import pycrfsuite
    trainer = pycrfsuite.Trainer(verbose=False, params=PENALTIES)
    memory, appending = resident(), 0.0
    for tokens, labels in addresses(count, seed=1):
        sequence = features(tokens)
        began = time.process_time()
        trainer.append(sequence, labels)
        appending += time.process_time() - began
    memory = resident() - memory
    began = time.process_time()
    trainer.train(model)
    training = time.process_time() - began
    return {
        "append, CPU s": appending,
        "train, CPU s": training,
        "both, CPU s": appending + training,
        "held after append, MB": memory,
        "iterations": float(len(trainer.logparser.iterations)),
    }


def resident() -> float:
    """MB of memory that this process holds; not a number where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def judged(model: str, count: int) -> dict[str, float]:
    """The objective of CRFsuite's at the weights of a model file, and the share of right labels on other addresses."""
    from dualfield.compat import pycrfsuite

    with pycrfsuite.Tagger().open(model) as tagger:
        info = tagger.info()
        weights = [*info.transitions.values(), *info.state_features.values()]
        loss = sum(PENALTIES["c1"] * abs(weight) + PENALTIES["c2"] * weight**2 for weight in weights)
        for tokens, labels in addresses(count, seed=1):
            tagger.set(features(tokens))
            loss -= math.log(tagger.probability(labels))
        right = []
        for tokens, labels in addresses(TEST, seed=2):
            right += [a == b for a, b in zip(tagger.tag(features(tokens)), labels, strict=True)]
    return {"loss": loss, "accuracy": sum(right) / len(right), "weights": float(len(weights))}


# ---- addresses ---------------------------------------------------------------------------------------------


def addresses(count: int, seed: int) -> list[Address]:
    """Tokens and labels: houses, boxes and corners, with names from a vocabulary that other seeds share."""
    letters = random.Random(0)
    names = [word(letters) for _ in range(3000)]
    rng = random.Random(seed)
    return [address(rng, names) for _ in range(count)]


def word(rng: random.Random) -> str:
    syllables = [
        rng.choice("bcdfghklmnprstw") + rng.choice(["a", "e", "i", "o", "u", "ar", "en"])
        for _ in range(rng.randint(1, 4))
    ]
    return "".join(syllables).capitalize()


def address(rng: random.Random, names: list[str]) -> Address:
    parts: list[tuple[str, str]] = []

    def add(label: str, *tokens: str) -> None:
        parts.extend((token, label) for token in tokens)

    def some_names(most: int) -> list[str]:
        return [names[int(len(names) * rng.random() ** 2)] for _ in range(rng.randint(1, most))]

    def street() -> None:
        if rng.random() < 0.3:
            add("StreetNamePreDirectional", rng.choice(DIRECTIONS))
        number = rng.randint(1, 120)
        add("StreetName", *([f"{number}th"] if rng.random() < 0.2 else some_names(2)))
        if rng.random() < 0.9:
            add("StreetNamePostType", rng.choice(TYPES))
        if rng.random() < 0.1:
            add("StreetNamePostDirectional", rng.choice(DIRECTIONS))

    kind = rng.random()
    if rng.random() < 0.15:
        add("Recipient", *some_names(3))
    if kind < 0.1:
        add("USPSBoxType", *rng.choice([["PO", "Box"], ["P.O.", "Box"], ["Box"]]))
        add("USPSBoxID", str(rng.randint(1, 9999)))
    elif kind < 0.2:
        street()
        add("IntersectionSeparator", rng.choice(["and", "&", "at"]))
        street()
    else:
        add("AddressNumber", str(rng.randint(1, 20_000)) + rng.choice(["", "", "", "", "A", "-12"]))
        street()
        if rng.random() < 0.3:
            add("OccupancyType", rng.choice(OCCUPANCIES))
            add(
                "OccupancyIdentifier",
                rng.choice([str(rng.randint(1, 900)), rng.choice("ABCDEF"), f"{rng.randint(1, 40)}B"]),
            )
        elif rng.random() < 0.1:
            add("SubaddressIdentifier", rng.choice(FLOORS))
            add("SubaddressType", "floor")
        if rng.random() < 0.05:
            add("BuildingName", *some_names(3), "Building")
    parts[-1] = parts[-1][0] + rng.choice(["", ","]), parts[-1][1]
    if rng.random() < 0.9:
        add("PlaceName", *some_names(2))
        add("StateName", rng.choice(STATES))
        if rng.random() < 0.8:
            add(
                "ZipCode",
                f"{rng.randint(1, 99_999):05d}" + (f"-{rng.randint(0, 9999):04d}" if rng.random() < 0.1 else ""),
            )
    return [token for token, _ in parts], [label for _, label in parts]


def features(tokens: list[str]) -> list[dict[str, Any]]:
    """What is known of each token, of the one before and of the one after, in nested dicts."""
    own = [token_features(token) for token in tokens]
    whole: list[dict[str, Any]] = [dict(one) for one in own]
    for t, one in enumerate(whole):
        if t > 0:
            one["previous"] = own[t - 1] | ({"address.start": True} if t == 1 else {})
        else:
            one["address.start"] = True
        if t + 1 < len(own):
            one["next"] = own[t + 1] | ({"address.end": True} if t + 2 == len(own) else {})
        else:
            one["address.end"] = True
    return whole


def token_features(token: str) -> dict[str, Any]:
    clean = token.strip(".,;").lower()
    digits = [c for c in clean if c.isdigit()]
    return {
        "abbrev": token.endswith("."),
        "digits": "all_digits" if clean.isdigit() else "some_digits" if digits else "no_digits",
        "word": clean if not clean.isdigit() else False,
        "trailing.zeros": "0" * (len(clean) - len(clean.rstrip("0"))) if clean.isdigit() else "",
        "length": f"{'d' if clean.isdigit() else 'w'}:{len(clean)}",
        "endsinpunc": token[-1] if token[-1] in ".,;" else False,
        "directional": clean in {direction.strip(".").lower() for direction in DIRECTIONS},
        "street_name": clean in {kind.strip(".").lower() for kind in TYPES},
        "has.vowels": any(c in "aeiou" for c in clean[1:]),
    }


if __name__ == "__main__":
    main()
