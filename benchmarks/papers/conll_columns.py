"""The 19 feature columns of Le Priol et al. (2018) for CoNLL-2000, made from words and POS tags, and a check.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/papers/conll_columns.py

compares the columns, one by one, with ``sdca4crf_mat/coNLL_test.mat``, the authors' file of the test set. There a
column is a categorical attribute, its value a number from 1, or 0 where the value was dropped; two columns are the same
when their values match one to one. A value is kept when it occurs three times or more in its column of the training
set. Beyond the sentence stands one symbol, whatever the distance.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.tasks import data_file
from dualfield.features import Encoded, Template
from dualfield.features.templates.rules import lower, window
from dualfield.features.vocabulary import Vocabulary
from dualfield.io import read_tokens

__all__ = ["conll_template", "matching_columns", "one_boundary"]

_BEYOND = re.compile(r"_[Bb][+-][12]\b")  # a transform to lower case reaches it too


def conll_template() -> Template:
    """Words at −2 … 2 and two pairs, POS at −2 … 2 with all pairs and triples, in the order of the authors' file."""
    near = (-2, -1, 0, 1, 2)
    rules = [*window("w", 0, near, lower()), *window("w", 0, (-1, 0), lower(), order=2)]
    for order in (1, 2, 3):
        rules += window("p", 1, near[: len(near) + 1 - order], order=order)
    return Template(rules, outside="crfpp")


def one_boundary(X: Encoded, vocabulary: Vocabulary | None = None, min_count: int = 1) -> Encoded:
    """The same attributes with one symbol for all places beyond the sentence; rare ones dropped, or unknown ones."""
    names = [_BEYOND.sub("_B", name) for name in X.vocabulary.names]
    index = (
        {name: number for number, name in enumerate(dict.fromkeys(names))} if vocabulary is None else vocabulary.index
    )
    number_of = np.array([index.get(name, -1) for name in names])
    numbers = number_of[X.indices]
    if vocabulary is None:
        frequent = np.bincount(numbers, minlength=len(index)) >= min_count
        kept = [name for name in index if frequent[index[name]]]
        vocabulary = Vocabulary(kept)
        renumbered = np.where(frequent, np.cumsum(frequent) - 1, -1)
        numbers = renumbered[numbers]
    known = numbers >= 0
    indptr = np.concatenate([[0], np.cumsum(known)])[X.indptr]
    return Encoded.from_entries(X.offsets, indptr, numbers[known], None, vocabulary)


def matching_columns(ours: np.ndarray, theirs: np.ndarray) -> list[bool]:
    """For each column, whether our values and theirs, 0 for none, determine each other."""
    found = []
    for a, b in zip(ours.T, theirs.T, strict=True):
        pairs = len(np.unique(np.stack([a, b]), axis=1).T)
        found.append(pairs == len(np.unique(a)) == len(np.unique(b)) and bool(np.all((a == 0) == (b == 0))))
    return found


def as_columns(X: Encoded, template: Template) -> np.ndarray:
    """Positions × rules: the number from 1 of the attribute that the rule made, 0 where it was dropped."""
    prefixes = [rule.literals[0] for rule in template.rules]
    of_prefix = {prefix: column for column, prefix in enumerate(prefixes)}
    column_of = np.array([of_prefix[name[: name.index("=") + 1]] for name in X.vocabulary.names])
    columns = np.zeros((X.n_positions, len(prefixes)), dtype=np.int64)
    rows = np.repeat(np.arange(X.n_positions), np.diff(X.indptr))
    columns[rows, column_of[X.indices]] = X.indices + 1
    return columns


def authors_columns(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The feature columns and the labels of the authors' file, without the rows between sequences."""
    from scipy.io import loadmat

    content: dict[str, Any] = loadmat(path)
    y = np.asarray(content["y"]).ravel()
    return np.asarray(content["X"])[y > 0].astype(np.int64), y[y > 0]


def main() -> None:
    template = conll_template()
    train, test = (
        read_tokens(data_file(f"conll2000/{name}.txt.gz")).with_columns([0, 1]) for name in ("train", "test")
    )
    X = one_boundary(template.encode(train), min_count=3)
    ours = as_columns(one_boundary(template.encode(test), X.vocabulary), template)
    theirs, _ = authors_columns(data_file("sdca4crf_mat/coNLL_test.mat"))
    print(f"{len(X.vocabulary)} values in the training set (the paper: 74658)")
    same = matching_columns(ours, theirs)
    for rule, matches in zip(template.rules, same, strict=True):
        print(f"  {rule.literals[0]:24s} {'the same' if matches else 'NOT the same'}")
    if not all(same) or len(X.vocabulary) != 74658:
        sys.exit("The columns differ from the authors' file.")
    print(f"all {len(same)} columns match the authors' file at {len(ours)} positions, value by value")


if __name__ == "__main__":
    main()
