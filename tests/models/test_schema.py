"""The schema lists every array of model files, and the page on them says what each holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dualfield import ChainCRF, GraphCRF, SoftmaxRegression
from dualfield.features import encode
from dualfield.models.model_file import read_parts
from dualfield.models.schema import ARRAYS, Contents, read_contents

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "model-file.md").read_text(encoding="utf-8")
X, Y = [[["a"], ["b"]], [["b"], ["a"]]], [["B-X", "I-X"], ["O", "B-X"]]


@pytest.mark.parametrize("name", ARRAYS)
def test_the_page_on_model_files_has_every_array(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_a_model_with_everything_has_every_array_and_no_other(tmp_path: Path) -> None:
    encoded = encode(X, bigrams=X)
    options = {"state_features": "observed", "bigram_features": "observed", "constraints": "bio"}
    ChainCRF(random_state=0, **options).fit(encoded, Y).save(tmp_path / "model")
    parts, _ = read_parts(tmp_path / "model")
    assert set(parts) == set(ARRAYS)
    contents = read_contents(tmp_path / "model", "ChainCRF")
    for name, part in parts.items():
        assert contents.array(name).shape == part.shape
        assert contents.array(name).dtype == np.dtype(part.numbers.format)


def test_other_models_have_weights_alone(tmp_path: Path) -> None:
    GraphCRF(tol=1.0).fit([(np.eye(2), [[0, 1]])], [["a", "b"]]).save(tmp_path / "graph")
    SoftmaxRegression(tol=1.0).fit(np.eye(2), [0, 1]).save(tmp_path / "softmax")
    for name in ("graph", "softmax"):
        assert list(read_parts(tmp_path / name)[0]) == ["weights"]


@pytest.mark.parametrize(
    ("array", "match"),
    [(np.zeros(3), "of type float64, not int32"), (np.zeros((2, 2), np.int32), r"have the shape \(2, 2\)")],
)
def test_an_array_of_another_type_or_shape_is_refused(array: np.ndarray, match: str) -> None:
    from dualfield.models.model_file import FileArray

    part = FileArray(array.shape, memoryview(array.tobytes()).cast(array.dtype.char))
    with pytest.raises(ValueError, match=match):
        Contents("model", {"transitions": part}, {}).numbers("transitions")
