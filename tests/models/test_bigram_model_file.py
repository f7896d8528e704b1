"""Model files with bigrams: older files load as before, damage is refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from dualfield import ChainCRF
from tests.model_files import described, sealed
from tests.zoo import bigram_sequences


def saved(path: Path, **options: Any) -> ChainCRF:
    X, y = bigram_sequences(12)
    crf = ChainCRF(**options, random_state=0).fit(X, y)
    crf.save(path)
    return crf


def metadata(path: Path) -> dict[str, str]:
    with safe_open(path, framework="numpy") as file:
        return dict(file.metadata())


def test_only_models_with_bigrams_speak_of_them(tmp_path: Path) -> None:
    saved(tmp_path / "with")
    X, y = bigram_sequences(12)
    ChainCRF(random_state=0).fit(X.with_bigrams(None), y).save(tmp_path / "without")
    assert "bigram_columns" in json.loads(metadata(tmp_path / "with")["model"])
    assert "bigram_columns" not in json.loads(metadata(tmp_path / "without")["model"])


def test_a_file_from_before_there_were_bigrams_still_loads(tmp_path: Path) -> None:
    X, y = bigram_sequences(12)
    crf = ChainCRF(random_state=0).fit(X.with_bigrams(None), y)
    crf.save(tmp_path / "new")
    new = (tmp_path / "new").read_bytes()
    (tmp_path / "old").write_bytes(described(new, lambda d: d["parameters"].pop("bigram_features")))
    old = ChainCRF.load(tmp_path / "old")
    assert old.bigram_vocabulary_ is None
    assert old.predict(X.with_bigrams(None)) == crf.predict(X.with_bigrams(None))


def test_float32_halves_the_table_of_bigrams_too(tmp_path: Path) -> None:
    crf = saved(tmp_path / "m")
    crf.save(tmp_path / "small", dtype=np.float32)
    np.testing.assert_allclose(ChainCRF.load(tmp_path / "small").weights_, crf.weights_, rtol=1e-6)


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arrays: {**arrays, name: change(arrays[name])}


@pytest.mark.parametrize(
    ("options", "damage", "message"),
    [
        ({}, changed("bigram_pairs", lambda a: a + 1), "its table of bigrams is damaged"),
        ({}, changed("bigram_pairs", lambda a: a[::-1].copy()), "its table of bigrams is damaged"),
        ({}, changed("bigram_pairs", lambda a: a.reshape(3, 3)), "its bigram_pairs are damaged"),
        ({}, changed("bigram_pairs", lambda a: a.astype(np.int64)), "its bigram_pairs are of type int64"),
        ({}, changed("bigram_pairs", lambda a: a[:-1]), "it should have"),
        ({}, lambda arrays: {k: v for k, v in arrays.items() if k != "bigram_pairs"}, "it lacks 'bigram_pairs'"),
        (
            {},
            lambda arrays: {k: v for k, v in arrays.items() if k != "bigram_vocabulary_text"},
            "it lacks 'bigram_vocabulary_text'",
        ),
        (
            {"bigram_features": "observed"},
            changed("bigram_starts", lambda a: a[:-1]),
            "its table of bigrams is damaged",
        ),
        ({"bigram_features": "observed"}, changed("bigram_starts", lambda a: a[::-1].copy()), "table of bigrams is"),
        ({"bigram_features": "observed"}, changed("bigram_starts", lambda a: a - 1), "table of bigrams is damaged"),
    ],
)
def test_damage_is_refused_in_a_sentence(tmp_path: Path, options: Any, damage: Any, message: str) -> None:
    saved(tmp_path / "m", **options)
    save_file(damage(load_file(tmp_path / "m")), tmp_path / "bad", metadata(tmp_path / "m"))
    (tmp_path / "bad").write_bytes(sealed((tmp_path / "bad").read_bytes()))
    with pytest.raises(ValueError, match=message):
        ChainCRF.load(tmp_path / "bad")
