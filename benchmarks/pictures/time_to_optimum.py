"""The README's chart: how long each program needs to come within 0.1 % of the optimum.

It is drawn from ``benchmarks/results/time_to_optimum.jsonl``, whose rows ``benchmarks/peers/time_to_optimum.py``
measures, as ``docs/pictures/time_to_optimum_light.svg`` and ``_dark.svg``. The table of the same rows is written into
``docs/measurements/beside-other-tools.md``, between two comments that mark its place.

    python benchmarks/pictures/time_to_optimum.py [--rows FILE] [--folder FOLDER]

With ``--folder`` the pictures go there, and the table is printed and not written.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.results import Results
from benchmarks.pictures.themes import PICTURES, Theme, draw_both

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "benchmarks" / "results" / "time_to_optimum.jsonl"
PAGE = ROOT / "docs" / "measurements" / "beside-other-tools.md"
BEGIN, END = "<!-- time to optimum -->", "<!-- end of time to optimum -->"
LEVEL = "0.001"
TASKS = {
    "chunking": "Chunking, CoNLL-2000",
    "chunking-all": "Chunking, a weight for every pair",
    "pos": "Parts of speech, 49 labels",
    "tutorial": "Dutch names, settings of sklearn-crfsuite's tutorial",
}
PROGRAMS = {"dualfield": "dualfield", "crfsuite": "CRFsuite", "wapiti": "Wapiti"}
DRAWN = ("chunking", "chunking-all", "pos", "tutorial")


@dataclass(frozen=True)
class Row:
    """One program on one task; ``seconds`` by level, None where it did not come so close."""

    task: str
    program: str
    seconds: dict[str, float | None]
    passes: dict[str, int | None]
    certified: float | None
    after_100: dict[str, float] | None
    environment: dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=ROWS, help="what was measured (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where to put the pictures, in place of docs/pictures")
    arguments = parser.parse_args()
    if not arguments.rows.exists():
        sys.exit(f"{arguments.rows} does not exist; measure it: python benchmarks/peers/time_to_optimum.py")
    rows = read(arguments.rows)
    draw(rows, arguments.folder or PICTURES)
    if arguments.folder:
        print(table(rows))
    else:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(rows)), encoding="utf-8")
        print(f"wrote the table into {PAGE}")


def read(path: Path) -> list[Row]:
    """The rows of a file, in the order of TASKS and PROGRAMS."""
    found = {}
    for line in Results(path).find(kind="time to optimum"):
        task, program, result = line["key"]["task"], line["key"]["program"], line["result"]
        reached = result["reached"].items()
        found[task, program] = Row(
            task,
            program,
            {level: at[0] if at else None for level, at in reached},
            {level: at[1] if at else None for level, at in reached},
            result.get("certified"),
            result.get("after_100"),
            line["environment"],
        )
    return [found[task, program] for task in TASKS for program in PROGRAMS if (task, program) in found]


# ---- the chart ---------------------------------------------------------------------------------------------


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """A group of bars for each task, each group as wide as its slowest program."""
    groups = [group for task in DRAWN if (group := [row for row in rows if row.task == task])]
    lines = sum(1 + len(group) for group in groups)

    def fill(figure: Any, theme: Theme) -> None:
        sizes = [1 + len(group) for group in groups]
        panels = figure.subplots(len(groups), 1, gridspec_kw={"height_ratios": sizes}, squeeze=False)
        for axes, group in zip(panels.ravel(), groups, strict=True):
            _bars(axes, group, theme)
        title = "CPU seconds until within 0.1 % of the optimum"
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=theme.soft)

    return draw_both("time_to_optimum", 25 * lines + 30, fill, folder)


def _bars(axes: Any, group: list[Row], theme: Theme) -> None:
    longest = max((row.seconds[LEVEL] or 0 for row in group), default=0) or 1
    axes.set_title(TASKS[group[0].task], loc="left", weight="bold", pad=2)
    for place, row in enumerate(group):
        seconds, ours = row.seconds[LEVEL], row.program == "dualfield"
        share = (seconds or 0) / longest
        axes.barh(place, share, height=0.68, color=theme.blue if ours else theme.grey)
        label = "does not come so close" if seconds is None else _seconds(seconds)
        if ours and row.certified is not None:
            label += f"  (proven after {_seconds(row.certified)})"
        axes.text(share + 0.012, place, label, va="center", weight="bold" if ours else "normal")
        if row.after_100 and seconds is not None:
            _tutorials_end(axes, place, row.after_100, longest, theme)
    axes.set_yticks(range(len(group)), [PROGRAMS[row.program] for row in group])
    axes.set(xlim=(0, 1.16), ylim=(len(group) - 0.5, -0.5), xticks=[])
    axes.tick_params(length=0, labelcolor=theme.ink)
    axes.spines["bottom"].set_visible(False)


def _tutorials_end(axes: Any, place: int, after_100: dict[str, float], longest: float, theme: Theme) -> None:
    """A mark on the bar where the tutorial stops, with how far from the optimum that is."""
    at = after_100["cpu_seconds"] / longest
    axes.plot([at, at], [place - 0.34, place + 0.34], color=theme.paper, linewidth=2)
    text = f"100 iterations: {100 * after_100['above_optimum']:.2g} % above"
    side = {"x": at + 0.012, "ha": "left"} if at < 0.5 else {"x": at - 0.012, "ha": "right"}
    axes.text(y=place, s=text, va="center", color=theme.ink, fontsize=11, **side)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


# ---- the table ---------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table, with the machine they were measured on below."""
    lines = [
        "| task | program | within 1e-2 | within 1e-3 | within 1e-4 | proven 1e-3 |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [_cell(row, level) for level in ("0.01", LEVEL, "0.0001")]
        proven = "never" if row.certified is None else f"{row.certified:.2f} s"
        lines.append("| " + " | ".join([TASKS[row.task], PROGRAMS[row.program], *cells, proven]) + " |")
    for where in dict.fromkeys(_machine(row.environment) for row in rows):
        lines += ["", where]
    return "\n".join(lines)


def _cell(row: Row, level: str) -> str:
    seconds, passes = row.seconds[level], row.passes[level]
    return "not reached" if seconds is None else f"{seconds:.2f} s, {passes} passes"


def _machine(environment: dict[str, Any]) -> str:
    return (
        f"Measured on {environment['processor']}, {environment['cores']} cores, Python {environment['python']}, "
        f"commit {environment['commit']}."
    )


def with_table(page: str, made: str) -> str:
    """The page with what stands between its two comments replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE} lacks the comments {BEGIN} and {END}, between which the table goes.")
    return f"{before}{begin}\n{made}\n{end}{after}"


if __name__ == "__main__":
    main()
