"""Training a ChainCRF: seeds, warm starts, warnings, callbacks, Ctrl-C, and the same optimum as CRFsuite."""

from __future__ import annotations

import math
import re
import signal
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from sklearn.exceptions import ConvergenceWarning

from dualfield import LBFGS, SDCA, ChainCRF, Progress
from tests.sequences import as_dicts, labelled_sequences

SOLVERS = ["auto", "sdca", "lbfgs", SDCA(sampling="uniform"), SDCA(permutation_every=0), LBFGS(corrections=3)]


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return labelled_sequences(30)


# The certificate


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_solver_proves_its_tolerance_without_a_warning(solver: Any, data: tuple[Any, Any]) -> None:
    for tol in (1e-2, 1e-6):
        solution = ChainCRF(solver=solver, tol=tol, random_state=0).fit(*data).solution_
        assert solution.status == "converged"
        assert 0 <= solution.relative_gap <= tol
        assert solution.certificate == "exact"
        assert solution.primal - solution.dual <= solution.duality_gap
        assert f"{solution.relative_gap:.1e}" in solution.message


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_all_solvers_find_the_same_optimum(solver: Any, data: tuple[Any, Any]) -> None:
    best = ChainCRF(tol=1e-12, random_state=0).fit(*data)
    other = ChainCRF(solver=solver, tol=1e-10, random_state=1).fit(*data)
    assert other.solution_.primal == pytest.approx(best.solution_.primal, rel=2e-10)
    np.testing.assert_allclose(other.weights_, best.weights_, atol=1e-3)


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_too_few_passes_warn_with_the_gap_that_was_reached(solver: str, data: tuple[Any, Any]) -> None:
    crf = ChainCRF(solver=solver, max_passes=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_passes=1") as caught:
        crf.fit(*data)
    assert [str(w.message) for w in caught] == [crf.solution_.message]
    assert caught[0].filename == __file__
    assert crf.solution_.status == "max_passes"
    assert crf.solution_.passes == 1
    assert crf.solution_.relative_gap > 1e-12
    assert len(crf.predict(data[0])) == len(data[0])


def test_tolerance_zero_asks_for_all_passes_and_does_not_warn(data: tuple[Any, Any]) -> None:
    solution = ChainCRF(tol=0, max_passes=7, random_state=0).fit(*data).solution_
    assert solution.passes == 7
    assert solution.status == "max_passes"
    assert solution.duality_gap > 0


def test_a_certificate_is_never_claimed_where_the_objective_overflows() -> None:
    crf = ChainCRF(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf.fit([[["a"], ["b"]], [["b"]]], [["N", "V"], ["V"]], sample_weight=[1e300, 1.0])
    assert crf.solution_.status != "converged" or crf.solution_.relative_gap <= crf.tol


@pytest.mark.parametrize("name", ["all", "observed"])
def test_the_objective_at_the_optimum_is_that_of_crfsuite(name: str) -> None:
    # c2 is l2/2. CRFsuite has no bias, begin and end weights.
    X, y = labelled_sequences(60)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for sequence, labels in zip(as_dicts(X), y, strict=True):
        trainer.append(sequence, labels)
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": 0.5,
            "epsilon": 1e-9,
            "delta": 1e-12,
            "max_iterations": 1000,
            "feature.possible_states": name == "all",
            "feature.possible_transitions": name == "all",
        }
    )
    trainer.train("")
    crf = ChainCRF(
        l2=1.0,
        tol=1e-9,
        state_features=name,
        transitions=name,
        bias=False,
        begin=False,
        end=False,
        random_state=0,
    ).fit(as_dicts(X), y)
    assert len(crf.weights_) == trainer.logparser.featgen_num_features
    assert crf.solution_.primal == pytest.approx(trainer.logparser.last_iteration["loss"], rel=1e-6)


# Seeds


@pytest.mark.parametrize("sampling", ["gap", "uniform"])
def test_a_seed_decides_every_bit(sampling: Any, data: tuple[Any, Any]) -> None:
    first, same, other = (
        ChainCRF(solver=SDCA(sampling=sampling), random_state=seed).fit(*data).weights_ for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_a_generator_is_drawn_from(data: tuple[Any, Any]) -> None:
    first = ChainCRF(random_state=np.random.RandomState(5)).fit(*data)
    same = ChainCRF(random_state=np.random.RandomState(5)).fit(*data)
    np.testing.assert_array_equal(first.weights_, same.weights_)
    again = first.fit(*data)
    assert not np.array_equal(again.weights_, same.weights_)


# Warm starts


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
def test_a_warm_start_goes_on_where_it_stopped(solver: str, data: tuple[Any, Any]) -> None:
    crf = ChainCRF(solver=solver, tol=1e-3, warm_start=True, random_state=0).fit(*data)
    first = crf.solution_
    resumed = crf.set_params(tol=1e-8).fit(*data).solution_
    cold = ChainCRF(solver=solver, tol=1e-8, random_state=0).fit(*data).solution_
    assert 0 < resumed.passes < cold.passes
    assert resumed.relative_gap <= 1e-8
    assert resumed.primal < first.primal
    assert resumed.primal == pytest.approx(cold.primal, rel=2e-8)


def test_a_warm_start_at_the_optimum_is_done_at_once(data: tuple[Any, Any]) -> None:
    crf = ChainCRF(tol=1e-6, warm_start=True, random_state=0).fit(*data)
    assert crf.fit(*data).solution_.passes <= 3
    assert crf.solution_.relative_gap <= 1e-6


def test_a_warm_start_takes_the_same_data_in_another_form(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = ChainCRF(tol=1e-3, warm_start=True, random_state=0).fit(X, y)
    cold = ChainCRF(tol=1e-8, random_state=0).fit(X, y)
    assert crf.set_params(tol=1e-8).fit(crf.encode(X), y).solution_.passes < cold.solution_.passes


CHANGES: dict[str, Any] = {
    "other labels": lambda crf, X, y: (X, [labels[::-1] for labels in y], None),
    "fewer sequences": lambda crf, X, y: (X[:-1], y[:-1], None),
    "other attributes": lambda crf, X, y: ([*X[:-1], [["w=a"]] * len(y[-1])], y, None),
    "sample weights": lambda crf, X, y: (X, y, np.arange(1.0, len(y) + 1)),
    "penalty": lambda crf, X, y: (crf.set_params(l2=2.0) and X, y, None),
    "weights": lambda crf, X, y: (crf.set_params(end=False) and X, y, None),
    "pairs": lambda crf, X, y: (crf.set_params(state_features="observed") and X, y, None),
    "min_count": lambda crf, X, y: (crf.set_params(min_count=30) and X, y, None),
    "solver": lambda crf, X, y: (crf.set_params(solver="lbfgs") and X, y, None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_problem_starts_afresh_with_a_warning(change: str, data: tuple[Any, Any]) -> None:
    crf = ChainCRF(warm_start=True, random_state=0).fit(*data)
    X, y, weight = CHANGES[change](crf, *data)
    with pytest.warns(UserWarning, match="afresh") as caught:
        crf.fit(X, y, weight)
    assert caught[0].filename == __file__
    fresh = ChainCRF(**crf.get_params() | {"warm_start": False}).fit(X, y, weight)
    np.testing.assert_array_equal(crf.weights_, fresh.weights_)


def test_options_of_the_solver_are_not_ignored_by_a_warm_start(data: tuple[Any, Any]) -> None:
    crf = ChainCRF(solver=SDCA(sampling="gap"), warm_start=True, random_state=0).fit(*data)
    crf.set_params(solver=SDCA(sampling="uniform", epsilon=0.5))
    with pytest.warns(UserWarning, match="afresh"):
        crf.fit(*data)


def test_without_warm_start_no_state_is_kept(data: tuple[Any, Any]) -> None:
    crf = ChainCRF(random_state=0).fit(*data)
    assert crf.solution_.state is None
    assert crf._run is None
    np.testing.assert_array_equal(crf.weights_.copy(), crf.fit(*data).weights_)


# Callbacks and interruption


def test_a_callback_sees_every_pass_and_may_stop(data: tuple[Any, Any]) -> None:
    seen: list[Progress] = []

    def stop_at_three(progress: Progress) -> bool:
        seen.append(progress)
        return progress.passes == 3

    crf = ChainCRF(tol=1e-12, random_state=0).fit(*data, callbacks=[stop_at_three])
    assert [progress.passes for progress in seen] == [1, 2, 3]
    assert crf.solution_.status == "stopped"
    assert crf.solution_.passes == 3
    assert crf.solution_.certificate == "exact"
    assert crf.solution_.relative_gap > 1e-12
    assert all(progress.tol == 1e-12 and progress.max_passes == 500 for progress in seen)
    assert seen[0].primal() >= crf.solution_.dual
    assert seen[0].weights().shape == crf.weights_.shape


@pytest.mark.parametrize("answer", [None, 1, "yes", 0])
def test_only_true_stops(answer: object, data: tuple[Any, Any]) -> None:
    assert ChainCRF(random_state=0).fit(*data, callbacks=[lambda _: answer]).solution_.status == "converged"


def test_every_callback_is_called_even_when_one_stops(data: tuple[Any, Any]) -> None:
    calls: list[int] = []
    stop = [lambda _: True, lambda progress: calls.append(progress.passes)]
    ChainCRF(tol=1e-12, random_state=0).fit(*data, callbacks=stop)
    assert calls == [1]


def test_an_error_in_a_callback_is_not_swallowed(data: tuple[Any, Any]) -> None:
    def fail(progress: Progress) -> None:
        raise RuntimeError("my own")

    crf = ChainCRF(random_state=0)
    with pytest.raises(RuntimeError, match="my own"):
        crf.fit(*data, callbacks=[fail])
    assert not hasattr(crf, "weights_")


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
@pytest.mark.parametrize("verbose", [0, 1])
def test_an_interrupt_keeps_a_usable_model_without_a_certificate(
    solver: str, verbose: int, data: tuple[Any, Any]
) -> None:
    X, y = data

    def interrupt(progress: Progress) -> None:
        if progress.passes == 2:
            raise KeyboardInterrupt

    crf = ChainCRF(solver=solver, tol=1e-12, random_state=0, verbose=verbose)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 passes"):
        crf.fit(X, y, callbacks=[interrupt])
    solution = crf.solution_
    assert solution.status == "interrupted"
    assert solution.certificate == "none"
    assert math.isnan(solution.duality_gap)
    assert math.isnan(solution.relative_gap)
    assert math.isnan(solution.primal)
    assert solution.passes == 2
    assert np.isfinite(crf.weights_).all()
    assert crf.score(X, y) > 1 / 3


@pytest.mark.parametrize("solver", ["sdca", "lbfgs"])
@pytest.mark.parametrize("moment", ["advance", "confirm"])
def test_an_interrupt_at_any_moment_keeps_a_model(
    solver: str, moment: str, data: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dualfield.solvers.lbfgs import LBFGSRun
    from dualfield.solvers.sdca import SDCARun

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr({"sdca": SDCARun, "lbfgs": LBFGSRun}[solver], moment, interrupt)
    crf = ChainCRF(solver=solver, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        crf.fit(*data)
    assert np.isfinite(crf.weights_).all()
    assert len(crf.predict(data[0])) == len(data[0])


def test_an_interrupt_warns_at_tolerance_zero_too(data: tuple[Any, Any]) -> None:
    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ChainCRF(tol=0, random_state=0).fit(*data, callbacks=[interrupt])


def test_an_interrupted_warm_start_goes_on(data: tuple[Any, Any]) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.passes == 12:
            raise KeyboardInterrupt

    crf = ChainCRF(tol=1e-8, random_state=0, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        crf.fit(*data, callbacks=[interrupt])
    resumed = crf.fit(*data).solution_
    cold = ChainCRF(tol=1e-8, random_state=0).fit(*data).solution_
    assert resumed.relative_gap <= 1e-8
    assert resumed.passes < cold.passes


CHILD = """
import sys
import warnings
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from dualfield import ChainCRF

rng = np.random.default_rng(0)
X = [rng.normal(size=(20, 30)) for _ in range(2000)]
y = [rng.integers(10, size=20) for _ in X]
tell = lambda progress: print("pass", progress.passes, flush=True)
crf = ChainCRF(solver=sys.argv[1], tol=1e-300, max_passes=10**9, random_state=0, verbose=int(sys.argv[2]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    crf.fit(X, y, callbacks=[tell])
print("status", crf.solution_.status, len(crf.predict(X[:3])), [w.category.__name__ for w in caught], flush=True)
"""


@pytest.mark.parametrize("verbose", ["0", "1"])
def test_ctrl_c_ends_training_and_not_the_program(verbose: str) -> None:
    # The child says when a pass is done, so that the signal meets it at work.
    command = [sys.executable, "-c", textwrap.dedent(CHILD), "sdca", verbose]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "pass 1\n"
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=120)
        finally:
            child.kill()
    assert child.returncode == 0, err
    assert out.splitlines()[-1] == "status interrupted 3 ['ConvergenceWarning']"
    assert "Traceback" not in err
    assert bool(err) == (verbose == "1")


def test_the_automatic_solver_suits_the_size_and_the_message_says_why() -> None:
    def chosen(n: int) -> str:
        return ChainCRF(random_state=0).fit([[["a"], ["b"]], [["b"]]] * n, [["N", "V"], ["V"]] * n).solution_.message

    assert re.match(r"LBFGS converged .*\(LBFGS was chosen: with fewer than \d+ sequences", chosen(2))
    assert chosen(20).startswith("OEG converged ")
    assert "chosen" not in chosen(20)  # the usual choice
    named = ChainCRF(solver="oeg", random_state=0).fit([[["a"], ["b"]]] * 40, [["N", "V"]] * 40)
    assert "chosen" not in named.solution_.message
