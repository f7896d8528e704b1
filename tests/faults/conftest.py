"""A small model of columns that the commands can be tried on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dualfield.datasets import travel_sentences
from dualfield.io import write_columns
from tests.faults.children import COMMAND


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model; ``columns`` is beside it."""
    folder = tmp_path_factory.mktemp("model")
    write_columns(travel_sentences(40, 0), folder / "columns")
    train = [*COMMAND, "train", "columns", "--output", "model", "--features", "pos", "--quiet"]
    subprocess.run(train, cwd=folder, check=True, capture_output=True)
    return folder / "model"
