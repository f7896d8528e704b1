"""The tagger of column files for models that the core's does not know: those with bigrams. It needs NumPy."""

from __future__ import annotations

from dualfield import _core
from dualfield.features import Tokens
from dualfield.io.column_layout import column_layout
from dualfield.models.chain_model import ChainModel
from dualfield.models.recipe import FileLayout, Recipe

__all__ = ["ModelTagger"]


class ModelTagger:
    """What ``_core.ColumnTagger`` does, by the model as the estimators have it.

    Parameters
    ----------
    crf : ChainModel
        Any model that a recipe goes with.
    recipe : Recipe
        How a file becomes attributes.
    layout : FileLayout
        Of the files to tag.
    strict : bool
        Whether a sentence that cannot be read ends the work.
    """

    def __init__(self, crf: ChainModel, recipe: Recipe, layout: FileLayout, strict: bool) -> None:
        self._crf, self._recipe = crf, recipe
        fewest, most = recipe.widths
        self._options = column_layout(layout.format, layout.separator, layout.comment, layout.docstart)
        self._options |= {"fewest": fewest, "most": most, "keep": fewest, "tolerant": not strict}
        separator = self._options["separator"] or " "
        self._endings = {label: f"{separator}{label}".encode() for label in crf.classes_.tolist()}

    def tag(self, chunk: bytes, first_line: int) -> tuple[bytes, int, list[tuple[int, str]]]:
        """(the lines with their labels, number of sentences, faults)"""
        found, faults = _core.read_columns(chunk, first_line=first_line, **self._options)
        lines = chunk.split(b"\n")
        if found.n_sentences:
            predicted = self._crf.predict(self._recipe.attributes(Tokens(found), self._crf))
            labels = (label for sequence in predicted for label in sequence)
            for line, label in zip((found.lines - first_line).tolist(), labels, strict=True):
                text, ending = lines[line], self._endings[label]
                lines[line] = text[:-1] + ending + b"\r" if text.endswith(b"\r") else text + ending
        if lines[-1]:
            lines.append(b"")  # the last line of a file may lack its end
        return b"\n".join(lines), found.n_sentences, faults
