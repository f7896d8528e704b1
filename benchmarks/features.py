"""CoNLL-2000 chunking, from the packed file to encoded arrays: by a template in the core, and by Python strings.

CPU seconds, the best and the median of some repetitions, and the peak of memory above the start. Needs Linux.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from memory import peak, reset_peak
from tasks import data_file

from dualfield.features import Encoded, encode, extract_all, preset_template
from dualfield.io import read_columns, read_tokens


def by_template(path: Path) -> tuple[Encoded, object]:
    tokens = read_tokens(path)
    return preset_template("chunking", 2).encode(tokens.with_columns([0, 1])), tokens.labels()


def by_strings(path: Path) -> tuple[Encoded, object]:
    sentences = read_columns(path)
    attributes = extract_all("chunking", [[row[:-1] for row in sentence] for sentence in sentences])
    return encode(attributes), [[row[-1] for row in sentence] for sentence in sentences]


def measure(way: Callable[[Path], tuple[Encoded, object]], path: Path, repeats: int) -> None:
    seconds, megabytes = [], []
    for _ in range(repeats):
        start = reset_peak()
        before = time.process_time()
        encoded = way(path)
        seconds.append(time.process_time() - before)
        megabytes.append((peak() - start) / 1e6)
        del encoded
    best, median, memory = min(seconds), statistics.median(seconds), statistics.median(megabytes)
    print(f"{way.__name__:12} {best:8.3f} s {median:8.3f} s {memory:8.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    path = data_file("conll2000/train.txt.gz")
    print(f"{'':12} {'best':>10} {'median':>10} {'peak':>11}")
    for way in (by_template, by_strings):
        measure(way, path, repeats)
