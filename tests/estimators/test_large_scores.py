"""Finite features whose scores leave floating point are refused, with the place named, by every kind of inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, GraphCRF, SoftmaxRegression
from dualfield.models.chain_model import ChainModel


def ring(n: int, seed: int = 0) -> tuple[Any, list[tuple[int, int]]]:
    return np.random.default_rng(seed).normal(size=(n, 2)), [(i, (i + 1) % n) for i in range(n)]


@pytest.mark.filterwarnings("ignore:LBFGS")  # how well it is trained does not matter
@pytest.mark.parametrize("prediction", ["map", "max-marginals"])
@pytest.mark.parametrize("inference", ["trw", "bp", "mean_field", "junction_tree"])
def test_a_graph_whose_scores_overflow_is_named(inference: str, prediction: str) -> None:
    crf = GraphCRF(inference=inference, prediction=prediction, l2=1e-2, random_state=0)
    crf.fit([ring(5, seed) for seed in range(3)], [["a", "b", "a", "b", "a"]] * 3)
    features, edges = ring(2000)
    with pytest.raises(ValueError, match=r"member 1 of X has scores that are not finite.*scale its features down"):
        crf.predict([ring(4), (np.sign(features) * 1e308, edges)])


def test_edge_features_count_too() -> None:
    def graph(scale: float) -> tuple[Any, ...]:
        features, edges = ring(6)
        return features, edges, np.full((6, 1), scale)

    crf = GraphCRF(inference="trw", prediction="map", random_state=0).fit(
        [graph(1.0)], [["a", "b", "a", "b", "a", "b"]]
    )
    with pytest.raises(ValueError, match="member 0 of X has scores"):
        crf.predict([graph(1e308)])


ANSWERS = ["predict", "predict_marginals", "predict_posterior", "predict_kbest", "predict_confidence", "sample"]


@pytest.mark.parametrize("constraints", [None, "bio"])
@pytest.mark.parametrize("answer", [*ANSWERS, "predict_entities"])
def test_a_sequence_whose_scores_overflow_is_named(answer: str, constraints: str | None) -> None:
    X = [np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[0.5, 1.0], [1.0, 0.0]])]
    crf: ChainModel = ChainCRF(constraints=constraints, random_state=0).fit(X, [["B-X", "O"], ["O", "B-X"]])
    with pytest.raises(ValueError, match="member 1 of X has scores"):
        getattr(crf, answer)([X[0], 1e308 * X[1]])


def test_a_row_whose_scores_overflow_is_named() -> None:
    model = SoftmaxRegression(random_state=0).fit(np.eye(3), [0, 1, 2])
    model.coef_ *= 10
    with pytest.raises(ValueError, match="member 0 of X has scores"):
        model.predict(np.full((1, 3), 1e308))
