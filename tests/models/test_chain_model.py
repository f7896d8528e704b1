"""The plain model answers as the estimator does, and is what the command line trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dualfield import SDCA, ChainCRF, inspection
from dualfield.cli import main
from dualfield.datasets import travel_sentences
from dualfield.features import Vocabulary
from dualfield.io import read_tokens, write_columns
from dualfield.models import ChainModel
from dualfield.models.recipe import recipe_of
from tests.sequences import labelled_sequences

X, Y = labelled_sequences(12)


@pytest.fixture
def saved(tmp_path: Path) -> tuple[ChainCRF, Path]:
    crf = ChainCRF(solver=SDCA(sampling="uniform"), constraints=None, random_state=0, n_jobs=2).fit(X, Y)
    crf.save(tmp_path / "m")
    return crf, tmp_path / "m"


def test_a_plain_model_answers_as_the_estimator(saved: tuple[ChainCRF, Path]) -> None:
    crf, path = saved
    plain = ChainModel.load(path)
    assert plain.predict(X) == crf.predict(X) == plain.predict(plain.encode(X))
    assert plain.predict_posterior(X) == crf.predict_posterior(X)
    assert plain.predict_kbest(X, 3) == crf.predict_kbest(X, 3)
    assert plain.sample(X, 2, random_state=7) == crf.sample(X, 2, random_state=7)
    assert plain.score(X, Y) == crf.score(X, Y)
    np.testing.assert_array_equal(plain.predict_confidence(X), crf.predict_confidence(X))
    for a, b in zip(plain.predict_marginals(X), crf.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(a, b)
    assert str(inspection.transitions(plain)) == str(inspection.transitions(crf))


def test_a_plain_model_keeps_the_parameters_that_it_does_not_use(saved: tuple[ChainCRF, Path], tmp_path: Path) -> None:
    crf, path = saved
    ChainModel.load(path).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert ChainCRF.load(tmp_path / "again").get_params() == crf.get_params()


def test_only_an_estimator_can_lack_its_weights() -> None:
    for ask in (lambda crf: crf.predict(X), lambda crf: crf.score(X, Y), lambda crf: crf.n_nonzero_weights_):
        with pytest.raises(NotFittedError, match="ChainCRF"):
            ask(ChainCRF())


@pytest.mark.parametrize("options", [{}, {"l1": 0.5}, {"constraints": "bio"}, {"state_features": "observed"}])
def test_the_command_line_trains_what_the_estimator_trains(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_columns(travel_sentences(40, 0), "train.txt")
    given = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    arguments = ["train", "train.txt", "--features", "ner", "-o", "m", "--quiet", *given]
    monkeypatch.setattr("sys.argv", ["dualfield", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    found = ChainCRF.load("m")
    tokens = read_tokens("train.txt")
    recipe = recipe_of(found.column_features_)
    encoded = recipe.template.encode(tokens.with_columns(recipe.columns))
    expected = ChainCRF(random_state=0, **options).fit(encoded, tokens.labels())
    assert found.get_params() == expected.get_params()
    assert found.vocabulary_ == expected.vocabulary_
    np.testing.assert_array_equal(found.weights_, expected.weights_)
    assert found.solution_.message == expected.solution_.message


def test_a_vocabulary_without_its_table_is_the_same() -> None:
    names = ["w=the", "", "né", "x"]
    text = np.frombuffer("".join(names).encode(), np.uint8)
    vocabulary = Vocabulary.from_arrays(text, np.cumsum([0, *(len(name.encode()) for name in names)]))
    vocabulary.release_table()
    assert len(vocabulary) == 4
    assert vocabulary == Vocabulary(names) == vocabulary
    assert vocabulary != Vocabulary(names[::-1])
    assert vocabulary.to_bytes_arrays()["vocabulary_offsets"].tolist() == [0, 5, 5, 8, 9]
    assert vocabulary.index["né"] == 2
    assert vocabulary.names == names


def test_plain_words_for_a_model_of_a_template_bring_a_warning() -> None:
    crf = ChainCRF(random_state=0).fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
    crf.predict([[["a"], ["b"]]])  # whoever made the attributes knows them
    crf.column_features_ = {"template": {}}
    crf.predict([[["w=a"], ["b"]]])
    with pytest.warns(UserWarning, match="The model knows no attribute of X: a template made those"):
        crf.predict([[["a"], ["b"]]])
