"""Presets look where they say, never outside the sentence; on the real data they give the yardstick."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peers.columns import attributes
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


# What both presets for spelling make of "IL-12" in "The IL-12 gene", the word before and the word after included.
SPELLING = """
    w[-1]=the w[0]=il-12 w[1]=gene w[-1]|w[0]=the|il-12 w[0]|w[1]=il-12|gene
    prefix1=I suffix1=2 prefix2=IL suffix2=12 prefix3=IL- suffix3=-12 prefix4=IL-1 suffix4=L-12
    prefix5=IL-12 suffix5=IL-12 prefix6=IL-12 suffix6=IL-12
    tail= head=il- brief[-1]=Xx brief[0]=X-d brief[1]=x __BIAS__
""".split()


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=7))
def test_the_benchmark_of_column_files_makes_the_strings_of_chunking(rows: list[tuple[str, str]]) -> None:
    made = attributes([[*row, "O"] for row in rows])
    assert [sorted(token) for token in made] == [sorted(token) for token in extract("chunking", rows)]


def test_ner_looks_at_spelling_and_at_tags_if_there_are_any() -> None:
    rows = [("The", "DT"), ("IL-12", "NN"), ("gene", "NN")]
    beside = """
        prefix2[-1]=Th suffix2[-1]=he prefix3[-1]=The suffix3[-1]=The prefix4[-1]=The suffix4[-1]=The
        prefix2[1]=ge suffix2[1]=ne prefix3[1]=gen suffix3[1]=ene prefix4[1]=gene suffix4[1]=gene
        brief[-1]|brief[0]=Xx|X-d brief[0]|brief[1]=X-d|x brief[-1]|brief[0]|brief[1]=Xx|X-d|x
        w[-1]|brief[0]=the|X-d brief[0]|w[1]=X-d|gene
    """.split()
    assert extract("ner", rows)[1] == [*SPELLING, *beside, "p[-1]=DT", "p[0]=NN", "p[1]=NN"]
    assert extract("ner", [row[:1] for row in rows])[1] == [*SPELLING, *beside]


def test_pos_looks_at_spelling_and_never_at_tags() -> None:
    rows = [("The", "DT"), ("IL-12", "NN"), ("gene", "NN")]
    beside = """
        prefix3[-1]=The suffix3[-1]=The prefix3[1]=gen suffix3[1]=ene W[-1]=The W[0]=IL-12 W[1]=gene
    """.split()
    assert extract("pos", rows)[1] == [*SPELLING, *beside]
    assert extract("pos", [row[:1] for row in rows])[1] == [*SPELLING, *beside]


@pytest.mark.parametrize("name", ["ner", "pos"])
def test_the_shape_of_the_first_word_is_told_apart(name: str) -> None:
    attributes = extract(name, [("McDonald's",), ("Wins",)])
    assert [[s for s in token if s.startswith("first")] for token in attributes] == [["first=XxXx'x"], []]


@pytest.mark.parametrize(
    ("word", "head", "tail"),
    [("NF-kappaB-dependent", "nf-", "dependent"), ("U.S.", "u.", ""), ("Zürich", "", "zürich"), ("42", "4", "")],
)
def test_heads_and_tails_of_compounds(word: str, head: str, tail: str) -> None:
    assert {f"head={head}", f"tail={tail}"} <= set(extract("pos", [(word,)])[0])


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
    assert (len(encoded), encoded.n_positions, len(encoded.vocabulary)) == (15806, 202931, 605248)


def test_words_in_the_place_of_rows_are_refused_with_their_place() -> None:
    with pytest.raises(TypeError, match=r"token 1 of sentence 0 is the string 'toaster'; expected its columns"):
        extract_all("ner", [[("the",), "toaster"]])  # type: ignore[list-item]
