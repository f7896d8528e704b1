"""The yardstick task, CoNLL-2000 chunking: the known optima, and certificates that hold at every tolerance."""

import os
from pathlib import Path

import pytest

from dualfield import SDCA, fields, solve
from dualfield.features import encode, extract_all
from dualfield.io import read_columns

TRAIN = Path(os.environ.get("DUALFIELD_DATA", "missing")) / "conll2000" / "train.txt.gz"
OPTIMA = {"all": 7873.263, "observed": 9118.796}  # of l2/2 |w|^2 + sum -log p at l2 = 1, to three decimals

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="DUALFIELD_DATA does not hold conll2000")


@pytest.mark.parametrize("mode", OPTIMA)
def test_the_known_optimum_is_reached_and_every_gap_is_a_bound(mode):
    sentences = read_columns(TRAIN)
    X = encode(extract_all("chunking", [[row[:-1] for row in sentence] for sentence in sentences]))
    y = [[row[-1] for row in sentence] for sentence in sentences]
    field = fields.Chain(X, y, 1.0, state_features=mode, transitions=mode, bias=False, begin=False, end=False)
    state = None
    for tol in (1e-2, 1e-3, 1e-4, 1e-6):
        solution = solve(field, SDCA(), tol=tol, state=state, random_state=0)
        state = solution.state
        assert solution.status == "converged"
        assert solution.duality_gap <= tol * solution.primal
        assert solution.duality_gap >= solution.primal - OPTIMA[mode] - 5e-4  # the optima are rounded
    assert solution.primal == pytest.approx(OPTIMA[mode], rel=1e-6)
