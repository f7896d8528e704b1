"""Models with dense columns beside named attributes: queries, files, what refuses them, what shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, SoftmaxRegression
from dualfield.features import encode
from dualfield.inspection import attribute_weights, explain, top_weights
from dualfield.io import write_attributes
from dualfield.labels import EncodedLabels
from dualfield.partitions import write_partitions
from dualfield.tagging import SequenceTagger
from tests.model_files import header_of, with_metadata
from tests.zoo import embedded_words, points, word_sequences

PLAIN = {"bias": False, "begin": False, "end": False}


def trained(**options: Any) -> tuple[ChainCRF, Any, list[Any]]:
    X, y = embedded_words(12)
    return ChainCRF(random_state=0, **options).fit(X, y), X, y


@pytest.mark.parametrize("options", [{}, {"state_features": "observed"}, {"l1": 0.1}, {"standardize": True}])
def test_a_saved_model_answers_as_before(options: dict[str, Any], tmp_path: Path) -> None:
    crf, X, _ = trained(**options)
    crf.save(tmp_path / "model")
    loaded = ChainCRF.load(tmp_path / "model")
    assert loaded.layout_.n_columns == 5
    np.testing.assert_array_equal(loaded.weights_, crf.weights_)
    assert loaded.predict(X) == crf.predict(X)
    for mine, theirs in zip(loaded.predict_marginals(X), crf.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_columns_help_where_words_are_unknown() -> None:
    X, y = embedded_words(60)
    words, _ = word_sequences(60)
    half = 30
    with_columns = ChainCRF(random_state=0, standardize=True).fit(X[:half], y[:half])
    without = ChainCRF(random_state=0).fit(words[:half], y[:half])
    assert with_columns.score(X[half:], y[half:]) > without.score(words[half:], y[half:])


def test_standardised_model_predicts_from_the_columns_as_they_are() -> None:
    crf, X, y = trained(standardize=True)
    values = np.concatenate(X.dense.arrays).astype(float)
    by_hand = X.with_dense((values - values.mean(axis=0)) / values.std(axis=0))
    other = ChainCRF(random_state=0).fit(by_hand, y)
    for mine, theirs in zip(crf.predict_marginals(X), other.predict_marginals(by_hand), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-3)
    assert "standardised columns" in crf.solution_.message
    np.testing.assert_array_equal(crf.solution_.weights, crf.weights_)


def test_standardised_points_predict_from_the_columns_as_they_are(tmp_path: Path) -> None:
    X, y = points(80, columns=4)
    X = X * [1, 1000, 1, 1] + 5
    model = SoftmaxRegression(standardize=True, tol=1e-6, random_state=0).fit(X, y)
    other = SoftmaxRegression(tol=1e-6, random_state=0).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    expected = other.predict_proba((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-3)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(SoftmaxRegression.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_single_precision_points_are_used_as_they_are() -> None:
    X, y = points(60)
    single, double = (SoftmaxRegression(tol=1e-6, random_state=0).fit(X.astype(dtype), y) for dtype in ("f4", "f8"))
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-3)


def test_queries_refuse_other_columns_than_those_of_training() -> None:
    crf, X, _ = trained()
    with pytest.raises(ValueError, match="the model has weights for 5 dense columns beside the attributes, and"):
        crf.predict(X.with_dense(None))
    with pytest.raises(ValueError, match="X has 3 dense columns but the model was trained on 5"):
        crf.predict(X.with_dense(np.ones((X.n_positions, 3))))
    plain = ChainCRF(random_state=0).fit(*word_sequences(12))
    with pytest.raises(ValueError, match="X has 5 dense columns beside its attributes, which the model was"):
        plain.predict(X)
    assert crf.predict(X[[]]) == []


def test_further_training_refuses_columns() -> None:
    crf, X, y = trained()
    for given in (X, X.with_dense(None)):
        with pytest.raises(ValueError, match="partial_fit does not know dense columns"):
            crf.partial_fit(given, y)


@pytest.mark.parametrize("format", ["crfsuite", "wapiti", "crfpp"])
def test_other_programs_formats_refuse_columns(format: str, tmp_path: Path) -> None:
    crf, _, _ = trained(**PLAIN)
    with pytest.raises(ValueError, match=r"dense columns|column file"):
        crf.export(tmp_path / "model", format=format)
    assert not (tmp_path / "model").exists()


def test_files_without_a_place_for_columns_refuse_them(tmp_path: Path) -> None:
    X, y = embedded_words(3)
    labels = EncodedLabels.from_lists(y)
    with pytest.raises(ValueError, match="X has dense columns, for which attribute files have no place"):
        write_attributes(X, labels, tmp_path / "attributes")
    with pytest.raises(ValueError, match="chunk 0: X has dense columns, for which a folder has no place"):
        write_partitions([(X, y)], tmp_path / "folder")


def test_the_tagger_of_single_sequences_refuses_columns(tmp_path: Path) -> None:
    crf, _, _ = trained()
    crf.save(tmp_path / "model")
    with pytest.raises(ValueError, match="dense columns"):
        SequenceTagger(tmp_path / "model")


@pytest.mark.parametrize("number", [-1, 2**40, "5", 4, True])
def test_a_file_with_another_number_of_columns_is_refused(number: Any, tmp_path: Path) -> None:
    crf, _, _ = trained()
    crf.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    metadata = header_of(content)["__metadata__"]
    name = next(name for name, text in metadata.items() if "dense_columns" in text)
    changed = json.dumps(json.loads(metadata[name]) | {"dense_columns": number})
    (tmp_path / "model").write_bytes(with_metadata(content, **{name: changed}))
    with pytest.raises(ValueError, match=r"dense columns|weights"):
        ChainCRF.load(tmp_path / "model")


def test_inspection_names_dense_columns() -> None:
    crf, X, _ = trained(state_features="observed")
    rows = top_weights(crf, n=100, label="NOUN").rows
    weights = crf.layout_.split(crf.weights_)["columns"][:, list(crf.classes_).index("NOUN")]
    shown = {name: weight for _, name, weight in rows}
    for number, weight in enumerate(weights):
        assert shown[f"dense column {number}"] == pytest.approx(weight)
    assert {row[0] for row in attribute_weights(crf, 2).rows} == {"NOUN", "VERB", "X"}
    with pytest.raises(ValueError, match="the model's dense columns are 0 to 4"):
        attribute_weights(crf, 5)
    why = explain(crf, X[0], 0)
    assert sum(row[-1] for row in why.rows) == pytest.approx(why.margin, abs=1e-9)
    assert sum(row[0].startswith("dense column") for row in why.rows) == 5


def test_one_array_for_all_positions_is_one_array_a_sequence() -> None:
    words, y = word_sequences(8)
    lengths = [len(sequence) for sequence in words]
    rows = np.random.default_rng(0).normal(size=(sum(lengths), 3))
    whole = encode(words, dense=rows)
    split = encode(words, dense=np.split(rows, np.cumsum(lengths)[:-1]))
    one, other = (ChainCRF(random_state=0).fit(X, y) for X in (whole, split))
    np.testing.assert_array_equal(one.weights_, other.weights_)
