"""scikit-learn finds in estimators what it asks for, though they are not built on its classes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dualfield import OEG, ChainCRF, GraphCRF, GridCRF
from tests.zoo import word_sequences


@pytest.mark.parametrize("estimator", [ChainCRF(l2=2.0, solver=OEG(), begin=False), GraphCRF(), GridCRF(bias=True)])
def test_clones_and_pickles_have_the_same_parameters(estimator: Any) -> None:
    for copy in (clone(estimator), pickle.loads(pickle.dumps(estimator))):
        assert copy.get_params() == estimator.get_params()
        assert repr(copy) == repr(estimator)


def test_the_display_names_what_was_changed() -> None:
    assert repr(ChainCRF(l2=2.0, transitions="observed")) == "ChainCRF(l2=2.0, transitions='observed')"
    assert "ChainCRF" in ChainCRF(l2=2.0)._repr_html_()
    assert set(ChainCRF()._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_parameter_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Invalid parameter 'l3' for estimator ChainCRF\(\)"):
        ChainCRF().set_params(l3=1.0)


def test_tags_and_fitted_state_are_told() -> None:
    tags = get_tags(ChainCRF())
    assert (tags.input_tags.two_d_array, tags.target_tags.required) == (False, True)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(ChainCRF())
    with pytest.raises(sklearn.exceptions.NotFittedError, match="ChainCRF instance is not fitted yet"):
        ChainCRF().predict([[["a"]]])
    check_is_fitted(ChainCRF(random_state=0).fit(*word_sequences(4)))


def test_searches_reach_parameters_inside_pipelines() -> None:
    X, y = word_sequences(12)
    search = GridSearchCV(make_pipeline(ChainCRF(random_state=0)), {"chaincrf__l2": [0.1, 10.0]}, cv=2)
    assert search.fit(X, y).best_params_["chaincrf__l2"] in (0.1, 10.0)


def test_sample_weights_are_routed_where_they_are_asked_for() -> None:
    X, y = word_sequences(12)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = ChainCRF(random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        assert clone(asked).get_metadata_routing().fit.requests == {"sample_weight": True}
        search = GridSearchCV(asked, {"l2": [1.0]}, cv=2).fit(X, y, sample_weight=[1.0] * 12)
        assert search.best_params_ == {"l2": 1.0}
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            GridSearchCV(ChainCRF(), {"l2": [1.0]}, cv=2).fit(X, y, sample_weight=[1.0] * 12)
