"""A SequenceTagger says of single sequences what the model says of many, from either kind of file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from dualfield import ChainCRF, Constraints, SoftmaxRegression
from dualfield.compat.pycrfsuite import Tagger
from dualfield.datasets import travel_sentences
from dualfield.models import read_crfsuite_model
from dualfield.tagging import SequenceTagger
from tests.model_files import described, header_of, sealed, with_arrays

SENTENCES = travel_sentences(40, seed=0)
X = [[{"w": word.lower(), "end": word[-2:], "length": len(word) / 4} for word, _ in s] for s in SENTENCES]
Y = [[label for _, label in s] for s in SENTENCES]
KINDS = sorted({label for y in Y for label in y})

MODELS: dict[str, dict[str, Any]] = {
    "all pairs": {},
    "observed pairs": {"state_features": "observed", "transitions": "observed"},
    "without bias, begin and end": {"bias": False, "begin": False, "end": False},
    "l1": {"l1": 0.5},
    "bio": {"constraints": "bio"},
}


def trained(folder: Path, dtype: Any = np.float64, **options: Any) -> tuple[ChainCRF, Path]:
    crf = ChainCRF(l2=0.5, random_state=0, **options).fit(X, Y)
    crf.save(folder / "model", dtype=dtype)
    return crf, folder / "model"


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_answers_are_those_of_the_model(options: dict[str, Any], mapped: bool, tmp_path: Path) -> None:
    crf, path = trained(tmp_path, **options)
    tagger = SequenceTagger(path, mapped=mapped)
    assert tagger.labels == crf.classes_.tolist()
    short = [x[:4] for x in X[:12]]
    marginals, best = crf.predict_marginals(short), crf.predict_kbest(short, k=3)
    for x, expected, probabilities, candidates in zip(short, crf.predict(short), marginals, best, strict=True):
        assert tagger.tag(x) == list(expected)
        np.testing.assert_allclose(tagger.marginals(x), probabilities, atol=1e-11)
        found = tagger.k_best(x, 3)
        assert [labels for labels, _ in found] == [list(labels) for labels, _ in candidates]
        np.testing.assert_allclose([p for _, p in found], [p for _, p in candidates], atol=1e-11)
        assert tagger.probability(x, found[0][0]) == pytest.approx(found[0][1], rel=1e-11)


def test_weights_of_float32_and_unaligned_arrays_are_read(tmp_path: Path) -> None:
    _, path = trained(tmp_path, dtype=np.float32)
    crf, tagger = ChainCRF.load(path), SequenceTagger(path)
    np.testing.assert_allclose(tagger.marginals(X[0]), crf.predict_marginals(X[:1])[0], atol=1e-11)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    text = json.dumps(header_of(content)).encode()
    text += b" " * (4 - (8 + len(text)) % 8 + (8 if (8 + len(text)) % 8 > 4 else 0))
    path.write_bytes(sealed(len(text).to_bytes(8, "little") + text + content[8 + size :]))
    assert SequenceTagger(path).marginals(X[0]) == tagger.marginals(X[0])


@pytest.mark.parametrize("file", ["crfsuite", "dualfield"])
def test_many_and_long_attributes_all_count(file: str, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    names = [f"a{i}" for i in range(400)] + ["b" * 4094, "c" * 4095, "d" * 4096, "e" * 9000, "bc" * 1500, "cb" * 1500]
    x = [[[names[i] for i in random.choice(len(names), size=150)] for _ in range(6)] for _ in range(30)]
    y = [list(random.choice(["A", "B", "C"], size=6)) for _ in x]
    crf = ChainCRF(l2=0.5, random_state=0, bias=False, begin=False, end=False).fit(x, y)
    if file == "crfsuite":
        crf.export(tmp_path / "model")
    else:
        crf.save(tmp_path / "model")
    tagger = SequenceTagger(tmp_path / "model")
    # Longer than a batch, unknown names between known ones, the same name twice, and one name that stands alone.
    mixed = [[name for pair in zip(names, (f"unknown{n}" for n in names), strict=True) for name in pair] * 2]
    for sequence in [*x[:5], mixed, [["e" * 9000]], [["d" * 4096, "a1"], ["unknown"]]]:
        np.testing.assert_allclose(tagger.marginals(sequence), crf.predict_marginals([sequence])[0], atol=1e-11)


def test_labels_that_are_numbers_stay_numbers(tmp_path: Path) -> None:
    y = [[KINDS.index(label) for label in labels] for labels in Y]
    crf = ChainCRF(random_state=0).fit(X, y)
    crf.save(tmp_path / "model")
    tagger = SequenceTagger(tmp_path / "model")
    assert tagger.tag(X[3]) == list(crf.predict(X[3:4])[0])
    assert tagger.probability(X[3], y[3]) > 0


def test_own_constraints_hold(tmp_path: Path) -> None:
    allowed = np.ones((len(KINDS), len(KINDS)), dtype=bool)
    allowed[:, 1] = False
    allowed[1, 1] = True
    begin = np.ones(len(KINDS), dtype=bool)
    begin[1] = False
    y = [[KINDS[0] if label == KINDS[1] else label for label in labels] for labels in Y]
    y[0][-1] = KINDS[0]
    rules = Constraints(KINDS, transitions=allowed, begin=begin)
    crf = ChainCRF(constraints=rules, random_state=0).fit(X, y)
    crf.save(tmp_path / "model")
    tagger = SequenceTagger(tmp_path / "model")
    assert [tagger.tag(x) for x in X[:10]] == [list(labels) for labels in crf.predict(X[:10])]
    for x, expected in zip(X[:10], crf.predict_marginals(X[:10]), strict=True):
        np.testing.assert_allclose(tagger.marginals(x), expected, atol=1e-11)


def test_the_compatible_tagger_opens_dualfields_models_too(tmp_path: Path) -> None:
    crf, path = trained(tmp_path)
    with Tagger().open(path) as tagger:
        assert tagger.labels() == crf.classes_.tolist()
        assert tagger.tag(X[0]) == list(crf.predict(X[:1])[0])
        for call in (tagger.info, tagger.dump):
            with pytest.raises(ValueError, match=r"not one of CRFsuite's; dualfield\.inspection"):
                call()


def test_a_sequence_without_an_allowed_labelling_is_refused(tmp_path: Path) -> None:
    kinds = ["a", "b"]
    rules = Constraints(kinds, transitions=np.ones((2, 2), bool), begin=[True, False], end=[False, True])
    crf = ChainCRF(constraints=rules, random_state=0).fit([[["x"], ["y"]], [["x"], ["x"]]], [["a", "b"], ["a", "b"]])
    crf.save(tmp_path / "model")
    tagger = SequenceTagger(tmp_path / "model")
    assert tagger.tag([["x"], ["y"]]) == ["a", "b"]
    assert tagger.marginals([["x"], ["y"]]) == [[1, 0], [0, 1]]
    for call in (tagger.tag, tagger.marginals, tagger.log_partition, lambda x: tagger.k_best(x, 2)):
        with pytest.raises(ValueError, match="no labelling of this sequence is possible"):
            call([["x"]])


def test_a_model_of_crfsuite_is_opened_too(tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.set_params({"max_iterations": 10})
    trainer.train(str(tmp_path / "m"))
    crf, tagger = read_crfsuite_model(tmp_path / "m"), SequenceTagger(tmp_path / "m", mapped=True)
    order = [tagger.labels.index(label) for label in crf.classes_]
    for x, labels, expected in zip(X, crf.predict(X), crf.predict_marginals(X), strict=True):
        assert tagger.tag(x) == list(labels)
        np.testing.assert_allclose(np.array(tagger.marginals(x))[:, order], expected, atol=1e-11)


def test_all_labellings_are_found_where_there_are_fewer_than_asked_for(tmp_path: Path) -> None:
    _, path = trained(tmp_path)
    tagger = SequenceTagger(path)
    found = tagger.k_best(X[0][:2], 10**9)
    assert len(found) == len(KINDS) ** 2
    assert sum(p for _, p in found) == pytest.approx(1, abs=1e-12)
    assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
    assert tagger.k_best([], 3) == []
    with pytest.raises(ValueError, match="k must be at least 1; got 0"):
        tagger.k_best(X[0], 0)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("options", [{}, {"state_features": "observed"}], ids=["all pairs", "observed pairs"])
def test_a_file_without_an_index_is_the_same_model(options: dict[str, Any], mapped: bool, tmp_path: Path) -> None:
    _, path = trained(tmp_path, **options)
    tagger = SequenceTagger(path)
    (tmp_path / "older").write_bytes(with_arrays(path.read_bytes(), vocabulary_index=None))
    older = SequenceTagger(tmp_path / "older", mapped=mapped)
    for x in X:
        assert older.marginals(x) == tagger.marginals(x)


def test_a_mapped_file_may_be_replaced_but_is_not_compared_with_its_checksum(tmp_path: Path) -> None:
    _, path = trained(tmp_path)
    mapped, expected = SequenceTagger(path, mapped=True), SequenceTagger(path).marginals(X[0])
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "other").write_bytes(damaged)
    (tmp_path / "other").replace(path)
    assert mapped.marginals(X[0]) == expected
    with pytest.raises(ValueError, match="its checksum is"):
        SequenceTagger(path)
    SequenceTagger(path, mapped=True)


def test_an_older_file_is_read_where_mapping_is_asked_for(tmp_path: Path) -> None:
    _, path = trained(tmp_path)
    path.write_bytes(with_arrays(path.read_bytes(), vocabulary_index=None))
    tagger = SequenceTagger(path, mapped=True)
    expected = tagger.marginals(X[0])
    path.write_bytes(bytes(path.stat().st_size))
    assert tagger.marginals(X[0]) == expected


@pytest.mark.parametrize(
    ("name", "at", "number", "said"),
    [
        ("vocabulary_index", "all numbers", 2**31 - 1, "vocabulary_index speaks of a name that is not there"),
        ("vocabulary_offsets", "inside", -1, "vocabulary_offsets are damaged"),
        ("vocabulary_offsets", "inside", 2**62, "vocabulary_offsets are damaged"),
        ("row_starts", "inside", -(2**63), "table of observed pairs is damaged"),
        ("row_starts", "inside", 2**62, "table of observed pairs is damaged"),
        ("row_labels", "all", 99, "table of observed pairs is damaged"),
        ("row_labels", "all", -1, "table of observed pairs is damaged"),
        ("weights", "half", np.inf, "some weights are not finite"),
    ],
)
@pytest.mark.parametrize("mapped", [False, True])
def test_what_only_a_look_up_finds_is_said_then(
    name: str, at: str, number: Any, said: str, mapped: bool, tmp_path: Path
) -> None:
    _, path = trained(tmp_path, state_features="observed")
    array = load(path.read_bytes())[name].copy()
    places = {
        "all": slice(None),
        "all numbers": slice(1, None, 2),
        "inside": slice(1, -1),
        "half": slice(None, len(array) // 2),
    }
    array[places[at]] = number
    path.write_bytes(with_arrays(path.read_bytes(), **{name: array}))
    tagger = SequenceTagger(path, mapped=mapped)
    with pytest.raises(ValueError, match=rf"^the model is damaged: .*{said}\.$"):
        tagger.tag([position for x in X for position in x])


def test_an_index_that_loses_names_gives_the_labels_of_unknown_names(tmp_path: Path) -> None:
    _, path = trained(tmp_path)
    index = load(path.read_bytes())["vocabulary_index"].copy()
    index[1::2] = -1
    unknown = [{"nothing": "known"} for _ in X[0]]
    expected = SequenceTagger(path).marginals(unknown)
    path.write_bytes(with_arrays(path.read_bytes(), vocabulary_index=index))
    assert SequenceTagger(path).marginals(X[0]) == expected


@pytest.mark.parametrize("length", [0, 1, 7, -2])
def test_an_index_that_is_too_short_is_refused(length: int, tmp_path: Path) -> None:
    _, path = trained(tmp_path)
    index = load(path.read_bytes())["vocabulary_index"]
    short = index[:length] if length >= 0 else index[: 2 * (len(load(path.read_bytes())["vocabulary_offsets"]) - 1)]
    path.write_bytes(with_arrays(path.read_bytes(), vocabulary_index=short))
    with pytest.raises(ValueError, match=r"its vocabulary_index has .* numbers, too few for"):
        SequenceTagger(path)


@pytest.mark.parametrize("array", [np.zeros(9), np.zeros(9, np.int64)])
def test_an_index_of_another_type_is_refused(array: Any, tmp_path: Path) -> None:
    _, path = trained(tmp_path)
    path.write_bytes(with_arrays(path.read_bytes(), vocabulary_index=array))
    for load_model in (SequenceTagger, ChainCRF.load):
        with pytest.raises(ValueError, match="its vocabulary_index are of "):
            load_model(path)


def test_what_it_cannot_read_is_said(tmp_path: Path) -> None:
    crf, path = trained(tmp_path)
    content = path.read_bytes()
    n = len(crf.vocabulary_)
    offsets = np.zeros(n + 1, dtype=np.int64)
    for changed, said in (
        (content[:-1], "damaged"),
        (b"hello", "Invalid model file"),
        (b"", "it has 0 bytes"),
        (described(content, lambda d: d.update(estimator="GraphCRF")), "another kind, 'GraphCRF'"),
        (described(content, lambda d: d.update(columns=5)), "have no names"),
        (described(content, lambda d: d.update(bigram_columns=None)), "bigrams"),
        (described(content, lambda d: d.update(classes=[])), "labels are damaged"),
        (described(content, lambda d: d.update(classes=d["classes"][1:])), "transitions are damaged|weights but has"),
        (with_arrays(content, weights=crf.weights_[1:]), "weights but has"),
        (with_arrays(content, weights=np.full_like(crf.weights_, np.nan)), "not finite"),
        (with_arrays(content, transitions=np.full(len(KINDS) ** 2, 10**6, np.int32)), "transitions are damaged"),
        (with_arrays(content, vocabulary_offsets=offsets), "vocabulary_offsets are damaged"),
        (
            with_arrays(
                content, vocabulary_offsets=offsets, vocabulary_text=np.zeros(0, np.uint8), vocabulary_index=None
            ),
            "occurs twice",
        ),
        (with_arrays(content, vocabulary_offsets=None), "it lacks 'vocabulary_offsets'"),
        (with_arrays(content, allowed_transitions=np.ones(3, np.uint8)), "it lacks 'allowed_begin'"),
        (
            with_arrays(content, row_starts=offsets + 7, row_labels=np.zeros(5, np.int32)),
            "table of observed pairs is damaged",
        ),
    ):
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=said):
            SequenceTagger(path)
    SoftmaxRegression().fit(np.eye(3), [0, 1, 2]).save(path)
    with pytest.raises(ValueError, match="another kind, 'SoftmaxRegression'"):
        SequenceTagger(path)


def test_it_starts_without_numpy(tmp_path: Path) -> None:
    _, path = trained(tmp_path)
    code = (
        "import sys; from dualfield.tagging import SequenceTagger; SequenceTagger(sys.argv[1]).tag([{'w': 'a'}]); "
        "print(*{'numpy', 'scipy', 'sklearn', 'dualfield._core'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
