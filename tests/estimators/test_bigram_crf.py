"""``ChainCRF`` with attributes of label pairs: everything that it does without, and what it refuses."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dualfield import LBFGS, ChainCRF, ChainCRFCV, fields
from dualfield.features import Encoded, Template, Vocabulary, encode
from dualfield.inspection import bigram_weights, explain, top_bigrams
from dualfield.io import read_tokens
from dualfield.models import ChainSpec
from dualfield.solvers import IDAL
from tests.enumeration import Enumeration
from tests.zoo import bigram_sequences

OPTIONS: list[dict[str, Any]] = [
    {},
    {"bigram_features": "observed"},
    {"state_features": "observed", "transitions": "observed"},
    {"l1": 0.1, "l2": 0.1},
    {"min_count": 3},
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)
TAGS = np.array(["O", "B-X", "I-X"])


def tagged(n: int = 40, seed: int = 0, **options: Any) -> tuple[Encoded, list[list[str]]]:
    X, y = bigram_sequences(n, seed, **options)
    return X, [TAGS[labels].tolist() for labels in y]


def fitted(**options: Any) -> tuple[ChainCRF, Encoded, list[list[str]]]:
    X, y = tagged()
    return ChainCRF(**{"random_state": 0, **options}).fit(X, y), X, y


def enumerated(crf: ChainCRF, X: Encoded, i: int) -> Enumeration:
    """Sequence i under the model, from the weights by name."""
    parts, x, K = crf.layout_.split(crf.weights_), crf.encode(X[i]), len(crf.classes_)
    state = parts["state"] if isinstance(parts["state"], np.ndarray) else parts["state"].toarray()
    pairs = parts["bigrams"] if isinstance(parts["bigrams"], np.ndarray) else parts["bigrams"].toarray()
    assert x.bigrams is not None
    node = np.array([state[x.indices[a:b]].sum(axis=0) for a, b in pairwise(x.indptr)]) + parts["bias"]
    node[0] += parts["begin"]
    node[-1] += parts["end"]
    edge = np.array(
        [
            parts["transitions"] + pairs[x.bigrams.indices[a:b]].sum(axis=0).reshape(K, K)
            for a, b in pairwise(x.bigrams.indptr[1:])
        ]
    ).reshape(-1, K, K)
    return Enumeration(node, edge)


@every_option
def test_answers_are_those_of_the_weights_by_name(options: dict[str, Any]) -> None:
    crf, X, _ = fitted(**options)
    assert crf.solution_.certificate == "exact"
    chosen = [0, 5, 11]
    predicted, marginals = crf.predict(X[chosen]), crf.predict_marginals(X[chosen])
    lists, confidences = crf.predict_kbest(X[chosen], k=3), crf.predict_confidence(X[chosen])
    for place, i in enumerate(chosen):
        exact = enumerated(crf, X, i)
        best, scores = exact.kbest(3)
        log_p = (scores - exact.log_partition).astype(float)
        assert predicted[place] == crf.classes_[best[0]].tolist()
        np.testing.assert_allclose(marginals[place], np.exp(exact.log_nodes).astype(float), atol=1e-10)
        np.testing.assert_allclose([p for _, p in lists[place]], np.exp(log_p), rtol=1e-9)
        assert confidences[place] == pytest.approx(np.exp(log_p[0]))


def test_entities_have_the_probability_of_all_labellings_that_have_them() -> None:
    crf, X, _ = fitted()
    for i in range(8):
        exact = enumerated(crf, X, i)
        for entity in crf.predict_entities(X[i])[0]:
            total = 0.0
            for codes, p in zip(exact.labellings, exact.probabilities, strict=True):
                tags = crf.classes_[codes].tolist()
                begins = tags[entity.start] == "B-X" or (entity.start == 0 or tags[entity.start - 1] == "O")
                inside = tags[entity.start] != "O" and all(t == "I-X" for t in tags[entity.start + 1 : entity.end])
                ends = entity.end == len(tags) or tags[entity.end] != "I-X"
                total += float(p) if begins and inside and ends else 0.0
            assert entity.probability == pytest.approx(total, abs=1e-9)


def test_bigrams_learn_what_transitions_cannot() -> None:
    crf, X, y = fitted(l2=0.1)
    plain = ChainCRF(l2=0.1, random_state=0).fit(X.with_bigrams(None), y)
    assert crf.solution_.primal < 0.8 * plain.solution_.primal


def test_a_template_brings_its_bigrams_to_training_and_prediction(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a p X\na p X\nb p Y\n\nb q Y\na q X\na p Y\n")
    tokens = read_tokens(tmp_path / "train.txt")
    template = Template.crfpp("U00:%x[0,0]\nB01:%x[-1,0]/%x[0,0]\nB\n")
    words = tokens.with_columns([0, 1])
    X = template.encode(words)
    assert X.bigrams is not None
    assert X.bigrams.vocabulary == Vocabulary(["B01:a/a", "B01:a/b", "B01:b/a"])
    crf = ChainCRF(random_state=0).fit(X, tokens.labels())
    assert crf.layout_.bigrams.dimension == 3 * 4
    again = template.encode(words, crf.vocabulary_, bigram_vocabulary=crf.bigram_vocabulary_)
    assert crf.predict(again) == crf.predict(X)
    assert crf.predict(template.encode(words[:1])) == crf.predict(X[:1])  # other numbers, same names
    # The same sequences given as lists of strings are the same problem.
    other = encode(
        [template.strings(rows) for rows in words.rows()],
        bigrams=[template.bigram_strings(rows) for rows in words.rows()],
    )
    assert fields.Chain(other, tokens.labels()).same_as(fields.Chain(X, tokens.labels()))


def test_wapiti_patterns_of_both_kinds_give_both_kinds_of_weights() -> None:
    template = Template.wapiti("*:%x[0,0]\n")
    X = template.encode([[("a",), ("b",)], [("b",), ("b",)]])
    crf = ChainCRF(random_state=0).fit(X, [["X", "Y"], ["Y", "X"]])
    assert crf.vocabulary_.names == ["*:a", "*:b"]
    assert crf.bigram_vocabulary_ == Vocabulary(["*:b"])


def test_hashed_bigrams_are_columns(tmp_path: Path) -> None:
    template = Template.crfpp("U00:%x[0,0]\nB01:%x[0,0]\n")
    rows = [[("a",), ("b",), ("c",)], [("b",), ("a",)]]
    X = template.encode(rows, hash_bits=5)
    crf = ChainCRF(random_state=0, bigram_features="observed").fit(X, [["X", "Y", "X"], ["Y", "X"]])
    assert len(crf.bigram_vocabulary_) == 32
    crf.save(tmp_path / "m")
    assert ChainCRF.load(tmp_path / "m").predict_kbest(X, 2) == crf.predict_kbest(X, 2)
    assert top_bigrams(crf, 1).rows[0][0].startswith("bigram column ")


@every_option
def test_a_saved_model_is_the_same_model(options: dict[str, Any], tmp_path: Path) -> None:
    crf, X, _ = fitted(**options)
    crf.save(tmp_path / "m")
    for again in (ChainCRF.load(tmp_path / "m"), pickle.loads(pickle.dumps(crf))):
        assert again.get_params() == crf.get_params()
        assert again.bigram_vocabulary_ == crf.bigram_vocabulary_
        np.testing.assert_array_equal(again.weights_, crf.weights_)
        assert again.predict_kbest(X, 2) == crf.predict_kbest(X, 2)


def test_l1_keeps_the_weights_that_are_not_zero() -> None:
    crf, X, y = fitted(l1=1.0, l2=0.1)
    field = fields.Chain(X, y, 0.1, l1=1.0)
    assert crf.layout_.bigrams.dimension < field.layout.bigrams.dimension
    kept = crf.weights_[crf.layout_.n_chain_weights :]
    assert len(kept) == crf.layout_.bigrams.dimension
    assert (kept != 0).all()
    assert len(crf.bigram_vocabulary_) == crf.layout_.bigrams.n_bigrams
    loss = -sum(
        float(enumerated(crf, X, i).score(codes_of(crf, y[i])) - enumerated(crf, X, i).log_partition)
        for i in range(len(X))
    )
    norms = np.abs(crf.weights_).sum() + 0.05 * crf.weights_ @ crf.weights_
    assert crf.solution_.primal == pytest.approx(loss + norms)


def codes_of(crf: ChainCRF, labels: list[str]) -> list[int]:
    return [crf.classes_.tolist().index(label) for label in labels]


def test_a_weight_of_two_is_two_copies() -> None:
    X, y = tagged(12)
    twice = ChainCRF(tol=1e-8, random_state=0).fit(X[[*range(12), 0, 3]], [*y, y[0], y[3]])
    counts = np.ones(12)
    counts[[0, 3]] = 2
    weighted = ChainCRF(tol=1e-8, random_state=0).fit(X, y, counts)
    np.testing.assert_allclose(twice.weights_, weighted.weights_, atol=1e-4)


def test_min_count_drops_rare_bigrams_and_needs_none() -> None:
    X, y = tagged(40)
    counts = X.bigrams.counts()
    least = int(counts.min()) + 1
    crf = ChainCRF(min_count=least, random_state=0).fit(X, y)
    assert len(crf.bigram_vocabulary_) == int((counts >= least).sum()) < len(counts)
    none = X.with_bigrams(
        encode([[["once"] if i == t == 1 else [] for t in range(n)] for i, n in enumerate(X.lengths)])
    )
    assert len(ChainCRF(min_count=2, random_state=0).fit(none, y).bigram_vocabulary_) == 0


@pytest.mark.parametrize("options", [{}, {"bigram_features": "observed"}], ids=str)
def test_constraints_and_sets_of_labels_hold(options: dict[str, Any]) -> None:
    X, y = tagged(40)
    y = [
        ["B-X" if a == "I-X" and (t == 0 or labels[t - 1] == "O") else a for t, a in enumerate(labels)] for labels in y
    ]
    crf = ChainCRF(constraints="bio", random_state=0, **options).fit(X, y)
    assert crf.solution_.certificate == "exact"
    for labels in crf.predict(X):
        assert all(a != "O" or b != "I-X" for a, b in pairwise(["O", *labels]))
    i = int(np.argmax(X.lengths))
    given = [["B-X", *[None] * (int(X.lengths[i]) - 1)]]
    exact = enumerated(crf, X, i)
    names = crf.classes_[exact.labellings]
    legal = np.array([row[0] == "B-X" and all(a != "O" or b != "I-X" for a, b in pairwise(row)) for row in names])
    p = np.where(legal, exact.probabilities, 0) / exact.probabilities[legal].sum()
    expected = [[float(p[names[:, t] == label].sum()) for label in crf.classes_] for t in range(names.shape[1])]
    np.testing.assert_allclose(crf.predict_marginals(X[i], given=given)[0], expected, atol=1e-9)
    assert crf.predict_posterior(X[i], given=given)[0][0] == "B-X"


def test_labels_known_in_part_train_on_what_is_left_open() -> None:
    X, y = tagged(30)
    partly: list[Any] = [[None if t % 3 == 2 else {a, "O"} for t, a in enumerate(labels)] for labels in y]
    crf = ChainCRF(random_state=0, bigram_features="observed", tol=1e-5).fit(X, partly)
    assert (crf.solution_.status, crf.solution_.certificate) == ("converged", "none")
    loss = 0.0
    for i, sets in enumerate(partly):
        exact = enumerated(crf, X, i)
        names = crf.classes_[exact.labellings]
        open_ = np.array([all(s is None or a in s for a, s in zip(row, sets, strict=True)) for row in names])
        loss -= float(np.log(exact.probabilities[open_].sum()))
    assert crf.solution_.primal == pytest.approx(loss + 0.5 * crf.weights_ @ crf.weights_)


# --- going on ---


def named_bigrams(crf: ChainCRF) -> dict[Any, float]:
    pairs, labels = crf.layout_.split(crf.weights_)["bigrams"], crf.classes_.tolist()
    dense = (pairs if isinstance(pairs, np.ndarray) else pairs.toarray()).reshape(-1, len(labels), len(labels))
    return {
        (name, a, b): dense[n, i, j]
        for n, name in enumerate(crf.bigram_vocabulary_.names)
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
    }


@pytest.mark.parametrize("options", [{}, {"bigram_features": "observed"}, {"l1": 0.1, "l2": 0.1}], ids=str)
def test_partial_fit_keeps_bigrams_and_adds_new_ones(options: dict[str, Any]) -> None:
    crf, X, _ = fitted(**options)
    before = named_bigrams(crf)
    new = encode([[["word=1"], ["word=2"]]], bigrams=[[[], ["fresh", "even"]]])
    crf.set_params(l2=1e6).partial_fit(new, [["AAA", "I-X"]])  # so strong a penalty that nothing moves
    after = named_bigrams(crf)
    names = {name for name, _, _ in before} | ({"fresh", "even"} if "l1" not in options else {"even"})
    assert {name for name, _, _ in after} == names
    for key, weight in after.items():
        assert weight == pytest.approx(before.get(key, 0.0), abs=1e-3)
    crf.predict(X)


def test_partial_fit_has_the_documented_optimum() -> None:
    crf, _, _ = fitted(tol=1e-9)
    start = crf.weights_
    X, y = tagged(25, seed=5)
    field = fields.Chain.of_layout(
        crf.encode(X),
        np.array([codes_of(crf, [a])[0] for labels in y for a in labels], np.int32),
        crf.classes_,
        crf.layout_,
        ChainSpec(l2=1.0),
    ).about(start)
    crf.set_params(solver=LBFGS()).partial_fit(X, y)
    w = crf.weights_[: field.dimension]
    assert len(crf.weights_) == field.dimension
    assert crf.solution_.primal == pytest.approx(field.primal(w))
    value, gradient = field.gradient(w)
    assert gradient @ gradient / 2 <= 1e-8 * value


def test_partial_fit_refuses_sequences_that_lack_what_the_model_has() -> None:
    crf, X, y = fitted()
    with pytest.raises(ValueError, match=r"the model has weights for .* bigram attributes, and X has none"):
        crf.partial_fit(X.with_bigrams(None), y)
    plain = ChainCRF(random_state=0).fit(X.with_bigrams(None), y)
    with pytest.raises(ValueError, match="X has bigram attributes, which the model was trained without"):
        plain.partial_fit(X, y)


# --- other ways in ---


def test_every_form_of_bigrams_is_the_same() -> None:
    X = [[["a"], ["b"], ["a"]], [["b"], ["a"]]]
    y = [["A", "B", "B"], ["B", "A"]]
    lists = [[[], ["p"], ["q"]], [["p"], ["p"]]]
    dicts = [[{}, {"p": 1}, {"q": True}], [{"p": 1.0}, {"p": 1}]]
    arrays = [np.array([[0, 0], [1, 0], [0, 1]]), np.array([[1, 0], [1, 0]])]
    fits = [
        (crf := ChainCRF(random_state=0)).fit(crf.encode(X, bigrams=given), y).weights_
        for given in (lists, dicts, arrays, encode(lists))
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0], other)


def test_cross_validation_takes_bigrams_along() -> None:
    X, y = tagged(30)
    search = ChainCRFCV(l2s=[10.0, 0.1], cv=3, random_state=0, bigram_features="observed").fit(X, y)
    assert search.best_estimator_.layout_.bigrams.starts is not None
    assert search.predict(X[:3]) == search.best_estimator_.predict(X[:3])
    assert clone(search.best_estimator_).bigram_features == "observed"


def test_warm_starts_notice_other_bigrams() -> None:
    X, y = tagged(30)
    crf = ChainCRF(warm_start=True, random_state=0).fit(X, y)
    passes = crf.solution_.passes
    assert crf.fit(X, y).solution_.passes < passes
    other = X.with_bigrams(encode([[["x"]] * n for n in X.lengths]))
    with pytest.warns(UserWarning, match="warm_start: the data"):
        crf.fit(other, y)


# --- refusals ---


@pytest.mark.parametrize("method", ["predict", "predict_marginals", "predict_kbest", "predict_entities", "sample"])
def test_prediction_refuses_sequences_without_bigrams(method: str) -> None:
    crf, X, y = fitted()
    with pytest.raises(
        ValueError, match=r"weights for 3 bigram attributes, and X has none; .* crf.encode\(X, bigrams="
    ):
        getattr(crf, method)(X.with_bigrams(None))
    plain = ChainCRF(random_state=0).fit(X.with_bigrams(None), y)
    with pytest.raises(ValueError, match="which the model was trained without"):
        getattr(plain, method)(X)


def test_solvers_that_go_clique_by_clique_are_refused() -> None:
    X, y = tagged(10)
    with pytest.raises(TypeError, match="IDAL needs per-clique access, which Chain with bigrams does not offer"):
        ChainCRF(solver=IDAL()).fit(X, y)


def test_a_choice_that_does_not_exist_is_refused() -> None:
    X, y = tagged(10)
    with pytest.raises(ValueError, match="bigram_features must be 'all' or 'observed'; got 'seen'"):
        ChainCRF(bigram_features="seen").fit(X, y)


# --- looking inside ---


@pytest.mark.parametrize("options", [{}, {"bigram_features": "observed"}, {"constraints": "iobes"}], ids=str)
def test_an_explanation_adds_up_to_the_difference_of_two_best_scores(options: dict[str, Any]) -> None:
    X, y = tagged(40)
    if "constraints" in options:
        y = [["O" if a != "O" else "S-X" for a in labels] for labels in y]
    crf = ChainCRF(random_state=0, **options).fit(X, y)
    for i in range(6):
        exact = enumerated(crf, X, i)
        for t in range(exact.length):
            why = explain(crf, X[i], t)
            a, b = (crf.classes_.tolist().index(label) for label in (why.label, why.against))
            best = [float(exact.scores[exact.labellings[:, t] == k].max()) for k in (a, b)]
            assert why.margin == pytest.approx(best[0] - best[1], abs=1e-9)
            assert sum(row[-1] for row in why.rows) == pytest.approx(why.margin, abs=1e-9)
    shown = [row[0] for i in range(6) for t in range(1, len(y[i])) for row in explain(crf, X[i], t).rows]
    assert any(part.startswith("same=") and "→" in part for part in shown)


@pytest.mark.parametrize("options", [{}, {"bigram_features": "observed"}], ids=str)
def test_tables_show_the_weights_by_name(options: dict[str, Any]) -> None:
    crf, _, _ = fitted(**options)
    weights = named_bigrams(crf)
    rows = top_bigrams(crf, 5).rows
    assert [row[-1] for row in rows] == sorted(weights.values(), key=lambda w: -abs(w))[:5]
    for name, a, b, weight in rows:
        assert weights[name, a, b] == weight
    name, labels = crf.bigram_vocabulary_.names[0], crf.classes_.tolist()
    for a, *row in bigram_weights(crf, name).rows:
        for b, weight in zip(labels, row, strict=True):
            assert (0.0 if weight is None else weight) == weights[name, a, b]


def test_tables_refuse_what_is_not_there() -> None:
    crf, X, y = fitted()
    with pytest.raises(ValueError, match="the model has no bigram attribute 'x'"):
        bigram_weights(crf, "x")
    with pytest.raises(ValueError, match="n must be a positive integer"):
        top_bigrams(crf, 0)
    plain = ChainCRF(random_state=0).fit(X.with_bigrams(None), y)
    with pytest.raises(ValueError, match="the model was trained without bigram attributes"):
        top_bigrams(plain)
