"""One object, many threads: each gets the answer it would get alone, with Python's lock and without it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, fields, solve
from dualfield._tagger import ItemSequence, Tagger
from dualfield.compat.crfsuite.appended import Appended
from dualfield.features import Vocabulary, encode
from dualfield.models.tagging_model import open_tagging_model
from dualfield.tagging import SequenceTagger
from tests.sequences import LABELS, NAMES, as_dicts, labelled_sequences
from tests.zoo import dense_sequences

THREADS = 8


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def hammer(work: Callable[[int], Any]) -> list[Any]:
    """The results of ``work(thread)`` on threads that begin at the same moment."""
    begin = Barrier(THREADS, timeout=60)

    def one(thread: int) -> Any:
        begin.wait()
        return work(thread)

    with ThreadPoolExecutor(THREADS) as pool:
        return [done.result() for done in [pool.submit(one, thread) for thread in range(THREADS)]]


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    X, y = labelled_sequences(80)
    return as_dicts(X), y


@pytest.fixture(scope="module")
def crf(data: tuple[Any, Any]) -> ChainCRF:
    return ChainCRF(l2=0.3, random_state=0, state_features="observed").fit(*data)


@pytest.fixture(scope="module")
def path(crf: ChainCRF, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shared") / "model.safetensors"
    crf.save(path)
    return path


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has its lock")
def test_no_module_of_ours_brings_pythons_lock_back() -> None:
    program = (
        "import sys, dualfield._core, dualfield._tagger, dualfield.tagging\n"
        "from dualfield import ChainCRF\n"
        "ChainCRF().fit([[['a']], [['b']]], [['A'], ['B']])\n"
        "assert not sys._is_gil_enabled()\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    subprocess.run([sys.executable, "-W", "error", "-c", program], env=environment, check=True, timeout=300)


def test_what_a_model_makes_when_first_asked_is_the_same_for_all_who_ask_at_once(
    data: tuple[Any, Any], crf: ChainCRF, path: Path
) -> None:
    X, y = data

    def answers(model: ChainCRF) -> Any:
        marginals = np.vstack(model.predict_marginals(X)).tolist()
        names = model.vocabulary_.names, len(model.vocabulary_), model.vocabulary_.index["w=a"]
        return model.predict(X), marginals, model.predict_kbest(X[:5], 3), model.sample(X[:5], 2, 0), names

    expected = answers(crf)
    for _ in range(5):
        model = ChainCRF.load(path)  # whose tables nobody has asked for yet
        for found in hammer(lambda thread, model=model: answers(model)):  # type: ignore[misc]
            assert found == expected
    assert crf.score(X, y) > 0.5


def test_a_vocabulary_has_its_table_while_others_release_it() -> None:
    vocabulary = Vocabulary([f"w={i}" for i in range(500)])
    vocabulary = Vocabulary.from_core(vocabulary.core)

    def work(thread: int) -> None:
        for _ in range(2000):
            if thread % 2:
                vocabulary.release_table()
            else:
                assert len(vocabulary.core) == len(vocabulary) == 500

    hammer(work)


@pytest.mark.parametrize("mapped", [False, True])
def test_one_tagger_answers_each_thread_about_its_own_sequence(
    mapped: bool, data: tuple[Any, Any], crf: ChainCRF, path: Path
) -> None:
    X, _ = data
    tagger, expected = SequenceTagger(path, mapped=mapped), crf.predict(X)
    marginals = [tagger.marginals(x) for x in X]
    for mine, theirs in zip(marginals, crf.predict_marginals(X), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)

    def work(thread: int) -> None:
        for i in range(5 * len(X)):
            k = (i + 11 * thread) % len(X)
            assert tagger.tag(X[k]) == expected[k]
            assert tagger.marginals(X[k]) == marginals[k]
            assert tagger.k_best(X[k], 2)[0][0] == expected[k]

    hammer(work)


def test_threads_that_open_close_and_set_one_compiled_tagger_get_answers_or_a_sentence(
    data: tuple[Any, Any], path: Path
) -> None:
    X, _ = data
    model, tagger, items = open_tagging_model(path), Tagger(), ItemSequence(X[0])
    possible = {tuple(SequenceTagger(path).tag(x)) for x in X} | {()}
    sentences: set[str] = set()

    def work(thread: int) -> None:
        for i in range(400):
            x = X[(i + 7 * thread) % len(X)]
            try:
                if thread == 0:
                    tagger.close() if i % 2 else tagger.open_model(model)
                elif thread == 1:
                    items.__init__(x)  # type: ignore[misc]
                    assert len(items.items()) in {len(sequence) for sequence in X}
                else:
                    assert tuple(tagger.tag(items if i % 3 == 0 else x)) in possible
                    tagger.marginals()
                    tagger.probability(tagger.tag())
                    tagger.k_best(2)
                    tagger.log_partition()
            except ValueError as error:  # nothing is opened, or the sequence that was set is another by now
                sentences.add(str(error))

    hammer(work)
    assert all("sequence" in sentence or "not opened" in sentence for sentence in sentences), sentences
    tagger.open_model(model)
    assert tuple(tagger.tag(X[3])) in possible


def test_dicts_and_lists_that_change_while_they_are_encoded_give_a_result_or_a_sentence(
    crf: ChainCRF, path: Path
) -> None:
    """What others do to a dict at the same time is their affair; that nothing worse comes of it is ours."""
    position: dict[Any, Any] = dict.fromkeys(NAMES, 1.0)
    names = list(NAMES)
    sequence: list[Any] = [position, names, {"deep": position, "flat": names}]
    tagger, collected = SequenceTagger(path), Appended()
    reading = set(range(2, THREADS))
    sentences: set[str] = set()
    answers = 0

    def change(thread: int) -> None:
        i = 0
        while reading:
            i += 1
            key = f"new {thread} {i % 7}"
            position[key] = "".join(["of ", key])  # a string that only the dict holds
            names.append(key)
            sequence.append(names if i % 2 else position)
            position.pop(key)
            names.pop()
            sequence.pop()

    def read(thread: int) -> None:
        nonlocal answers
        try:
            for _ in range(60):
                try:
                    if thread % 3 == 0:
                        answers += len(tagger.tag(sequence)) >= 3
                    elif thread % 3 == 1:
                        collected.append(sequence[:3], ["A", "B", "C"], 0)
                    else:
                        answers += len(crf.predict([[position, position]])[0]) == 2
                except RuntimeError as error:
                    sentences.add(str(error))
        finally:
            reading.discard(thread)

    hammer(lambda thread: change(thread) if thread < 2 else read(thread))
    assert len(tagger.tag(sequence[:3])) == 3
    assert answers + len(collected) > 0
    assert all("changed size" in sentence for sentence in sentences), sentences


def test_threads_that_append_to_one_trainer_keep_labels_with_their_sequences() -> None:
    data = Appended()
    rounds = 1000

    def work(thread: int) -> None:
        for i in range(rounds):
            length = 1 + (i + thread) % 4
            label = LABELS[(i * thread) % 3]
            data.append([{f"is {label}": 1.0, f"length {length}": True}] * length, [label] * length, 0)

    hammer(work)
    assert len(data) == THREADS * rounds
    order = data.labels
    group, _ = data.split(-1, order)
    assert group is not None
    names, encoded = group.encoded.vocabulary.names, group.encoded
    position = 0
    for length in encoded.lengths.tolist():
        for _ in range(length):
            of_position = {names[k] for k in encoded.indices[encoded.indptr[position] : encoded.indptr[position + 1]]}
            assert of_position == {f"is {order[group.codes[position]]}", f"length {length}"}
            position += 1


def test_threads_that_train_on_one_field_find_the_same_optimum() -> None:
    X, y = dense_sequences(60)
    field = fields.Chain(encode(X), y)
    expected = solve(field, "sdca", tol=1e-4, random_state=0)

    def work(thread: int) -> Any:
        return solve(field, "sdca", tol=1e-4, random_state=0, n_jobs=1).weights

    for weights in hammer(work):
        np.testing.assert_array_equal(weights, expected.weights)


def test_who_reads_a_run_at_work_gets_a_number_or_a_sentence() -> None:
    X, y = dense_sequences(60)
    run = solve(fields.Chain(X, y), "sdca", max_passes=1, random_state=0).state
    sentences: set[str] = set()
    stop = Event()

    def work(thread: int) -> None:
        if thread == 0:
            try:
                for _ in range(50):
                    run.advance(1e-2)  # which readers do not disturb
            finally:
                stop.set()
        while not stop.is_set():
            try:
                before = run.updates
                assert before <= run.updates
            except RuntimeError as error:
                sentences.add(str(error))

    before = run.updates
    hammer(work)
    assert run.updates > before
    assert all("in use by another thread" in sentence for sentence in sentences), sentences
