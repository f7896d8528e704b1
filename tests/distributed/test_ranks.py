"""Ranks that share out the data reach the optimum of all data, with one solution and one certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield import OEG, SDCA, solve
from dualfield.distributed import (
    Checkpoints,
    Interrupted,
    Share,
    Training,
    encoded_piece,
    share_of_folder,
    share_of_pieces,
    shared_out,
    train_share,
)
from dualfield.features import encode
from dualfield.fields import Chain, DistributedChain
from dualfield.models.spec import ChainSpec
from dualfield.partitions import open_partitions, write_partitions
from dualfield.ranks import Alone, Communicator, PeerLost, run_in_threads
from dualfield.solution import Solution


def sequences(n: int = 90) -> tuple[list[Any], list[Any], list[float]]:
    rng = np.random.default_rng(3)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(30, size=rng.integers(1, 8))
        X.append([[f"w={word}", f"s={word % 4}"] for word in words])
        y.append(["ABC"[(word + (rng.random() < 0.2)) % 3] for word in words])
    return X, y, rng.choice([0.0, 0.5, 1.0, 2.0], n).tolist()


def piece(number: int, n_pieces: int, weighted: bool = True) -> tuple[Any, ...]:
    X, y, weights = sequences()
    return (X[number::n_pieces], y[number::n_pieces], *((weights[number::n_pieces],) if weighted else ()))


def share(ranks: Communicator, n_pieces: int, min_count: int = 1) -> Share:
    mine = range(ranks.rank, n_pieces, ranks.size)
    return share_of_pieces(ranks, {f"piece-{k}": encoded_piece(piece(k, n_pieces)) for k in mine}, min_count)


def trained(size: int, spec: ChainSpec, **options: Any) -> list[Solution]:
    asked = Training(spec, random_state=0, **{"tol": 1e-4, "max_passes": 2000, **options})

    def work(ranks: Communicator) -> Solution:
        return train_share(ranks, share(ranks, 6, spec.min_count), asked)[1]

    return run_in_threads(size, work)


def whole(**options: Any) -> Chain:
    X, y, weights = sequences()
    return Chain(X, y, sample_weight=weights, **options)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weak": {"l2": 0.1},
    "l1": {"l1": 0.5},
    "l1 alone": {"l1": 1.0, "l2": 0.0},
    "observed": {"state_features": "observed", "transitions": "observed"},
    "bare": {"bias": False, "begin": False, "end": False},
    "rare attributes": {"min_count": 8},
}


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("name", OPTIONS)
def test_the_optimum_is_that_of_all_data(name: str, size: int) -> None:
    field = whole(**OPTIONS[name])
    optimum = solve(field, "lbfgs", tol=1e-9, max_passes=5000)
    solutions = trained(size, ChainSpec(**OPTIONS[name]))
    for found in solutions:
        assert found.status == "converged", found.message
        assert found.dual <= optimum.primal * (1 + 1e-9)
        assert optimum.primal * (1 - 1e-9) <= found.primal <= optimum.primal * (1 + 1e-4)
        np.testing.assert_array_equal(found.weights, solutions[0].weights)
        assert (found.primal, found.dual) == (solutions[0].primal, solutions[0].dual)


@pytest.mark.parametrize("name", ["plain", "l1", "observed"])
def test_gradients_added_up_lead_to_the_same_optimum(name: str) -> None:
    optimum = solve(whole(**OPTIONS[name]), "lbfgs", tol=1e-8, max_passes=5000)
    for found in trained(3, ChainSpec(**OPTIONS[name]), solver="lbfgs", tol=1e-7):
        assert found.status == "converged"
        assert found.primal == pytest.approx(optimum.primal, rel=2e-7)


@pytest.mark.parametrize("options", [{"constraints": "bio"}, {"bigrams": True}])
def test_what_is_not_shared_out_by_weights_is_trained_by_gradients(options: dict[str, Any]) -> None:
    X, y, _ = sequences()
    y = [["O" if label == "A" else f"B-{label}" for label in labels] for labels in y]
    bigrams = options.pop("bigrams", False)
    optimum = solve(Chain(encode(X, bigrams=X if bigrams else None), y, **options), "lbfgs", tol=1e-8, max_passes=5000)

    def work(ranks: Communicator, solver: str) -> Solution:
        mine = slice(ranks.rank, None, ranks.size)
        given = encoded_piece((encode(X[mine], bigrams=X[mine] if bigrams else None), y[mine]))
        asked = Training(ChainSpec(**options), solver, tol=1e-6, max_passes=2000)
        return train_share(ranks, share_of_pieces(ranks, {"only": given}), asked)[1]

    found = run_in_threads(2, lambda ranks: work(ranks, "auto"))[0]
    assert found.primal == pytest.approx(optimum.primal, rel=2e-6)
    assert "OEG needs compact potentials" in refused(lambda ranks: work(ranks, "oeg"))


def test_costs_are_trained_by_gradients() -> None:
    costs = {("A", "B"): 1.0}
    optimum = solve(whole(costs=costs, class_weight="balanced"), "lbfgs", tol=1e-8, max_passes=5000)
    found = trained(2, ChainSpec(), costs=costs, class_weight="balanced", tol=1e-6)[0]
    assert found.primal == pytest.approx(optimum.primal, rel=2e-6)


@pytest.mark.parametrize("penalty", [{}, {"l2": 0.001}, {"l2": 0.001, "l1": 0.5}, {"l2": 0.0, "l1": 1.0}])
def test_the_first_kappa_is_larger_by_the_number_of_ranks(
    penalty: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the radius decides it and where l2 does."""

    def kappa(ranks: Communicator) -> float:
        ours = share(ranks, 6)
        field = DistributedChain(ours.part.X, ours.part.codes, ours.classes, ranks, **penalty)
        run = OEG().start_to(field, 0, 1e-3)
        run._start()
        return float(run._common.kappa)

    alone = kappa(Alone())
    assert alone > 0
    monkeypatch.setattr("dualfield.solvers.distributed.MOST_KAPPA", 5)
    for size in (2, 3, 6):
        assert run_in_threads(size, kappa) == pytest.approx([min(size, 5) * alone] * size)


def test_many_ranks_need_less_than_twice_the_passes_of_one() -> None:
    rng = np.random.default_rng(0)
    words = rng.zipf(1.5, size=(800, 10)) % 200
    X = [[[f"w={word}", f"s={word % 7}"] for word in sequence] for sequence in words]
    y = [["ABCDE"[(word + (rng.random() < 0.2)) % 5] for word in sequence] for sequence in words]

    def passes(ranks: Communicator) -> int:
        mine = slice(ranks.rank, None, ranks.size)
        ours = share_of_pieces(ranks, {"only": encoded_piece((X[mine], y[mine]))})
        return train_share(ranks, ours, Training(ChainSpec(), random_state=0))[1].passes

    assert run_in_threads(8, passes)[0] < 2 * passes(Alone())


def test_the_weights_are_those_of_the_whole_problem() -> None:
    X, _, weights = sequences()
    solutions = run_in_threads(
        2, lambda ranks: train_share(ranks, share(ranks, 6), Training(ChainSpec(), tol=1e-7, max_passes=5000))
    )
    field, solution = solutions[0]
    encoded = whole().encoded.translate(field.encoded.vocabulary)
    again = Chain.of_layout(encoded, whole().codes, field.classes, field.layout, ChainSpec(), weights)
    assert again.primal(solution.weights) == pytest.approx(solution.primal, rel=1e-9)
    assert field.encoded.vocabulary.names == sorted({name for x in X for attributes in x for name in attributes})


def test_the_certificate_does_not_depend_on_how_many_ranks_there_are() -> None:
    """The same duals, on 1, 2 and 6 ranks."""
    kept: dict[str, Any] = {}

    def stopped(ranks: Communicator) -> None:
        ours = share(ranks, 6)

        def lost() -> bool:
            raise PeerLost("as if a process were gone")

        with pytest.raises(Interrupted) as interrupted:
            train_share(ranks, ours, Training(ChainSpec(), tol=1e-9, random_state=0), stop=after(3, lost))
        kept.update(interrupted.value.state)

    run_in_threads(2, stopped)
    assert sorted(kept) == ["acceleration", *(f"piece-{k}" for k in range(6))]

    def confirmed(ranks: Communicator) -> tuple[float, float]:
        ours = share(ranks, 6)
        field = DistributedChain(
            ours.part.X, ours.part.codes, ours.classes, ranks, sample_weight=ours.part.sample_weight
        )
        run = OEG().start_to(field, 0, 1e-9)
        bounds = ours.bounds.tolist()
        run.restore([(bounds[k], bounds[k + 1], kept[name]) for k, name in enumerate(ours.names)], kept["acceleration"])
        return run.bound.primal, run.bound.dual

    alone = confirmed(Alone())
    assert np.isfinite(alone).all()
    for size in (2, 6):
        for found in run_in_threads(size, confirmed):
            np.testing.assert_allclose(found, alone, rtol=1e-9)


def after(passes: int, then: Callable[[], bool]) -> Callable[[], bool]:
    """A function that calls another one when it has been asked so many times."""
    asked = [0]

    def ask() -> bool:
        asked[0] += 1
        return then() if asked[0] >= passes else False

    return ask


def test_a_run_goes_on_from_the_checkpoints_of_one_that_lost_a_rank(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    asked = Training(ChainSpec(), tol=1e-6, max_passes=3000, random_state=0)

    def first(ranks: Communicator) -> int:
        def lost() -> bool:
            raise PeerLost("as if a process were gone")

        passes = [0]
        with pytest.raises(Interrupted):
            train_share(
                ranks,
                share(ranks, 6),
                asked,
                checkpoints=Checkpoints(folder, seconds=0.0),
                callbacks=lambda progress: passes.__setitem__(0, progress.passes),
                stop=after(10, lost),
            )
        return passes[0]

    def second(ranks: Communicator, resume: bool) -> Solution:
        checkpoints = Checkpoints(folder, resume=True) if resume else None
        return train_share(ranks, share(ranks, 6), asked, checkpoints=checkpoints)[1]

    assert run_in_threads(3, first) == [10, 10, 10]
    afresh = run_in_threads(2, lambda ranks: second(ranks, False))[0]
    resumed = run_in_threads(2, lambda ranks: second(ranks, True))[0]
    assert resumed.passes < afresh.passes
    (folder / "piece-3.npz").unlink()  # a piece that begins at the truth
    optimum = solve(whole(), "lbfgs", tol=1e-9, max_passes=9000)
    for found in (resumed, run_in_threads(2, lambda ranks: second(ranks, True))[0]):
        assert found.status == "converged"
        assert found.dual <= optimum.primal * (1 + 1e-9)
        assert found.primal <= optimum.primal * (1 + 2e-6)


def lost_at(exchange: int, kept: dict[str, Any]) -> list[dict[str, Any]]:
    """What two ranks know that go on from ``kept`` and are interrupted at an exchange."""
    asked = Training(ChainSpec(), tol=1e-5, max_passes=3000, random_state=0)

    def work(ranks: Communicator) -> dict[str, Any]:
        count = [0]
        add_up = ranks._sum

        def interrupted(array: Any) -> Any:
            count[0] += 1
            if count[0] == exchange:
                raise PeerLost("as if a process were gone")
            return add_up(array)

        ranks._sum = interrupted  # type: ignore[method-assign]
        with pytest.raises(PeerLost) as lost:
            train_share(ranks, share(ranks, 6), asked, kept=kept)
        return lost.value.state if isinstance(lost.value, Interrupted) else {}

    return run_in_threads(2, work)


@pytest.mark.parametrize("exchange", [*range(2, 20), *range(20, 70, 5)])
def test_what_is_kept_is_whole_wherever_the_loss_comes(exchange: int) -> None:
    """Between any two exchanges: in the start, when it goes on, within a pass, at its end, when it is confirmed."""
    kept: dict[str, Any] = {}
    for state in lost_at(60, {}):
        kept.update(state)
    assert len(kept) == 7
    known = {name: {key: array.copy() for key, array in arrays.items()} for name, arrays in kept.items()}
    for state in lost_at(exchange, kept):
        assert len(state) in (0, 4)  # nothing, or three pieces and what acceleration knows
        kept.update(state)
    if exchange < 5:  # before anything was restored nothing is known that was not known before
        assert all(
            np.array_equal(kept[name]["duals"], known[name]["duals"]) for name in known if name != "acceleration"
        )
    asked = Training(ChainSpec(), tol=1e-5, max_passes=3000, random_state=0)
    found = run_in_threads(3, lambda ranks: train_share(ranks, share(ranks, 6), asked, kept=kept)[1])[0]
    optimum = solve(whole(), "lbfgs", tol=1e-8, max_passes=9000)
    assert found.status == "converged"
    assert found.dual <= optimum.primal
    assert found.primal <= optimum.primal * (1 + 1e-5)


def test_ranks_whose_weights_differ_end_in_an_error() -> None:
    def work(ranks: Communicator) -> None:
        ours = share(ranks, 6)
        field = DistributedChain(ours.part.X, ours.part.codes, ours.classes, ranks)
        field._loss(np.full(field.dimension, 1.0 + 1e-16 + ranks.rank * 1e-15))

    assert "the ranks no longer have the same weights" in refused(work)


def test_a_rank_without_weight_is_refused_on_all_ranks() -> None:
    def work(ranks: Communicator) -> None:
        ours = share(ranks, 6)
        weight = np.full(len(ours.part.X), float(ranks.rank))
        DistributedChain(ours.part.X, ours.part.codes, ours.classes, ranks, sample_weight=weight)

    assert "all sequences of rank 0 have the weight zero" in refused(work)


def test_partitions_of_a_folder_are_shared_out_by_their_size(tmp_path: Path) -> None:
    X, y, weights = sequences()
    data = write_partitions([(X, y, weights)], tmp_path / "data", positions=60)
    optimum = solve(whole(), "lbfgs", tol=1e-9, max_passes=5000)

    def work(ranks: Communicator) -> tuple[int, Solution]:
        opened = open_partitions(tmp_path / "data")
        ours = share_of_folder(opened, shared_out(opened.position_counts, ranks.size)[ranks.rank])
        return ours.part.X.n_positions, train_share(ranks, ours, Training(ChainSpec(), tol=1e-4, random_state=0))[1]

    found = run_in_threads(3, work)
    sizes = [size for size, _ in found]
    assert sum(sizes) == data.n_positions
    assert max(sizes) - min(sizes) <= 60
    assert found[0][1].primal == pytest.approx(optimum.primal, rel=1e-4)


def test_one_rank_asks_all_to_stop() -> None:
    asked = Training(ChainSpec(), tol=1e-9, random_state=0)

    def work(ranks: Communicator) -> Solution:
        stop = after(4, lambda: True) if ranks.rank == 1 else lambda: False
        return train_share(ranks, share(ranks, 6), asked, stop=stop)[1]

    for found in run_in_threads(2, work):
        assert (found.status, found.passes, found.certificate) == ("stopped", 4, "exact")
        assert np.isfinite(found.duality_gap)


def refused(work: Callable[[Communicator], Any], size: int = 2) -> str:
    """The one sentence that all ranks end with."""

    def told(ranks: Communicator) -> str:
        with pytest.raises((TypeError, ValueError, RuntimeError)) as error:
            work(ranks)
        return str(error.value)

    sentences = set(run_in_threads(size, told))
    assert len(sentences) == 1, sentences
    return sentences.pop()


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([([], [])] * 2, "rank 0 has no sequences"),
        ([([[["a"]]], [["X"]]), ([[["b"]]], [["X"]])], "at least two different labels are needed to train"),
        ([([[["a"]]], [["X"]]), ([[["b"]]], [[1]])], "labels of one type"),
        ([([[["a"]]], [["X"]]), ([np.ones((1, 2))], [["Y"]])], "give all alike"),
        ([([[["a"]]], [["X"]], [0.0]), ([[["b"]]], [["Y"]], [0.0])], "rank 0 have the weight zero"),
    ],
)
def test_pieces_that_do_not_fit_together_are_refused_on_all_ranks(pieces: list[Any], said: str) -> None:
    def work(ranks: Communicator) -> None:
        ours = share_of_pieces(ranks, {"only": encoded_piece(pieces[ranks.rank])})
        train_share(ranks, ours, Training(ChainSpec()))

    assert said in refused(work)


def test_labels_and_names_of_one_rank_alone_are_those_of_all() -> None:
    pieces = [([[["a"], ["b"]]], [["X", "Y"]]), ([[["c"], ["b"]]], [["Z", "Z"]]), ([], [])]

    def work(ranks: Communicator) -> Share:
        given = {"one": encoded_piece(pieces[ranks.rank]), "none": encoded_piece(pieces[2])}
        return share_of_pieces(ranks, given)

    first, second = run_in_threads(2, work)
    assert first.classes.tolist() == second.classes.tolist() == ["X", "Y", "Z"]
    assert first.part.X.vocabulary.names == second.part.X.vocabulary.names == ["a", "b", "c"]
    assert second.part.X.indices.tolist() == [2, 1]
    assert first.names == ["one"]


def test_methods_that_do_not_run_on_ranks_are_refused_by_name() -> None:
    for solver, said in (("sag", "SAG does not run on several ranks"), (SDCA(), "SDCA does not run on several ranks")):
        asked = Training(ChainSpec(), solver=solver)
        assert said in refused(lambda ranks, asked=asked: train_share(ranks, share(ranks, 6), asked))


def test_another_version_of_the_package_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Alone):
        size = 2

        def gather(self, thing: Any) -> list[Any]:
            return [thing, "0.0.1" if isinstance(thing, str) else thing]

    with pytest.raises(RuntimeError, match=r"rank 1 has dualfield 0\.0\.1, and rank 0 has"):
        train_share(Other(), share(Alone(), 2), Training(ChainSpec()))


def test_checkpoints_of_another_problem_are_refused(tmp_path: Path) -> None:
    def work(ranks: Communicator, spec: ChainSpec, resume: bool) -> Solution:
        checkpoints = Checkpoints(tmp_path / "kept", resume=resume)
        return train_share(ranks, share(ranks, 6), Training(spec, random_state=0), checkpoints=checkpoints)[1]

    assert "there is no checkpoint in" in refused(lambda ranks: work(ranks, ChainSpec(), True))
    elsewhere = Checkpoints(tmp_path / "elsewhere", resume=True, may_be_missing=True)
    asked = Training(ChainSpec(), random_state=0)
    begun = run_in_threads(2, lambda ranks: train_share(ranks, share(ranks, 6), asked, checkpoints=elsewhere)[1])
    assert begun[0].status == "converged"
    run_in_threads(2, lambda ranks: work(ranks, ChainSpec(), False))
    assert "has the checkpoints of an earlier run" in refused(lambda ranks: work(ranks, ChainSpec(), False))
    assert "its bias is True, here it is False" in refused(lambda ranks: work(ranks, ChainSpec(bias=False), True))
    # Duals of one penalty are duals of all.
    found = run_in_threads(2, lambda ranks: work(ranks, ChainSpec(l2=2.0), True))[0]
    assert found.status == "converged"
    (tmp_path / "kept" / "problem.json").write_text("{")
    assert "is damaged" in refused(lambda ranks: work(ranks, ChainSpec(), True))


def test_a_rank_that_does_not_come_is_named() -> None:
    def work(ranks: Communicator) -> None:
        if ranks.rank == 1:
            return
        ranks.all_reduce(np.ones(1))

    with pytest.raises(PeerLost, match=r"rank 1 did not come within 0\.2 s"):
        run_in_threads(3, work, time_limit=0.2)
