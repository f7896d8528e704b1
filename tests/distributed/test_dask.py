"""``dualfield.distributed.dask.ChainCRF`` on a cluster of real worker processes."""

from __future__ import annotations

import _thread
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'dualfield[dask]'")

import dask.bag
from dask.delayed import delayed
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

import dualfield
from dualfield.datasets import travel_sentences
from dualfield.distributed.dask import ChainCRF
from dualfield.fields import Chain
from dualfield.partitions import open_partitions, write_partitions
from dualfield.ranks import PeerLost

# Dask warns of full ports and slow events, and leaves sockets of killed workers to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning:distributed", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def sentences(n: int = 400, seed: int = 0) -> tuple[list[Any], list[Any]]:
    drawn = travel_sentences(n, seed)
    X = [[[f"w={word.lower()}", f"s={word[-2:]}"] for word, _ in sentence] for sentence in drawn]
    return X, [[label for _, label in sentence] for sentence in drawn]


X, Y = sentences()
PIECES = [(X[k::5], Y[k::5]) for k in range(5)]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        with Client(cluster) as found:
            yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dask") / "data"
    write_partitions([(X, Y)], path, positions=600)
    return path


@pytest.fixture(scope="module")
def optimum() -> tuple[float, float]:
    """The objective of one process, and a lower bound."""
    solution = dualfield.solve(Chain(X, Y, l2=0.5), tol=1e-7, max_passes=3000, random_state=0)
    return solution.primal, solution.dual


def is_optimal(crf: ChainCRF, optimum: tuple[float, float], tol: float) -> None:
    primal, dual = optimum
    assert crf.solution_.status == "converged", crf.solution_.message
    assert crf.solution_.dual <= primal
    assert dual <= crf.solution_.primal <= primal * (1 + tol)


def test_every_kind_of_data_leads_to_the_optimum_of_one_process(
    client: Client, folder: Path, optimum: tuple[float, float]
) -> None:
    bag = dask.bag.from_sequence(list(zip(X, Y, strict=True)), npartitions=3)
    given = {
        "futures": client.scatter(PIECES),
        "delayed": [delayed(piece) for piece in PIECES],
        "with empty pieces": client.scatter([PIECES[0], ([], []), *PIECES[1:], ([], [])]),
        "bag": bag,
        "folder": folder,
        "opened": open_partitions(folder),
    }
    for kind, data in given.items():
        crf = ChainCRF(client, l2=0.5, tol=1e-5, random_state=0).fit(data)
        is_optimal(crf, optimum, 1e-5)
        assert "On 2 ranks" in crf.solution_.message, kind


def test_the_fitted_model_answers_without_the_cluster(client: Client, folder: Path, tmp_path: Path) -> None:
    crf = ChainCRF(client, l2=0.5, random_state=0, verbose=1).fit(folder)
    local = crf.to_local()
    assert type(local) is dualfield.ChainCRF
    assert local.get_params() == dualfield.ChainCRF(l2=0.5, random_state=0, verbose=1).get_params()
    expected = local.predict(X[:20])
    assert crf.predict(X[:20]) == expected == pickle.loads(pickle.dumps(crf)).predict(X[:20])
    crf.save(tmp_path / "model.safetensors")
    assert dualfield.ChainCRF.load(tmp_path / "model.safetensors").predict(X[:20]) == expected
    lazy = crf.predict(dask.bag.from_sequence(X[:20], npartitions=3))
    assert isinstance(lazy, dask.bag.Bag)
    assert [list(labels) for labels in lazy.compute()] == expected


def test_gradients_are_added_up_on_the_workers(client: Client, folder: Path) -> None:
    crf = ChainCRF(client, l1=0.1, solver="lbfgs", random_state=0).fit(folder)
    alone = dualfield.ChainCRF(l1=0.1, tol=1e-6, max_passes=3000, random_state=0).fit(X, Y).solution_
    assert crf.solution_.relative_gap <= 1e-3
    assert alone.dual <= crf.solution_.primal <= alone.primal * (1 + 1e-3)


@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_fit_ends_with_a_certificate_when_a_worker_is_killed(checkpoints: bool, folder: Path, tmp_path: Path) -> None:
    with LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            victims = sorted(client.run(os.getpid).values())
            killed = kill_later(victims[1], 1.5)
            crf = ChainCRF(
                client,
                checkpoints=tmp_path / "kept" if checkpoints else None,
                l2=0.01,
                tol=1e-8,
                max_passes=100_000,
                random_state=0,
            ).fit(folder)
            killed.join()
    assert "1 times workers were lost" in crf.solution_.message
    data = open_partitions(folder)
    X, y, _ = data.load()
    field = Chain(X, y, l2=0.01)
    assert field.primal(crf.solution_.weights) == pytest.approx(crf.solution_.primal, rel=1e-10)
    alone = dualfield.solve(field, tol=1e-7, max_passes=10_000, random_state=0)
    assert crf.solution_.dual <= alone.primal
    assert crf.solution_.status == "converged"


def kill_later(process: int, seconds: float) -> threading.Thread:
    def kill() -> None:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_ctrl_c_keeps_what_is_reached_with_its_certificate(client: Client, folder: Path) -> None:
    threading.Timer(2.0, _thread.interrupt_main).start()
    crf = ChainCRF(client, l2=0.01, tol=1e-15, max_passes=1_000_000, random_state=0)
    with pytest.warns(ConvergenceWarning, match="OEG was interrupted after"):
        crf.fit(folder)
    X, y, _ = open_partitions(folder).load()
    assert crf.solution_.status == "interrupted"
    assert 0 < crf.solution_.relative_gap < 1
    assert Chain(X, y, l2=0.01).primal(crf.solution_.weights) == pytest.approx(crf.solution_.primal, rel=1e-10)


def test_what_cannot_be_is_refused_in_a_sentence(client: Client, folder: Path) -> None:
    refused: list[tuple[dict[str, Any], Any, type[Exception], str]] = [
        ({}, [], TypeError, "expected a folder of partitions, a Dask bag"),
        ({}, PIECES, TypeError, "expected a folder of partitions, a Dask bag"),
        ({}, client.scatter([([], []), ([], [])]), ValueError, "X has no sequences; expected"),
        ({}, client.scatter([(X, Y[1:])]), ValueError, r"piece-00000: y has 399 sequences but X has 400"),
        ({}, client.scatter([1, 2]), TypeError, r"piece-00000: it is 1; expected \(X, y\)"),
        ({}, dask.bag.from_sequence([1, 2], npartitions=1), TypeError, r"expected \(sequence, labels\)"),
        ({}, folder / "missing", FileNotFoundError, "does not exist"),
        ({"min_count": 4}, folder, ValueError, "was made with min_count=1"),
        ({"solver": "sag"}, folder, TypeError, "SAG does not run on several ranks"),
        ({"n_jobs": 2}, folder, ValueError, "n_jobs=2 has no place on a cluster"),
        ({"time_limit": 0}, folder, ValueError, "time_limit must be a positive number"),
        ({"resume": True}, folder, ValueError, "goes on from checkpoints"),
        ({"l2": -1.0}, folder, ValueError, "l2"),
    ]
    for parameters, data, kind, said in refused:
        with pytest.raises(kind, match=said):
            ChainCRF(client, **parameters).fit(data)
    with pytest.raises(TypeError, match="y was given, but X has the labels here"):
        ChainCRF(client).fit(folder, Y)
    with pytest.raises(TypeError, match=r"expected a dask\.distributed\.Client"):
        ChainCRF("tcp://").fit(folder)


def test_without_a_client_a_sentence_says_how_to_make_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise ValueError("no clients found")

    monkeypatch.setattr("distributed.default_client", none)
    with pytest.raises(ValueError, match="there is no Dask client; make one"):
        ChainCRF().fit(folder)


def test_a_worker_that_hangs_is_named(folder: Path) -> None:
    """A stopped process keeps its connections, so only the time limit tells."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            addresses = client.run(os.getpid)
            hung = sorted(addresses)[1]
            told: list[str] = []
            stopper = threading.Timer(1.5, lambda: os.kill(addresses[hung], signal.SIGSTOP))
            freer = threading.Timer(20.0, lambda: os.kill(addresses[hung], signal.SIGKILL))
            stopper.start()
            freer.start()
            crf = ChainCRF(client, l2=0.01, tol=1e-8, max_passes=100_000, random_state=0, time_limit=2.0)
            crf.fit(folder)
            told.append(crf.solution_.message)
            freer.cancel()
    assert "workers were lost" in told[0]
    assert crf.solution_.status == "converged"


def test_scattered_pieces_that_are_lost_end_in_a_sentence(client: Client) -> None:
    pieces = client.scatter(PIECES)
    client.cancel(pieces[2])
    with pytest.raises(PeerLost, match=r"piece-00002 was lost with its worker, and Dask cannot make it again"):
        ChainCRF(client).fit(pieces)


def test_an_error_of_one_worker_ends_the_fit_at_once(client: Client, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="file"):
        ChainCRF(client, checkpoints=tmp_path / "file", random_state=0).fit(folder)


def test_labels_of_one_worker_alone_are_those_of_all(client: Client) -> None:
    pieces = [([[["a"], ["b"]]], [["X", "Y"]]), ([[["c"], ["b"]]], [["Z", "Z"]])]
    crf = ChainCRF(client, l2=0.1, random_state=0).fit(client.scatter(pieces))
    assert crf.classes_.tolist() == ["X", "Y", "Z"]
    assert crf.vocabulary_.names == ["a", "b", "c"]
    assert crf.predict([[["a"], ["b"]], [["c"], ["b"]]]) == [["X", "Y"], ["Z", "Z"]]


def test_pieces_go_where_they_are_held_and_to_the_least_loaded() -> None:
    from dualfield.distributed.dask.fitting import assigned

    sizes = {f"p{k}": size for k, size in enumerate([5, 4, 3, 3, 1])}
    free = assigned(sizes, ["a", "b"], {}, {})
    loads = [sum(sizes[name] for name, home in free.items() if home == worker) for worker in "ab"]
    assert sorted(loads) == [8, 8]
    assert set(assigned(sizes, ["a", "b"], {}, {name: ["b"] for name in sizes}).values()) == {"b"}
    again = assigned(sizes, ["a", "c"], free, {})
    assert all(again[name] == "a" for name, home in free.items() if home == "a")
    assert all(again[name] == "c" for name, home in free.items() if home == "b")
    assert np.array_equal(list(again), list(sizes))


def test_lost_peers_are_an_error_of_their_own() -> None:
    assert issubclass(PeerLost, RuntimeError)
