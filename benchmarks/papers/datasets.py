"""The tasks of Le Priol et al. (2018) and Schmidt et al. (2015), with the features that the papers give or imply.

Every chain has weights for all (attribute, label) and (label, label) pairs and a bias, begin and end weight a label, as
the dimension 4082 = 26 · (128 + 26 + 3) of OCR shows. Le Priol et al. print in Table 1 the number A of attributes and
the largest number a of attributes of a position; their Appendix B, which lists them, is not in the text that we have.

*ocr*: 128 pixels. *conll*: the 19 columns of the authors' feature file, see :mod:`benchmarks.papers.conll_columns`.
*ner*: lower-cased words at −2 … 2, word pairs (−1, 0) and (0, 1), POS at −2 … 2, prefixes and suffixes up to length 4:
the 20 attributes of the paper in number, ours in kind. *pos*: words at −2 … 2 and those affixes, 13 as in the paper;
values seen three times or more, as in the authors' script for the WSJ. POS is the English Web Treebank, for the WSJ is
licensed.

With ``quick`` a task is cut to its first sequences. Where its files are missing, ``quick`` falls back on generated
data, and says so: letters drawn from noisy prototypes for *ocr*, travel sentences for the others.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks import tasks
from benchmarks.papers.conll_columns import conll_template, one_boundary
from benchmarks.tasks import Test, data_file
from dualfield import fields
from dualfield.datasets import travel_sentences
from dualfield.features import Cell, Encoded, Rule, Template, Tokens, encode
from dualfield.features.templates.rules import lower, prefix, suffix, window
from dualfield.io import read_tokens

__all__ = ["DATASETS", "Dataset", "Problem"]

_NEAR = (-2, -1, 0, 1, 2)


@dataclass
class Problem:
    """A training field and its test set; ``source`` is "files" or "generated"."""

    field: fields.Chain
    test: Test
    source: str
    _fields: dict[float, fields.Chain] = field(default_factory=dict)

    def under(self, l2: float) -> fields.Chain:
        """The field with another penalty; the last one is kept."""
        if l2 == self.field.l2:
            return self.field
        if l2 not in self._fields:
            self._fields = {l2: self.field.with_l2(l2)}
        return self._fields[l2]

    @cached_property
    def labels(self) -> np.ndarray:
        """The true labels of the test set, one after the other."""
        return np.array([label for sequence in self.test.y for label in sequence])

    @cached_property
    def _held_out(self) -> Any:
        return self.field.layout.compile(self.test.X)

    def test_error(self, weights: np.ndarray) -> float:
        """The share of wrong labels on the test set."""
        codes = self._held_out.decode(weights, 0, len(self.test.X))
        return float(np.mean(self.field.classes[codes] != self.labels))


class Dataset(ABC):
    """A task of the papers."""

    name: ClassVar[str]
    title: ClassVar[str]
    files: ClassVar[tuple[str, ...]]
    quick_sizes: ClassVar[tuple[int, int]]  # sequences of the training and of the test set
    published: ClassVar[dict[str, float]]  # Table 1 of Le Priol et al. 2018
    slow: ClassVar[bool] = False  # measured after all others

    @property
    def available(self) -> bool:
        """Whether all files are there."""
        folder = os.environ.get("DUALFIELD_DATA")
        return bool(folder) and all((Path(folder) / name).exists() for name in self.files)

    def load(self, quick: bool = False) -> Problem:
        """Read the task, or in quick mode its beginning or what stands in for it."""
        train_size, test_size = self.quick_sizes if quick else (None, None)
        if quick and not self.available:
            print(f"  {self.name}: no data (DUALFIELD_DATA has no {self.files[0]}), generated instead", file=sys.stderr)
            return Problem(*self.generate(*self.quick_sizes), "generated")
        return Problem(*self.read(train_size, test_size), "files")

    @abstractmethod
    def read(self, train_size: int | None, test_size: int | None) -> tuple[fields.Chain, Test]:
        """The training field and the test set, of so many sequences."""

    def generate(self, train_size: int, test_size: int) -> tuple[fields.Chain, Test]:
        """The same of generated data."""
        sentences = travel_sentences(train_size + test_size)
        template = spelling_template(1)
        train, test = sentences[:train_size], sentences[train_size:]
        X = template.encode([[(word,) for word, _ in sentence] for sentence in train])
        held_out = template.encode([[(word,) for word, _ in sentence] for sentence in test], X.vocabulary)
        field = fields.Chain(X, [[tag for _, tag in sentence] for sentence in train])
        return field, Test(held_out, [[tag for _, tag in sentence] for sentence in test])


class OCR(Dataset):
    name, title = "ocr", "OCR"
    files = ("ocr/letter.data.gz",)
    quick_sizes = (400, 200)
    published: ClassVar = {"d": 4082, "n": 6202, "N": 52827, "K": 26, "A": 128, "a": 128, "GiB": 0.2}

    def read(self, train_size: int | None, test_size: int | None) -> tuple[fields.Chain, Test]:
        field, test = tasks.ocr(1.0)
        if train_size is None:
            return field, test
        labels = field.classes[field.codes]
        cut = field.encoded[:train_size]
        offsets = cut.offsets.tolist()
        y = [labels[a:b].tolist() for a, b in pairwise(offsets)]
        return fields.Chain(cut, y), Test(test.X[:test_size], test.y[:test_size])

    def generate(self, train_size: int, test_size: int) -> tuple[fields.Chain, Test]:
        random = np.random.default_rng(0)
        n_labels, n_pixels = 26, 128
        shapes = random.random((n_labels, n_pixels)) < 0.25
        follows = random.dirichlet(np.full(n_labels, 0.2), n_labels)  # a language in which few letters follow each
        letters, images = [], []
        for _ in range(train_size + test_size):
            word = [int(random.integers(n_labels))]
            while len(word) < 8:
                word.append(int(random.choice(n_labels, p=follows[word[-1]])))
            letters.append([chr(ord("a") + label) for label in word])
            images.append((shapes[word] ^ (random.random((8, n_pixels)) < 0.2)).astype(np.float64))
        field = fields.Chain(images[:train_size], letters[:train_size])
        return field, Test(encode(images[train_size:], field.encoded.vocabulary), letters[train_size:])


class TextDataset(Dataset):
    """Column files for training and testing; the label is the last column."""

    @abstractmethod
    def tokens(self, file: str) -> Tokens: ...

    @abstractmethod
    def encode(self, tokens: Tokens, vocabulary: Any = None) -> Encoded: ...

    def read(self, train_size: int | None, test_size: int | None) -> tuple[fields.Chain, Test]:
        train, test = (self.tokens(file) for file in self.files)
        train, test = train[:train_size], test[:test_size]
        columns = range(train.n_columns - 1)
        X = self.encode(train.with_columns(columns))
        field = fields.Chain(X, train.labels(), 1.0)
        return field, Test(self.encode(test.with_columns(columns), X.vocabulary), list(map(list, test.labels())))


class CoNLL(TextDataset):
    name, title = "conll", "CoNLL-2000"
    files = ("conll2000/train.txt.gz", "conll2000/test.txt.gz")
    quick_sizes = (400, 200)
    published: ClassVar = {"d": 1.6e6, "n": 8936, "N": 2.1e5, "K": 22, "A": 74658, "a": 19, "GiB": 0.7}

    def tokens(self, file: str) -> Tokens:
        return read_tokens(data_file(file))

    def encode(self, tokens: Tokens, vocabulary: Any = None) -> Encoded:
        return one_boundary(conll_template().encode(tokens), vocabulary, min_count=3)


class NER(TextDataset):
    name, title = "ner", "CoNLL-2002 Dutch names"
    files = ("conll2002/ned.train.gz", "conll2002/ned.testb.gz")
    quick_sizes = (600, 300)
    published: ClassVar = {"d": 2.8e6, "n": 15806, "N": 2.0e5, "K": 9, "A": 3.1e5, "a": 20, "GiB": 0.1}

    def tokens(self, file: str) -> Tokens:
        return read_tokens(data_file(file), docstart="keep")

    def encode(self, tokens: Tokens, vocabulary: Any = None) -> Encoded:
        return spelling_template(2).encode(tokens, vocabulary)


class POS(TextDataset):
    name, title = "pos", "English Web Treebank, Penn tags"
    files = ("ud_english_ewt/en_ewt-ud-train.conllu.gz", "ud_english_ewt/en_ewt-ud-test.conllu.gz")
    quick_sizes = (250, 150)
    slow = True
    published: ClassVar = {"d": 8.6e6, "n": 38219, "N": 9.1e5, "K": 45, "A": 1.9e5, "a": 13, "GiB": 13}

    def tokens(self, file: str) -> Tokens:
        form, xpos = 1, 4
        return read_tokens(data_file(file), format="conllu").with_columns([form, xpos])

    def encode(self, tokens: Tokens, vocabulary: Any = None) -> Encoded:
        return spelling_template(1).encode(tokens, vocabulary, min_count=1 if vocabulary else 3)


def spelling_template(n_columns: int) -> Template:
    """20 attributes with a column of POS tags, 13 without."""
    rules = window("w", 0, _NEAR, lower())
    for length in (1, 2, 3, 4):
        rules.append(Rule((f"prefix{length}=", Cell(0, transforms=(prefix(length),)))))
        rules.append(Rule((f"suffix{length}=", Cell(0, transforms=(suffix(length),)))))
    if n_columns > 1:
        rules += [*window("w", 0, (-1, 0), lower(), order=2), *window("p", 1, _NEAR)]
    return Template(rules, outside="crfpp")


DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in (OCR(), CoNLL(), NER(), POS())}
