"""The package as a house: each floor uses the floors below it, and none above.

``ARCHITECTURE.md`` shows it. ``tests/test_import_graph.py`` checks the order of the folders in the package, and
``tests/benchmarks/test_pictures.py`` that the house has the floors in that order.

    python benchmarks/pictures/architecture.py [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.pictures.themes import DARK, LIGHT, PICTURES, WIDTH, Theme

# From the roof to the ground: what a floor is for, and the folders and modules on it.
FLOORS: list[tuple[str, list[str]]] = [
    ("other programs' doors", ["cli", "compat", "torch"]),
    ("scikit-learn's contract", ["estimators"]),
    ("what a model does and knows", ["tagging", "inspection", "reporting"]),
    ("training", ["solvers", "solving", "driver"]),
    ("the problem, and the trained model", ["fields", "models"]),
    ("inference", ["oracles"]),
    ("raw input becomes arrays", ["labels", "features", "io", "partitions"]),
]
CORE = ["solvers", "fields", "oracles", "duality", "threads"]
HEIGHT, GAP, ROOF, MARGIN = 50, 6, 54, 24
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where to put the pictures")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for theme in (LIGHT, DARK):
        path = arguments.folder / f"architecture_{theme.name}.svg"
        path.write_text(house(theme), encoding="utf-8")
        print(f"wrote {path}")


def house(theme: Theme) -> str:
    """The picture as SVG, with the text as text."""
    height = ROOF + (len(FLOORS) + 1) * (HEIGHT + GAP) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="{FONT}" role="img">',
        "<title>The package as a house: each floor uses those below it</title>",
        f'<path d="M{MARGIN - 20} {ROOF - 4} L{WIDTH / 2} 6 L{WIDTH - MARGIN + 20} {ROOF - 4} Z" '
        f'fill="{theme.blue}" fill-opacity="0.14" stroke="{theme.blue}" stroke-linejoin="round"/>',
        _text(WIDTH / 2, ROOF - 16, "your code, your files", theme.ink, 14, "bold"),
    ]
    top = ROOF
    for purpose, folders in FLOORS:
        parts += _floor(top, purpose, folders, theme.blue, theme)
        top += HEIGHT + GAP
    parts += _floor(top, "compiled core, C++20: the arithmetic", CORE, theme.orange, theme)
    top += HEIGHT + 24
    parts.append(_text(WIDTH / 2, top, "Each floor uses those below it, and none above.", theme.soft, 13))
    return "\n".join([*parts, "</svg>", ""])


def _floor(top: float, purpose: str, folders: list[str], colour: str, theme: Theme) -> list[str]:
    """A box with the purpose above and the folders below, evenly spaced."""
    wide = WIDTH - 2 * MARGIN
    room = wide / len(folders)
    return [
        f'<rect x="{MARGIN}" y="{top}" width="{wide}" height="{HEIGHT}" rx="5" fill="{colour}" fill-opacity="0.08" '
        f'stroke="{colour}"/>',
        _text(WIDTH / 2, top + 18, purpose, theme.soft, 13),
        *(
            _text(MARGIN + room * (place + 0.5), top + 39, folder, theme.ink, 14, "bold")
            for place, folder in enumerate(folders)
        ),
    ]


def _text(x: float, y: float, words: str, colour: str, size: int, weight: str = "normal") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-size="{size}" font-weight="{weight}" fill="{colour}">'
        f"{escape(words)}</text>"
    )


if __name__ == "__main__":
    main()
