"""``dualfield inspect``: the weights of a model file by name, as tables or as JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from dualfield.estimators import ChainCRF
from dualfield.features import Columns
from dualfield.inspection import attribute_weights, top_weights, transitions
from dualfield.reporting import Table

__all__ = ["inspect"]


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file made by train.")],
    label: Annotated[str | None, typer.Option(help="The attributes of this label only.")] = None,
    attribute: Annotated[str | None, typer.Option(help="The weights of this attribute for every label.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many attributes to show for a label.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for other programs.")] = False,
) -> None:
    """Show what a model has learnt: its certificate, transitions, and the largest weights of each label.

    Example: dualfield inspect chunker.safetensors --label B-NP --top 20
    """
    crf = ChainCRF.load(model)
    tables: dict[str, Table] = {}
    if attribute is not None:
        name: str | int = attribute
        if isinstance(crf.vocabulary_, Columns):
            name = int(attribute) if attribute.isdecimal() else attribute
        tables["attribute"] = attribute_weights(crf, name)
    if label is not None:
        tables["weights"] = top_weights(crf, top, _as_in_model(crf, label))
    if not tables:
        tables = {"transitions": transitions(crf), "weights": top_weights(crf, top)}
    if as_json:
        content: dict[str, Any] = {"model": _summary(crf)}
        content.update((key, table.records()) for key, table in tables.items())
        print(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1))
        return
    if label is None and attribute is None:
        print(f"{len(crf.classes_)} labels, {len(crf.vocabulary_):,} attributes, {len(crf.weights_):,} weights")
        print(crf.solution_.message, end="\n\n")
    print("\n\n".join(map(str, tables.values())))


def _as_in_model(crf: ChainCRF, label: str) -> str | int:
    """The label as the model has it: an integer where its labels are."""
    integers = crf.classes_.dtype.kind in "iu"
    return int(label) if integers and label.removeprefix("-").isdecimal() else label


def _summary(crf: ChainCRF) -> dict[str, Any]:
    solution = crf.solution_
    known = solution.duality_gap == solution.duality_gap
    return {
        "labels": crf.classes_.tolist(),
        "attributes": len(crf.vocabulary_),
        "weights": len(crf.weights_),
        "certificate": solution.certificate,
        "objective": solution.primal if solution.primal == solution.primal else None,
        "duality_gap": solution.duality_gap if known else None,
        "message": solution.message,
    }
