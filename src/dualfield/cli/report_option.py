"""The options ``--report`` and ``--held-out`` of ``dualfield train``: everything is checked before training begins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from dualfield.cli.column_features import LabelledFile, read_for_training
from dualfield.estimators import ChainCRF
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
    data: LabelledFile
    note: str

    def write(self, crf: ChainCRF) -> str:
        """Write the page; returns a sentence that says so."""
        data = self.data
        words = [[row[0] for row in sentence] for sentence in data.sentences]
        title = f"Chain CRF of {os.path.basename(self.name)}"
        report(crf, data.X, data.y, self.path, title, words=words, note=self.note)
        return f"report written to {self.path}"


def plan_report(
    path: str | None,
    held_out: str | None,
    training: tuple[str, LabelledFile],
    remembered: dict[str, Any],
    separator: str | None,
    encoding: str,
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
    name, data = training
    if held_out is None:
        return ReportPlan(path, name, data, "These are the training sentences themselves: expect less on new ones.")
    data, found = read_for_training(held_out, remembered["preset"], separator, encoding)
    if found["columns"] != remembered["columns"]:
        raise ValueError(
            f"{held_out} has {found['columns']} columns and a label; the training file has {remembered['columns']}."
        )
    return ReportPlan(path, name, data, f"Sentences of {os.path.basename(held_out)}, which training has not seen.")
