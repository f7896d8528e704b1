"""Templates make the strings that CRF++ and Wapiti make, and encode them as the general encoder does."""

from __future__ import annotations

import itertools
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualfield.features import (
    Cell,
    NumberedColumns,
    Rule,
    Template,
    Tokens,
    Vocabulary,
    encode,
    extract_all,
    preset_template,
)
from dualfield.features.templates.rules import (
    brief_shape,
    gazetteer,
    lower,
    match,
    prefix,
    shape,
    suffix,
    test,
    window,
)
from dualfield.io import read_columns, read_tokens
from tests.features.plain_templates import attributes
from tests.sequences import assert_same_encoded

CRFPP_SENTENCE = [("He", "PRP"), ("reckons", "VBZ"), ("the", "DT"), ("current", "JJ"), ("account", "NN")]

transforms = st.sampled_from(
    [
        (),
        (),
        (lower(),),
        (shape(3),),
        (brief_shape(2),),
        (prefix(2),),
        (lower(), suffix(1)),
        (test("^\\u"),),
        (test("_"), prefix(1)),
        (match("\\a\\a?"), lower()),
        (gazetteer(["a", "a b", ["b", "a", "b"]]),),
        (lower(), gazetteer(["é a"])),
    ]
)
cells = st.builds(Cell, st.integers(0, 1), st.integers(-7, 7), transforms, st.booleans())
literals = st.text("ab|:", max_size=2)
rules = st.builds(
    Rule,
    st.lists(cells | literals, min_size=1, max_size=6),
    st.sampled_from(["unigram", "bigram", "both"]),
    st.sampled_from(["anywhere", "anywhere", "first", "last"]),
)
templates = st.builds(
    lambda some, outside: Template([Rule(("U", Cell(0))), *some], outside=outside),
    st.lists(rules, max_size=5),
    st.sampled_from(["nothing", "crfpp", "wapiti"]),
)
words = st.text("abAB1é漢", min_size=1, max_size=4) | st.sampled_from(["a", "b", "A", "_B-1", "_x+1", ""])
sentences = st.lists(st.tuples(words, words), min_size=1, max_size=6)


@settings(deadline=None)
@given(templates, sentences)
def test_the_core_makes_the_strings_of_plain_python(template: Template, sentence: list[tuple[str, str]]) -> None:
    assert template.strings(sentence) == attributes(template, sentence)
    assert template.bigram_strings(sentence) == attributes(template, sentence, bigrams=True)


@settings(deadline=None)
@given(templates, st.lists(sentences, min_size=1, max_size=4), st.integers(1, 3))
def test_encoding_is_that_of_the_strings(template: Template, corpus: list[list[tuple[str, str]]], least: int) -> None:
    expected = encode([attributes(template, sentence) for sentence in corpus])
    expected = expected.restrict(expected.counts() >= least)
    found = template.encode(corpus, min_count=least)
    assert found.vocabulary.names == expected.vocabulary.names
    assert_same_encoded(found, expected)


@pytest.mark.parametrize("length", [31, 32, 33, 100])
def test_long_sentences_are_encoded_like_short_ones(length: int) -> None:
    sentence = [(f"w{t % 7}", "ab"[t % 2]) for t in range(length)]
    rules = [Rule(("d", Cell(0, offset), "|", Cell(1, 2, absolute=True))) for offset in (-40, -3, 0, 2, 35)]
    for outside in ("nothing", "wapiti"):
        template = Template([*rules, Rule(("B",), where="first"), Rule(("E",), where="last")], outside=outside)
        expected = encode([attributes(template, sentence)])
        found = template.encode([sentence])
        assert found.vocabulary.names == expected.vocabulary.names
        assert_same_encoded(found, expected)
        assert_same_encoded(template.encode([sentence], expected.vocabulary), expected)


@pytest.mark.parametrize("n_rules", [1, 15, 16, 17, 32, 33, 64, 65, 100])
@pytest.mark.parametrize("repeated", [False, True])
def test_any_number_of_attributes_is_merged_and_in_order(n_rules: int, repeated: bool) -> None:
    rng = np.random.default_rng(n_rules)
    made = rng.integers(0, n_rules, n_rules) if repeated else rng.permutation(n_rules)
    order = Template([Rule((f"a{n}",)) for n in range(n_rules)])  # numbers every attribute, whatever is made
    vocabulary = order.encode([[("x", "y")]]).vocabulary
    found = Template([Rule((f"a{n}",)) for n in made]).encode([[("x", "y")]], vocabulary)
    numbers, counts = np.unique(made, return_counts=True)
    np.testing.assert_array_equal(found.indices, numbers)
    values = np.ones(len(numbers)) if found.values is None else found.values
    np.testing.assert_array_equal(values, counts)


@settings(deadline=None)
@given(templates, sentences, sentences)
def test_a_given_vocabulary_drops_what_it_does_not_know(
    template: Template, known: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    vocabulary = template.encode([known]).vocabulary
    for form in (vocabulary, Vocabulary(vocabulary.names), pickle.loads(pickle.dumps(vocabulary))):
        assert_same_encoded(template.encode([other], form), encode([attributes(template, other)], vocabulary))


@settings(deadline=None)
@given(templates, st.lists(sentences, min_size=1, max_size=3))
def test_bigrams_are_encoded_from_the_second_token_on(template: Template, corpus: list[list[tuple[str, str]]]) -> None:
    expected = encode([attributes(template, sentence, bigrams=True) for sentence in corpus])
    found = template.encode_bigrams(corpus)
    assert found.vocabulary.names == expected.vocabulary.names
    assert_same_encoded(found, expected)


@settings(deadline=None)
@given(templates)
def test_a_template_survives_as_plain_data(template: Template) -> None:
    assert Template.from_dict(json.loads(json.dumps(template.to_dict()))) == template
    assert pickle.loads(pickle.dumps(template)) == template


@settings(deadline=None)
@given(st.lists(sentences, min_size=1, max_size=3), st.integers(1, 30))
def test_hashed_attributes_have_the_numbers_of_their_hash(corpus: list[list[tuple[str, str]]], bits: int) -> None:
    template = Template([*window("w", 0, (-1, 0, 1)), *window("p", 1, (0,), order=2), Rule(("bias",))])
    found = template.encode(corpus, hash_bits=bits)
    assert found.vocabulary == NumberedColumns(2**bits)
    position = 0
    for sentence in corpus:
        for strings in attributes(template, sentence):
            entries = slice(found.indptr[position], found.indptr[position + 1])
            assert found.values is None  # would triple the memory of an entry
            values = np.ones(len(found.indices))
            expected: dict[int, float] = {}
            for string in strings:
                number = _hash(string) >> (64 - bits)
                expected[number] = 1.0  # hashes that meet count once
            assert dict(zip(found.indices[entries].tolist(), values[entries].tolist(), strict=True)) == expected
            position += 1
    assert_same_encoded(template.encode(corpus, NumberedColumns(2**bits), hash_bits=bits), found)


@settings(deadline=None)
@given(st.lists(sentences, min_size=1, max_size=4), st.sampled_from([1, 2, 3, 7, 30]), st.integers(1, 3))
def test_rare_hashes_are_dropped_where_their_counts_say_so(
    corpus: list[list[tuple[str, str]]], bits: int, least: int
) -> None:
    template = Template([*window("w", 0, (-1, 0, 1)), Rule(("bias",)), Rule(("bias",))])
    every = template.encode(corpus, hash_bits=bits)
    found = template.encode(corpus, hash_bits=bits, min_count=least)
    assert found.vocabulary == every.vocabulary
    assert_same_encoded(found, every.without_rare_columns(least))
    if bits < 30:
        assert_same_encoded(found, every.restrict(every.counts() >= least))


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells of a process")
def test_counting_hashes_takes_memory_for_the_data_not_for_all_hashes() -> None:
    child = """
from dualfield.features import Template
from dualfield.fields.chain import frequent
template = Template.crfpp("U00:%x[0,0]\\nB00:%x[0,0]\\nB")
encoded = template.encode([[("a",), ("a",), ("b",)]], hash_bits=30, min_count=2)
assert len(frequent(encoded, 2).indices) == 2
rows = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(rows["VmHWM"].split()[0])  # of this program alone; getrusage counts what it was forked from
"""
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000_000  # kilobytes; an entry for each hash takes 8 GB and more


def _hash(string: str) -> int:
    """FNV-1a of the UTF-8 bytes, then MurmurHash3's finaliser: the numbers that model files rely on."""
    value, mask = 14695981039346656037, 2**64 - 1
    for byte in string.encode():
        value = (value ^ byte) * 1099511628211 & mask
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & mask
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & mask
    return value ^ value >> 33


def test_long_rules_keep_their_combinations_apart() -> None:
    # thirty cells of two values: more bits than a key has
    rng = np.random.default_rng(0)
    corpus = [[(word,) for word in rng.choice(["a", "b"], size=40)] for _ in range(20)]
    template = Template([Rule(tuple(Cell(0, d) for d in range(-40, 41)))], outside="crfpp")
    assert_same_encoded(template.encode(corpus), encode([attributes(template, s) for s in corpus]))


# ---- worked out by hand from the two programs' documentation ------------------------------------------------


@pytest.mark.parametrize(
    ("macro", "expanded"),
    [
        ("%x[0,0]", "the"),
        ("%x[0,1]", "DT"),
        ("%x[-1,0]", "reckons"),
        ("%x[-2,1]", "PRP"),
        ("%x[0,0]/%x[0,1]", "the/DT"),
        ("ABC%x[0,1]123", "ABCDT123"),
        ("%x[-3,0]", "_B-1"),
        ("%x[-4,1]%x[2,0]", "_B-2account"),
        ("%x[3,1]|%x[4,0]", "_B+1|_B+2"),
    ],
)
def test_crfpp_expands_macros_at_the_third_token(macro: str, expanded: str) -> None:
    assert Template.crfpp(f"U{macro}").strings(CRFPP_SENTENCE)[2] == [f"U{expanded}"]
    assert Template.crfpp(f"U01:{macro}\nB").strings(CRFPP_SENTENCE)[2] == [f"U01:{expanded}"]


def test_crfpp_template_for_chunking() -> None:
    template = Template.crfpp("# Unigram\nU00:%x[-2,0]\nU05:%x[-1,0]/%x[0,0]\n\nU15:%x[-2,1]/%x[-1,1]\n# Bigram\nB\n")
    assert template.strings(CRFPP_SENTENCE)[:2] == [
        ["U00:_B-2", "U05:_B-1/He", "U15:_B-2/_B-1"],
        ["U00:_B-1", "U05:He/reckons", "U15:_B-1/PRP"],
    ]
    assert (template.transitions, template.bigrams, template.n_columns) == (True, (), 2)


def test_crfpp_attributes_without_identifiers_are_a_bag() -> None:
    template = Template.crfpp("U:%x[-1,0]\nU:%x[1,0]")
    encoded = template.encode([[("a",), ("b",), ("a",)]])
    assert encoded.vocabulary.names == ["U:_B-1", "U:b", "U:a", "U:_B+1"]
    assert encoded.indices.tolist() == [0, 1, 2, 1, 3]
    assert encoded.values is not None
    assert encoded.values.tolist() == [1, 1, 2, 1, 1]  # "a" stands on both sides of "b"
    assert not template.transitions


def test_rules_given_as_bigrams_make_attributes_of_pairs() -> None:
    template = Template(window("w", 0, (0,)), bigrams=window("t", 1, (-1, 0)))
    sentence = [("a", "X"), ("b", "Y")]
    assert template.strings(sentence) == [["w[0]=a"], ["w[0]=b"]]
    assert template.bigram_strings(sentence) == [[], ["t[-1]=X", "t[0]=Y"]]
    assert Template.from_dict(template.to_dict()) == template
    encoded = template.encode([sentence])
    assert encoded.bigrams is not None
    assert encoded.bigrams.vocabulary == template.encode_bigrams([sentence]).vocabulary
    assert Template(window("w", 0, (0,))).encode([sentence]).bigrams is None


@pytest.mark.parametrize(
    ("bigrams", "message"),
    [
        ([Rule(("x",))], "the bigram 'x' has no cell, so it is a weight of label pairs alone"),
        (["x"], "bigrams are Rules"),
    ],
)
def test_bigrams_that_are_none_are_refused(bigrams: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Template(window("w", 0, (0,)), bigrams=bigrams)


def test_crfpp_bigrams_are_kept_apart() -> None:
    template = Template.crfpp("U00:%x[0,0]\nB01:%x[-1,0]/%x[0,0]\nB02")
    assert [str(rule) for rule in template.bigrams] == ["B01:%x[-1,0]/%x[0,0]"]
    assert template.transitions
    assert template.bigram_strings([("a",), ("b",), ("c",)]) == [[], ["B01:a/b"], ["B01:b/c"]]
    assert template.encode_bigrams([[("a",), ("b",)]]).indptr.tolist() == [0, 0, 1]


WAPITI_SENTENCE = [("a1", "b1", "c1"), ("a2", "b2", "c2"), ("a3", "b3", "c3")]


@pytest.mark.parametrize(
    ("pattern", "made"),
    [
        ("u:%x[-1,0]/%x[+1,2]", "u:a1/c3"),
        ("U:%x[0,1]", "u:b2"),  # the letter is lower-cased, the rest is not
        ("*:%x[0,1]", "*:b2"),
        ("u:%x[-2,0]", "u:_x-1"),
        ("u:%x[-5,0]%x[-6,0]", "u:_x-4_x-#"),
        ("u:%x[2,0]%x[9,0]", "u:_x+1_x+#"),
        ("u:%x[@1,0]%x[@-1,0]", "u:a1a3"),
        ('u:%t[0,0,"\\d$"]', "u:true"),
        ('u:%t[0,0,"^\\d"]', "u:false"),
        ('u:%m[0,0,"^."]', "u:a"),
        ('u:%m[0,0,"\\u"]!', "u:!"),
        ('u:%m[-2,0,"x.*$"]', "u:x-1"),  # what stands outside is matched too
        ("u:%x[0,0] # a comment", "u:a2"),
    ],
)
def test_wapiti_expands_commands_at_the_second_token(pattern: str, made: str) -> None:
    assert Template.wapiti(pattern).strings(WAPITI_SENTENCE)[1] == [made]


@pytest.mark.parametrize(
    ("pattern", "made"),
    [
        ("u:%X[0,0]", "u:mcdonald's"),
        ('u:%M[0,0,"^.?.?.?"]', "u:mcd"),
        ('u:%m[0,0,".?.?$"]', "u:'s"),
        ('u:%t[0,0,"\\u\\l\\u"]', "u:true"),
        ('u:%t[0,0,"^\\u\\u*$"]', "u:false"),
        ('u:%T[0,0,"\\p"]', "u:true"),
        ('u:%m[0,0,"\\p.*$"]', "u:'s"),
        ('u:%m[0,0,"\\D*\\p"]', "u:McDonald'"),
    ],
)
def test_wapiti_looks_at_spelling(pattern: str, made: str) -> None:
    assert Template.wapiti(pattern).strings([("McDonald's",)])[0] == [made]


def test_wapiti_stars_make_both_kinds() -> None:
    template = Template.wapiti("u:%x[0,0]\n*:%x[-1,0]\nb\n")
    assert template.strings([("a",), ("b",)]) == [["u:a", "*:_x-1"], ["u:b", "*:a"]]
    assert template.bigram_strings([("a",), ("b",)]) == [[], ["*:a"]]
    assert template.transitions
    assert not Template.wapiti("u:%x[0,0]\nb:%x[0,0]").transitions


def test_brief_shapes_write_a_run_once_and_are_cut_afterwards() -> None:
    template = Template([Rule((Cell(0, transforms=(step,)),)) for step in (brief_shape(), brief_shape(3))])
    assert template.strings([("Amsterdam",), ("IL-12",), ("NF-kappaB",), ("!!?",), ("Ünïts",), ("漢漢字",)]) == [
        ["Xx", "Xx"],
        ["X-d", "X-d"],
        ["X-xX", "X-x"],
        ["!?", "!?"],
        ["Xx", "Xx"],
        ["漢字", "漢字"],
    ]


def test_affixes_never_cut_a_character() -> None:
    template = Template([Rule((Cell(0, transforms=(step,)),)) for step in (prefix(2), suffix(2), shape(2), lower())])
    assert template.strings([("Éàñ",), ("漢",), ("Ωμέ",), ("😀😀😀",)]) == [
        ["Éà", "àñ", "Xx", "éàñ"],
        ["漢", "漢", "漢", "漢"],
        ["Ωμ", "μέ", "Xx", "ωμέ"],
        ["😀😀", "😀😀", "😀😀", "😀😀😀"],
    ]


def test_gazetteers_mark_the_longest_names() -> None:
    template = preset_template("ner", 1, {"city": ["New York", "York", "new york city"]})
    rows = [(word,) for word in "in NEW York City and York".split()]
    marks = [[s for s in strings if s.startswith("city[0]")] for strings in template.strings(rows)]
    assert marks == [[], ["city[0]=B"], ["city[0]=I"], ["city[0]=I"], [], ["city[0]=B"]]


# ---- refusals -----------------------------------------------------------------------------------------------


def test_a_column_that_is_not_there_is_named() -> None:
    message = r"column 2 in 'U01:%x\[0,2\]', but the data has 2 columns besides the label"
    with pytest.raises(ValueError, match=message):
        Template.crfpp("U00:%x[0,0]\nU01:%x[0,2]").encode([[("a", "b")]])
    with pytest.raises(ValueError, match=message):
        Template.crfpp("U00:%x[0,0]\nU01:%x[0,2]").strings([("a", "b")])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_count": 0}, ValueError, "min_count must be a positive integer; got 0"),
        ({"hash_bits": 0}, ValueError, "hash_bits must be an integer from 1 to 30"),
        ({"hash_bits": 31}, ValueError, "hash_bits must be an integer from 1 to 30"),
        ({"vocabulary": NumberedColumns(3)}, TypeError, "give hash_bits"),
        (
            {"vocabulary": NumberedColumns(3), "hash_bits": 2},
            ValueError,
            r"makes 4 columns; the vocabulary is NumberedColumns\(3\)",
        ),
        ({"vocabulary": Vocabulary(["U"]), "min_count": 2}, ValueError, "give one of them"),
    ],
)
def test_impossible_numberings_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Template.crfpp("U%x[0,0]").encode([[("a",)]], **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Template([]), "at least one unigram rule"),
        (lambda: Template([Rule(("a",))], outside="x"), "outside must be"),  # type: ignore[arg-type]
        (lambda: Template(["a"]), "made of Rules"),  # type: ignore[list-item]
        (lambda: Rule(()), "at least one"),
        (lambda: Rule(("\ud800",)), "lone surrogate"),
        (lambda: Cell(-1), "column of a cell"),
        (lambda: Cell(0, 1001), "offset of a cell"),
        (lambda: Cell(0, transforms=(gazetteer(["a"]), lower())), "must be the last transform"),
        (lambda: prefix(0), "positive number of characters"),
        (lambda: test("a**"), "nothing before it to repeat"),
        (lambda: preset_template("chunks", 2), "there is no preset 'chunks'"),
        (lambda: preset_template("chunking", 1), "needs 2 columns besides the label, the word and its POS tag"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.parametrize("name", ["chunking", "ner", "pos"])
def test_presets_on_real_data_encode_as_their_strings(data_folder: Path, name: str) -> None:
    path = data_folder / "conll2002" / "ned.testa.gz"
    tokens = read_tokens(path, docstart="keep").with_columns([0, 1])[:300]
    strings = extract_all(name, [[row[:2] for row in rows] for rows in read_columns(path)[:300]])
    found, expected = preset_template(name, 2).encode(tokens), encode(strings)
    assert found.vocabulary == expected.vocabulary
    assert_same_encoded(found, expected)


def test_slices_and_copies_encode_alike() -> None:
    rows = [[("a", "X"), ("b", "Y")], [("c", "X")], [("a", "Y")]]
    tokens = Tokens.from_rows(rows)
    template = preset_template("chunking", 2)
    for key in (slice(1, 3), [2, 0], 1):
        part = tokens[key]
        plain = Tokens.from_rows(part.rows())
        assert template.encode(part).vocabulary == template.encode(plain).vocabulary
        assert_same_encoded(template.encode(pickle.loads(pickle.dumps(part))), template.encode(plain))


def test_names_of_a_gazetteer_are_of_a_length_that_names_have() -> None:
    """Where a name may begin, a search looks ahead as far as names go: that must not be the whole sentence."""
    longest = gazetteer([" ".join("a" * 100)])
    assert Template([Rule((Cell(0, 0, (longest,)),))]).strings([("a",)] * 100)[-1] == ["I"]
    with pytest.raises(ValueError, match="a name of a gazetteer has over 100 words"):
        Template([Rule((Cell(0, 0, (gazetteer([" ".join("a" * 101)]),)),))])


@pytest.mark.parametrize("n_jobs", [2, 3, 7])
@pytest.mark.parametrize(
    "options", [{}, {"min_count": 3}, {"hash_bits": 10}, {"hash_bits": 10, "min_count": 2}], ids=str
)
def test_attributes_do_not_depend_on_threads(options: dict[str, int], n_jobs: int) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{int(900 * x**3)}" for x in rng.random(6000)]
    bounds = [0, *sorted(rng.choice(np.arange(1, 6000), 700, replace=False).tolist()), 6000]
    tokens = Tokens.from_rows([[(word,) for word in words[a:b]] for a, b in itertools.pairwise(bounds)])
    template = Template.crfpp("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU:%x[0,0]\nU:%x[1,0]\nB0:%x[0,0]")
    alone, shared = template.encode(tokens, **options), template.encode(tokens, **options, n_jobs=n_jobs)
    assert_same_encoded(shared, alone)
    assert_same_encoded(shared.bigrams, alone.bigrams)
    if "hash_bits" not in options:
        assert shared.vocabulary.names == alone.vocabulary.names
        given = {"n_jobs": n_jobs, "bigram_vocabulary": shared.bigrams.vocabulary}
        known = template.encode(tokens[200:], shared.vocabulary, **given)
        given = {"bigram_vocabulary": alone.bigrams.vocabulary}
        assert_same_encoded(known, template.encode(tokens[200:], alone.vocabulary, **given))
