"""Real data, found through the environment variable DUALFIELD_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("DUALFIELD_DATA")
    if not folder:
        pytest.skip("DUALFIELD_DATA is not set: the folder of the real data sets is unknown")
    return Path(folder)
