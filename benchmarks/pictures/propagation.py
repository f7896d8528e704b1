"""Seconds of a sweep of loopy belief propagation against the number of edges, for three numbers of labels.

Drawn from ``benchmarks/results/propagation.json``, which ``benchmarks/graphs/propagation.py`` measures.

    python benchmarks/pictures/propagation.py [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.pictures.themes import PICTURES, Theme, draw_both

MEASURED = Path(__file__).parents[1] / "results" / "propagation.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where to put the pictures")
    draw(json.loads(MEASURED.read_text(encoding="utf-8"))["seconds a sweep"], parser.parse_args().folder)


def draw(rows: list[dict[str, Any]], folder: Path) -> list[Path]:
    """Both axes logarithmic: linear growth is a line of slope 1. Each line is named at its end."""

    def fill(figure: Any, theme: Theme) -> None:
        axes = figure.subplots()
        for labels, colour in zip(sorted({row["labels"] for row in rows}), colours(theme), strict=False):
            edges, seconds = zip(*((row["edges"], row["bp"]) for row in rows if row["labels"] == labels), strict=True)
            axes.loglog(edges, seconds, marker="o", color=colour)
            place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{labels} labels", (edges[-1], seconds[-1]), color=colour, weight="bold", **place)
        axes.grid(True)
        axes.margins(x=0.18)
        axes.set(xlabel="edges", ylabel="CPU seconds a sweep")

    return draw_both("propagation", 300, fill, folder)


def colours(theme: Theme) -> tuple[str, ...]:
    return theme.blue, theme.orange, theme.green, theme.purple


if __name__ == "__main__":
    main()
