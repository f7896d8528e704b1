"""The progress bar: on standard error when asked for, and never in the way."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from dualfield import ChainCRF, ChainCRFCV, Progress, SoftmaxRegression, fields, solve
from dualfield.reporting import ProgressBar
from dualfield.reporting import progress as progress_module
from dualfield.reporting.progress import FitsBar
from dualfield.solvers import LBFGS, SDCA
from tests.sequences import labelled_sequences

X, Y = labelled_sequences(20)
ESTIMATORS = {
    "chain": lambda **options: ChainCRF(random_state=0, **options).fit(X, Y),
    "softmax": lambda **options: SoftmaxRegression(random_state=0, **options).fit(np.eye(3), [0, 1, 2]),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_verbose_shows_a_bar_on_standard_error(kind: str, solver: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = ESTIMATORS[kind](solver=solver, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "≈" in err
    assert f"pass {model.solution_.passes} " in err


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_quiet_prints_nothing(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    ESTIMATORS[kind](verbose=0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_bar_changes_no_bit_of_the_result(kind: str) -> None:
    quiet, shown = (ESTIMATORS[kind](verbose=verbose).solution_ for verbose in (0, 1))
    np.testing.assert_array_equal(quiet.weights, shown.weights)
    assert quiet.passes == shown.passes


def test_the_bar_stands_beside_other_callbacks(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []
    crf = ChainCRF(random_state=0, verbose=1).fit(X, Y, callbacks=[lambda p: seen.append(p.passes)])
    assert seen == list(range(1, crf.solution_.passes + 1))
    assert "≈" in capsys.readouterr().err


def test_an_error_while_training_closes_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: Progress) -> None:
        raise RuntimeError("my own")

    for _ in range(2):  # rich refuses a second live display while one is open
        with pytest.raises(RuntimeError, match="my own"):
            ChainCRF(random_state=0, verbose=1).fit(X, Y, callbacks=[fail])
    capsys.readouterr()


def shown(**changes: Any) -> str:
    """What the bar says after one call with these values."""
    run: Any = None
    values: dict[str, Any] = {
        "passes": 3,
        "max_passes": 500,
        "tol": 1e-3,
        "updates": 30,
        "dual": 90.0,
        "gap_estimate": 10.0,
        "seconds": 1.0,
        "cpu_seconds": 1.0,
    }
    stream = io.StringIO()
    with ProgressBar(Console(file=stream, width=200)) as bar:
        bar(Progress(**values | {"gap_estimate": 20.0, "dual": 80.0, "seconds": 0.0, "passes": 1}, run=run))
        bar(Progress(**values | changes, run=run))
    return stream.getvalue()


def test_the_bar_tells_pass_dual_relative_gap_and_time_left() -> None:
    text = shown()
    assert "pass 3 " in text
    assert "dual 90 " in text
    assert "gap ≈ 1.0e-01" in text
    # from 0.2 to 0.1 in one second, so log2(100) = 6.6 seconds to 0.001
    assert "about 7 s left" in text


@pytest.mark.parametrize(
    ("seconds", "expected"), [(13.0, "about 86 s left"), (60.0, "about 7 min left"), (3600.0, "about 6.6 h left")]
)
def test_time_left_has_a_fitting_unit(seconds: float, expected: str) -> None:
    assert expected in shown(seconds=seconds)


@pytest.mark.parametrize(
    "changes",
    [
        {"tol": 0.0},
        {"gap_estimate": 0.0},
        {"gap_estimate": math.nan},
        {"gap_estimate": math.inf},
        {"gap_estimate": -1e-9},
        {"dual": -math.inf},
        {"dual": -100.0, "gap_estimate": 50.0},
        {"gap_estimate": 80.0, "dual": 20.0},
        {"gap_estimate": 1e-5},
        {"passes": 500},
    ],
    ids=repr,
)
def test_no_forecast_where_there_is_none(changes: dict[str, float]) -> None:
    text = shown(**changes)
    assert "left" not in text or changes == {"passes": 500}
    assert "≈" in text


@pytest.mark.parametrize("solver", [SDCA(), LBFGS()])
def test_solve_takes_the_bar_as_a_callback(solver: Any) -> None:
    stream = io.StringIO()
    with ProgressBar(Console(file=stream, width=120)) as bar:
        solution = solve(fields.Chain(X, Y), solver, tol=1e-6, callbacks=[bar], random_state=0)
    last = re.findall(r"pass (\d+)", stream.getvalue())[-1]
    assert int(last) == solution.passes


def test_the_bar_of_a_search_counts_its_fits_and_foretells_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "perf_counter", lambda: now[0])
    shown = io.StringIO()
    field = fields.Chain(X, Y)

    def later(_: Progress) -> None:
        now[0] += 60.0  # each pass, and with one pass a fit each fit

    with FitsBar(4, Console(file=shown, force_terminal=True, width=100)) as bar:
        for _ in range(3):
            solve(field, "lbfgs", tol=0.0, max_passes=1, callbacks=[bar, later])
            bar._display.refresh()
        assert "fit 2 of 4" in shown.getvalue()
        assert "about 2 min left" in shown.getvalue()  # two of four in two minutes
    assert "fit 3 of 3" in shown.getvalue()


def test_cross_validation_shows_its_fits(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = ChainCRFCV(l2s=[1.0, 0.1], cv=2, random_state=0).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    shown = ChainCRFCV(l2s=[1.0, 0.1], cv=2, random_state=0, verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    fits = 2 * 2 + (1 if shown.l2_ == 1.0 else 2)
    assert f"fit {fits} of {fits}" in err
    assert out.startswith("fold 1")
    np.testing.assert_array_equal(shown.scores_, quiet.scores_)
    np.testing.assert_array_equal(shown.best_estimator_.weights_, quiet.best_estimator_.weights_)


def test_prediction_of_many_sequences_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    crf = ChainCRF(random_state=0).fit(X, Y)
    many = X * 60  # 1,200
    labels, marginals = crf.predict(many), crf.predict_marginals(many)
    assert capsys.readouterr() == ("", "")
    crf.set_params(verbose=1, n_jobs=2)
    assert crf.predict(many) == labels
    assert "sequence 1,200 of 1,200" in capsys.readouterr().err
    for one, other in zip(crf.predict_marginals(many), marginals, strict=True):
        np.testing.assert_array_equal(one, other)
    capsys.readouterr()
    crf.predict(X)
    assert capsys.readouterr() == ("", "")


def test_encoding_of_many_sequences_is_shown_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    many, labels = X * 60, Y * 60  # 1,200
    quiet = ChainCRF(random_state=0, max_passes=2, tol=0).fit(many, labels)
    assert capsys.readouterr() == ("", "")
    shown = ChainCRF(random_state=0, max_passes=2, tol=0, verbose=1).fit(many, labels)
    assert "encoding: sequence 1,200 of 1,200" in capsys.readouterr().err
    np.testing.assert_array_equal(shown.weights_, quiet.weights_)
    assert shown.vocabulary_.names == quiet.vocabulary_.names
    shown.predict(many)
    assert "encoding: sequence 1,200 of 1,200" in capsys.readouterr().err
    ChainCRFCV(l2s=[1.0], cv=2, random_state=0, verbose=1).fit(many, labels)
    assert "encoding: sequence 1,200 of 1,200" in capsys.readouterr().err
    shown.encode(X)
    ChainCRF(verbose=1).encode(tuple(many[:1000]))
    assert capsys.readouterr() == ("", "")
