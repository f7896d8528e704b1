"""CoNLL-2000 chunking with transitions that depend on the tokens: what bigram attributes cost, and what they bring.

The preset ``chunking`` with observed pairs, and bigram rules of POS tags and of words with observed pairs or all; CPU
seconds from encoded data to a certificate, the peak of the process's memory, F1 on the test part. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from memory import peak, reset_peak
from tasks import data_file

from dualfield import ChainCRF
from dualfield.features import Template, preset_template
from dualfield.features.templates.rules import window
from dualfield.io import read_tokens
from dualfield.metrics import chunk_scores

RULES: dict[str, list[Any]] = {
    "none": [],
    "tag": window("pos", 1, (0,)),
    "tag, word": [*window("pos", 1, (0,)), *window("w", 0, (0,))],
}


def measure(rules: str, pairs: str, solver: str, l2: float) -> dict[str, Any]:
    """One model, from files to its score."""
    reset_peak()
    train, test = (read_tokens(data_file(f"conll2000/{part}.txt.gz")) for part in ("train", "test"))
    template = Template(preset_template("chunking", 2).rules, bigrams=RULES[rules])
    X = template.encode(train.with_columns([0, 1]))
    crf = ChainCRF(l2, solver, state_features="observed", transitions="observed", bigram_features=pairs, random_state=0)
    before = time.process_time()
    crf.fit(X, train.labels())
    seconds = time.process_time() - before
    predicted = crf.predict(template.encode(test.with_columns([0, 1])))
    return {
        "rules": rules,
        "pairs": pairs,
        "weights_of_bigrams": 0 if crf.layout_.bigrams is None else crf.layout_.bigrams.dimension,
        "cpu_seconds": seconds,
        "passes": crf.solution_.passes,
        "relative_gap": crf.solution_.relative_gap,
        "peak_megabytes": peak() / 1e6,
        "f1": chunk_scores(test.labels().tolist(), predicted).f1,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    print(f"{'rules':12}{'pairs':10}{'weights':>12}{'CPU s':>8}{'passes':>8}{'gap':>10}{'peak MB':>9}{'F1':>8}")
    results = []
    for rules in RULES:
        for pairs in ("observed", "all") if RULES[rules] else ("observed",):
            found = measure(rules, pairs, arguments.solver, arguments.l2)
            results.append(found)
            print(
                f"{rules:12}{pairs:10}{found['weights_of_bigrams']:12,}{found['cpu_seconds']:8.1f}{found['passes']:8}"
                f"{found['relative_gap']:10.1e}{found['peak_megabytes']:9.0f}{found['f1']:8.4f}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
