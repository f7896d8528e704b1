"""The two text tasks of Vishwanathan et al. (2006), section 4: base NP chunking and names in abstracts on biology.

*base-np*: CoNLL-2000 with the labels B-NP, I-NP and O. Words at −2 … 2 and pairs of them, POS at −2 … 2, pairs and
triples; the (attribute, label) pairs seen in training have a weight. The paper's 330,731 features are of the same kind;
its list is not printed, ours makes 394,354 weights.

*bio*: JNLPBA-2004, five kinds of names, 11 labels. The word, its neighbours, and yes-or-no features of its spelling by
regular expressions, as the paper says; its expressions are not printed either, nor are those of Settles (2004) that
they differ from. To come near its 106,583 features there are also endings of three letters.

Both with σ = 1, that is ``l2 = 1``, and no bias, begin or end weights. F-scores are those of whole chunks, in percent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from benchmarks import tasks
from benchmarks.papers.datasets import Dataset, Problem
from benchmarks.tasks import Test, data_file
from dualfield import fields
from dualfield.datasets import travel_sentences
from dualfield.features import Encoded, encode
from dualfield.io import read_columns

__all__ = ["CHAIN_TASKS", "ChunkTask", "ScoredProblem", "counts_of_chunks", "spelling"]

Counts = tuple[int, int, int]

ROMAN = re.compile(r"(?=[IVX])(?:X{0,3})(?:IX|IV|V?I{0,3})")
GREEK = re.compile("alpha|beta|gamma|delta|epsilon|zeta|kappa|lambda|sigma|omega", re.IGNORECASE)
SPELLING: dict[str, Callable[[str], object]] = {
    "ALPHA": str.isalpha,
    "ALPHANUMERIC": lambda word: word.isalnum() and not word.isalpha() and not word.isdigit(),
    "INITCAP": lambda word: word[:1].isupper(),
    "ALLCAPS": lambda word: word.isupper() and word.isalpha(),
    "CAPSMIX": re.compile("[a-z].*[A-Z]").search,
    "SINGLECAP": re.compile("[A-Z]").fullmatch,
    "HASDIGIT": re.compile("[0-9]").search,
    "NATURAL": str.isdigit,
    "SINGLEDIGIT": re.compile("[0-9]").fullmatch,
    "DOUBLEDIGIT": re.compile("[0-9]{2}").fullmatch,
    "REAL": re.compile(r"[0-9]*[.,][0-9]+").fullmatch,
    "HASDASH": lambda word: "-" in word,
    "INITDASH": lambda word: word.startswith("-"),
    "ENDDASH": lambda word: word.endswith("-"),
    "HASSLASH": lambda word: "/" in word,
    "PUNCTUATION": re.compile(r"[^\w\s]+").fullmatch,
    "ROMANNUMERAL": ROMAN.fullmatch,
    "GREEK": GREEK.search,
}


@cache
def spelling(word: str) -> tuple[str, ...]:
    """The names of the expressions that fit a word."""
    return tuple(name for name, fits in SPELLING.items() if fits(word))


def attributes(words: list[str]) -> list[list[str]]:
    """What a sentence of biology looks like, word by word."""
    padded = ["", *words, ""]
    found = []
    for t, word in enumerate(words, 1):
        near = [f"w[-1]={padded[t - 1]}", f"w[0]={word}", f"w[1]={padded[t + 1]}"]
        found.append([*near, f"suffix={word[-3:]}", *spelling(word)])
    return found


@dataclass
class ScoredProblem(Problem):
    """A task whose predictions are scored by chunks."""

    def scores(self, weights: np.ndarray) -> dict[str, float]:
        """F-score of the test set's chunks in percent; without their types (``boundaries``); and of labels not O."""
        codes = self.field.layout.compile(self.test.X).decode(weights, 0, len(self.test.X))
        return {
            "f1": self.f1(codes),
            "boundaries": 100 * _f1(counts_of_chunks(codes, self._true, self._offsets, self._letters, 0 * self._types)),
            "tokens": 100 * _f1(_counts_of_tokens(codes, self._true, self._letters)),
        }

    def f1(self, codes: np.ndarray) -> float:
        """F-score of predicted labels, in percent."""
        return 100 * _f1(counts_of_chunks(codes, self._true, self._offsets, self._letters, self._types))

    def f1_at(self, weights: np.ndarray) -> float:
        return self.f1(self._decoder.decode(weights, 0, len(self.test.X)))

    @cached_property
    def _decoder(self) -> object:
        return self.field.layout.compile(self.test.X)

    @cached_property
    def _offsets(self) -> np.ndarray:
        return np.asarray(self.test.X.offsets)

    @cached_property
    def _classes(self) -> list[str]:
        """The labels of training, then those that only the test set has."""
        known = self.field.classes.tolist()
        return known + sorted({label for labels in self.test.y for label in labels} - set(known))

    @cached_property
    def _true(self) -> np.ndarray:
        code = {label: number for number, label in enumerate(self._classes)}
        return np.array([code[label] for labels in self.test.y for label in labels])

    @cached_property
    def _letters(self) -> np.ndarray:
        return np.array([label[0] for label in self._classes])

    @cached_property
    def _types(self) -> np.ndarray:
        types = [label[2:] for label in self._classes]
        return np.array([sorted(set(types)).index(name) for name in types])


def counts_of_chunks(
    predicted: np.ndarray, true: np.ndarray, offsets: np.ndarray, letters: np.ndarray, types: np.ndarray
) -> Counts:
    """Chunks in the true labels, in the predicted ones, and in both, as ``dualfield.metrics.chunk_scores`` counts them.

    ``letters[k]`` is O, B or I and ``types[k]`` a number, of label k. All sequences at once: an evaluation after every
    batch of training allows no loop over tokens.
    """

    def found(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        letter, kind = letters[codes], types[codes]
        first = np.zeros(len(codes) + 1, dtype=bool)
        first[offsets] = True
        inside = letter != "O"
        begins = inside & (first[:-1] | (letter == "B"))
        begins[1:] |= inside[1:] & (~inside[:-1] | (kind[1:] != kind[:-1]))
        stops = np.append(first[:-1] | ~inside | begins, True)
        starts, at = np.flatnonzero(begins), np.flatnonzero(stops)
        return starts, at[np.searchsorted(at, starts, side="right")], kind[starts]

    (a, a_end, a_kind), (b, b_end, b_kind) = found(true), found(predicted)
    _, in_a, in_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    both = (a_end[in_a] == b_end[in_b]) & (a_kind[in_a] == b_kind[in_b])
    return len(a), len(b), int(both.sum())


def _counts_of_tokens(predicted: np.ndarray, true: np.ndarray, letters: np.ndarray) -> Counts:
    named, called = letters[true] != "O", letters[predicted] != "O"
    return int(named.sum()), int(called.sum()), int((named & (true == predicted)).sum())


def _f1(counts: Counts) -> float:
    return 2 * counts[2] / max(counts[0] + counts[1], 1)


class ChunkTask(Dataset):
    """A task with observed pairs, no bias, begin or end weights, and F-scores."""

    published: ClassVar[dict[str, float]]
    batch_size: ClassVar[int]

    def load(self, quick: bool = False) -> ScoredProblem:
        found = super().load(quick)
        return ScoredProblem(found.field, found.test, found.source)

    def generate(self, train_size: int, test_size: int) -> tuple[fields.Chain, Test]:
        sentences = travel_sentences(train_size + test_size)
        return _as_field(
            [([word for word, _ in sentence], [tag for _, tag in sentence]) for sentence in sentences], train_size
        )


class BaseNP(ChunkTask):
    name, title = "base-np", "CoNLL-2000, base NP"
    files = ("conll2000/train.txt.gz", "conll2000/test.txt.gz")
    quick_sizes = (600, 400)
    published: ClassVar = {"n": 8936, "features": 330731, "SMD": 93.6, "BFGS": 93.6, "SGD": 93.4, "perceptron": 92.7}
    batch_size = 8

    def read(self, train_size: int | None, test_size: int | None) -> tuple[fields.Chain, Test]:
        field, test = tasks.base_np(1.0)
        if train_size is None:
            return field, test
        labels = field.classes[field.codes]
        cut = field.encoded[:train_size]
        y = [labels[a:b].tolist() for a, b in pairwise(cut.offsets.tolist())]
        return _chain(cut, y), Test(test.X[:test_size], test.y[:test_size])


class Bio(ChunkTask):
    name, title = "bio", "JNLPBA-2004"
    files = ("jnlpba2004/Genia4ERtask1.iob2.gz", "jnlpba2004/Genia4EReval1.iob2.gz")
    quick_sizes = (600, 400)
    published: ClassVar = {"n": 18546, "features": 106583, "SMD": 85.8, "BFGS": 85.8, "SGD": 85.2, "perceptron": 83.0}
    batch_size = 6

    def read(self, train_size: int | None, test_size: int | None) -> tuple[fields.Chain, Test]:
        train, test = (read_columns(data_file(name)) for name in self.files)
        train, test = train[:train_size], test[:test_size]
        sentences = [([row[0] for row in rows], [row[-1] for row in rows]) for rows in (*train, *test)]
        return _as_field(sentences, len(train))


def _as_field(sentences: list[tuple[list[str], list[str]]], train_size: int) -> tuple[fields.Chain, Test]:
    words, labels = zip(*sentences, strict=True)
    X = encode([attributes(sentence) for sentence in words[:train_size]])
    held_out = encode([attributes(sentence) for sentence in words[train_size:]], X.vocabulary)
    return _chain(X, list(labels[:train_size])), Test(held_out, list(labels[train_size:]))


def _chain(X: Encoded, y: list[list[str]]) -> fields.Chain:
    return fields.Chain(
        X, y, 1.0, bias=False, begin=False, end=False, state_features="observed", transitions="observed"
    )


CHAIN_TASKS: dict[str, ChunkTask] = {task.name: task for task in (BaseNP(), Bio())}
