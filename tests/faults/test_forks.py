"""A process that forks in the middle of its work: both sides go on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.children import PROBLEM, python


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("solver", ["sdca", "oeg", "lbfgs", "sag"])
def test_a_fork_in_the_middle_of_training(tmp_path: Path, solver: str) -> None:
    code = (
        PROBLEM
        + f"""
import os, signal, warnings
warnings.simplefilter("ignore")
children = []
def divide(progress):
    if progress.passes >= 2 and not children:
        children.append(os.fork())
crf = ChainCRF(solver={solver!r}, n_jobs=2, tol=1e-15, max_passes=4, random_state=0)
crf.fit(X, y, callbacks=[divide])
labels = crf.predict(X)
if children[0] == 0:
    os._exit(0 if len(labels) == len(X) and np.isfinite(crf.weights_).all() else 1)
signal.alarm(20)
_, status = os.waitpid(children[0], 0)
say(str(os.waitstatus_to_exitcode(status)))
"""
    )
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
