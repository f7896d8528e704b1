"""The README stays short, and its first example is the one that wheels are tried with."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LONGEST = 35  # words in a sentence
LINES = 120


def _assigned(code: str, names: tuple[str, ...]) -> dict[str, object]:
    """The literals that a program assigns to these names."""
    found = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names:
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def test_the_readme_fits_two_screens() -> None:
    assert README.count("\n") <= LINES


def test_no_sentence_of_the_readme_is_long() -> None:
    text = re.sub(r"^```.*?^```|<picture>.*?</picture>", "", README, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    pieces = re.split(r"\n\s*\n|\n(?=#|- |\d\. |\|)|\||(?<=[.!?])\s+", text)
    long = [" ".join(piece.split()) for piece in pieces if len(piece.split()) > LONGEST]
    assert not long


def test_the_readmes_first_example_is_tried_on_every_wheel() -> None:
    block = re.search(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert block is not None
    tried = (ROOT / "tests" / "portability" / "readme_example.py").read_text(encoding="utf-8")
    data = _assigned(block[1], ("X", "y"))
    assert set(data) == {"X", "y"}
    assert data == _assigned(tried, ("X", "y"))
    training = re.search(r"ChainCRF\(.*?\)\.fit\(X, y\)", block[1])
    assert training is not None
    assert training[0] in tried
