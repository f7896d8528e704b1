"""Tagging starts without what training needs."""

from __future__ import annotations

import subprocess
import sys

from tests.compat.pycrfsuite.conftest import Trained

CODE = """
import sys
from dualfield.compat import pycrfsuite
tagger = pycrfsuite.Tagger()
with tagger.open(sys.argv[1]):
    labels = tagger.tag([{"a": 1}, ["c"]])
    tagger.marginal(labels[0], 0)
    tagger.probability(labels)
    pycrfsuite.ItemSequence([{"a": 1}]).items()
    tagger.info()
heavy = {"numpy", "scipy", "sklearn", "dualfield._core", "json", "dataclasses"}
print(*labels, *sorted(heavy & set(sys.modules)))
"""


def test_tagging_imports_neither_numpy_nor_the_solvers(tiny: Trained) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, tiny.path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"X", "Y"}
    assert len(done.stdout.split()) == 2
