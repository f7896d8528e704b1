"""``dualfield inspect``: the weights of a model file by name, as tables or as JSON."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from dualfield.cli.machine import model_record, print_json, sizes
from dualfield.cli.options import AsJson, ConfigFile
from dualfield.counted import counted
from dualfield.models.foreign import reader_of
from dualfield.models.model_file import has_checksum
from dualfield.tagging.source import load_model

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel
    from dualfield.table import Table

__all__ = ["inspect"]


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file made by train, or by CRFsuite.")],
    label: Annotated[str | None, typer.Option(help="The attributes of this label only.")] = None,
    attribute: Annotated[str | None, typer.Option(help="The weights of this attribute for every label.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many attributes to show for a label.")] = 10,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Show what a model has learnt: its certificate, transitions, and the largest weights of each label.

    Example: dualfield inspect chunker.safetensors --label B-NP --top 20
    """
    from dualfield.features import NumberedColumns
    from dualfield.inspection import attribute_weights, bigram_weights, top_bigrams, top_weights, transitions
    from dualfield.inspection.bigrams import has_bigram
    from dualfield.inspection.weights import has_attribute

    crf = load_model(model)  # refuses a file whose checksum is wrong
    checksum = "ok" if reader_of(model) is None and has_checksum(model) else "none"
    tables: dict[str, Table] = {}
    if attribute is not None:
        name: str | int = attribute
        numbered = isinstance(crf.vocabulary_, NumberedColumns) or (
            crf.layout_.n_columns > 0 and not has_attribute(crf, attribute)
        )
        if numbered:
            name = int(attribute) if attribute.isdecimal() else attribute
        bigram = has_bigram(crf, name)
        if bigram:
            tables["bigram"] = bigram_weights(crf, name)
        if not bigram or has_attribute(crf, name):
            tables["attribute"] = attribute_weights(crf, name)
    if label is not None:
        tables["weights"] = top_weights(crf, top, _as_in_model(crf, label))
    if not tables:
        tables = {"transitions": transitions(crf), "weights": top_weights(crf, top)}
        if crf.bigram_vocabulary_ is not None:
            tables["bigrams"] = top_bigrams(crf, top)
    if as_json:
        record = model_record(crf) | {"checksum": checksum}
        print_json({"model": record, **{key: table.records() for key, table in tables.items()}})
        return
    if label is None and attribute is None:
        print(f"{len(crf.classes_)} labels, {sizes(crf)}, {counted(len(crf.weights_), 'weight')}")
        print(crf.solution_.message)
        print(f"checksum: {checksum}", end="\n\n")
    width = get_terminal_size().columns if sys.stdout.isatty() else None  # a file takes lines of any length
    print("\n\n".join(table.within(width) for table in tables.values()))


def _as_in_model(crf: ChainModel, label: str) -> str | int:
    """The label as the model has it: an integer where its labels are."""
    integers = crf.classes_.dtype.kind in "iu"
    return int(label) if integers and label.removeprefix("-").isdecimal() else label
