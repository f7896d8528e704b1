"""Put what is in benchmarks/results onto the pages, so that no figure of a results file is typed.

A page says where a table comes from, and this script writes what stands between the two comments:

    <!-- from benchmarks/results/scaling.txt: tiny: -->
    <!-- end -->

takes the paragraph of that text file that begins with "tiny:", as it stands there. Of a file alone, one that RENDERED
below names, it makes a table. A test compares the pages with the files.

    python docs/measurements/tables.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["PAGES", "filled"]

ROOT = Path(__file__).parents[2]
PAGES = sorted(Path(__file__).parent.glob("*.md"))
PLACE = re.compile(r"(<!-- from (\S+?)(?:: (.*?))? -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """The page with every table as its results file has it."""
    return PLACE.sub(lambda place: f"{place[1]}{_content(place[2], place[3])}\n{place[4]}", page)


def _content(file: str, beginning: str | None) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    if beginning is None:
        return RENDERED[file](text)
    paragraphs = [part for part in re.split(r"\n\s*?\n", text) if part.lstrip().startswith(beginning)]
    if len(paragraphs) != 1:
        raise ValueError(f"{len(paragraphs)} paragraphs of {file} begin with {beginning!r}; expected one.")
    lines = [line.rstrip() for line in paragraphs[0].strip("\n").split("\n")]
    return "\n".join(["```text", *lines, "```"])


def _schmidt_figure_1(text: str) -> str:
    """A row for each method, best first at the last point of the first task; a column for each point of each task."""
    points: dict[str, dict[str, str]] = {}
    for title, found in re.findall(r"^  (\w+, \d+): (.*)$", text, re.MULTILINE):
        values = (re.fullmatch(r"(.+?)(?:, (η = \S+))? (\S+)", part) for part in found.split("; "))
        points[title] = {value[1]: f"{value[3]} ({value[2]})" if value[2] else value[3] for value in values if value}
    order = list(dict.fromkeys(name for values in list(points.values())[1:] + list(points.values()) for name in values))
    lines = [f"| | {' | '.join(points)} |", "|---" * (len(points) + 1) + "|"]
    lines += [
        f"| {_plain(name)} | {' | '.join(values.get(name, '–') for values in points.values())} |" for name in order
    ]
    return "\n".join(lines)


def _plain(name: str) -> str:
    """A name in Markdown, where a star would begin emphasis."""
    return name.replace("*", r"\*")


def _gpu_training(text: str) -> str:
    """A column for each task, a row for each number; "–" where it was not measured."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    tasks = {
        ("conll", "all"): "CoNLL-2000, all pairs",
        ("conll", "observed"): "CoNLL-2000, observed pairs",
        ("pos", "all"): "Penn tags of UD EWT, all pairs",
    }
    numbers = [
        ("1e-3 of the optimum, GPU", "gpu", None, "s to 0.001"),
        ("1e-6 of the optimum, GPU", "gpu", None, "s to 1e-06"),
        ("a certified 1e-3, GPU", "gpu", None, "s to certified 0.001"),
        ("a certified 1e-6, GPU", "gpu", None, "s to certified 1e-06"),
        ("a certified 1e-3, OEG on 16 threads", "16 threads", "oeg", "s to certified 0.001"),
        ("a certified 1e-3, OEG on one thread", "1 threads", "oeg", "s to certified 0.001"),
        ("a certified 1e-3, L-BFGS on 16 threads", "16 threads", "lbfgs", "s to certified 0.001"),
        ("ms for an evaluation, GPU", "gpu", None, "milliseconds an evaluation"),
        ("GB of the GPU, at most so far in the process", "gpu", None, "GB at most"),
    ]
    lines = [f"| seconds to | {' | '.join(tasks.values())} |", "|---" * (len(tasks) + 1) + "|"]
    for title, where, solver, number in numbers:
        cells = []
        for task in tasks:
            values = [
                row[number]
                for row in rows
                if (row["task"], row["pairs"], row["where"], row.get("solver")) == (*task, where, solver)
            ]
            cells.append(f"{values[0]:.2g}" if values else "–")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


RENDERED: dict[str, Callable[[str], str]] = {
    "benchmarks/results/gpu_training.jsonl": _gpu_training,
    "benchmarks/results/schmidt_2015_figure_1.txt": _schmidt_figure_1,
}


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
