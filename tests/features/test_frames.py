"""Tables, data sets and documents of other packages give what the same sequences give as lists."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from dualfield import ChainCRF
from dualfield.features import Encoded, encode, encode_dataset, encode_docs, encode_frame, preset_template

TABLE = {
    "sentence": ["s1", "s1", "s2", "s2", "s2"],
    "word": ["the", "cat", "a", "dog", "ran"],
    "length": [3, 3, 1, 3, 3],
    "tag": ["D", "N", "D", "N", "V"],
}
X = [
    [{"word": "the", "length": 3}, {"word": "cat", "length": 3}],
    [{"word": "a", "length": 1}, {"word": "dog", "length": 3}, {"word": "ran", "length": 3}],
]
Y = [["D", "N"], ["D", "N", "V"]]
WORDS = [[("the",), ("cat",)], [("a",), ("dog",), ("ran",)]]


def assert_same(found: Encoded, expected: Encoded) -> None:
    assert found.vocabulary == expected.vocabulary
    for name in ("offsets", "indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def frames() -> list[Any]:
    return ["dict", "pandas", "polars", "pyarrow"]


def frame_of(kind: str, table: dict[str, list[Any]]) -> Any:
    if kind == "dict":
        return table
    package = pytest.importorskip(kind, reason=f"{kind} is not installed")
    return package.table(table) if kind == "pyarrow" else package.DataFrame(table)


@pytest.mark.parametrize("kind", frames())
def test_a_table_gives_what_dicts_give(kind: str) -> None:
    found = encode_frame(frame_of(kind, TABLE), group="sentence", label="tag")
    assert_same(found.X, encode(X))
    assert found.y == Y
    assert encode_frame(frame_of(kind, TABLE), group="sentence", columns=["word"]).y is None


@pytest.mark.parametrize("kind", frames())
def test_a_preset_makes_attributes_of_a_table(kind: str) -> None:
    found = encode_frame(frame_of(kind, TABLE), "sentence", columns=["word"], label="tag", features="ner")
    assert_same(found.X, preset_template("ner", 1).encode(WORDS))
    crf = ChainCRF(random_state=0).fit(*found)
    assert crf.predict(found.X) == Y


@pytest.mark.parametrize("kind", frames())
def test_missing_values_are_the_sentence_above_no_attribute_and_an_unknown_label(kind: str) -> None:
    table = TABLE | {
        "sentence": ["s1", None, "s2", None, None],
        "length": [3.0, 3.0, 1.0, None, 3.0],
        "tag": ["D", "N", None, "N", "V"],
    }
    found = encode_frame(frame_of(kind, table), group="sentence", label="tag")
    assert_same(found.X, encode([X[0], [X[1][0], {"word": "dog"}, X[1][2]]]))
    assert found.y == [["D", "N"], [None, "N", "V"]]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"group": "sent"}, "the table has no column 'sent'; its columns are 'sentence', 'word'"),
        ({}, {"columns": []}, "no column is left"),
        ({"sentence": ["a", "b", "a", "a", "a"]}, {}, "row 2 goes on with the sentence 'a' of row 0 after another"),
        ({"sentence": [None, "b", "a", "a", "a"]}, {}, "row 0 has no value of 'sentence'"),
        ({name: [] for name in TABLE}, {}, "the table has no rows"),
    ],
)
def test_a_table_is_refused_in_one_sentence(change: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_frame(TABLE | change, **{"group": "sentence", "label": "tag", **options})


def test_a_lazy_frame_is_refused() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    with pytest.raises(TypeError, match=r"frame\.collect"):
        encode_frame(polars.DataFrame(TABLE).lazy(), group="sentence")


class ClassLabel:
    """As in Hugging Face's datasets."""

    names = ("D", "N", "V")


class ListOf:
    def __init__(self, feature: Any) -> None:
        self.feature = feature


class Dataset:
    """The protocol of a streamed data set: records in order, and what its columns mean."""

    features: ClassVar[Any] = {"tokens": ListOf(None), "tags": ListOf(ClassLabel())}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        yield {"tokens": ["the", "cat"], "tags": [0, 1]}
        yield {"tokens": ["a", "dog", "ran"], "tags": [0, 1, 2]}


def test_labels_of_a_data_set_have_their_names() -> None:
    found = encode_dataset(Dataset(), "ner", label="tags")
    assert_same(found.X, preset_template("ner", 1).encode(WORDS))
    assert found.y == Y
    assert ChainCRF(random_state=0).fit(*found).classes_.tolist() == ["D", "N", "V"]
    both = encode_dataset(Dataset(), "ner", tokens=["tokens", "tags"])
    tagged = [[(w, t) for (w,), t in zip(*pair, strict=True)] for pair in zip(WORDS, Y, strict=True)]
    assert_same(both.X, preset_template("ner", 2).encode(tagged))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"tokens": ["a"]}, "record 0 has no column 'tags'"),
        ({"tokens": ["a"], "tags": [0, 1]}, r"record 0 has lists of different lengths, \[1, 2\]"),
        ({"tokens": ["a"], "tags": [7]}, "record 0, 'tags' has the label 7; expected 0 to 2"),
    ],
)
def test_a_bad_record_is_named(record: dict[str, Any], message: str) -> None:
    class Bad(Dataset):
        def __iter__(self) -> Iterator[dict[str, Any]]:
            yield record

    with pytest.raises(ValueError, match=message):
        encode_dataset(Bad(), "ner", label="tags")


def test_ignored_labels_of_a_data_set_are_unknown() -> None:
    records = [{"tokens": ["a", "b"], "tags": [1, -100]}]
    assert encode_dataset(records, "ner", label="tags").y == [[1, None]]


class Token:
    """As of spaCy."""

    def __init__(self, text: str, pos: str, ent_iob: str = "O", ent_type: str = "") -> None:
        self.text, self.pos_, self.ent_iob_, self.ent_type_ = text, pos, ent_iob, ent_type


class Doc(list[Token]):
    sents: Any = None

    def has_annotation(self, name: str) -> bool:
        assert name == "SENT_START"
        return self.sents is not None


def test_documents_are_sequences_and_so_are_their_sentences() -> None:
    tokens = [Token("Ada", "N", "B", "PER"), Token("Lovelace", "N", "I", "PER"), Token("ran", "V"), Token("x", "X", "")]
    doc = Doc(tokens)
    found = encode_docs(iter([doc]), "ner", attributes=("text", "pos_"), label="ent")
    assert_same(found.X, preset_template("ner", 2).encode([[(token.text, token.pos_) for token in tokens]]))
    assert found.y == [["B-PER", "I-PER", "O", None]]
    doc.sents = [tokens[:2], tokens[2:]]
    found = encode_docs([doc], "pos", label="pos_")
    assert found.X.lengths.tolist() == [2, 2]
    assert found.y == [["N", "N"], ["V", "X"]]


def test_importing_the_package_imports_no_package_of_tables() -> None:
    code = "import sys; from dualfield.features import encode_frame; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "polars", "pyarrow"} & set(done.stdout.split())


# ---- generators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dicts", "strings", "arrays"])
def test_a_generator_gives_what_a_list_gives(form: str) -> None:
    random = np.random.default_rng(0)
    sequences: list[Any] = []
    for _ in range(200):
        words = random.integers(0, 50, random.integers(1, 9)).tolist()
        if form == "arrays":
            sequences.append(np.array([[float(word), 1.0] for word in words]))
        else:
            sequences.append([{"w": str(word), "n": word} if form == "dicts" else [f"w={word}"] for word in words])
    expected = encode(sequences)
    assert_same(encode(iter(sequences)), expected)
    assert_same(encode(iter(sequences), expected.vocabulary), expected)


def test_a_generator_is_consumed_as_it_goes() -> None:
    alive = most = 0

    class Position(dict[str, str]):
        def __init__(self) -> None:
            nonlocal alive, most
            super().__init__(w="a")
            alive += 1
            most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    encode([Position()] for _ in range(1000))
    assert most < 200


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ([], "sequence 150 is empty"),
        ([["a"]], "position 0 of sequence 150 is a list but position 0 of sequence 0 is a dict"),
        ([{"a": 1}, {"a": float("nan")}], "attribute 'a' at position 1 of sequence 150 has the value nan"),
        ([{"a": 1}, {"a": object()}], "position 1 of sequence 150: the value at key 'a'"),
        ([{"a": 1}, {3: 1}], "position 1 of sequence 150 has the key 3"),
        (np.eye(2), "sequence 150 is an array but position 0 of sequence 0 is a dict"),
    ],
)
def test_what_is_wrong_in_a_generator_has_its_place(last: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        encode([*([{"a": 1}] if n < 150 else last)] if n < 150 else last for n in range(151))


def test_one_sequence_is_to_be_wrapped() -> None:
    with pytest.raises(TypeError, match=r"a single sequence; wrap it as \[X\], and its labels as \[y\]"):
        ChainCRF().fit(X[0], Y[0])
    with pytest.raises(TypeError, match=r"if X is a single sequence, wrap X as \[X\]"):
        ChainCRF().fit([["w=a"], ["w=b"]], ["A", "B"])


def test_the_pair_of_a_data_set_is_no_x() -> None:
    records = [{"tokens": ["the", "cat"], "tags": ["D", "N"]}, {"tokens": ["a", "dog"], "tags": ["D", "N"]}]
    pair = encode_dataset(records, "pos", label="tags")
    crf = ChainCRF(random_state=0).fit(*pair)
    for use in (crf.predict, crf.predict_marginals, lambda X: crf.fit(X, pair.y), encode):
        with pytest.raises(TypeError, match=r"X is a pair .* take it apart, as in X, y = encode_dataset\(\.\.\.\)"):
            use(pair)
    assert crf.predict(pair.X) == pair.y
