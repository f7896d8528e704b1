"""Confidences, k-best lists and entities of a fitted chain equal sums over all labellings, on any number of threads."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, ChainCRFCV
from dualfield.datasets import travel_sentences
from dualfield.features import encode, extract_all
from dualfield.metrics import chunks
from tests.enumeration import Enumeration
from tests.sequences import labelled_sequences

Data = tuple[Any, Any]


def entity_data(n: int = 25, seed: int = 0) -> Data:
    """Short sentences with two types of entities."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        tags: list[str] = []
        for _ in range(rng.integers(1, 6)):
            allowed = ["B-P", "B-Q", "O", *([f"I-{tags[-1][2:]}"] if tags and tags[-1] != "O" else [])]
            tags.append(str(rng.choice(allowed)))
        X.append([[f"a{rng.integers(3)}", f"tag={tag if rng.random() < 0.6 else '?'}"] for tag in tags])
        y.append(tags)
    return X, y


@pytest.fixture(scope="module", params=["all", "observed"])
def fitted(request: pytest.FixtureRequest) -> tuple[ChainCRF, Data]:
    data = entity_data()
    options = {"state_features": request.param, "transitions": request.param}
    return ChainCRF(l2=0.3, random_state=0, **options).fit(*data), data


def enumerate_labellings(crf: ChainCRF, x: Any) -> tuple[list[list[str]], Any]:
    """All labellings with their probabilities, from the weights by name."""
    parts = crf.layout_.split(crf.weights_)
    state = parts["state"] if isinstance(parts["state"], np.ndarray) else parts["state"].toarray()
    node = np.array(
        [state[[crf.vocabulary_.index[a] for a in position if a in crf.vocabulary_]].sum(0) for position in x]
    )
    node = node + parts["bias"]
    node[0] += parts["begin"]
    node[-1] += parts["end"]
    exact = Enumeration(node, parts["transitions"])
    return [crf.classes_[row].tolist() for row in exact.labellings], exact.probabilities.astype(float)


def test_confidence_is_the_largest_probability_of_a_labelling(fitted: tuple[ChainCRF, Data]) -> None:
    crf, (X, _) = fitted
    found = crf.predict_confidence(X)
    assert found.shape == (len(X),)
    for x, labels, confidence in zip(X, crf.predict(X), found, strict=True):
        labellings, p = enumerate_labellings(crf, x)
        assert confidence == pytest.approx(p.max(), rel=1e-9)
        assert confidence == pytest.approx(p[labellings.index(labels)], rel=1e-9)


def test_kbest_gives_labellings_with_their_probabilities(fitted: tuple[ChainCRF, Data]) -> None:
    crf, (X, _) = fitted
    for x, best in zip(X, crf.predict_kbest(X, 7), strict=True):
        labellings, p = enumerate_labellings(crf, x)
        assert [probability for _, probability in best] == pytest.approx(np.sort(p)[::-1][:7])
        assert [p[labellings.index(labels)] for labels, _ in best] == pytest.approx([q for _, q in best])


def test_entities_have_the_probability_of_all_labellings_that_have_them(fitted: tuple[ChainCRF, Data]) -> None:
    crf, (X, _) = fitted
    seen = 0
    for x, labels, entities in zip(X, crf.predict(X), crf.predict_entities(X), strict=True):
        assert [tuple(entity)[:3] for entity in entities] == chunks(labels)
        labellings, p = enumerate_labellings(crf, x)
        for entity in entities:
            has = [entity[:3] in chunks(labelling) for labelling in labellings]
            assert entity.probability == pytest.approx(p[has].sum(), rel=1e-9)
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_change_no_answer(fitted: tuple[ChainCRF, Data], n_jobs: int) -> None:
    crf, (X, y) = fitted
    encoded = encode(X, crf.vocabulary_)
    answers = []
    for jobs in (1, n_jobs):
        crf.set_params(n_jobs=jobs)
        answers.append(
            (
                crf.predict(encoded),
                crf.predict_posterior(encoded),
                crf.predict_kbest(encoded, 4),
                crf.predict_entities(encoded),
                crf.sample(encoded, 3, random_state=1),
                [m.tolist() for m in crf.predict_marginals(encoded)],
                crf.predict_confidence(encoded).tolist(),
                crf.score(encoded, y),
            )
        )
    crf.set_params(n_jobs=1)
    assert answers[0] == answers[1]


def test_more_threads_than_sequences(fitted: tuple[ChainCRF, Data]) -> None:
    crf, (X, _) = fitted
    crf.set_params(n_jobs=8)
    assert len(crf.predict_entities(X[:2])) == len(crf.predict_kbest(X[:2])) == 2
    crf.set_params(n_jobs=1)


def test_entities_need_chunk_tags() -> None:
    X, y = labelled_sequences()
    crf = ChainCRF(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"read from chunk tags.*found the label 'ADJ'"):
        crf.predict_entities(X)
    integers = ChainCRF(random_state=0).fit(X, [[len(label) for label in labels] for labels in y])
    with pytest.raises(ValueError, match="found the label 3"):
        integers.predict_entities(X)


def test_the_model_chosen_by_cross_validation_answers_too() -> None:
    X, y = entity_data(30)
    search = ChainCRFCV(l2s=[1.0, 0.1], cv=3, random_state=0).fit(X, y)
    assert search.predict_entities(X) == search.best_estimator_.predict_entities(X)
    assert np.array_equal(search.predict_confidence(X), search.best_estimator_.predict_confidence(X))


def test_long_sentences_agree_with_counting_samples() -> None:
    sentences = travel_sentences(150, 0)
    X = extract_all("ner", [[(word,) for word, _ in sentence] for sentence in sentences])
    crf = ChainCRF(l2=5.0, random_state=0).fit(X[:100], [[tag for _, tag in s] for s in sentences[:100]])
    n = 2000
    for entities, drawn in zip(
        crf.predict_entities(X[100:110]), crf.sample(X[100:110], n, random_state=0), strict=True
    ):
        readings = [set(chunks(labels)) for labels in drawn]
        for entity in entities:
            share = sum(entity[:3] in reading for reading in readings) / n
            sigma = (entity.probability * (1 - entity.probability) / n) ** 0.5
            assert abs(share - entity.probability) <= 5 * sigma + 1e-3


def test_enumeration_lists_every_labelling(fitted: tuple[ChainCRF, Data]) -> None:
    crf, (X, _) = fitted
    x = X[0]
    labellings, p = enumerate_labellings(crf, x)
    assert sorted(map(tuple, labellings)) == sorted(product(crf.classes_.tolist(), repeat=len(x)))
    assert p.sum() == pytest.approx(1.0)
