"""``dualfield demo``: the certificate, the time beside CRFsuite's, tagged sentences, and where the page is."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dualfield import ChainCRF
from dualfield.cli import demo
from dualfield.datasets import travel_sentences
from tests.cli.conftest import Run


def test_demo_shows_the_certificate_tags_sentences_and_writes_a_report(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command("demo", "--sentences", "200")
    assert code == 0
    page = tmp_path / "dualfield-demo.html"
    assert f"   {page}" in out.splitlines()
    assert "Names in travel sentences" in page.read_text(encoding="utf-8")
    assert "Certificate: OEG converged" in out
    assert "PERSON]" in out
    assert "≈" in err
    assert re.search(r"dualfield: \d+\.\d\d s of CPU time, \d+ passes, [\d,]+ weights\.", out)
    assert re.search(r"The demonstration took \d+ s\.$", out)
    pytest.importorskip("pycrfsuite")
    assert re.search(r"CRFsuite: \d+\.\d\d s to come as close on the same task, \d+ iterations \(", out)


def test_without_crfsuite_the_demo_says_so_and_goes_on(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    code, out, _ = command("demo", "--sentences", "20", "--report", tmp_path / "page.html")
    assert code == 0
    assert "python-crfsuite is not installed" in out
    assert (tmp_path / "page.html").exists()


def test_both_programs_minimise_one_objective() -> None:
    """The lower bound of the one must hold for the other, and both must come within a small distance of it."""
    pytest.importorskip("pycrfsuite")
    X, y = demo._features(travel_sentences(100, 0))
    ours = ChainCRF(l2=1.0, tol=1e-4, random_state=0, **demo._AS_CRFSUITE).fit(X, y).solution_
    losses = [loss for _, loss in demo._crfsuite_curve(X, y)]
    assert ours.dual <= min(losses) <= ours.dual * (1 + 1e-3)


def test_a_peer_that_stops_too_early_is_not_said_to_have_come_as_close(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pycrfsuite")
    X, y = demo._features(travel_sentences(30, 0))
    ours = ChainCRF(l2=1.0, tol=1e-4, random_state=0, **demo._AS_CRFSUITE).fit(X, y).solution_
    early = [(0.5, 2 * ours.dual), (1.0, 1.5 * ours.dual)]
    monkeypatch.setattr(demo, "_crfsuite_curve", lambda X, y: early)
    assert demo._crfsuite(X, y, ours) == (
        "CRFsuite: stopped after 1.00 s and 2 iterations, not as close: 50.00% above the lower bound."
    )
