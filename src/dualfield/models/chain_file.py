"""A trained chain as arrays and a description, and back. It uses NumPy; the reader has checked the contents."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualfield import _core
from dualfield.features import NumberedColumns, Vocabulary
from dualfield.labels import Constraints
from dualfield.models.bigram_layout import BigramLayout
from dualfield.models.chain_contents import GIVEN, MASKS, ChainContents
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.model_file import Arrays
from dualfield.models.schema import Contents
from dualfield.models.spec import ChainSpec

__all__ = ["arrays_of", "description_of", "layout_of", "parameters_of", "vocabularies_of"]

Names = Vocabulary | NumberedColumns


def arrays_of(layout: ChainLayout, vocabulary: Names, bigrams: Names | None) -> Arrays:
    """The arrays of a file beside the weights."""
    arrays: Arrays = {"transitions": layout.transitions}
    if layout.rows is not None:
        arrays["row_starts"], arrays["row_labels"] = layout.rows
    if isinstance(vocabulary, Vocabulary):
        arrays.update(vocabulary.to_bytes_arrays())
        arrays["vocabulary_index"] = _core.name_index(arrays["vocabulary_text"], arrays["vocabulary_offsets"])
    if layout.bigrams is not None:
        arrays["bigram_pairs"] = layout.bigrams.pairs
        if layout.bigrams.starts is not None:
            arrays["bigram_starts"] = layout.bigrams.starts
    if isinstance(bigrams, Vocabulary):
        arrays.update({f"bigram_{name}": array for name, array in bigrams.to_bytes_arrays().items()})
    if layout.constraints is not None:
        arrays.update({f"allowed_{name}": getattr(layout.constraints, name).astype(np.uint8) for name in MASKS})
    return arrays


def description_of(
    parameters: dict[str, Any], layout: ChainLayout, vocabulary: Names, bigrams: Names | None
) -> dict[str, Any]:
    """What a description says of a chain, but for its recipe; ``parameters`` are plain, except for constraints."""
    rules = parameters["constraints"]
    if isinstance(rules, Constraints):
        known = layout.constraints is not None and set(rules.labels) == set(layout.constraints.labels)
        masks = {name: getattr(rules, name).astype(int).tolist() for name in MASKS}
        parameters = parameters | {"constraints": GIVEN if known else {"labels": list(rules.labels), **masks}}
    columns = {"columns": vocabulary} if bigrams is None else {"columns": vocabulary, "bigram_columns": bigrams}
    return {
        "parameters": parameters,
        "layout": {name: getattr(layout, name) for name in ("bias", "begin", "end")},
        **{name: None if isinstance(names, Vocabulary) else len(names) for name, names in columns.items()},
        **({"dense_columns": layout.n_columns} if layout.n_columns else {}),
    }


def parameters_of(contents: ChainContents, layout: ChainLayout) -> tuple[ChainSpec, dict[str, Any]]:
    """What the model is, and how training was asked for."""
    spec = contents.spec
    if contents.file.description["parameters"].get("constraints") == GIVEN:
        spec = spec.but(constraints=layout.constraints)
    return spec, contents.training


def layout_of(contents: ChainContents) -> ChainLayout:
    """Which weights there are, with arrays of its own."""
    file, n_labels = contents.file, len(contents.file.labels)
    rows = None if contents.rows is None else (file.array("row_starts"), file.array("row_labels"))
    rules, pairs = None, None
    if contents.masks is not None:
        rules = Constraints(file.labels, **{name: file.array(f"allowed_{name}").astype(bool) for name in MASKS})
    if contents.bigrams is not None:
        starts = None if contents.bigrams.starts is None else file.array("bigram_starts")
        pairs = BigramLayout(contents.bigrams.size, n_labels, file.array("bigram_pairs"), starts)
    transitions = file.array("transitions")
    n_columns = contents.n_columns
    parts = contents.n_attributes, n_labels, transitions, rows, *contents.switches, rules, pairs
    return ChainLayout(*parts, n_columns=n_columns)


def vocabularies_of(contents: ChainContents) -> tuple[Names, Names | None]:
    """The names of attributes and of bigrams, or how many columns there are."""
    file, bigrams = contents.file, None
    if contents.bigrams is not None:
        bigrams = _vocabulary(file, file.description["bigram_columns"], "bigram_vocabulary")
    return _vocabulary(file, file.description["columns"], "vocabulary"), bigrams


def _vocabulary(file: Contents, columns: int | None, name: str) -> Names:
    if columns is not None:
        return NumberedColumns(columns)
    # not the names of the contents, which would keep the whole file in memory
    return Vocabulary.from_core(_core.Names(file.array(f"{name}_text"), file.array(f"{name}_offsets")))
