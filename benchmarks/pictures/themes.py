"""How the pictures of the pages look: each is drawn twice, for light and for dark pages.

A picture is 480 points wide with type of 12 points, so that it can be read on a telephone, 400 pixels wide. It has no
background of its own. Text becomes outlines, so it looks the same everywhere, and the same run writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["DARK", "LIGHT", "PICTURES", "Theme", "draw_both", "drawing"]

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
WIDTH = 480
POINTS_AN_INCH = 72
DOTS_AN_INCH = 160  # of pictures that hold photos or screens, which are PNG files


@dataclass(frozen=True)
class Theme:
    """Colours by what they are for: ``ink`` for text, ``soft`` for notes and axes, ``rule`` for lines of a grid."""

    name: str
    paper: str
    ink: str
    soft: str
    rule: str
    blue: str
    orange: str
    green: str
    purple: str
    grey: str


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1f24",
    soft="#57606a",
    rule="#d8dee4",
    blue="#0a66a8",
    orange="#b34700",
    green="#00785a",
    purple="#9a4a80",
    grey="#b4bcc4",
)
DARK = Theme(
    name="dark",
    paper="#131416",
    ink="#e6e9ed",
    soft="#a0abb7",
    rule="#333b44",
    blue="#6cbcf0",
    orange="#f0a24e",
    green="#4cc9a0",
    purple="#e29ac8",
    grey="#4f5964",
)


@contextmanager
def drawing(theme: Theme) -> Iterator[Any]:
    """Matplotlib's pyplot, with a theme's colours while the block lasts."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    colours = dict.fromkeys(("text.color", "axes.labelcolor"), theme.ink)
    colours |= dict.fromkeys(("xtick.color", "ytick.color", "axes.edgecolor"), theme.soft)
    settings = {
        "font.size": 12,
        "axes.titlesize": 12,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": theme.rule,
        "grid.linewidth": 0.8,
        "svg.fonttype": "path",
        "svg.hashsalt": "dualfield",
    }
    with plt.rc_context({**settings, **colours}):
        yield plt
        plt.close("all")


def draw_both(
    name: str, height: float, draw: Callable[[Any, Theme], None], folder: Path = PICTURES, suffix: str = "svg"
) -> list[Path]:
    """Write ``<name>_light.svg`` and ``<name>_dark.svg``; ``draw`` fills a figure of ``height`` points."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for theme in (LIGHT, DARK):
        path = folder / f"{name}_{theme.name}.{suffix}"
        with drawing(theme) as plt:
            size = (WIDTH / POINTS_AN_INCH, height / POINTS_AN_INCH)
            figure = plt.figure(figsize=size, layout="constrained")
            draw(figure, theme)
            if suffix == "svg":
                figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
                tidy(path)
            else:
                figure.savefig(path, transparent=True, dpi=DOTS_AN_INCH, metadata={"Software": None})
        print(f"wrote {path}")
        written.append(path)
    return written


def tidy(path: Path) -> None:
    """Take off the spaces at ends of lines, which Matplotlib leaves."""
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(line.rstrip() + "\n" for line in lines), encoding="utf-8")
