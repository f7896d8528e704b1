"""The options ``--report`` and ``--held-out`` of ``dualfield train``: everything is checked before training begins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualfield import features
from dualfield.models.recipe import Given, Recipe
from dualfield.tagging.reading import Labelled, read_given, read_labelled

if TYPE_CHECKING:
    from dualfield.features import Encoded, Tokens
    from dualfield.labels import EncodedLabels
    from dualfield.models.chain_model import ChainModel

__all__ = ["HeldOutFile", "ReportFile", "ReportPlan", "check_report_option", "plan_report", "report_on"]

ReportFile = Annotated[
    str | None,
    typer.Option("--report", metavar="HTML", help="Also write a report of the model: one page for a browser."),
]
HeldOutFile = Annotated[
    str | None,
    typer.Option("--held-out", metavar="FILE", help="File for the scores of the report; default: the training file."),
]


@dataclass(frozen=True)
class ReportPlan:
    """Where the report goes, and the sentences that it scores: tokens, or attributes already."""

    path: str
    name: str
    note: str
    sequences: tuple[Tokens, Recipe] | tuple[Encoded, EncodedLabels]

    def write(self, crf: ChainModel) -> str:
        """Write the page; returns a sentence that says so."""
        tokens, recipe = self.sequences
        X: Any = tokens
        y: Any = recipe
        words = None
        if isinstance(tokens, features.Tokens) and isinstance(recipe, Recipe):
            column, offsets = tokens.column(recipe.columns[0]), tokens.offsets.tolist()
            words = [column[begin:end] for begin, end in pairwise(offsets)]
            X, y = recipe.attributes(tokens, crf), tokens.labels(recipe.label)
        from dualfield.reporting import report

        title = f"Chain CRF of {os.path.basename(self.name)}"
        report(crf, X, y, self.path, title, words=words, note=self.note)
        return f"report written to {self.path}"


def plan_report(
    path: str | None, held_out: str | None, name: str, training: Labelled, encoding: str
) -> ReportPlan | None:
    """Check what the options ask for and read the held-out file; None where no report is wanted."""
    if path is None:
        if held_out is not None:
            raise ValueError("--held-out is for the scores of a report; give --report too, or use 'dualfield eval'.")
        return None
    check_report_option(path)
    source, note = training.source, "These are the training sentences themselves: expect less on new ones."
    if held_out is not None:
        note = f"Sentences of {os.path.basename(held_out)}, which training has not seen."
    if isinstance(source, Given):
        data = training if held_out is None else read_given(held_out, source, encoding)
        return ReportPlan(path, name, note, (data.X, data.y))
    tokens = training.tokens if held_out is None else read_labelled(held_out, source, source.layout, encoding)
    assert tokens is not None
    return ReportPlan(path, name, note, (tokens, source))


def check_report_option(path: str) -> None:
    """Refuse a report that could not be written, before any work."""
    from dualfield.reporting import check_report

    try:
        check_report(path)
    except ImportError as error:
        raise ValueError(str(error)) from None


def report_on(path: str, model: str, file: str, data: Labelled) -> ReportPlan:
    """The report of a model on a labelled file that has been read."""
    note = f"Sentences of {os.path.basename(file)}."
    if isinstance(data.source, Given):
        return ReportPlan(path, model, note, (data.X, data.y))
    assert data.tokens is not None
    return ReportPlan(path, model, note, (data.tokens, data.source))
