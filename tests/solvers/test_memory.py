"""Duals kept in half the memory: certificates stay true, nothing drifts; and what does not fit is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dualfield import OEG, SDCA, solve
from dualfield import memory as memory_module
from dualfield.memory import available_memory, check_memory, main_memory
from dualfield.solvers import dual
from dualfield.solvers.dual import DualSolver
from tests.zoo import PROBLEMS, problem, reference

single_solvers = pytest.mark.parametrize(
    "solver",
    [SDCA(memory="float32"), OEG(memory="float32"), OEG(memory="float32", accelerate=False, n_jobs=2)],
    ids=repr,
)
exact_problems = pytest.mark.parametrize(
    "name", [name for name in PROBLEMS if problem(name).exact and not problem(name).l1]
)


@single_solvers
@exact_problems
def test_float32_reaches_the_optimum_with_a_true_certificate(solver: DualSolver, name: str) -> None:
    field, best = problem(name), reference(name)
    for tol in (1e-3, 3e-3 if "weak" in name else 1e-5):
        solution = solve(field, solver, tol=tol, max_passes=20_000, random_state=0)
        assert solution.status == "converged", solution.message
        assert -1e-10 * best.primal <= solution.primal - best.primal <= solution.duality_gap <= tol * solution.primal
        assert solution.dual <= best.primal * (1 + 1e-14)


@pytest.mark.parametrize("solver", [SDCA(), OEG(), OEG(accelerate=False, n_jobs=2)], ids=repr)
@exact_problems
def test_auto_turns_to_float64_where_float32_is_too_coarse(
    solver: DualSolver, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dual, "LARGE", 0)
    monkeypatch.setattr(dual, "FINEST", 0.0)
    field, best = problem(name), reference(name)
    solution = solve(field, solver, tol=1e-8, max_passes=20_000, random_state=0)
    assert solution.status == "converged", solution.message
    assert -1e-10 * best.primal <= solution.primal - best.primal <= solution.duality_gap
    kept = solution.state.arrays()["duals"].dtype
    assert ("in float64 once that was too coarse" in solution.message) == (kept == np.float64)


@single_solvers
@pytest.mark.parametrize("name", ["chain-words", "multiclass-dense"])
def test_float32_does_not_drift(solver: DualSolver, name: str) -> None:
    """Long after the optimum, the weights of the run still belong to the duals that are kept."""
    field = problem(name)
    solution = solve(field, solver, tol=0.0, max_passes=300, random_state=0)
    assert solution.duality_gap <= 1e-6 * solution.primal
    own, fresh = solution.state.weights(), solution.weights
    np.testing.assert_allclose(own, fresh, atol=1e-5 * np.abs(fresh).max())
    assert "float64" in solution.message  # the way on from here


@pytest.mark.parametrize("method", [SDCA, OEG])
def test_the_state_takes_half_the_memory_and_is_saved_and_restored(method: type[DualSolver]) -> None:
    field = problem("chain-words")
    half, whole = (
        solve(field, method(memory=memory), tol=0.0, max_passes=3, random_state=0) for memory in ("float32", "float64")
    )
    assert half.state.arrays()["duals"].nbytes * 2 == whole.state.arrays()["duals"].nbytes
    for solution in (half, whole):
        arrays = solution.state.arrays()
        again = method().start(field, 1).restore(arrays)  # "auto", which would have chosen float64
        assert again.arrays()["duals"].dtype == arrays["duals"].dtype
        onward = [solve(field, run.solver, tol=0.0, max_passes=2, state=run).weights for run in (solution.state, again)]
        np.testing.assert_array_equal(*onward)


@pytest.mark.parametrize("method", [SDCA, OEG])
def test_auto_goes_by_size_and_tolerance_and_says_so(method: type[DualSolver], monkeypatch: pytest.MonkeyPatch) -> None:
    field = problem("chain-words")
    small = solve(field, method(), tol=1e-3, random_state=0)
    assert small.state.arrays()["duals"].dtype == np.float64
    assert "float32" not in small.message
    monkeypatch.setattr(dual, "LARGE", 8 * method().kept_numbers(field) - 1)
    large = solve(field, method(), tol=1e-3, random_state=0)
    assert large.state.arrays()["duals"].dtype == np.float32
    assert "The duals were kept in float32" in large.message
    tight = solve(field, method(), tol=1e-8, random_state=0, max_passes=5)
    assert tight.state.arrays()["duals"].dtype == np.float64


@pytest.mark.parametrize("method", [SDCA, OEG])
def test_what_does_not_fit_is_refused_before_any_work(
    method: type[DualSolver], monkeypatch: pytest.MonkeyPatch
) -> None:
    field = problem("chain-words")
    numbers = method().kept_numbers(field)
    monkeypatch.setattr(memory_module, "available_memory", lambda: 8 * numbers)
    with pytest.raises(MemoryError, match=rf"{method.__name__}, which keeps {numbers:,} numbers.*memory='float32'"):
        solve(field, method(memory="float64"))
    monkeypatch.setattr(memory_module, "available_memory", lambda: None)  # a system that does not tell
    solve(field, method(memory="float64"), max_passes=1)


def test_other_precisions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"OEG: memory must be 'auto', 'float32' or 'float64'; got 'float16'"):
        OEG(memory="float16")  # type: ignore[arg-type]


def test_available_memory_is_the_least_of_what_the_system_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory_module, "_CGROUP", tmp_path)
    monkeypatch.setattr(memory_module, "_OWN_GROUPS", tmp_path / "groups")
    assert available_memory() == main_memory()
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  4 kB\nSwapFree: 2 kB\n")
    assert available_memory() == 6 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory() == 6 * 1024
    (tmp_path / "memory.max").write_text("3000\n")
    assert available_memory() == 2000
    with pytest.raises(MemoryError, match=r"It needs about 3\.0 GB of memory, and 0\.0 MB are available; buy some\."):
        check_memory(3 * 10**9, "It", "buy some")


@pytest.mark.parametrize("version", [1, 2])
def test_groups_above_count_and_the_page_cache_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    limit, used = (
        ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    )
    root = tmp_path if version == 2 else tmp_path / "memory"
    for group, numbers in (("a", (9000, 3000)), ("a/b", (8000, 5000))):
        home = root / group
        home.mkdir(parents=True)
        (home / limit).write_text(f"{numbers[0]}\n")
        (home / used).write_text(f"{numbers[1]}\n")
    (root / "a/b/memory.stat").write_text("anon 1000\ninactive_file 3000\nactive_file 1000\n")
    (tmp_path / "groups").write_text("0::/a/b\n" if version == 2 else "5:cpu:/x\n4:memory:/a/b\n0::/\n")
    monkeypatch.setattr(memory_module, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory_module, "_CGROUP", tmp_path)
    monkeypatch.setattr(memory_module, "_OWN_GROUPS", tmp_path / "groups")
    assert available_memory() == 6000
    (root / "a/b" / limit).write_text("4500\n")
    assert available_memory() == 3500
