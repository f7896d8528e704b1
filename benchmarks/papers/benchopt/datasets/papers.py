"""The papers' tasks, as ``benchmarks/papers/datasets.py`` makes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from benchopt import BaseDataset

sys.path.insert(0, str(Path(__file__).parents[4]))
from benchmarks.papers.datasets import DATASETS


class Dataset(BaseDataset):
    """One of the four tasks, in full or cut; cut ones are generated where DUALFIELD_DATA is not set."""

    name = "papers"
    parameters: ClassVar = {"task": ["ocr", "conll", "ner", "pos"], "size": ["quick"]}

    def get_data(self) -> dict[str, Any]:
        return {"problem": DATASETS[self.task].load(quick=self.size == "quick")}
