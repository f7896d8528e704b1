"""``partial_fit`` in chunks beside one ``fit``: CPU time as a ratio, and F1 of whole entities.

CoNLL-2002 Dutch names as lists of strings, the features of ``benchmarks/tasks.py``; tested on ``ned.testb``. Both are
trained in one process, in turns, and ratios are of their medians. The last line goes on to a certificate.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/partial_fit.py [--chunks 20] [--turns 3]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import tasks
from dualfield import ChainCRF
from dualfield.features import Encoded
from dualfield.metrics import chunk_scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    field, test = tasks.ner()
    X, unseen = strings(field.encoded), strings(test.X)
    y = [field.classes[field.codes[a:b]].tolist() for a, b in pairwise(field.encoded.offsets)]
    cuts = [round(len(X) * j / given.chunks) for j in range(given.chunks + 1)]
    models: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {"one fit": [], "chunks": []}
    for _ in range(given.turns):
        for name, times in seconds.items():
            began, crf = time.process_time(), ChainCRF(random_state=0)
            if name == "one fit":
                crf.fit(X, y)
            else:
                for a, b in pairwise(cuts):
                    crf.partial_fit(X[a:b], y[a:b])
            times.append(time.process_time() - began)
            models[name] = crf
    whole = statistics.median(seconds["one fit"])
    for name, times in seconds.items():
        f1 = chunk_scores(test.y, list(map(list, models[name].predict(unseen)))).f1
        print(f"{name:<10}{statistics.median(times):8.2f} s CPU{statistics.median(times) / whole:8.2f}    F1 {f1:.4f}")
    began = time.process_time()
    certified = models["chunks"].partial_fit(X[-1:], y[-1:], certify=True)
    took = time.process_time() - began
    f1 = chunk_scores(test.y, list(map(list, certified.predict(unseen)))).f1
    print(f"{'certify':<10}{took:8.2f} s CPU{took / whole:8.2f}    F1 {f1:.4f}    {certified.solution_.message}")


def strings(encoded: Encoded) -> list[list[list[str]]]:
    """The names of the attributes at each position of each sequence."""
    names = encoded.vocabulary.names
    positions = [[names[a] for a in encoded.indices[first:last].tolist()] for first, last in pairwise(encoded.indptr)]
    return [positions[first:last] for first, last in pairwise(encoded.offsets)]


if __name__ == "__main__":
    main()
