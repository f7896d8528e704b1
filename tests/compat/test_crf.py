"""The drop-in has CRFsuite's weights, objective and answers, and sklearn-crfsuite's interface."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from dualfield import ChainCRF
from dualfield.compat import sklearn_crfsuite
from dualfield.compat.pycrfsuite import Trainer
from dualfield.compat.sklearn_crfsuite import CRF
from tests.zoo import dense_sequences, word_sequences

# The order too: some programs give them by place.
PARAMETERS = """algorithm min_freq all_possible_states all_possible_transitions c1 c2 max_iterations num_memories
epsilon period delta linesearch max_linesearch calibration_eta calibration_rate calibration_samples
calibration_candidates calibration_max_trials pa_type c error_sensitive averaging variance gamma verbose
model_filename keep_tempfiles trainer_cls""".split()


def dicts(n: int = 30, seed: int = 0) -> tuple[Any, Any]:
    """Words, numbers of both signs, flags that are often false, nested dicts and lists."""
    words, y = word_sequences(n, seed)
    random = np.random.default_rng(seed)
    X = []
    for sequence in words:
        X.append(
            [
                {
                    "word": position[0],
                    "flag": bool(random.integers(2)),
                    "never": False,
                    "size": float(random.integers(-2, 3)),
                    "near": {"next": position[2], "flag": bool(random.integers(2))},
                    "all": position[1:],
                }
                for position in sequence
            ]
        )
    return X, y


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return dicts()


def peer(X: Any, y: Any, path: Path, algorithm: str = "lbfgs", **parameters: Any) -> tuple[Any, Any]:
    """python-crfsuite's trainer and tagger."""
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    trainer.set_params({name.replace("__", "."): value for name, value in parameters.items()})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return trainer, tagger


# --- the same model ---


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("transitions", [False, True])
@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.5), (0.1, 0.1), (0.7, 0.0)])
@pytest.mark.parametrize("min_freq", [0, 2, 3.5])
def test_the_model_is_that_of_crfsuite(
    states: bool, transitions: bool, c1: float, c2: float, min_freq: float, data: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = data
    features = {
        "feature__minfreq": min_freq,
        "feature__possible_states": states,
        "feature__possible_transitions": transitions,
    }
    strict = {"epsilon": 1e-9, "delta": 1e-12, "max_iterations": 3000}
    trainer, tagger = peer(X, y, tmp_path / "model", c1=c1, c2=c2, **strict, **features)
    crf = CRF(
        c1=c1, c2=c2, min_freq=min_freq, all_possible_states=states, all_possible_transitions=transitions, delta=1e-10
    ).fit(X, y)
    log = crf.training_log_
    assert log is not None
    info = tagger.info()
    assert log.featgen_num_features == trainer.logparser.featgen_num_features
    assert log.last_iteration["loss"] == pytest.approx(trainer.logparser.last_iteration["loss"], rel=1e-6)
    assert crf.classes_ == tagger.labels()
    assert crf.state_features_.keys() >= info.state_features.keys()
    assert crf.transition_features_.keys() >= info.transitions.keys()
    if c2 > 0:  # then there is one optimum
        for ours, theirs in (
            (crf.state_features_, info.state_features),
            (crf.transition_features_, info.transitions),
        ):
            for key in ours:
                assert ours[key] == pytest.approx(theirs.get(key, 0.0), abs=2e-3)
        for sequence in X[:5]:
            tagger.set(sequence)
            for t, found in enumerate(crf.predict_marginals_single(sequence)):
                for label, p in found.items():
                    assert p == pytest.approx(tagger.marginal(label, t), abs=1e-3)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0, 0.5, 1, 2, 2.5]), st.booleans(), st.booleans())
def test_the_weights_are_the_pairs_that_crfsuite_has(
    seed: int, min_freq: float, states: bool, transitions: bool
) -> None:
    random = np.random.default_rng(seed)
    values = (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, True, False)
    X = [
        [
            {name: values[random.integers(len(values))] for name in "abcd" if random.random() < 0.5}
            for _ in range(random.integers(1, 4))
        ]
        for _ in range(4)
    ]
    X[0][0]["always"] = 1.0
    y = [[str(random.choice(["N", "V", "X"])) for _ in sequence] for sequence in X]
    y[0][0], y[-1][-1] = "N", "V"
    trainer = pycrfsuite.Trainer(verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    trainer.set_params({"feature.minfreq": min_freq, "c2": 1.0, "max_iterations": 1})
    trainer.set_params({"feature.possible_states": states, "feature.possible_transitions": transitions})
    trainer.train("")
    crf = CRF(min_freq=min_freq, all_possible_states=states, all_possible_transitions=transitions).fit(X, y)
    assert crf.training_log_.featgen_num_features == trainer.logparser.featgen_num_features


def test_gradient_descent_has_the_same_objective(data: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = data
    sgd = CRF(algorithm="l2sgd", c2=0.5).fit(X, y)
    best = CRF(c2=0.5, delta=1e-9).fit(X, y)
    loss = sgd.training_log_.last_iteration["loss"]
    assert loss == pytest.approx(best.training_log_.last_iteration["loss"], rel=0.01)
    trainer, _ = peer(X, y, tmp_path / "model", "l2sgd", c2=0.5)
    assert loss < 1.01 * trainer.logparser.last_iteration["loss"]


def test_gradient_descent_stops_where_it_gets_flat(data: tuple[Any, Any]) -> None:
    passes = []
    for delta in (1e-2, 1e-3):
        crf = CRF(algorithm="l2sgd", c2=1e-3, delta=delta, period=5).fit(*data)
        assert crf.chain_crf_.solution_.status == "stopped"
        passes.append(crf.training_log_.last_iteration["num"])
    assert passes[0] < passes[1] < 1000
    assert passes[0] % 5 == passes[1] % 5 == 0


def test_the_perceptron_tags(data: tuple[Any, Any]) -> None:
    crf = CRF(algorithm="ap", max_iterations=30).fit(*data)
    assert crf.score(*data) > 0.8
    assert crf.chain_crf_.solution_.certificate == "none"
    assert np.isnan(crf.training_log_.last_iteration["loss"])


# --- the interface ---


def test_the_parameters_are_those_of_sklearn_crfsuite() -> None:
    assert list(inspect.signature(CRF).parameters) == PARAMETERS
    others = {"verbose": False, "keep_tempfiles": False}
    assert CRF().get_params() == dict.fromkeys(PARAMETERS) | others


def test_what_programs_import_is_there() -> None:
    for name in ("flat_accuracy_score", "flat_precision_score", "flat_recall_score", "flat_f1_score"):
        assert callable(getattr(sklearn_crfsuite.metrics, name))
    for name in ("flat_fbeta_score", "flat_classification_report", "sequence_accuracy_score"):
        assert callable(getattr(sklearn_crfsuite.metrics, name))
    assert sklearn_crfsuite.scorers.flat_accuracy
    assert sklearn_crfsuite.scorers.sequence_accuracy
    assert sklearn_crfsuite.metrics.flatten([(1,), [2, 3]]) == [1, 2, 3]


def test_predictions_are_arrays_of_objects_as_in_the_original(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = CRF(c2=0.1).fit(X, y)
    for found in (crf.predict(X), crf.predict(X[:1]), crf.predict([X[0], X[0]])):
        assert found.dtype == object
        assert list(found[0]) == crf.predict_single(X[0])
    assert isinstance(crf.predict(X)[0], list)
    assert crf.predict([X[0], X[0]]).shape == (2, len(X[0]))
    assert crf.predict_single(X[0]) == crf.predict(X)[0]
    assert crf.predict_marginals_single(X[0]) == crf.predict_marginals(X)[0]
    assert [list(found) for found in crf.predict_marginals(X)[0]] == [crf.classes_] * len(X[0])
    assert crf.score(X, y) == np.mean(np.concatenate(crf.predict(X)) == np.concatenate(y))


def test_item_sequences_and_lists_of_strings_will_do(data: tuple[Any, Any]) -> None:
    X, y = data
    items = [pycrfsuite.ItemSequence(sequence) for sequence in X]
    one, other = CRF(c2=0.1).fit(X, y), CRF(c2=0.1).fit(items, y)
    assert one.predict(X).tolist() == other.predict(items).tolist()
    words, labels = word_sequences(20)
    assert CRF(c2=0.1).fit(words, labels).score(words, labels) > 0.7


def test_empty_sequences_count_for_nothing(data: tuple[Any, Any]) -> None:
    X, y = data
    one, other = CRF(c2=0.1).fit(X, y), CRF(c2=0.1).fit([[], *X, []], [[], *y, []])
    assert one.state_features_ == other.state_features_
    assert one.predict([[], X[0], []]).tolist() == [[], one.predict_single(X[0]), []]
    assert (one.predict_single([]), one.predict_marginals_single([])) == ([], [])
    assert one.predict([]).tolist() == []


def test_the_model_can_be_looked_at(data: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = data
    crf = CRF(c1=0.5, c2=0.1).fit(X, y)
    assert crf.state_features_
    assert all(crf.state_features_.values())
    assert crf.num_attributes_ == len(crf.attributes_) == len({name for name, _ in crf.state_features_})
    crf.chain_crf_.save(tmp_path / "model")
    assert crf.size_ == (tmp_path / "model").stat().st_size
    assert crf.training_log_.last_iteration["active_features"] == len(crf.state_features_) + len(
        crf.transition_features_
    )
    parts = crf.chain_crf_.layout_.split(crf.chain_crf_.weights_)
    labels, names = crf.chain_crf_.classes_.tolist(), crf.chain_crf_.vocabulary_.names
    for (name, label), value in crf.state_features_.items():
        assert parts["state"][names.index(name), labels.index(label)] == value
    for (one, other), value in crf.transition_features_.items():
        assert parts["transitions"][labels.index(one), labels.index(other)] == value


def test_arrays_have_columns_for_names() -> None:
    X, y = dense_sequences(20)
    crf = CRF(c2=0.1).fit(X, y)
    assert crf.attributes_ == ["0", "1", "2", "3"]
    assert crf.score(X, y) > 0.5


def test_without_fit_there_is_nothing_to_look_at() -> None:
    crf = CRF()
    for name in ("classes_", "state_features_", "transition_features_", "attributes_", "num_attributes_", "size_"):
        assert getattr(crf, name) is None
    assert crf.training_log_ is None
    with pytest.raises(NotFittedError, match="not fitted yet; call fit"):
        crf.predict([[{"a": 1.0}]])
    with pytest.raises(NotFittedError):
        check_is_fitted(crf)


def test_copies_work(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = CRF("lbfgs", c1=0.1, c2=0.1, max_iterations=50).fit(X, y)
    assert repr(crf) == "CRF(algorithm='lbfgs', c1=0.1, c2=0.1, max_iterations=50)"
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X).tolist() == crf.predict(X).tolist()
    assert (again.classes_, again.training_log_) == (crf.classes_, crf.training_log_)
    fresh = clone(crf)
    assert fresh.classes_ is None
    assert fresh.fit(X, y).state_features_ == crf.state_features_
    assert fresh.set_params(c2=0.3).c2 == 0.3


def test_the_log_tells_of_held_out_sequences(data: tuple[Any, Any]) -> None:
    X, y = data
    dev = dicts(20, seed=9)
    crf = CRF(c2=0.2).fit(X, y, X_dev=dev[0], y_dev=dev[1])
    log = crf.training_log_
    assert log.last_iteration["item_accuracy_float"] == crf.score(*dev)
    assert 0 <= log.last_iteration["instance_accuracy_float"] <= log.last_iteration["item_accuracy_float"]
    assert 0 < log.last_iteration["avg_f1"] < 1
    assert [row["num"] for row in log.iterations] == list(range(1, len(log.iterations) + 1))
    assert log.last_iteration is log.iterations[-1]
    assert "proven to be within" in log.message
    assert log.training_seconds >= sum(row["time"] for row in log.iterations) * 0.99
    with pytest.raises(ValueError, match="X_dev was given without y_dev"):
        crf.fit(X, y, X_dev=dev[0])


def test_a_file_keeps_the_model(data: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = data
    path = tmp_path / "model"
    crf = CRF(c2=0.1, model_filename=str(path)).fit(X, y)
    again = CRF(model_filename=path)
    assert again.predict(X).tolist() == crf.predict(X).tolist()
    assert sorted(again.classes_) == sorted(crf.classes_)
    assert ChainCRF.load(path).predict(X) == crf.predict(X).tolist()
    assert CRF(model_filename=tmp_path / "none").classes_ is None


def test_where_the_model_goes_is_tried_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualfield.compat.crfsuite.training.solve_visibly", lambda *_, **__: pytest.fail("training"))
    with pytest.raises(OSError, match="file name too long"):
        CRF(model_filename=tmp_path / ("x" * 300)).fit([[["a"], ["b"]]], [["N", "V"]])


def test_a_model_of_crfsuite_is_read(data: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = data
    _, tagger = peer(X, y, tmp_path / "theirs", c2=0.1)
    crf = CRF(model_filename=tmp_path / "theirs")
    assert crf.predict(X).tolist() == [tagger.tag(x) for x in X]
    assert sorted(crf.classes_ or []) == sorted(tagger.labels())


def test_the_model_file_is_one_of_crfsuite(data: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data
    crf = CRF(c2=0.1)
    assert crf.modelfile.name is None
    assert crf.tagger_ is None
    crf.fit(X, y)
    name = crf.modelfile.name
    assert name is not None
    tagger = pycrfsuite.Tagger()
    tagger.open(name)
    assert [tagger.tag(x) for x in X] == crf.predict(X).tolist()
    monkeypatch.setattr("dualfield.compat.pycrfsuite.Tagger", pycrfsuite.Tagger, raising=False)
    assert [crf.tagger_.tag(x) for x in X] == crf.predict(X).tolist()
    again = pickle.loads(pickle.dumps(crf))
    assert again.modelfile.name not in (None, name)
    crf.fit(X[:10], y[:10])
    assert not Path(name).exists()


@pytest.mark.parametrize(
    ("algorithm", "ours", "theirs"),
    [
        ("pa", {"pa_type": 2, "c": 0.5, "error_sensitive": False}, {"type": 2, "c": 0.5, "error_sensitive": False}),
        ("pa", {"averaging": False}, {"averaging": False}),
        ("arow", {"variance": 0.5, "gamma": 2.0}, {"variance": 0.5, "gamma": 2.0}),
    ],
)
def test_pa_and_arow_are_crfsuites(algorithm: str, ours: Any, theirs: Any, tmp_path: Path) -> None:
    X = [[{"a": 1.0, "b": 0.5}, {"c": 2.0}, {"a": 1.0, "d": -1.0}, {"b": 1.0}, {"d": 0.5, "e": 1.0}]]
    y = [["A", "B", "C", "B", "A"]]  # of one sequence, which has one order
    _, tagger = peer(X, y, tmp_path / "m", algorithm, max_iterations=3, **theirs)
    crf = CRF(algorithm=algorithm, max_iterations=3, **ours).fit(X, y)
    assert crf.chain_crf_.solution_.certificate == "none"
    expected = tagger.info().state_features
    scale = 3 / 4 if algorithm == "pa" and ours.get("averaging", True) else 1.0  # theirs counts the start, zero, too
    assert crf.state_features_.keys() == expected.keys()
    for pair, weight in crf.state_features_.items():
        assert scale * weight == pytest.approx(expected[pair], abs=2e-6)  # CRFsuite prints six digits


def test_bytes_are_utf8(data: tuple[Any, Any]) -> None:
    X = [[{"w": "é", "all": ["a", "b"]}, {"w": "x"}], [["w:x"], ["w:é"]]][:1] * 2
    encoded = [[{b"w": "é".encode(), "all": [b"a", "b"]}, {"w": b"x"}]] * 2
    plain, given = CRF().fit(X, [["A", "B"]] * 2), CRF().fit(encoded, [[b"A", b"B"]] * 2)
    assert plain.state_features_ == given.state_features_
    assert given.predict(encoded).tolist() == plain.predict(X).tolist() == [["A", "B"]] * 2
    with pytest.raises(TypeError, match="position 0 of sequence 0"):
        CRF().fit([[{"a": None}]], [["A"]])


def test_the_perceptron_stops_at_epsilon(data: tuple[Any, Any]) -> None:
    passes = [CRF(algorithm="ap", epsilon=e).fit(*data).training_log_.last_iteration["num"] for e in (0.9, 0.0)]
    assert passes[0] == 1 < passes[1]


def test_a_number_of_iterations_that_was_asked_for_brings_no_warning(
    data: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CRF(c1=0.1, c2=0.1, max_iterations=3).fit(*data).training_log_.last_iteration["num"] == 3
    monkeypatch.setattr("dualfield.compat.crfsuite.parameters._MANY_PASSES", 3)
    with pytest.warns(ConvergenceWarning, match="max_passes=3"):
        CRF(c1=0.1, c2=0.1).fit(*data)


@pytest.mark.parametrize("seed", range(40))
def test_the_loss_with_c1_is_not_above_crfsuites(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    n, words = int(random.integers(20, 120)), int(random.integers(5, 60))
    X = [[[f"w{w}", f"v{w % 7}"] for w in random.integers(words, size=random.integers(1, 9))] for _ in range(n)]
    y = [
        ["ABC"[int(position[0][1:]) * 7 % 3 if random.random() < 0.8 else random.integers(3)] for position in x]
        for x in X
    ]
    c1, c2 = 10 ** random.uniform(-2, 0.5), 10 ** random.uniform(-4, 0.5)
    options = {"c1": c1, "c2": c2, "max_iterations": int(random.choice([30, 100]))}
    trainer, _ = peer(X, y, tmp_path / "model", **options, feature__possible_transitions=1)
    crf = CRF(**options, all_possible_transitions=True).fit(X, y)
    assert crf.training_log_.last_iteration["loss"] <= trainer.logparser.last_iteration["loss"] * (1 + 1e-4)


def test_a_smaller_delta_asks_for_more(data: tuple[Any, Any]) -> None:
    for delta in (1e-4, 1e-8):
        crf = CRF(c1=0.1, c2=0.1, delta=delta).fit(*data)
        assert crf.chain_crf_.solution_.relative_gap <= 100 * delta
        assert crf.chain_crf_.tol == min(100 * delta, 1e-4)


def test_verbose_shows_a_bar(data: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    CRF(c2=0.1, verbose=True).fit(*data)
    assert "pass" in capsys.readouterr().err


# --- what is refused ---


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"algorithm": "pa", "pa_type": 3}, "pa_type must be 0, 1 or 2; got 3"),
        ({"algorithm": "pa", "c": 0}, "c must be a positive number; got 0"),
        ({"algorithm": "arow", "gamma": -1}, "gamma must be a finite number, not negative; got -1"),
        ({"algorithm": "newton"}, "algorithm must be 'lbfgs', 'l2sgd', 'ap', 'pa' or 'arow'; got 'newton'"),
        ({"algorithm": "ap", "c2": 1.0}, r"c2=1.0 is no parameter of algorithm='ap', which takes max_iterations"),
        ({"algorithm": "l2sgd", "c1": 0.1}, "c1=0.1 is no parameter of algorithm='l2sgd'"),
        ({"gamma": 1}, "gamma=1 is no parameter of algorithm='lbfgs'"),
        ({"c1": 0, "c2": 0}, "c1 and c2 are both zero"),
        ({"c1": -1}, "c1 must be a finite number, not negative; got -1"),
        ({"c2": "1"}, "c2 must be a finite number, not negative; got '1'"),
        ({"min_freq": -1}, "min_freq must be a finite number, not negative; got -1"),
        ({"delta": float("nan")}, "delta must be a finite number, not negative; got nan"),
        ({"max_iterations": 0}, "max_iterations must be a positive integer; got 0"),
        ({"num_memories": 1.5}, "num_memories must be a positive integer; got 1.5"),
        (
            {"trainer_cls": object},
            "trainer_cls is <class 'object'>; expected a subclass of dualfield.compat.pycrfsuite",
        ),
        ({"trainer_cls": "Trainer"}, "trainer_cls is 'Trainer'; expected a subclass"),
    ],
)
def test_what_cannot_be_done_is_refused(options: dict[str, Any], match: str, data: tuple[Any, Any]) -> None:
    crf = CRF(**options)
    with pytest.raises(ValueError, match=match):
        crf.fit(*data)


class Recorder(Trainer):
    """Keeps what the hooks are told."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.events: list[Any] = []
        made.append(self)

    def on_iteration(self, log: str, info: Any) -> None:
        self.events.append(info)

    def on_start(self, log: str) -> None:
        self.events.append("start")

    def on_end(self, log: str) -> None:
        self.events.append("end")

    on_featgen_progress = on_featgen_end = on_prepared = on_optimization_end = lambda self, *told: None


made: list[Recorder] = []


@pytest.mark.parametrize("algorithm", ["lbfgs", "ap"])
def test_a_trainer_class_trains_the_same_model_and_its_hooks_are_called(
    algorithm: str, data: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = data
    options: dict[str, Any] = {"algorithm": algorithm, "min_freq": 1, "max_iterations": 30, "verbose": True}
    path = tmp_path / "kept.safetensors"
    crf = CRF(**options, trainer_cls=Recorder, model_filename=path).fit([*X, []], [*y, []])
    plain = CRF(**{**options, "verbose": False}).fit(X, y)
    assert crf.state_features_ == pytest.approx(plain.state_features_, abs=1e-9)
    assert crf.transition_features_ == pytest.approx(plain.transition_features_, abs=1e-9)
    assert crf.predict(X).tolist() == plain.predict(X).tolist() == CRF(model_filename=path).predict(X).tolist()
    assert crf.classes_ == plain.classes_
    events = made[-1].events
    assert (events[0], events[-1]) == ("start", "end")
    assert crf.training_log_ is made[-1].logparser
    assert [info["num"] for info in events[1:-1]] == [info["num"] for info in crf.training_log_.iterations] != []
    assert pickle.loads(pickle.dumps(crf)).predict(X).tolist() == crf.predict(X).tolist()
    assert clone(crf).trainer_cls is Recorder


def test_a_trainer_class_scores_held_out_sequences(data: tuple[Any, Any]) -> None:
    X, y = data
    held_out = [*y[20:-1], ["new"] * len(y[-1])]
    crf = CRF(trainer_cls=Trainer, c2=0.2).fit(X[:20], y[:20], X[20:], held_out)
    right = sum(a == b for p, t in zip(crf.predict(X[20:]), held_out, strict=True) for a, b in zip(p, t, strict=True))
    share = right / sum(map(len, held_out))
    assert crf.training_log_.last_iteration["item_accuracy_float"] == pytest.approx(share, abs=1e-4)
    assert crf.classes_[-1] == "new"


def test_a_trainer_class_refuses_bad_data(data: tuple[Any, Any]) -> None:
    X, y = data
    crf = CRF(trainer_cls=Trainer)
    with pytest.raises(ValueError, match="y has 1 sequences but X has 2"):
        crf.fit(X[:2], y[:1])
    with pytest.raises(ValueError, match="y_dev has 1 sequences but X_dev has 2"):
        crf.fit(X, y, X[:2], y[:1])
    with pytest.raises(ValueError, match="no sequences to train on"):
        crf.fit([[]], [[]])
    with pytest.raises(ValueError, match="numbers of items and labels differ"):
        crf.fit([X[0]], [["A"] * (len(X[0]) + 1)])


def test_bad_input_is_refused_with_its_place(data: tuple[Any, Any]) -> None:
    X, y = data
    with pytest.raises(ValueError, match="sequence 0 has 1 label in y"):
        CRF().fit(X[:1] * 2, [["A"], y[0]])
    with pytest.raises(ValueError, match="y has 1 sequences but X has 2"):
        CRF().fit(X[:2], y[:1])
    with pytest.raises(TypeError, match="X is of type dict"):
        CRF().fit({"a": 1}, y)
    with pytest.raises(ValueError, match="there are 1 true and 2 predicted sequences"):
        sklearn_crfsuite.metrics.sequence_accuracy_score([["A"]], [["A"], ["B"]])
    assert sklearn_crfsuite.metrics.sequence_accuracy_score([], []) == 0.0
