"""From a model file to the tagger of column files, in the core: without NumPy, since starting is half of the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualfield import _core
from dualfield.cli.column_features import Layout, Recipe
from dualfield.io.column_layout import column_layout
from dualfield.io.model_file import DAMAGED, Part, refusal

__all__ = ["column_tagger"]


def column_tagger(
    path: str, parts: Mapping[str, Part], description: dict[str, Any], recipe: Recipe, layout: Layout, strict: bool
) -> _core.ColumnTagger:
    """The tagger of the model that the file ``path`` holds, for files of this layout.

    Refuses a damaged model, and one with bigrams: for that there is :class:`~dualfield.cli.model_tagger.ModelTagger`.
    """
    fewest, most = recipe.widths
    options = column_layout(layout.format, layout.separator, layout.comment, layout.docstart)
    options |= {"fewest": fewest, "most": most, "tolerant": not strict}
    separator = "\t" if layout.format == "conllu" else layout.separator or " "
    try:
        if description["estimator"] != "ChainCRF":
            raise ValueError(f"it holds a model of another kind, {description['estimator']!r}")
        if "bigram_columns" in description:
            raise ValueError("it has bigrams, which the tagger of the core does not know")
        labels, flags = _labels(description["classes"]), description["layout"]
        return _core.ColumnTagger(
            recipe.compiled,
            recipe.columns,
            names=_names(parts, description["columns"], recipe.hash_bits),
            hash_bits=recipe.hash_bits or 0,
            weights=_numbers(parts, "weights", "df"),
            transitions=_numbers(parts, "transitions", "i"),
            bias=bool(flags["bias"]),
            begin=bool(flags["begin"]),
            end=bool(flags["end"]),
            pairs=_pairs(parts, len(labels)),
            masks=_masks(parts),
            endings=[f"{separator}{label}" for label in labels],
            **options,
        )
    except DAMAGED as error:
        raise refusal(path, "ChainCRF", error) from error


def _numbers(parts: Mapping[str, Part], name: str, codes: str) -> memoryview:
    """An array of the file, of one of the types that models are saved with."""
    numbers = parts[name].numbers
    if numbers.format not in codes:
        raise ValueError(f"its {name} are of type {numbers.format!r}, not {' or '.join(map(repr, codes))}")
    return numbers


def _labels(given: Any) -> list[str] | list[int]:
    kinds = set(map(type, given))
    if len(given) < 2 or kinds not in ({str}, {int}) or given != sorted(set(given)):
        raise ValueError("its labels are damaged")
    return given


def _names(parts: Mapping[str, Part], n_columns: int | None, hash_bits: int | None) -> _core.Names | None:
    if n_columns is not None:
        if hash_bits is None or n_columns != 2**hash_bits:
            raise ValueError(f"it has {n_columns} columns of arrays, but hash_bits={hash_bits}")
        return None
    offsets = _numbers(parts, "vocabulary_offsets", "q")
    names = _core.Names(_numbers(parts, "vocabulary_text", "B"), offsets)
    if len(names) != len(offsets) - 1:
        raise ValueError("a name stands twice in its vocabulary")
    return names


def _pairs(parts: Mapping[str, Part], n_labels: int) -> _core.ObservedPairs | None:
    if "row_starts" not in parts:
        return None
    return _core.ObservedPairs(_numbers(parts, "row_starts", "q"), _numbers(parts, "row_labels", "i"), n_labels)


def _masks(parts: Mapping[str, Part]) -> tuple[memoryview, memoryview, memoryview] | None:
    if "allowed_transitions" not in parts:
        return None
    transitions, begin, end = (_numbers(parts, f"allowed_{name}", "B") for name in ("transitions", "begin", "end"))
    return transitions, begin, end
