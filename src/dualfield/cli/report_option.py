"""The options ``--report`` and ``--held-out`` of ``dualfield train``: everything is checked before training begins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import typer

from dualfield.cli.column_features import Recipe, TrainingFile, read_labelled
from dualfield.estimators import ChainCRF
from dualfield.features import Tokens
from dualfield.reporting import check_report, report

__all__ = ["HeldOutFile", "ReportFile", "ReportPlan", "plan_report"]

ReportFile = Annotated[
    str | None,
    typer.Option("--report", metavar="HTML", help="Also write a report of the model: one page for a browser."),
]
HeldOutFile = Annotated[
    str | None,
    typer.Option(
        "--held-out", metavar="FILE", help="Column file for the scores of the report; default: the training file."
    ),
]


@dataclass(frozen=True)
class ReportPlan:
    """Where the report goes, and the sentences that it scores."""

    path: str
    name: str
    tokens: Tokens
    recipe: Recipe
    note: str

    def write(self, crf: ChainCRF) -> str:
        """Write the page; returns a sentence that says so."""
        column, offsets = self.tokens.column(self.recipe.columns[0]), self.tokens.offsets.tolist()
        words = [column[first:last] for first, last in pairwise(offsets)]
        X, y = self.recipe.attributes(self.tokens, crf), self.tokens.labels(self.recipe.label)
        report(crf, X, y, self.path, f"Chain CRF of {os.path.basename(self.name)}", words=words, note=self.note)
        return f"report written to {self.path}"


def plan_report(
    path: str | None, held_out: str | None, name: str, training: TrainingFile, encoding: str
) -> ReportPlan | None:
    """Check what the options ask for and read the held-out file; None where no report is wanted."""
    if path is None:
        if held_out is not None:
            raise ValueError("--held-out is for the scores of a report; give --report too, or use 'dualfield eval'.")
        return None
    try:
        check_report(path)
    except ImportError as error:
        raise ValueError(str(error)) from None
    recipe = training.recipe
    if held_out is None:
        note = "These are the training sentences themselves: expect less on new ones."
        return ReportPlan(path, name, training.tokens, recipe, note)
    tokens = read_labelled(held_out, recipe, recipe.layout, encoding)
    note = f"Sentences of {os.path.basename(held_out)}, which training has not seen."
    return ReportPlan(path, name, tokens, recipe, note)
