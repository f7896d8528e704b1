"""From a column file to labelled sequences, by a feature preset that the model remembers."""

from __future__ import annotations

from typing import Any, NamedTuple

from dualfield.estimators import ChainCRF
from dualfield.features import PRESETS, extract_all
from dualfield.io import Sentence, read_columns

__all__ = ["LabelledFile", "read_for_model", "read_for_training"]


class LabelledFile(NamedTuple):
    """The sentences of a file, their attributes, and their labels (None where the file has none)."""

    sentences: list[Sentence]
    X: list[list[list[str]]]
    y: list[list[str]] | None


def read_for_training(
    path: str, preset: str, separator: str | None, encoding: str
) -> tuple[LabelledFile, dict[str, Any]]:
    """Read a file whose last column is the label; also what the model must remember to read others."""
    if preset not in PRESETS:
        raise ValueError(f"there is no feature preset {preset!r}; choose one of {', '.join(sorted(PRESETS))}.")
    sentences = read_columns(path, separator=separator, encoding=encoding)
    columns = len(sentences[0][0]) - 1
    if columns < 1:
        raise ValueError(f"{path} has one column; training needs a word and, in the last column, its label.")
    return _labelled(sentences, preset, columns), {"preset": preset, "columns": columns}


def read_for_model(path: str, crf: ChainCRF, separator: str | None, encoding: str) -> LabelledFile:
    """Read a file with the columns that the model was trained on, with or without the label column."""
    remembered = crf.column_features_
    if not isinstance(remembered, dict) or remembered.get("preset") not in PRESETS:
        raise ValueError("the model was not trained on a column file, so it does not know how to read one.")
    columns = int(remembered["columns"])
    sentences = read_columns(path, separator=separator, encoding=encoding)
    found = len(sentences[0][0])
    if found not in (columns, columns + 1):
        raise ValueError(
            f"{path} has {found} columns; the model was trained on {columns} and a label, so expected {columns} or "
            f"{columns + 1}."
        )
    return _labelled(sentences, remembered["preset"], columns)


def _labelled(sentences: list[Sentence], preset: str, columns: int) -> LabelledFile:
    X = extract_all(preset, [[row[:columns] for row in sentence] for sentence in sentences])
    labelled = len(sentences[0][0]) > columns
    return LabelledFile(sentences, X, [[row[-1] for row in sentence] for sentence in sentences] if labelled else None)
