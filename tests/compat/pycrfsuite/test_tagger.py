"""Tagger gives the answers of python-crfsuite, read from the same file."""

from __future__ import annotations

import pickle
import random
import struct
import sys
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise, product
from math import exp, fsum, log
from pathlib import Path
from typing import Any

import pycrfsuite as theirs
import pytest

from dualfield.compat import pycrfsuite as ours
from tests.compat.pycrfsuite.conftest import LABELS, Trained, token


@pytest.fixture(params=["tiny", "trained"])
def model(request: pytest.FixtureRequest) -> Trained:
    found: Trained = request.getfixturevalue(request.param)
    return found


def test_labels_are_those_of_python_crfsuite_in_its_order(model: Trained) -> None:
    reference, tagger = model.both()
    assert tagger.labels() == reference.labels()
    assert [tagger.tag(x) for x in model.sequences] == [reference.tag(x) for x in model.sequences]


def test_marginals_and_probabilities_agree_to_rounding(model: Trained) -> None:
    reference, tagger = model.both()
    rng = random.Random(1)
    for x in model.sequences:
        reference.set(x)
        tagger.set(x)
        for t, label in product(range(len(x)), tagger.labels()):
            assert tagger.marginal(label, t) == pytest.approx(reference.marginal(label, t), abs=1e-12)
        for labelling in (tagger.tag(), [rng.choice(tagger.labels()) for _ in x]):
            assert tagger.probability(labelling) == pytest.approx(reference.probability(labelling), abs=1e-12)
        assert tagger.marginals() == [[tagger.marginal(label, t) for label in tagger.labels()] for t in range(len(x))]


def test_probabilities_of_all_labellings_add_up_to_one(tiny: Trained) -> None:
    tagger = ours.Tagger().open(tiny.path)
    tagger.set([["a"], ["b:x"], ["c"], {"a": -3.5}])
    assert fsum(tagger.probability(y) for y in product(tagger.labels(), repeat=4)) == pytest.approx(1, abs=1e-14)


def test_item_sequences_generators_tuples_and_subclasses_of_dict_are_taken(trained: Trained) -> None:
    reference, tagger = trained.both()
    for x in trained.sequences[:20]:
        expected = reference.tag(x)
        assert tagger.tag(ours.ItemSequence(x)) == expected
        assert tagger.tag(tuple(x)) == expected
        assert tagger.tag(iter(x)) == expected
        assert tagger.tag([OrderedDict(position) for position in x]) == expected
        assert tagger.tag(xseq=x) == expected


def _with_weights(content: bytes, draw: Any) -> bytes:
    """The same model with other weights."""
    changed = bytearray(content)
    features = struct.unpack_from("<I", content, 28)[0]
    for i in range(struct.unpack_from("<I", content, features + 8)[0]):
        struct.pack_into("<d", changed, features + 12 + 20 * i + 12, draw())
    return bytes(changed)


def test_ties_are_broken_as_crfsuite_breaks_them(trained: Trained, tmp_path: Path) -> None:
    content = Path(trained.path).read_bytes()
    rng = random.Random(2)
    ties = 0
    for weights in ([0.0], [0.0, 1.0], [-1.0, 0.0, 1.0]):
        path = tmp_path / "ties"
        path.write_bytes(_with_weights(content, lambda weights=weights: rng.choice(weights)))
        reference, tagger = Trained(str(path), []).both()
        for _ in range(150):
            x = [["bias"] if rng.random() < 0.3 else [f"word:{rng.choice(['oak', 'apt', '100'])}"] for _ in range(5)]
            assert tagger.tag(x) == reference.tag(x)
            row = tagger.marginals()[-1]
            ties += row.count(max(row)) > 1
    assert ties > 100


def test_large_weights_do_not_lose_probabilities(trained: Trained, tmp_path: Path) -> None:
    content = Path(trained.path).read_bytes()
    rng = random.Random(3)
    for scale in (300.0, 3000.0, 1e5):
        tagger = ours.Tagger().open_inmemory(_with_weights(content, lambda scale=scale: rng.uniform(-scale, scale)))
        for _ in range(30):
            tagger.set([token(rng) for _ in range(6)])
            for row in tagger.marginals():
                assert fsum(row) == pytest.approx(1, abs=1e-9)
                assert all(0 <= probability <= 1 + 1e-9 for probability in row)
            # The best labelling is no less probable than one of K^T; rounding grows with the scores.
            assert 9.0**-6 * (1 - 1e-6) <= tagger.probability(tagger.tag()) <= 1


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e308])
def test_values_that_are_no_numbers_give_labels_but_no_probabilities(value: float, tiny: Trained) -> None:
    tagger = ours.Tagger().open(tiny.path)
    assert set(tagger.tag([{"a": value, "b:x": 10 * value}, {"c": value, "a": 10 * value}])) <= {"X", "Y"}
    with pytest.raises(ValueError, match="beyond all numbers"):
        tagger.marginal("X", 0)


@pytest.mark.parametrize("scale", [1.0, 50.0, 800.0, 5000.0])
def test_marginals_and_partition_are_those_of_enumeration(scale: float, content: bytes) -> None:
    rng = random.Random(4)
    for _ in range(30):
        tagger = ours.Tagger().open_inmemory(_with_weights(content, lambda: rng.uniform(-scale, scale)))
        x = [rng.sample(["a", "b:x", "c"], rng.randint(0, 3)) for _ in range(4)]
        tagger.set(x)
        states, transitions = tagger.model.state_weights(), tagger.model.transition_weights()
        labellings = list(product(tagger.labels(), repeat=4))
        scores = [
            fsum(states.get((name, label), 0) for names, label in zip(x, y, strict=True) for name in names)
            + fsum(transitions.get(pair, 0) for pair in pairwise(y))
            for y in labellings
        ]
        log_partition = max(scores) + log(fsum(exp(score - max(scores)) for score in scores))
        assert tagger.log_partition() == pytest.approx(log_partition, rel=1e-13, abs=1e-13)
        for t, label in product(range(4), tagger.labels()):
            chosen = (score for y, score in zip(labellings, scores, strict=True) if y[t] == label)
            assert tagger.marginal(label, t) == pytest.approx(
                fsum(exp(score - log_partition) for score in chosen), rel=1e-9, abs=1e-50
            )


def test_info_and_dump_are_those_of_python_crfsuite(
    model: Trained, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reference, tagger = model.both()
    assert vars(tagger.info()) == vars(reference.info())
    assert "labels" in repr(tagger.info())
    reference.dump(str(tmp_path / "theirs"))
    tagger.dump(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    tagger.dump()
    assert capfd.readouterr().out == (tmp_path / "theirs").read_text(encoding="utf-8")


def test_a_model_in_memory_is_kept_alive_and_says_the_same(trained: Trained) -> None:
    tagger = ours.Tagger()
    tagger.open_inmemory(Path(trained.path).read_bytes())
    mapped = ours.Tagger().open(trained.path, mapped=True)
    reference, _ = trained.both()
    for x in trained.sequences:
        assert tagger.tag(x) == mapped.tag(x) == reference.tag(x)


def test_a_file_that_is_overwritten_does_not_touch_the_model(trained: Trained, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(Path(trained.path).read_bytes() + b"")
    tagger = ours.Tagger().open(path)
    expected = [tagger.tag(x) for x in trained.sequences]
    path.write_bytes(b"")
    assert [tagger.tag(x) for x in trained.sequences] == expected


def test_a_with_statement_closes(tiny: Trained) -> None:
    with ours.Tagger().open(tiny.path) as tagger:
        assert tagger.labels() == ["X", "Y"]
    with pytest.raises(ValueError, match="The tagger is not opened"):
        tagger.labels()
    with tagger.open(tiny.path):
        assert tagger.tag([["a"]])
    assert tagger.model is None


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.tag(),
        lambda t: t.tag([["a"]]),
        lambda t: t.set([]),
        lambda t: t.labels(),
        lambda t: t.marginal("X", 0),
        lambda t: t.probability(["X"]),
    ],
)
def test_a_tagger_that_is_not_opened_says_so(call: Any, tiny: Trained) -> None:
    for module in (theirs, ours):
        with pytest.raises(ValueError, match="The tagger is not opened"):
            call(module.Tagger())
    tagger = ours.Tagger().open(tiny.path)
    tagger.close()
    tagger.close()
    with pytest.raises(ValueError, match="The tagger is not opened"):
        call(tagger)


@pytest.mark.parametrize("call", [lambda t, _: t.info(), lambda t, folder: t.dump(str(folder / "model.txt"))])
def test_a_closed_tagger_has_nothing_to_show(call: Any, tmp_path: Path) -> None:
    for module in (theirs, ours):
        with pytest.raises(RuntimeError, match="Tagger is closed"):
            call(module.Tagger(), tmp_path)


def test_before_a_sequence_is_set_answers_are_empty_as_in_python_crfsuite(tiny: Trained) -> None:
    for tagger in tiny.both():
        assert tagger.tag() == []
        assert tagger.marginal("X", 0) == 0.0
        assert tagger.probability(["X"]) == 0.0
        tagger.set([])
        assert tagger.tag() == [] == tagger.tag([])


def test_errors_have_the_kinds_of_python_crfsuite(tiny: Trained) -> None:
    for tagger in tiny.both():
        tagger.set([["a"]])
        for place in (1, -1, 7):
            with pytest.raises(ValueError, match="out of range"):
                tagger.marginal("X", place)
        with pytest.raises(RuntimeError, match="Failed to convert into label identifier"):
            tagger.marginal("unknown", 0)
        with pytest.raises(RuntimeError, match="Failed to convert into label identifier"):
            tagger.probability(["unknown"])
        with pytest.raises(ValueError, match="numbers of items and labels differ"):
            tagger.probability(["X", "Y"])
        for wrong in (lambda t=tagger: t.marginal(3.5, 0), lambda t=tagger: t.marginal("X", "0")):
            with pytest.raises(TypeError):
                wrong()
        assert tagger.marginal(b"X", 0) == tagger.marginal("X", 0) == tagger.marginal(y="X", pos=0)
        assert tagger.probability([b"X"]) == tagger.probability(("X",)) == tagger.probability(yseq=["X"])
    with pytest.raises(ValueError, match="none of the 2 labels"):
        tagger.marginal("unknown", 0)


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ([{"a": None}], TypeError, "the attribute 'a' at position 0 has a value of type NoneType"),
        ([["a"], {"k": {"b": (1,)}}], TypeError, "the attribute 'b' at position 1 has a value of type tuple"),
        ([{3: 1}], TypeError, "an attribute at position 0 is named by the int 3"),
        ([["a", ["b"]]], TypeError, "is named by the list"),
        ([3], TypeError, "got an object of type int"),
        (3, TypeError, "got an object of type int"),
        ([{"a": 10**400}], OverflowError, "too large"),
        ([{"a": "\ud800"}], UnicodeEncodeError, "surrogates"),
        (["a", None], TypeError, "got an object of type NoneType"),
    ],
)
def test_features_that_are_none_are_refused_and_the_sequence_before_stays(
    wrong: Any, kind: type[Exception], said: str, tiny: Trained
) -> None:
    tagger = ours.Tagger().open(tiny.path)
    expected = tagger.tag([["a"], ["c"]])
    for call in (tagger.tag, tagger.set, ours.ItemSequence):
        with pytest.raises(kind, match=said):
            call(wrong)
    assert tagger.tag() == expected


def test_features_that_contain_themselves_are_refused(tiny: Trained) -> None:
    endless: dict[str, Any] = {}
    endless["a"] = endless
    with pytest.raises(RecursionError):
        ours.Tagger().open(tiny.path).tag([endless])


def test_features_that_change_while_they_are_read_are_refused_or_taken_as_they_are(tiny: Trained) -> None:
    tagger = ours.Tagger().open(tiny.path)
    features: dict[str, Any] = {}
    sequence = [features, {"a": 1}]

    class Meddling:
        def __init__(self, act: Any) -> None:
            self.act = act

        def __float__(self) -> float:
            self.act()
            return 1.0

    features["a"] = Meddling(lambda: features.clear())
    with pytest.raises(RuntimeError, match="changed size"):
        tagger.tag(sequence)
    features["a"] = Meddling(lambda: sequence.clear())
    assert len(tagger.tag(sequence)) == 1
    with pytest.raises(ValueError, match="was closed"):
        tagger.tag([{"a": Meddling(tagger.close)}])
    tagger.open(tiny.path)
    # A sequence that is set while another is read does not disturb it.
    assert len(tagger.tag([{"a": Meddling(lambda: tagger.tag([["a"]] * 5))}, ["c"]])) == 2


def test_labels_that_run_code_when_they_are_compared_do_no_harm(tiny: Trained) -> None:
    tagger = ours.Tagger().open(tiny.path)

    class Closing(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            tagger.close()
            return str.__eq__(self, other)

    def labels() -> Iterator[str]:
        tagger.close()
        yield "X"

    for call in (
        lambda: tagger.marginal(Closing("X"), 0),
        lambda: tagger.probability([Closing("X")]),
        lambda: tagger.probability(labels()),
    ):
        tagger.open(tiny.path)
        tagger.set([["a"]])
        with pytest.raises(ValueError, match=r"not opened|was changed"):
            call()


def test_taggers_are_not_pickled_and_take_no_arguments(tiny: Trained) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(ours.Tagger().open(tiny.path))
    with pytest.raises(TypeError, match="takes no arguments"):
        ours.Tagger(tiny.path)  # type: ignore[call-arg]


def test_no_references_are_lost_or_kept(tiny: Trained) -> None:
    tagger = ours.Tagger().open(tiny.path)
    key, value, label = "key " + "of mine", object(), tagger.labels()[0]
    features = {key: 0.5, "nested": {key: [key]}}
    bad = [features, {key: value}]
    watched = [key, value, label, features, tagger.model]

    def use() -> None:
        tagger.tag([features] * 3)
        tagger.marginal(label, 1)
        tagger.probability([label] * 3)
        ours.ItemSequence([features]).items()
        tagger.marginals()
        for call in (tagger.tag, tagger.set, ours.ItemSequence):
            with pytest.raises(TypeError):
                call(bad)
        with pytest.raises(ValueError, match="differ"):
            tagger.probability([label])
        with pytest.raises(ValueError, match="label"):
            tagger.marginal(key, 0)
        ours.Tagger().open_model(tagger.model)

    use()
    before = [sys.getrefcount(one) for one in watched]
    for _ in range(50):
        use()
    assert [sys.getrefcount(one) for one in watched] == before


def test_programs_may_subclass(trained: Trained) -> None:
    class Mine(ours.Tagger):
        def __init__(self, path: str) -> None:
            self.calls = 0
            self.open(path)

        def tag(self, xseq: Any = None) -> list[str]:
            self.calls += 1
            return super().tag(xseq)

    class Words(ours.ItemSequence):
        def __init__(self, words: str) -> None:
            super().__init__([[f"word:{word}"] for word in words.split()])

    tagger = Mine(trained.path)
    assert set(tagger.tag(Words("oak street"))) <= set(LABELS)
    assert tagger.calls == 1


def test_the_version_is_theirs_and_a_name_that_nobody_has_is_an_error() -> None:
    assert ours.CRFSUITE_VERSION == theirs.CRFSUITE_VERSION
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = ours.Nothing
