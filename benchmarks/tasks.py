"""The papers' tasks as fields, read from the folder that ``DUALFIELD_DATA`` names.

Each task is a function of ``l2`` that returns the training field and the test set. Counts that the papers state are
checked, so that a benchmark never runs on other data than it says.

==============  ====================================================================================  ======  ==
name            what                                                                                  blocks  K
==============  ====================================================================================  ======  ==
ocr             words as letter images, 128 pixels, folds 1 to 9 of ``ocr/letter.data.gz``            6251    26
conll           CoNLL-2000 chunking, every (attribute, label) pair has a weight                       8936    22
conll-observed  the same with the pairs seen in training only                                         8936    22
base-np         the same with the labels B-NP, I-NP and O, pairs seen in training                     8936    3
ner             CoNLL-2002 Dutch names                                                                15806   9
pos             Penn tags of the Universal Dependencies English Web Treebank                          12544   49
==============  ====================================================================================  ======  ==
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dualfield import fields
from dualfield.features import Cell, Encoded, Rule, Template, Tokens, encode, preset_template
from dualfield.features.templates.rules import lower, prefix, shape, suffix, window
from dualfield.io import read_tokens
from dualfield.metrics import are_chunk_tags, chunk_scores, token_accuracy

__all__ = ["TASKS", "Test", "base_np", "conll", "data_file", "from_columns", "ner", "ocr", "pos"]

N_PIXELS = 128


@dataclass(frozen=True)
class Test:
    """Encoded sequences with their true labels."""

    X: Encoded
    y: list[list[str]]

    def labels(self, field: fields.Chain, weights: np.ndarray) -> list[list[str]]:
        """The most probable labels under the weights."""
        codes = field.layout.compile(self.X).decode(weights, 0, len(self.X))
        labels = field.classes[codes].tolist()
        return [labels[a:b] for a, b in pairwise(self.X.offsets.tolist())]

    def scores(self, field: fields.Chain, weights: np.ndarray) -> dict[str, float]:
        """Accuracy of the labels, and F1 of the chunks where labels are chunk tags."""
        return self.scores_of(self.labels(field, weights))

    def scores_of(self, predicted: list[list[str]]) -> dict[str, float]:
        """The same of labels that are given."""
        if are_chunk_tags({label for sequence in self.y for label in sequence}):
            found = chunk_scores(self.y, predicted)
            return {"f1": found.f1, "accuracy": found.accuracy}
        return {"accuracy": token_accuracy(self.y, predicted)}


def data_file(name: str) -> Path:
    """A file of the data folder, or the end of the program with a sentence that says what is missing."""
    folder = os.environ.get("DUALFIELD_DATA")
    if not folder:
        sys.exit(f"Set DUALFIELD_DATA to the folder of the data sets; this benchmark reads {name} in it.")
    path = Path(folder) / name
    if not path.exists():
        sys.exit(f"DUALFIELD_DATA is {folder}, which has no {name}; set it to the folder of the data sets.")
    return path


# ---- the tasks --------------------------------------------------------------------------------------------


def ocr(l2: float = 1.0) -> tuple[fields.Chain, Test]:
    """Taskar's letters as in the SDCA paper: train on folds 1 to 9, test on fold 0; bias, begin and end weights."""
    images: dict[bool, list[np.ndarray]] = {True: [], False: []}
    labels: dict[bool, list[list[str]]] = {True: [], False: []}
    pixels: list[list[str]] = []
    word: list[str] = []
    with gzip.open(data_file("ocr/letter.data.gz"), "rt") as lines:
        for line in lines:
            _, letter, next_id, _, _, fold, *row = line.split()
            pixels.append(row)
            word.append(letter)
            if next_id == "-1":
                testing = fold == "0"
                images[testing].append(np.array(pixels, dtype=np.float64))
                labels[testing].append(word)
                pixels, word = [], []
    field = fields.Chain(images[False], labels[False], l2)
    _check("ocr", field, blocks=6251, n_labels=26, dimension=26 * (N_PIXELS + 26 + 3))
    return field, Test(encode(images[True], field.encoded.vocabulary), labels[True])


def conll(l2: float = 1.0, mode: str = "all") -> tuple[fields.Chain, Test]:
    """The yardstick: CoNLL-2000 chunking, preset ``chunking``, no bias, begin or end weights."""
    field, test = _chunking(l2, mode, str)
    _check("conll", field, blocks=8936, n_labels=22, dimension={"all": 7_385_312, "observed": 452_755}[mode])
    return field, test


def base_np(l2: float = 1.0) -> tuple[fields.Chain, Test]:
    """Base NP chunking as in the SMD paper: CoNLL-2000 with the labels B-NP, I-NP and O."""
    field, test = _chunking(l2, "observed", lambda label: label if label in ("B-NP", "I-NP") else "O")
    _check("base-np", field, blocks=8936, n_labels=3)
    return field, test


def ner(l2: float = 1.0) -> tuple[fields.Chain, Test]:
    """CoNLL-2002 Dutch names, spelling and context of words and the file's POS; tested on ``ned.testb``."""
    train, test = (
        read_tokens(data_file(f"conll2002/{name}.gz"), docstart="keep") for name in ("ned.train", "ned.testb")
    )
    field, test_set = from_columns(_spelling(2), train, test, l2)
    _check("ner", field, blocks=15806, n_labels=9)
    return field, test_set


def pos(l2: float = 1.0) -> tuple[fields.Chain, Test]:
    """UD English EWT with Penn tags (XPOS), spelling and context of words."""
    form, xpos = 1, 4
    train, test = (
        read_tokens(data_file(f"ud_english_ewt/en_ewt-ud-{part}.conllu.gz"), format="conllu").with_columns([form, xpos])
        for part in ("train", "test")
    )
    field, test_set = from_columns(_spelling(1), train, test, l2)
    _check("pos", field, blocks=12544, n_labels=49)
    return field, test_set


TASKS: dict[str, Callable[[float], tuple[fields.Chain, Test]]] = {
    "ocr": ocr,
    "conll": conll,
    "conll-observed": lambda l2: conll(l2, "observed"),
    "base-np": base_np,
    "ner": ner,
    "pos": pos,
}


# ---- from files to fields ---------------------------------------------------------------------------------


def _chunking(l2: float, mode: str, relabel: Callable[[str], str]) -> tuple[fields.Chain, Test]:
    train, test = (read_tokens(data_file(f"conll2000/{name}.txt.gz")) for name in ("train", "test"))
    return from_columns(preset_template("chunking", 2), train, test, l2, relabel, state_features=mode, transitions=mode)


def from_columns(
    template: Template, train: Tokens, test: Tokens, l2: float, relabel: Callable[[str], str] = str, **options: Any
) -> tuple[fields.Chain, Test]:
    """Tokens, label last, as a field without bias, begin and end weights, and a test set."""
    columns = range(train.n_columns - 1)

    def labels(tokens: Tokens) -> list[list[str]]:
        return [[relabel(label) for label in sequence] for sequence in tokens.labels()]

    X = template.encode(train.with_columns(columns))
    field = fields.Chain(X, labels(train), l2, bias=False, begin=False, end=False, **options)
    return field, Test(template.encode(test.with_columns(columns), X.vocabulary), labels(test))


def _spelling(n_columns: int) -> Template:
    """What the figures in ``docs`` were measured with; the presets ``ner`` and ``pos`` have since gained attributes."""
    near = (-2, -1, 0, 1, 2)
    rules = [*window("w", 0, near, lower()), *window("w", 0, (-1, 0), lower(), order=2)]
    for length in (1, 2, 3, 4):
        rules.append(Rule((f"prefix{length}=", Cell(0, transforms=(prefix(length),)))))
        rules.append(Rule((f"suffix{length}=", Cell(0, transforms=(suffix(length),)))))
    rules += [*window("shape", 0, (-1, 0, 1), shape()), Rule(("__BIAS__",))]
    return Template([*rules, *(window("p", 1, near) if n_columns > 1 else [])])


def _check(name: str, field: fields.Chain, blocks: int, n_labels: int, dimension: int | None = None) -> None:
    found = field.n_blocks, len(field.classes), field.dimension
    expected = blocks, n_labels, field.dimension if dimension is None else dimension
    if found != expected:
        sys.exit(f"{name}: expected (blocks, labels, weights) = {expected}, found {found}; is the data complete?")
