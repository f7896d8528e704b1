"""From a table of words to a tagger of raw text: what a first day with the package may look like.

The table has one row a word with its sentence and its tag, here of made-up travel sentences; read your own with
``pandas.read_csv``. The steps: attributes of words, F1 of entities by cross-validation, a search over both penalties, a
threshold above which 95 % of the entities are right, a report, a saved model, and text tagged by the saved model. It
prints what it finds and writes ``report.html`` and ``travel.safetensors`` into FOLDER.

    pip install "dualfield[all]" pandas
    python examples/a_day.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from sklearn.model_selection import cross_val_score

from dualfield import ChainCRF, ChainCRFCV
from dualfield.calibration import choose_threshold, outcomes
from dualfield.datasets import travel_sentences
from dualfield.metrics import classification_report, entity_f1_scorer
from dualfield.reporting import report

Row = dict[str, Any]


def words_with_tags(n_sentences: int, seed: int) -> Any:
    """The table: a DataFrame, or without pandas a list of rows."""
    rows: list[Row] = [
        {"sentence": number, "word": word, "tag": tag}
        for number, sentence in enumerate(travel_sentences(n_sentences, seed))
        for word, tag in sentence
    ]
    try:
        import pandas
    except ModuleNotFoundError:
        return rows
    return pandas.DataFrame(rows)


def sentences_of(table: Any) -> tuple[list[list[str]], list[list[str]]]:
    """The words and the tags of each sentence."""
    rows: list[Row] = table if isinstance(table, list) else table.to_dict("records")
    sentences = [list(group) for _, group in groupby(rows, key=lambda row: row["sentence"])]
    return [[row["word"] for row in rows] for rows in sentences], [[row["tag"] for row in rows] for rows in sentences]


def attributes(words: list[str]) -> list[list[str]]:
    """What a model sees of each word: itself, how it ends and is written, and its neighbours."""
    around = ["<", *(word.lower() for word in words), ">"]
    return [
        [
            f"word={word.lower()}",
            f"end={word[-3:].lower()}",
            f"shape={re.sub('[0-9]', '0', re.sub('[a-z]+', 'a', re.sub('[A-Z]', 'A', word)))}",
            f"before={around[t]}",
            f"after={around[t + 2]}",
        ]
        for t, word in enumerate(words)
    ]


def tokens(text: str) -> list[str]:
    """Words and punctuation marks of raw text."""
    return re.findall(r"[\w-]+|[^\w\s]", text)


def main(folder: Path, n_sentences: int = 600) -> dict[str, Any]:
    """Do all of it; what was found, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    words, tags = sentences_of(words_with_tags(n_sentences, seed=0))
    X = [attributes(sentence) for sentence in words]
    a, b = len(X) * 3 // 5, len(X) * 4 // 5  # to train on; to choose a threshold on; to test on

    f1 = cross_val_score(ChainCRF(random_state=0), X[:a], tags[:a], cv=3, scoring=entity_f1_scorer)
    print(f"F1 of entities with default penalties: {f1.mean():.3f} (between {f1.min():.3f} and {f1.max():.3f})")

    search = ChainCRFCV(l2s=[10.0, 1.0, 0.1], l1s=[0.0, 0.1, 1.0], cv=3, scoring="f1", random_state=0)
    crf = search.fit(X[:a], tags[:a]).best_estimator_
    print(f"Best penalties: l1 = {search.l1_:g}, l2 = {search.l2_:g}; F1 {search.scores_.mean(axis=0).max():.3f}")
    print(crf.solution_.message)
    print(classification_report(tags[b:], crf.predict(X[b:])))

    threshold = choose_threshold(outcomes(crf, X[a:b], tags[a:b]), precision=0.95)
    print(threshold)
    report(crf, X[b:], tags[b:], folder / "report.html", "Travel sentences", words=words[b:])

    crf.save(folder / "travel.safetensors")
    tagger = ChainCRF.load(folder / "travel.safetensors")
    text = tokens("Ada flies from Paris to Berlin on Monday.")
    entities = tagger.predict_entities([attributes(text)])[0]
    found = [(" ".join(text[e.start : e.end]), e.type) for e in entities if e.probability >= threshold.value]
    print("\n".join(f"{type}: {name}" for name, type in found))
    return {"f1": f1, "search": search, "threshold": threshold, "entities": found, "tagger": tagger}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
