"""``Trainer`` has python-crfsuite's interface, weights, objective and log, and writes CRFsuite's models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from dualfield.compat.pycrfsuite import BaseTrainer, Tagger, Trainer
from dualfield.datasets import travel_sentences
from dualfield.models import read_crfsuite_model

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
Either = pytest.mark.parametrize("kind", [pycrfsuite.Trainer, Trainer], ids=["theirs", "ours"])


def sentences(n: int = 80, seed: int = 0) -> list[tuple[Any, list[str]]]:
    found = travel_sentences(n, seed=seed)
    return [
        (
            [{"w": w.lower(), "end": [w[-2:], w[-1:]], "up": w[0].isupper(), "near": {"n": len(w)}} for w, _ in s],
            [label for _, label in s],
        )
        for s in found
    ]


def trained(kind: Any, path: Path, algorithm: str = "lbfgs", holdout: int = -1, **parameters: Any) -> Any:
    trainer = kind(algorithm, {name.replace("__", "."): value for name, value in parameters.items()}, verbose=False)
    for number, (x, y) in enumerate(sentences()):
        trainer.append(x, y, number % 4)
    trainer.train(str(path), holdout=holdout)
    return trainer


def opened(path: Path) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


# --- parameters ---


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parameters_and_defaults_are_those_of_python_crfsuite(algorithm: str) -> None:
    theirs, ours = pycrfsuite.Trainer(algorithm, verbose=False), Trainer(algorithm, verbose=False)
    assert ours.params() == theirs.params()
    assert ours.get_params() == theirs.get_params()
    assert {name: type(value) for name, value in ours.get_params().items()} == {
        name: type(value) for name, value in theirs.get_params().items()
    }
    assert all(ours.help(name).endswith(".") for name in ours.params())


@Either
def test_setting_and_selecting(kind: Any) -> None:
    trainer = kind("averaged-perceptron", verbose=False)
    assert trainer.params() == kind("AP", verbose=False).params()
    trainer.select("passive-aggressive", "crf1d")
    trainer.set("c", "0.5")
    trainer.set_params({"type": 2, "averaging": False, "error_sensitive": "1"})
    found = trainer.get_params()
    assert (found["c"], found["type"], found["averaging"], found["error_sensitive"]) == (0.5, 2, False, True)
    trainer.select("pa")
    assert trainer.get("c") == 1.0  # selecting begins anew
    for call in (lambda: trainer.set("c9", 1), lambda: trainer.get("c9"), lambda: trainer.help("c9")):
        with pytest.raises(ValueError, match="Parameter not found: c9"):
            call()
    for name, graph in (("newton", "crf1d"), ("lbfgs", "tree")):
        with pytest.raises(ValueError, match="Bad arguments"):
            kind(verbose=False).select(name, graph)


@pytest.mark.parametrize(("name", "value"), [("c2", "x"), ("max_iterations", 1.5), ("c1", None)])
def test_values_that_are_no_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        Trainer().set(name, value)


# --- data ---


@Either
@pytest.mark.parametrize(
    ("x", "y", "error"),
    [
        ([{"a": 1}], ["A", "B"], ValueError),
        ([5], ["A"], TypeError),
        ([{5: 1}], ["A"], TypeError),
        ([{"a": None}], ["A"], TypeError),
        (5, ["A"], TypeError),
        ([{"a": 1}], [1], TypeError),
    ],
)
def test_bad_sequences_are_refused_in_the_same_kinds(kind: Any, x: Any, y: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        kind(verbose=False).append(x, y)


def test_a_refused_sequence_leaves_nothing_behind(tmp_path: Path) -> None:
    plain, disturbed = Trainer(verbose=False), Trainer(verbose=False)
    for number, (x, y) in enumerate(sentences(20)):
        plain.append(x, y)
        disturbed.append(x, y)
        with pytest.raises((TypeError, ValueError)):
            disturbed.append([{"other": 1.0}, [{"a": number}]], ["never", "never"])
    plain.train(tmp_path / "plain")
    disturbed.train(tmp_path / "disturbed")
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "disturbed").read_bytes()


def test_every_form_of_a_sequence_is_the_same(tmp_path: Path) -> None:
    x, y = [{"w": "é", "n": 2.0, "all": ["a", "b"], "in": {"up": True}}, {"w": "x"}], ["A", "B"]
    forms = [
        x,
        pycrfsuite.ItemSequence(x),
        [{b"w": "é".encode(), "n": 2, "all": {b"a", "b"}, b"in": {"up": 1}}, {"w": b"x"}],
        [{"w:é": 1.0, "n": 2.0, "all:a": True, "all:b": 1, "in:up": 1.0}, ["w:x"]],
    ]
    files = []
    for number, form in enumerate(forms):
        trainer = Trainer(verbose=False)
        trainer.append(form, y if number % 2 else [b"A", b"B"])
        trainer.train(tmp_path / str(number))
        files.append(read_crfsuite_model(tmp_path / str(number)))
    for other in files[1:]:
        assert sorted(other.vocabulary_.names) == sorted(files[0].vocabulary_.names)
        np.testing.assert_allclose(sorted(other.weights_), sorted(files[0].weights_), rtol=1e-6)


def test_clear_forgets_and_without_sequences_there_is_a_warning_and_no_model(tmp_path: Path) -> None:
    trainer = Trainer(verbose=False)
    trainer.append([["a"]], ["A"], 3)
    with pytest.warns(UserWarning, match="of another group than 3"):
        trainer.train(tmp_path / "m", holdout=3)
    trainer.clear()
    with pytest.warns(UserWarning, match="there are no sequences to train on, so no model was made; append some"):
        trainer.train(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    with pytest.raises(OSError, match="does not exist"):
        trainer.train(tmp_path / "none" / "m")


# --- training ---


@pytest.mark.parametrize(
    "parameters", [{}, {"c1": 0.1, "c2": 0.1}, {"feature__possible_states": True}, {"feature__minfreq": 2}]
)
def test_the_objective_is_crfsuites(parameters: dict[str, Any], tmp_path: Path) -> None:
    strict = {"delta": 1e-9, "max_iterations": 3000}
    theirs = trained(pycrfsuite.Trainer, tmp_path / "theirs", **parameters, **strict, epsilon=1e-8)
    ours = trained(Trainer, tmp_path / "ours", **parameters, **strict)
    assert ours.logparser.featgen_num_features == theirs.logparser.featgen_num_features
    loss = theirs.logparser.last_iteration["loss"]
    assert ours.logparser.last_iteration["loss"] == pytest.approx(loss, rel=1e-5)
    assert ours.chain_crf_.solution_.certificate == "exact"
    a, b = opened(tmp_path / "ours"), opened(tmp_path / "theirs")
    assert sorted(a.labels()) == sorted(b.labels())
    for x, _ in sentences(20, 1):
        a.set(x), b.set(x)
        for label in a.labels():
            assert a.marginal(label, 0) == pytest.approx(b.marginal(label, 0), abs=5e-3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_accuracy_on_new_sentences_is_that_of_crfsuite(algorithm: str, tmp_path: Path) -> None:
    new = sentences(100, 1)
    shares = []
    for kind, name in ((pycrfsuite.Trainer, "theirs"), (Trainer, "ours")):
        trained(kind, tmp_path / name, algorithm, max_iterations=300 if algorithm in ("lbfgs", "l2sgd") else 30)
        tagger = opened(tmp_path / name)
        right = [a == b for x, y in new for a, b in zip(tagger.tag(x), y, strict=True)]
        shares.append(np.mean(right))
    # Of the last three, the order of the sequences matters, and CRFsuite draws another each time.
    assert shares[1] == pytest.approx(shares[0], abs=0.03 if algorithm in ("lbfgs", "l2sgd") else 0.07)
    assert shares[1] > 0.7


def test_the_file_is_optional(tmp_path: Path) -> None:
    trainer = trained(Trainer, "")  # type: ignore[arg-type]
    assert trainer.chain_crf_.classes_.tolist() == sorted({label for _, y in sentences() for label in y})
    assert [event for event, *_ in trainer.logparser.events][-1] == "iteration"


# --- the log ---


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_log_has_the_events_and_numbers_of_python_crfsuites(algorithm: str, tmp_path: Path) -> None:
    theirs = trained(pycrfsuite.Trainer, tmp_path / "theirs", algorithm, holdout=1, max_iterations=4).logparser
    ours = trained(Trainer, tmp_path / "ours", algorithm, holdout=1, max_iterations=4).logparser
    order = [[event for event, *_ in log.events] for log in (theirs, ours)]
    assert list(dict.fromkeys(order[0])) == list(dict.fromkeys(order[1]))
    assert order[0].count("featgen_progress") == order[1].count("featgen_progress")
    assert (ours.featgen_num_features, ours.featgen_percent) == (theirs.featgen_num_features, theirs.featgen_percent)
    their, our = theirs.last_iteration, ours.last_iteration
    assert set(their) - {"error_norm", "linesearch_trials", "linesearch_step"} <= set(our)
    assert list(our["scores"]) == list(their["scores"])
    for label, score in our["scores"].items():
        assert score.ref == their["scores"][label].ref
        assert score.match <= min(score.model, score.ref)
    assert our["item_accuracy"].denominator <= sum(score.ref for score in our["scores"].values())
    assert our["item_accuracy_float"] == pytest.approx(their["item_accuracy_float"], abs=0.2)
    assert [iteration["num"] for iteration in ours.iterations] == list(range(1, len(ours.iterations) + 1))
    assert all(number is not None for number in (ours.featgen_seconds, ours.training_seconds, ours.storing_seconds))


def test_our_messages_are_read_by_python_crfsuites_parser(tmp_path: Path) -> None:
    from pycrfsuite._logparser import TrainLogParser

    ours = trained(Trainer, tmp_path / "m", holdout=2).logparser
    theirs = TrainLogParser()
    for line in ours.log:
        theirs.feed(line)
    assert theirs.events == ours.events
    assert theirs.iterations == ours.iterations
    for name in ("featgen_num_features", "featgen_seconds", "training_seconds", "storing_seconds", "featgen_percent"):
        assert getattr(theirs, name) == getattr(ours, name)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_python_crfsuites_messages_are_read(algorithm: str, tmp_path: Path) -> None:
    from dualfield.compat.pycrfsuite.log_parser import TrainLogParser

    theirs = trained(pycrfsuite.Trainer, tmp_path / "m", algorithm, holdout=2, max_iterations=3).logparser
    ours = TrainLogParser()
    for line in theirs.log:
        ours.feed(line)
    assert ours.events == theirs.events
    assert [set(i) for i in ours.iterations] == [
        set(i) - {"error_norm", "linesearch_trials", "linesearch_step"} for i in theirs.iterations
    ]


@Either
def test_subclasses_may_skip_init_and_see_events(kind: Any, tmp_path: Path) -> None:
    class Quiet(kind):  # type: ignore[misc]
        def __init__(self, seen: list[str]) -> None:
            self.seen, self.verbose = seen, True

        def on_start(self, log: str) -> None:
            self.seen.append("start")

        def on_featgen_progress(self, log: str, percent: int) -> None:
            self.percent = percent

        def on_featgen_end(self, log: str) -> None:
            self.seen.append(re.findall("Number of features", log)[0])

        def on_prepared(self, log: str) -> None:
            self.seen.append("prepared")

        def on_iteration(self, log: str, info: dict[str, Any]) -> None:
            self.last = info

        def on_optimization_end(self, log: str) -> None:
            self.seen.append("optimization_end")

        def on_end(self, log: str) -> None:
            self.seen.append("end")

    seen: list[str] = []
    trainer = Quiet(seen)
    assert trainer.params()[0] == "feature.minfreq"
    for x, y in sentences(20):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "m"))
    assert seen == ["start", "Number of features", "prepared", "optimization_end", "end"]
    assert trainer.percent == 100
    assert trainer.last is trainer.logparser.last_iteration


def test_messages_are_printed_if_verbose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(Trainer, tmp_path / "m")
    assert capsys.readouterr().out == ""
    loud = Trainer("ap", {"max_iterations": 2})
    plain = BaseTrainer("ap", {"max_iterations": 2})
    for trainer in (loud, plain):
        for x, y in sentences(20):
            trainer.append(x, y)
        trainer.train(tmp_path / "m")
        out = capsys.readouterr().out
        assert "0....1....2....3" in out
        assert "***** Iteration #2 *****\nLoss: " in out
        assert "minimises no likelihood, so there is no certificate" in out
        assert out.endswith("\n\n")


@pytest.mark.parametrize("penalties", [{"c1": 0.0, "c2": 0.1}, {"c1": 0.1, "c2": 0.01}])
def test_python_crfsuite_agrees_on_ten_thousand_sequences(tmp_path: Path, penalties: dict[str, float]) -> None:
    trained(Trainer, tmp_path / "m", **penalties)
    theirs, different, furthest = opened(tmp_path / "m"), 0, 0.0
    with Tagger().open(tmp_path / "m") as ours:
        for x, _ in sentences(10_000, seed=1):
            labels = ours.tag(x)
            different += labels != theirs.tag(x)
            for place, label in enumerate(labels):
                furthest = max(furthest, abs(ours.marginal(label, place) - theirs.marginal(label, place)))
    assert different == 0
    assert furthest < 1e-9
