"""Model files that earlier builds wrote load, and the models answer as they did then.

``landed/`` holds files of format version 3, ``indexed`` of version 4, and ``expected.json`` what the build that wrote
them predicted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualfield import ChainCRF, GraphCRF, GridCRF, SoftmaxRegression, solvers
from dualfield.models import ChainModel
from dualfield.models.model_file import read_parts
from dualfield.tagging import SequenceTagger

LANDED = Path(__file__).parent / "landed"
EXPECTED: dict[str, Any] = json.loads((LANDED / "expected.json").read_text(encoding="utf-8"))


def test_a_chain_with_constraints_and_bigrams() -> None:
    then = EXPECTED["chain"]
    for kind in (ChainCRF, ChainModel):
        crf = kind.load(LANDED / "chain.safetensors")
        X = crf.encode(then["X"], bigrams=then["bigrams"])
        assert crf.predict(X) == then["labels"]
        for found, expected in zip(crf.predict_marginals(X), then["marginals"], strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-11)
        assert crf.solution_.message == then["message"]
        assert crf.layout_.constraints is not None
        assert crf.layout_.constraints.transitions.tolist() == [[True] * 3, [True] * 3, [True, False, True]]
        assert crf.layout_.constraints.begin.tolist() == [True, False, True]


def test_the_parameters_of_a_chain() -> None:
    crf = ChainCRF.load(LANDED / "chain.safetensors")
    assert crf.solver == solvers.SDCA(sampling="gap", accelerate=False)
    assert (crf.l2, crf.state_features, crf.bigram_features, crf.random_state) == (0.5, "observed", "observed", 3)
    assert crf.constraints == crf.layout_.constraints


def test_a_chain_of_column_files(tmp_path: Path) -> None:
    then = EXPECTED["columns"]
    (tmp_path / "tokens.txt").write_text(then["text"])
    command = [sys.executable, "-m", "dualfield", "tag", str(tmp_path / "tokens.txt")]
    done = subprocess.run([*command, "-m", str(LANDED / "columns.safetensors")], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, then["tagged"])
    assert ChainCRF.load(LANDED / "columns.safetensors").constraints == "bio"


def test_the_index_of_names_is_written_as_it_was(tmp_path: Path) -> None:
    ChainCRF.load(LANDED / "columns.safetensors").save(tmp_path / "model")
    now, then = read_parts(tmp_path / "model")[0], read_parts(LANDED / "indexed.safetensors")[0]
    assert now["vocabulary_index"] == then["vocabulary_index"]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("file", ["columns", "indexed"])
def test_a_chain_with_or_without_an_index_tags_single_sequences(file: str, mapped: bool) -> None:
    path = LANDED / f"{file}.safetensors"
    assert ("vocabulary_index" in read_parts(path)[0]) == (file == "indexed")
    crf, tagger = ChainCRF.load(path), SequenceTagger(path, mapped=mapped)
    names = crf.vocabulary_.names
    assert len(names) > 3
    X = [[names[t : t + 2] for t in range(0, len(names), 3)], [[name] for name in names]]
    assert [tagger.tag(x) for x in X] == [list(labels) for labels in crf.predict(X)]
    for x, expected in zip(X, crf.predict_marginals(X), strict=True):
        np.testing.assert_allclose(tagger.marginals(x), expected, atol=1e-11)


def test_a_graph() -> None:
    then = EXPECTED["graph"]
    crf = GraphCRF.load(LANDED / "graph.safetensors")
    X = [(np.array(nodes), np.array(edges)) for nodes, edges in zip(then["nodes"], then["edges"], strict=True)]
    assert [labels.tolist() for labels in crf.predict(X)] == then["labels"]
    for found, expected in zip(crf.predict_marginals(X), then["marginals"], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_a_grid() -> None:
    then = EXPECTED["grid"]
    crf = GridCRF.load(LANDED / "grid.safetensors")
    assert [labels.tolist() for labels in crf.predict([np.array(image) for image in then["images"]])] == then["labels"]


def test_a_softmax_regression() -> None:
    then = EXPECTED["softmax"]
    model = SoftmaxRegression.load(LANDED / "softmax.safetensors")
    assert model.predict(np.array(then["X"])).tolist() == then["labels"]
    np.testing.assert_allclose(model.predict_proba(np.array(then["X"])), then["probabilities"], atol=1e-11)
