"""Fuzz model files: sound ones, with their header, arrays or single bits changed, are loaded and asked to predict.

``python tests/fuzz/models.py --seconds 60`` runs mutants from seed 0 on; a seed makes the same mutant again. Mutations
know the format: the header's JSON, offsets, shapes, types, the description's values. Half of the mutants get a checksum
that fits, so that what lies behind its check is reached too. CRFsuite's models are mutated as bytes and as
32-bit numbers. A mutant must be refused in a sentence, or load and answer; verdicts.py says what counts as a sentence.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz.verdicts import Broken, check_labels, check_marginals, verdict
from tests.fuzz.workers import Defect, watch, worker

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**62, 2**64, 10**30, 0.5, -0.0, 1e308, math.nan, math.inf, "", "a", "\0"),
    *("all", "observed", "ChainCRF", "GraphCRF", "GridCRF", "F64", "U8", [], [0], [[]], {}, {"a": 1}, "\ud800"),
)
CORPUS = Path(__file__).parent / "corpus" / "models"


@cache
def _sound() -> dict[str, tuple[bytes, str]]:
    """Small models of each kind, as bytes, and the class that loads them."""
    import numpy as np

    from dualfield import ChainCRF, GraphCRF, GridCRF
    from dualfield.features import Template, Tokens

    words, tags = [[["a", "b"], ["b"]], [["c"]], [["a"], ["c", "d"]]], [["B-X", "I-X"], ["O"], ["O", "B-X"]]
    dense = [np.eye(2), np.ones((1, 2)), np.zeros((2, 2))]
    graphs = [(np.eye(3), [[0, 1], [1, 2]]), (np.ones((1, 3)), np.zeros((0, 2), int))]
    images = [np.arange(8.0).reshape(2, 2, 2), np.ones((1, 2, 2))]
    sentences = Tokens.from_rows([[["a"], ["b"]], [["c"]], [["a"], ["c"]]])
    bigrams = Template.crfpp("U:%x[0,0]\nB:%x[0,0]\n").encode(sentences)
    models: dict[str, Any] = {
        "bigrams": ChainCRF(tol=0.5).fit(bigrams, tags),
        "names": ChainCRF(tol=0.5).fit(words, tags),
        "constrained": ChainCRF(tol=0.5, constraints="bio", state_features="observed").fit(words, tags),
        "columns": ChainCRF(tol=0.5, begin=False).fit(dense, [[0, 1], [1], [0, 0]]),
        "graph": GraphCRF(tol=0.5).fit(graphs, [["a", "b", "a"], ["b"]]),
        "grid": GridCRF(tol=0.5, edge_features="contrast").fit(images, [[["a", "b"], ["a", "a"]], [["b", "a"]]]),
    }
    found = {}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for name, model in models.items():
            path = os.path.join(folder, name)
            model.save(path)
            found[name] = Path(path).read_bytes(), type(model).__name__
    for path in sorted(CORPUS.glob("*.crfsuite")):
        found[path.stem] = path.read_bytes(), "crfsuite"
    return found


# ---- mutations ----------------------------------------------------------------------------------------------------


def _changed(random: Random, value: Any) -> Any:
    """A JSON value with one place in it changed."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(sorted(value))
        if random.random() < 0.1:
            return {name: item for name, item in value.items() if name != key}
        if random.random() < 0.05:
            return {**value, random.choice(["x", "__metadata__", "weights", "row_starts"]): value[key]}
        return {**value, key: _changed(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.8:
        at = random.randrange(len(value))
        if random.random() < 0.2:
            return value[:at] + value[at + 1 :]
        if random.random() < 0.2:
            return value[: at + 1] + value[at:]
        return [*value[:at], _changed(random, value[at]), *value[at + 1 :]]
    if type(value) is int and random.random() < 0.6:
        return value + random.choice([-1, 1, 8, -8, 2**32, 2**63])
    return random.choice(_VALUES)


def _mutant(random: Random, content: bytes) -> bytes:
    size = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        kind = random.randrange(5)
        if kind == 0:
            header = _changed(random, header) if isinstance(header, dict) else header
        elif kind <= 2 and isinstance(header, dict) and isinstance(header.get("__metadata__"), dict):
            try:
                plain = json.loads(header["__metadata__"]["model"])
            except (KeyError, TypeError, ValueError):
                continue
            header["__metadata__"]["model"] = json.dumps(_changed(random, plain))
        elif data:
            _flip(random, data)
    if random.random() < 0.1:
        data = data[: random.randrange(len(data) + 1)] if random.random() < 0.5 else data + data[:8]
    text = json.dumps(header, separators=(",", ":")).encode("utf-8", "surrogatepass")
    made = bytearray(len(text).to_bytes(8, "little") + text + data)
    if random.random() < 0.05:
        _flip(random, made)
    return _with_checksum(bytes(made)) if random.random() < 0.5 else bytes(made)


def _flip(random: Random, data: bytearray) -> None:
    at = random.randrange(len(data))
    if random.random() < 0.5:
        data[at] ^= 1 << random.randrange(8)
    else:  # a whole number: 4 or 8 bytes
        size = random.choice([4, 8])
        begin = at - at % size
        number = random.choice([0, 1, 2, 255, 2**31 - 1, 2**31, 2**32 - 1, 0x7FF0000000000000, 2**63, 2**64 - 1])
        data[begin : begin + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")[: max(0, len(data) - begin)]


def _with_checksum(content: bytes) -> bytes:
    """The same with a checksum that fits, by the format's own function; without one in the format, as it is."""
    end = 8 + int.from_bytes(content[:8], "little")
    try:
        checksum = import_module("dualfield.models.checksum")
        return bytes(checksum.with_checksum(content[:end], [content[end:]]) + content[end:])
    except (ImportError, ValueError, TypeError, KeyError, AttributeError):
        return content  # among others: no place in the header that could hold it


def _crfsuite_mutant(random: Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 4])):
        _flip(random, data)
        if random.random() < 0.3:  # the header, where all offsets are
            at = 4 * random.randrange(12)
            data[at : at + 4] = random.choice([0, 1, 48, len(data), len(data) - 4, 2**31, 2**32 - 1]).to_bytes(
                4, "little"
            )
    if random.random() < 0.1:
        del data[random.randrange(len(data)) :]
    if random.random() < 0.5 and len(data) >= 8:
        data[4:8] = len(data).to_bytes(4, "little")
    return bytes(data)


# ---- one mutant ---------------------------------------------------------------------------------------------------


def run_mutant(seed: int, say: Callable[[str], None], show: bool = False) -> dict[str, int]:
    random = Random(seed)
    name = random.choice(sorted(_sound()))
    content, kind = _sound()[name]
    made = _crfsuite_mutant(random, content) if kind == "crfsuite" else _mutant(random, content)
    return load_bytes(made, name, kind, say, show)


def load_bytes(content: bytes, name: str, kind: str, say: Callable[[str], None], show: bool = False) -> dict[str, int]:
    """Load the file and ask the model; refused, ok, or a :class:`Defect`."""
    with tempfile.NamedTemporaryFile(prefix="fuzz-", dir=os.environ.get("FUZZ_FOLDER")) as file:
        file.write(content)
        file.flush()
        for step in (_tag_one, _load_and_ask, _tag):
            say(f"{name}: {step.__name__}")
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    step(file.name, kind)
            except Exception as error:
                found = verdict(error)
                if show:
                    traceback.print_exc()
                if found != "refused":
                    raise Defect(f"{name}: {step.__name__}: {found}") from error
                if step is not _tag_one:  # which also refuses what only others read
                    return {"refused": 1}
    return {"ok": 1}


def _load_and_ask(path: str, kind: str) -> None:
    import numpy as np

    import dualfield
    from dualfield.models import crfsuite_model

    if kind == "crfsuite":
        crf: Any = crfsuite_model.read_crfsuite_model(path)
    else:
        crf = getattr(dualfield, kind).load(path)
    width = crf.layout_.n_attributes
    if width > 10_000:
        return
    if kind == "GraphCRF":
        edges = crf.layout_.n_edge_features
        X: Any = [(np.ones((2, width)), [[0, 1]], *([np.ones((1, edges))] if edges > 1 else []))]
    elif kind == "GridCRF":
        X = [np.ones((2, 2, width))]
    elif isinstance(crf.vocabulary_, dualfield.features.NumberedColumns):
        X = [np.ones((2, width))]
    else:
        X = [[["a", "b"], []], [["c"]]]
    check_labels(crf.predict(X), crf.classes_)
    marginals = [np.reshape(m, (-1, len(crf.classes_))) for m in crf.predict_marginals(X)]
    check_marginals(marginals)
    repr(crf), crf.solution_.message, crf.score
    with tempfile.NamedTemporaryFile(prefix="fuzz-", dir=os.environ.get("FUZZ_FOLDER")) as file:
        crf.save(file.name)


def _tag_one(path: str, kind: str) -> None:
    """What services use: the file by its own tables, one sequence at a time."""
    import numpy as np

    from dualfield.tagging import SequenceTagger

    refused = None
    for mapped in (True, False):  # a mapped file's checksum is not compared
        try:
            tagger = SequenceTagger(path, mapped=mapped)
            for x in ([["a", "b"], []], [["c"]]):
                check_labels([np.array(tagger.tag(x))], tagger.labels)
                check_marginals([np.array(tagger.marginals(x))])
                best, probability = tagger.k_best(x, 2)[0]
                if abs(tagger.probability(x, best) - probability) > 1e-9:
                    raise Broken("a labelling has one probability")
        except Exception as error:
            if verdict(error) != "refused":
                raise
            refused = error
    if refused is not None:
        raise refused


def _tag(path: str, kind: str) -> None:
    """What the command line reads without NumPy."""
    from dualfield.models.model_file import read_parts

    if kind != "crfsuite":
        read_parts(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--programs", type=int, help="how many mutants; without it, as many as the seconds allow")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="in this process, with a traceback")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(run_mutant)
        return 0
    if given.here:
        for seed in range(given.seed, given.seed + (given.programs or 1)):
            print(f"seed {seed}: {run_mutant(seed, lambda name: None, show=True)}")
        return 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.environ["FUZZ_FOLDER"] = folder
        log = os.path.join(folder, "errors")
        command = [sys.executable, os.path.abspath(__file__), "--worker"]
        seconds = given.seconds if given.programs is None else 1e9
        report = watch(command, given.seed, given.programs, seconds, given.workers, log)
        if report.defects:
            sys.stdout.write(Path(log).read_text(errors="replace")[-20000:])
    print(report.line("models", time.monotonic() - began))
    return 1 if report.defects else 0


if __name__ == "__main__":
    sys.exit(main())
