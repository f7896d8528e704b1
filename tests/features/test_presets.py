"""Presets look where they say, never outside the sentence; on the real data they give the yardstick."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.features import PRESETS, encode, extract, extract_all
from dualfield.io import read_columns

cells = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=6)
sentences = st.lists(st.tuples(cells, cells), max_size=7)


@given(sentences, st.sampled_from(sorted(PRESETS)))
def test_every_token_gets_its_list(rows: list[tuple[str, str]], name: str) -> None:
    attributes = extract(name, rows)
    assert len(attributes) == len(rows)
    assert all(attribute for token in attributes for attribute in token)
    assert extract_all(name, [rows, rows]) == [attributes, attributes]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("XYZ")), min_size=1, max_size=7))
def test_window_attributes_show_what_stands_at_their_offsets(rows: list[tuple[str, str]]) -> None:
    for t, token in enumerate(extract("chunking", rows)):
        seen = set()
        for attribute in token:
            if attribute.startswith("__"):
                continue
            where, _, what = attribute.partition("=")
            cells_named = re.findall(r"([wp])\[(-?\d)\]", where)
            column = {"w": 0, "p": 1}
            assert what.split("|") == [rows[t + int(d)][column[kind]] for kind, d in cells_named]
            assert all(0 <= t + int(d) < len(rows) for _, d in cells_named)
            seen.add(where)
        near = [d for d in range(-2, 3) if 0 <= t + d < len(rows)]
        assert {f"w[{d}]" for d in near} | {f"p[{d}]" for d in near} <= seen
        assert ("__BOS__" in token) == (t == 0)
        assert ("__EOS__" in token) == (t == len(rows) - 1)


def test_chunking_in_the_middle_of_a_sentence_has_nineteen_attributes() -> None:
    rows = [(f"w{i}", f"p{i}") for i in range(5)]
    assert extract("chunking", rows)[2] == [
        *(f"w[{d}]=w{2 + d}" for d in range(-2, 3)),
        "w[-1]|w[0]=w1|w2",
        "w[0]|w[1]=w2|w3",
        *(f"p[{d}]=p{2 + d}" for d in range(-2, 3)),
        *(f"p[{d}]|p[{d + 1}]=p{2 + d}|p{3 + d}" for d in range(-2, 2)),
        *(f"p[{d}]|p[{d + 1}]|p[{d + 2}]=p{2 + d}|p{3 + d}|p{4 + d}" for d in range(-2, 1)),
    ]


def test_ner_looks_at_spelling_and_at_tags_if_there_are_any() -> None:
    with_tags = extract("ner", [("McDonald's", "NN"), ("2nd", "JJ")])[0]
    assert {"w[0]=mcdonald's", "w[1]=2nd", "w[0]|w[1]=mcdonald's|2nd"} <= set(with_tags)
    assert {"prefix1=M", "prefix4=McDo", "suffix1=s", "suffix4=ld's"} <= set(with_tags)
    assert {"shape[0]=XxXxxxxx'x", "shape[1]=dxx", "p[0]=NN", "p[1]=JJ"} <= set(with_tags)
    without = extract("ner", [("McDonald's",), ("2nd",)])[0]
    assert without == [attribute for attribute in with_tags if not attribute.startswith("p[")]
    assert extract("pos", [("McDonald's", "NN"), ("2nd", "JJ")])[0] == without


def test_shapes_are_cut_after_twelve_characters() -> None:
    for word, shape in (("internationalisation", "x" * 12), ("Internationalisation", "X" + "x" * 11)):
        assert f"shape[0]={shape}" in extract("pos", [(word,)])[0]


def test_equal_attributes_are_one_object() -> None:
    first, second = extract_all("pos", [[("walk",)], [("walk",)]])
    assert all(a is b for a, b in zip(first[0], second[0], strict=True))


def test_unknown_presets_and_missing_columns_are_named() -> None:
    with pytest.raises(ValueError, match="there is no preset 'chunks'; expected one of chunking, ner, pos"):
        extract("chunks", [("a", "b")])
    with pytest.raises(ValueError, match=r"row 1 of sentence 1 has 1 columns besides the label; .* needs 2"):
        extract_all("chunking", [[("a", "b")], [("a", "b"), ("c",)]])
    with pytest.raises(ValueError, match="row 0 of sentence 0 has no columns"):
        extract("pos", [()])


def test_preset_chunking_is_the_yardstick(data_folder: Path) -> None:
    sentences = read_columns(data_folder / "conll2000" / "train.txt.gz")
    encoded = encode(extract_all("chunking", [[row[:2] for row in rows] for rows in sentences]))
    assert (len(encoded), encoded.n_positions, len(encoded.vocabulary)) == (8936, 211727, 335674)
    assert encoded.values is None
    assert 17.5 < len(encoded.indices) / encoded.n_positions < 18.5


def test_preset_ner_gives_the_measured_attributes(data_folder: Path) -> None:
    sentences = read_columns(data_folder / "conll2002" / "ned.train.gz")
    encoded = encode(extract_all("ner", [[row[:2] for row in rows] for rows in sentences]))
    assert (len(encoded), encoded.n_positions, len(encoded.vocabulary)) == (15806, 202931, 371864)
