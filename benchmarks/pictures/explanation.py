"""Why a word got its tag: the same word in two sentences, and what speaks for a city or for a person.

A model of 2,000 generated sentences looks at a word and at its two neighbours. ``explain`` takes its decision apart
into contributions that add up to the margin between two tags. The longest bars are drawn, and one for the sum of the
others.

    python benchmarks/pictures/explanation.py [--sentences N] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.pictures.themes import PICTURES, Theme, draw_both
from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.inspection import Explanation, explain

WORD = "Jordan"
# A sentence with the word, the tag that the model gives it there, and the tag to compare with.
DECISIONS = (
    ("Grace flies to Jordan on Friday .", "B-CITY", "B-PERSON"),
    ("Tell Jordan that Paris is lovely .", "B-PERSON", "B-CITY"),
)
BARS = 4
Bars = list[tuple[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=2000, help="how many to train on (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where to put the pictures")
    arguments = parser.parse_args()
    draw(explanations(arguments.sentences), arguments.folder)


def attributes(words: list[str]) -> list[dict[str, str]]:
    """A word and its two neighbours."""
    padded = ["(none)", *words, "(none)"]
    return [{"word before": padded[t], "word": padded[t + 1], "word after": padded[t + 2]} for t in range(len(words))]


def explanations(sentences: int) -> list[Explanation]:
    made = travel_sentences(sentences, seed=0)
    X = [attributes([word for word, _ in sentence]) for sentence in made]
    crf = ChainCRF(random_state=0).fit(X, [[label for _, label in sentence] for sentence in made])
    found = []
    for text, label, against in DECISIONS:
        words = text.split()
        why = explain(crf, attributes(words), words.index(WORD), against=against)
        if why.label != label:
            sys.exit(f"{WORD!r} is {why.label} in {text!r}, and not {label}; choose another sentence.")
        print(f"{text} {label}: {why.probability:.0%}, {against}: {why.probability_against:.0%}, {why.margin:+.2f}")
        found.append(why)
    return found


def bars(why: Explanation) -> Bars:
    """The largest contributions, and the sum of the others, so that all add up to the margin."""
    rows = [(readable(str(row[0])), float(row[-1])) for row in why.rows]
    shown, rest = rows[:BARS], rows[BARS:]
    return [*shown, ("all others", sum(value for _, value in rest))] if rest else shown


def readable(part: str) -> str:
    """A contribution's name in few words: of a transition only the one that the model chose."""
    return part.split(", not ")[0].replace(":", ": ")


def draw(found: list[Explanation], folder: Path) -> list[Path]:
    def fill(figure: Any, theme: Theme) -> None:
        panels = figure.subplots(len(found), 1, sharex=True)
        for axes, why, (text, label, against) in zip(panels, found, DECISIONS, strict=True):
            names, values = zip(*bars(why)[::-1], strict=True)
            colours = [theme.blue if value > 0 else theme.orange for value in values]
            axes.barh(range(len(values)), values, color=colours, height=0.7)
            axes.axvline(0, color=theme.soft, linewidth=1)
            axes.set_yticks(range(len(values)), names)
            axes.tick_params(axis="y", length=0)
            axes.tick_params(axis="x", labelbottom=True)
            axes.spines["left"].set_visible(False)
            axes.grid(axis="x")
            axes.set_axisbelow(True)
            title = f"“{text.removesuffix(' .')}”\n{WORD}: {label}, {100 * why.probability:.0f} % sure"
            axes.set_title(title, loc="left", weight="bold")
            axes.set_xlabel(f"← for {against}      for {label} →")

    return draw_both("explanation", 370, fill, folder)


if __name__ == "__main__":
    main()
