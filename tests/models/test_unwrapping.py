"""What looks inside a chain takes everything that holds one, and refuses everything else in a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dualfield import ChainCRF, ChainCRFCV, GraphCRF, GridCRF, SoftmaxRegression, inspection
from dualfield.calibration import outcomes
from dualfield.compat.sklearn_crfsuite import CRF
from dualfield.inspection import attribute_weights, explain, top_bigrams, top_weights, transitions
from dualfield.models.unwrapping import chain_inside
from dualfield.reporting import report
from tests.sequences import labelled_sequences

X, Y = labelled_sequences(24)


def doubled(sequences: Any) -> Any:
    return [[dict.fromkeys(position, 2.0) for position in sequence] for sequence in sequences]


def pipeline() -> Pipeline:
    return make_pipeline(FunctionTransformer(doubled), ChainCRF(random_state=0))


HOLDERS: dict[str, Callable[[], Any]] = {
    "ChainCRFCV": lambda: ChainCRFCV(l2s=[1.0], cv=2, random_state=0),
    "GridSearchCV": lambda: GridSearchCV(ChainCRF(random_state=0), {"l2": [1.0]}, cv=KFold(2)),
    "Pipeline": pipeline,
    "one step": lambda: Pipeline([("crf", ChainCRF(random_state=0))]),
    "search over a pipeline": lambda: GridSearchCV(pipeline(), {"chaincrf__l2": [1.0]}, cv=KFold(2)),
    "pipeline with a search": lambda: make_pipeline(
        FunctionTransformer(doubled), GridSearchCV(ChainCRF(random_state=0), {"l2": [1.0]}, cv=KFold(2))
    ),
    "drop-in": lambda: CRF(c2=1.0),
}


def chain_of(holder: Any) -> ChainCRF:
    """The same, by hand."""
    if isinstance(holder, Pipeline):
        return chain_of(holder[-1])
    if isinstance(holder, CRF):
        return holder.chain_crf_
    return chain_of(holder.best_estimator_) if hasattr(holder, "best_estimator_") else holder


@pytest.mark.parametrize("name", HOLDERS)
def test_every_holder_shows_the_chain_that_it_holds(name: str, tmp_path: Path) -> None:
    holder = HOLDERS[name]().fit(X, Y)
    crf = chain_of(holder)
    assert chain_inside(holder, "f") is crf
    assert top_weights(holder).rows == top_weights(crf).rows
    assert transitions(holder).rows == transitions(crf).rows
    attribute = crf.vocabulary_.names[0]  # type: ignore[union-attr]
    assert attribute_weights(holder, attribute).rows == attribute_weights(crf, attribute).rows
    seen = doubled(X) if "ipeline" in name else X  # what the chain sees of X
    assert explain(holder, X[0], 0) == explain(crf, seen[0], 0)
    held_out = outcomes(holder, X, Y, of="tokens")
    np.testing.assert_array_equal(held_out.confidence, outcomes(crf, seen, Y, of="tokens").confidence)
    report(holder, X, Y, tmp_path / "one.html")
    report(crf, seen, Y, tmp_path / "other.html")
    assert (tmp_path / "one.html").read_text() == (tmp_path / "other.html").read_text()


@pytest.mark.parametrize("name", HOLDERS)
def test_a_holder_that_is_not_fitted_is_refused_as_such(name: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        top_weights(HOLDERS[name]())


def test_a_drop_in_reads_its_model_first(tmp_path: Path) -> None:
    CRF(model_filename=tmp_path / "model").fit(X, Y)
    assert top_weights(CRF(model_filename=tmp_path / "model")).rows


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (GridCRF(), r"got a GridCRF; its weights are in node_weights_, edge_weights_, bias_\.$"),
        (GraphCRF(), r"got a GraphCRF; its weights are in node_weights_, edge_weights_, bias_\.$"),
        (
            SoftmaxRegression().fit(np.eye(2), [0, 1]),
            r"got a SoftmaxRegression; its weights are in coef_, intercept_\.$",
        ),
        (make_pipeline(FunctionTransformer(), SoftmaxRegression()), "got a SoftmaxRegression"),
        ([1, 2], r"got a list\.$"),
        (None, r"got a NoneType\.$"),
        ("model.safetensors", r"got a str\.$"),
        (ChainCRF, "got the class ChainCRF: make one and fit it first"),
        (
            GridSearchCV(ChainCRF(random_state=0), {"l2": [1.0]}, cv=2, refit=False).fit(X, Y),
            "a GridSearchCV with refit=False keeps none; set refit=True",
        ),
    ],
    ids=str,
)
def test_what_holds_no_chain_is_refused_in_a_sentence(model: Any, sentence: str, tmp_path: Path) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "top_weights": lambda: top_weights(model),
        "attribute_weights": lambda: attribute_weights(model, "a"),
        "transitions": lambda: transitions(model),
        "top_bigrams": lambda: top_bigrams(model),
        "bigram_weights": lambda: inspection.bigram_weights(model, "a"),
        "explain": lambda: explain(model, X[0], 0),
        "outcomes": lambda: outcomes(model, X, Y),
        "report": lambda: report(model, path=tmp_path / "page.html"),
    }
    for asker, call in calls.items():
        with pytest.raises(TypeError, match=sentence) as refusal:
            call()
        assert str(refusal.value).startswith(f"{asker}() ")


def test_every_function_of_the_package_takes_what_holds_a_chain() -> None:
    functions = [getattr(inspection, name) for name in inspection.__all__]
    askers = [f for f in functions if inspect.isfunction(f)]
    assert len(askers) == 6
    for function in askers:
        with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) looks inside linear chains"):
            function(*[object() for p in inspect.signature(function).parameters.values() if p.default is p.empty])
