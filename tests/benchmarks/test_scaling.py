"""The benchmarks of growth run, count what they say, and find what became slower."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scaling import out_of_core, roofline, sweep
from benchmarks.scaling.generated import chains
from benchmarks.solvers.passes import seconds_a_pass, slower
from dualfield import Constraints
from dualfield.solvers import OEG, SoftSDCA


def test_a_quick_sweep_fits_exponents_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sweep, "QUICK", {"n": [20, 40], "labels": [3, 6], "threads": [1]})
    sweep.main(["n", "labels", "threads", "--quick", "--folder", str(tmp_path)])
    rows = [json.loads(line) for line in (tmp_path / "scaling.jsonl").read_text().splitlines()]
    assert [(row["axis"], row["value"]) for row in rows] == [
        ("n", 20),
        ("n", 40),
        ("labels", 3),
        ("labels", 6),
        ("threads", 1),
    ]
    assert all(row["pass"] > 0 and row["passes"] > 0 for row in rows)
    assert all(row["labels"] == row["shape"]["labels"] for row in rows)
    assert "exponents" in (tmp_path / "scaling.txt").read_text()
    assert (tmp_path / "scaling.png").stat().st_size > 0


@pytest.mark.parametrize("quick", [True, False])
def test_every_point_of_every_axis_has_room_for_its_labels(quick: bool) -> None:
    for axis, values in (sweep.QUICK if quick else sweep.AXES).items():
        for value in values:
            shape = sweep.shape_at(axis, value, quick)
            assert shape["n"] * shape["length"] >= shape["labels"]
            assert shape["n" if axis == "tiny" else axis] == value


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_found(power: float) -> None:
    rows = [{"value": k, "pass": 3.0 * k**power * 7, "shape": {"n": 7}} for k in (2, 5, 40)]
    assert sweep.exponent("labels", rows, "pass") == pytest.approx(power)
    assert sweep.exponent("n", rows, "pass") == pytest.approx(power)
    assert math.isnan(sweep.exponent("n", rows[:1], "pass"))


def test_generated_chains_have_the_shape_asked_for() -> None:
    field = chains(n=7, length=4, labels=5, attributes=3, vocabulary=60)
    assert (field.n_blocks, field.encoded.n_positions, len(field.classes)) == (7, 28, 5)
    assert np.diff(field.encoded.indptr).tolist() == [3] * 28
    assert len(field.encoded.vocabulary) == 60
    with pytest.raises(ValueError, match="2 sequences of 3 positions have no room for 7 labels"):
        chains(n=2, length=3, labels=7, attributes=3, vocabulary=60)


def test_the_roofline_counts_by_its_formulas() -> None:
    field = chains(n=3, length=4, labels=2, attributes=3, vocabulary=6)
    found = roofline.counts(field)
    distinct: set[Any] = set()
    for block in range(3):
        for position in range(4 * block, 4 * block + 4):
            first, last = field.encoded.indptr[position : position + 2]
            distinct |= {(block, int(a)) for a in field.encoded.indices[first:last]}
    assert (found["positions"], found["entries"], found["pairs"]) == (12, 36, len(distinct))
    assert found["numbers"] == 12 * 2 + 3 * 4
    assert found["row_bytes"] == 8 * 36 * 2 + 16 * len(distinct) * 2


def test_the_roofline_runs_without_data(tmp_path: Path) -> None:
    roofline.main(["--quick", "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["ratio"] == pytest.approx(found["seconds"] / max(found["bounds"].values()))


def test_a_solver_that_does_not_take_a_field_has_no_time() -> None:
    field = chains(n=20, length=4, labels=3, attributes=3, vocabulary=60)
    seconds = seconds_a_pass(OEG(), field, 0.0)
    assert seconds is not None
    assert seconds > 0
    ruled = chains(n=20, length=4, labels=3, attributes=3, vocabulary=60, constraints=Constraints(range(3)))
    assert seconds_a_pass(SoftSDCA(), ruled, 0.0) is None


def test_only_what_became_slower_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert slower({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.1, "b": 1.3, "d": 9.0}) == ["b"]
    assert "1 of 2 slower" in capsys.readouterr().out


def test_training_out_of_core_and_in_memory_are_both_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out_of_core, "CHUNK", 2000)
    options = ["--tokens", "5000", "--vocabulary", "500", "--limit", "2e9", "--folder", str(tmp_path), "--in-memory"]
    rows = out_of_core.main(options)
    assert [row["in_memory"] for row in rows] == [False, True]
    assert all(row["relative_gap"] <= 1e-2 and row["peak_anonymous"] > 0 for row in rows)
    assert rows[0]["objective"] == pytest.approx(rows[1]["objective"], rel=2e-2)
