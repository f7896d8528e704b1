"""On a folder of partitions OEG reaches the optimum of all data at once, with a certificate that holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield import OEG, ChainCRF, Progress, fields, solve
from dualfield import memory as memory_module
from dualfield.features import encode
from dualfield.fields import Chain, PartitionedChain
from dualfield.partitions import PartitionedData, open_partitions, write_partitions
from dualfield.solvers import partitioned
from dualfield.solvers.block_states import BlockStates


def sequences(n: int = 120) -> tuple[list[Any], list[Any], list[float]]:
    rng = np.random.default_rng(3)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(30, size=rng.integers(1, 8))
        X.append([[f"w={word}", f"s={word % 4}"] for word in words])
        y.append(["ABC"[(word + (rng.random() < 0.2)) % 3] for word in words])
    return X, y, rng.choice([0.0, 0.5, 1.0, 2.0], n).tolist()


def folder_of(home: Path, positions: int = 120, weighted: bool = False, bigrams: bool = False) -> PartitionedData:
    X, y, weights = sequences()
    encoded = encode(X, bigrams=X if bigrams else None)
    chunk = (encoded, y, weights) if weighted else (encoded, y)
    return write_partitions([chunk], home / "data", positions=positions)


def both(data: PartitionedData, **options: Any) -> tuple[PartitionedChain, Chain]:
    X, y, weights = data.load()
    return PartitionedChain(data, **options), Chain(X, y, sample_weight=weights, **options)


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (100_000, "The one partition was in memory; the"),
        (120, "partitions one was in memory at a time; the"),
    ],
)
def test_the_message_says_what_was_in_memory(tmp_path: Path, positions: int, said: str) -> None:
    data = folder_of(tmp_path, positions)
    assert (len(data) == 1) == (positions == 100_000)
    message = solve(PartitionedChain(data), random_state=0).message
    assert said in message
    assert "Of 1 partitions" not in message


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weak": {"l2": 0.1},
    "l1": {"l1": 0.5},
    "l1 alone": {"l1": 1.0, "l2": 0.0},
    "observed": {"state_features": "observed", "transitions": "observed"},
    "bare": {"bias": False, "begin": False, "end": False},
    "balanced": {"class_weight": "balanced"},
    "costs": {"costs": {("A", "B"): 1.0}},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_optimum_is_that_of_all_data_at_once(name: str, tmp_path: Path) -> None:
    parts, whole = both(folder_of(tmp_path, weighted=True), **OPTIONS[name])
    assert parts.dimension == whole.dimension
    optimum = solve(whole, "lbfgs", tol=1e-9, max_passes=5000)
    found = solve(parts, tol=1e-4, max_passes=2000, random_state=0)
    assert found.status == "converged"
    assert found.certificate == "exact"
    assert found.dual <= optimum.primal * (1 + 1e-9)
    assert 0 <= found.primal - optimum.primal + 1e-7 * optimum.primal
    assert found.primal - optimum.primal <= found.duality_gap
    assert found.primal == pytest.approx(whole.primal(found.weights), rel=1e-9)


@pytest.mark.parametrize("which", ["all", "observed"])
def test_bigrams_are_trained_in_partitions(tmp_path: Path, which: str) -> None:
    parts, whole = both(folder_of(tmp_path, bigrams=True), bigram_features=which, constraints=None)
    assert parts.dimension == whole.dimension
    found = solve(parts, tol=1e-3, max_passes=1000, random_state=0)
    optimum = solve(whole, "lbfgs", tol=1e-8, max_passes=5000)
    assert found.dual <= optimum.primal * (1 + 1e-9) <= found.primal * (1 + 2e-9)


@pytest.mark.parametrize(
    "solver",
    [
        OEG(accelerate=False),
        OEG(sampling="uniform"),
        OEG(sampling="importance", memory="float64"),
        OEG(sampling="safemax"),
        OEG(permutation_every=0),
        OEG(n_jobs=2),
    ],
)
def test_every_rule_and_number_of_threads_is_certified(solver: OEG, tmp_path: Path) -> None:
    parts, whole = both(folder_of(tmp_path))
    found = solve(parts, solver, tol=1e-2, max_passes=500, random_state=0)
    optimum = solve(whole, "lbfgs", tol=1e-9, max_passes=5000)
    assert found.relative_gap <= 1e-2
    assert found.dual <= optimum.primal <= found.primal * (1 + 1e-9)


def test_one_partition_takes_the_steps_of_all_data_at_once(tmp_path: Path) -> None:
    parts, whole = both(folder_of(tmp_path, positions=10**6))
    solver = OEG(memory="float64")
    here, there = (solve(field, solver, tol=1e-7, random_state=0) for field in (parts, whole))
    assert here.passes == there.passes
    assert here.weights == pytest.approx(there.weights, rel=1e-6, abs=1e-9)
    assert here.dual == pytest.approx(there.dual, rel=1e-12)


def test_objective_and_gradient_are_sums_over_partitions(tmp_path: Path) -> None:
    parts, whole = both(folder_of(tmp_path, weighted=True), l2=0.7)
    w = np.random.default_rng(0).normal(size=parts.dimension)
    value, gradient = parts.gradient(w)
    expected, slope = whole.gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient == pytest.approx(slope, rel=1e-9, abs=1e-9)
    assert parts.primal(w) == pytest.approx(expected, rel=1e-12)


def test_duals_on_the_disk_are_those_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    field = PartitionedChain(folder_of(tmp_path))
    here = solve(field, tol=1e-4, max_passes=1000, random_state=0)
    monkeypatch.setattr(partitioned, "_SHARE", 1e-12)
    there = solve(field, tol=1e-4, max_passes=1000, random_state=0)
    assert np.array_equal(here.weights, there.weights)
    assert "the duals were kept in memory, in float32" in here.message
    assert f"kept in a file in {field.data.path}, since they do not fit" in there.message
    assert here.history["bytes_written"].sum() == 0
    assert (there.history["bytes_written"] > 0).all()
    assert sorted(os.listdir(field.data.path)) == sorted(os.listdir(open_partitions(field.data.path).path))
    assert not [name for name in os.listdir(field.data.path) if name.startswith("tmp")]


def test_a_disk_without_room_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned, "_SHARE", 1e-12)
    monkeypatch.setattr(partitioned, "_OF_A_BLOCK", 10**15)
    with pytest.raises(OSError, match=r"the duals need about .* GB, more than the memory and the disk of"):
        solve(PartitionedChain(folder_of(tmp_path)))


def test_states_come_back_from_the_file_as_they_were(tmp_path: Path) -> None:
    states = BlockStates(2, str(tmp_path), 0)
    rng = np.random.default_rng(0)
    given = [
        {"a": rng.normal(size=50), "b": rng.normal(size=99).astype(np.float32), "draws": np.array([k])}
        for k in range(2)
    ]
    for k in (0, 1, 0):
        states.save(k, given[k])
    for k in (0, 1):
        found = states.load(k)
        assert set(found) == set(given[k])
        assert all(np.array_equal(found[name], given[k][name]) for name in found)
    assert states.written == 3 * (50 * 8 + 99 * 4)
    assert os.listdir(tmp_path) == []


def test_the_same_seed_gives_the_same_result(tmp_path: Path) -> None:
    field = PartitionedChain(folder_of(tmp_path))
    a, b, c = (solve(field, tol=1e-2, random_state=seed).weights for seed in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_partitions_with_larger_gaps_are_visited_more_often(tmp_path: Path) -> None:
    run = OEG(non_uniformity=1.0, permutation_every=0).start(PartitionedChain(folder_of(tmp_path)), 0)
    assert isinstance(run, partitioned.PartitionedRun)
    n = len(run._parts)
    assert sorted(run._drawn()) == list(range(n))
    run.passes_done = 1
    blocks = np.array(run.field.data.sequence_counts, float)
    run._totals[:, 1] = np.where(np.arange(n) == 2, 3.0, 1.0) * blocks
    counts = np.bincount(np.concatenate([run._drawn() for _ in range(400)]), minlength=n) / 400
    expected = run._totals[:, 1] / run._totals[:, 1].sum() * blocks.sum() / blocks
    assert counts == pytest.approx(expected, abs=0.15)


def test_callbacks_stop_within_a_pass_and_the_run_goes_on(tmp_path: Path) -> None:
    field = PartitionedChain(folder_of(tmp_path))
    seen: list[int] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress.updates)
        return len(seen) == 3

    solution = solve(field, callbacks=stop, callback_every=20, random_state=0)
    assert solution.status == "stopped"
    assert seen[0] < field.n_blocks
    assert field.primal(solution.weights) == pytest.approx(solution.primal, rel=1e-9)
    again = solve(field, state=solution.state, tol=1e-3, max_passes=1000)
    assert again.status == "converged"
    assert again.primal == pytest.approx(field.primal(again.weights), rel=1e-9)


def test_a_confirmed_gap_survives_going_on(tmp_path: Path) -> None:
    field = PartitionedChain(folder_of(tmp_path))
    first = solve(field, tol=1e-1, random_state=0)
    second = solve(field, tol=1e-3, state=first.state, max_passes=1000)
    assert second.status == "converged"
    assert second.dual > first.dual


@pytest.mark.parametrize("solver", ["sdca", "lbfgs", "sag", "sgd", "perceptron", "idal"])
def test_other_solvers_are_refused_by_name(solver: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"which Chain in partitions does not offer; use solver='oeg', or data.load"):
        solve(PartitionedChain(folder_of(tmp_path)), solver)


def test_states_are_not_saved_as_arrays(tmp_path: Path) -> None:
    run = OEG().start(PartitionedChain(folder_of(tmp_path)), 0)
    with pytest.raises(TypeError, match="the state of a run on partitions cannot be saved; go on with it"):
        run.arrays()
    with pytest.raises(TypeError, match="cannot be restored"):
        run.restore({})


def test_a_partition_without_weight_is_passed_over(tmp_path: Path) -> None:
    X, y, _ = sequences()
    weights = [1.0] * 60 + [0.0] * 60
    data = write_partitions(
        [(X[:60], y[:60], weights[:60]), (X[60:], y[60:], weights[60:])], tmp_path / "d", positions=99
    )
    parts, whole = both(data)
    assert len(parts.trained) < len(data)
    found, expected = solve(parts, tol=1e-4, max_passes=999, random_state=0), solve(whole, "lbfgs", tol=1e-8)
    assert found.dual <= expected.primal <= found.primal * (1 + 1e-9)


def test_the_estimator_fits_a_folder(tmp_path: Path) -> None:
    X, y, _ = sequences()
    recipe = {"attributes": "attributes"}
    data = write_partitions([(X, y)], tmp_path / "data", positions=100, column_features=recipe)
    crf = ChainCRF(random_state=0).fit(data)
    assert crf.solution_.relative_gap <= 1e-3
    assert crf.column_features_ == recipe
    crf.save(tmp_path / "m.safetensors")
    assert ChainCRF.load(tmp_path / "m.safetensors").predict(X) == crf.predict(X)
    assert crf.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, {"y": [["A"]]}, "y was given with a folder of partitions, which has its own; leave y out"),
        ({}, {"sample_weight": [1.0]}, "sample_weight was given with a folder"),
        ({}, {"allowed": [None]}, "allowed was given with a folder of partitions, which has no place for it"),
        ({"ignore_label": "A"}, {}, "ignore_label='A' is a label of .*data, and labels of a folder are all known"),
        ({"min_count": 3}, {}, "min_count=3, but .*data was made with min_count=1"),
        ({"constraints": "bio"}, {}, "."),
    ],
)
def test_what_a_folder_has_no_place_for_is_refused(
    tmp_path: Path, options: dict[str, Any], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ChainCRF(**options).fit(folder_of(tmp_path), **arguments)


def test_a_field_says_what_it_is(tmp_path: Path) -> None:
    shown = repr(PartitionedChain(folder_of(tmp_path), l2=2.0))
    assert shown.startswith("<Chain in partitions: ")
    assert "120 sequences" in shown
    assert shown.endswith("l2=2>")


def test_partial_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="partial_fit takes sequences in memory"):
        ChainCRF().partial_fit(folder_of(tmp_path), None)


def test_weights_that_do_not_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    field = fields.PartitionedChain(folder_of(tmp_path))
    monkeypatch.setattr(memory_module, "available_memory", lambda: 100)
    with pytest.raises(MemoryError, match=r"weights and what goes with them needs? about .*have fewer attributes"):
        solve(field)
