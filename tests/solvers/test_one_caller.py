"""The state of a run has one user at a time, and what the core has checked nobody can change."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, fields, solve
from dualfield.features import Encoded, EncodedGraphs, encode
from dualfield.features.vocabulary import NumberedColumns
from dualfield.fields import Field
from dualfield.labels import EncodedLabels
from tests.zoo import ELASTIC, PROBLEMS, RELAXED, SOLVERS, dense_sequences, problem, word_sequences


def test_a_state_in_use_refuses_another_thread() -> None:
    X, y = dense_sequences(300)
    field = fields.Chain(X, y)
    run = solve(field, "oeg", max_passes=1, random_state=0).state
    inside, leave = threading.Event(), threading.Event()

    def hold(progress: Any) -> None:
        inside.set()
        leave.wait(60)

    other = threading.Thread(target=lambda: solve(field, "oeg", tol=1e-9, max_passes=1, state=run, callbacks=[hold]))
    other.start()
    try:
        assert inside.wait(60)
        with pytest.raises(RuntimeError, match="in use by another thread; give each thread"):
            solve(field, "oeg", max_passes=1, state=run)
    finally:
        leave.set()
        other.join()
    assert solve(field, "oeg", max_passes=1, state=run, random_state=0).passes == 1


@pytest.mark.parametrize("solver", [s for s in SOLVERS if getattr(s, "n_jobs", None) is None], ids=repr)
def test_the_core_refuses_a_second_caller_of_a_run(solver: Any) -> None:
    """Two threads drive one run without ``solve``: each call is whole or refused."""
    X, y = word_sequences(60)
    field = fields.Chain(X, y)
    run = solver.start(field, 0)
    while not run.advance(3600.0):
        continue
    refusals: list[str] = []
    failures: list[BaseException] = []

    def drive() -> None:
        for _ in range(100):
            try:
                run.advance(1e-3)
                run.weights()
            except RuntimeError as error:
                refusals.append(str(error))
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=drive) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all("in use by another thread" in sentence for sentence in refusals)
    assert run.weights().shape == (field.dimension,)


def test_threads_that_fit_one_estimator_do_not_meet_in_its_state() -> None:
    X, y = dense_sequences(200)
    crf = ChainCRF(solver="sdca", warm_start=True, max_passes=3, tol=1e-12, random_state=0)
    encoded = encode(X)
    sentences: list[str] = []
    crf.max_passes = 1
    with pytest.warns(match="max_passes"):
        crf.fit(encoded, y)
    crf.max_passes = 20

    def fit() -> None:
        try:
            crf.fit(encoded, y)
        except RuntimeError as error:
            sentences.append(str(error))

    def fit_in_threads() -> None:
        threads = [threading.Thread(target=fit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with pytest.warns(match="SDCA stopped at max_passes"):
        fit_in_threads()
    assert all("in use by another thread" in sentence for sentence in sentences)
    assert len(crf.predict(encoded)) == 200


def test_encoded_data_does_not_follow_the_arrays_it_was_made_of() -> None:
    offsets, indptr, indices = np.array([0, 2]), np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32)
    encoded = Encoded(offsets, indptr, indices, None, NumberedColumns(2))
    codes = np.array([0, 1], dtype=np.int32)
    labels = EncodedLabels(["a", "b"], codes, offsets)
    field = fields.Chain(encoded, labels)
    before = field.primal(np.ones(field.dimension))
    for array in (offsets, indptr, indices, codes):
        array[-1] = 2**30
    assert field.primal(np.ones(field.dimension)) == before
    for array in (encoded.offsets, encoded.indptr, encoded.indices, field.codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_encoded_graphs_do_not_follow_the_arrays_they_were_made_of() -> None:
    arrays = {
        "offsets": np.array([0, 2]),
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([0, 1], dtype=np.int32),
        "edge_offsets": np.array([0, 1]),
        "ends": np.array([[0, 1]], dtype=np.int32),
    }
    graphs = EncodedGraphs(**arrays, values=None, n_attributes=2, edge_features=None)
    field = fields.Graph(graphs, [["a", "b"]])
    before = field.primal(np.ones(field.dimension))
    for array in arrays.values():
        array[-1] = 2**30
    assert field.primal(np.ones(field.dimension)) == before


@pytest.mark.parametrize("name", PROBLEMS | ELASTIC | RELAXED)
def test_nobody_can_change_the_indices_of_a_field(name: str) -> None:
    field: Field = problem(name)
    encoded = getattr(field, "encoded", None)
    held = [] if encoded is None else [getattr(encoded, part, None) for part in vars(encoded)]
    indices = [array for array in [*held, field.codes] if isinstance(array, np.ndarray) and array.dtype.kind == "i"]
    assert indices
    assert not any(array.flags.writeable for array in indices)
