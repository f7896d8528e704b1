"""The tagger of column files for what the core's does not know: bigrams, and answers beside labels. It needs NumPy."""

from __future__ import annotations

import json
from itertools import chain, islice
from typing import Any

from dualfield import _core
from dualfield.features import Tokens
from dualfield.models.chain_model import ChainModel
from dualfield.models.recipe import FileLayout, Recipe
from dualfield.tagging.answers import Answer, Placement, Wanted, answers, blocks_of, record_of
from dualfield.tagging.embeddings import Embeddings

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
    wanted : Wanted
        What to write beside the labels, and how.
    embeddings : Embeddings, optional
        Rows for the tokens that come.
    """

    def __init__(
        self,
        crf: ChainModel,
        recipe: Recipe,
        layout: FileLayout,
        strict: bool,
        wanted: Wanted | None = None,
        embeddings: Embeddings | None = None,
    ) -> None:
        self._embeddings = embeddings
        self._crf, self._recipe, self._wanted = crf, recipe, wanted or Wanted()
        self._options = {**recipe.reading(layout), "keep": 0, "tolerant": not strict}
        self._placement = Placement(self._options["separator"], recipe.written_column(layout))

    def tag(self, chunk: bytes, first_line: int) -> tuple[bytes, int, list[tuple[int, str]]]:
        """(the lines with their labels, number of sentences, faults)"""
        found, faults = _core.read_columns(chunk, first_line=first_line, **self._options)
        lines = chunk.split(b"\n")
        places: list[int] = []  # of the lines that have labels
        told: list[Answer] = []
        rows: list[list[Any]] = []
        if found.n_sentences:
            tokens = Tokens(found)
            if self._wanted.as_json and not self._wanted.labels_only:
                rows = tokens.with_columns(sorted(set(self._recipe.seen))).rows()
            X = self._recipe.attributes(tokens, self._crf)
            told = answers(self._crf, X if self._embeddings is None else self._embeddings.beside(X), self._wanted)
            places = (found.lines - first_line).tolist()
        if not self._wanted.whole:
            return self._anew(told, [lines[line] for line in places], rows), found.n_sentences, faults
        columns = chain.from_iterable(map(self._placement.columns, told))
        for line, some in zip(places, columns, strict=True):
            text = lines[line].removesuffix(b"\r")
            end = lines[line][len(text) :]
            lines[line] = self._placement.put(text.decode(), some).encode() + end
        if lines[-1]:
            lines.append(b"")  # the last line of a file may lack its end
        return b"\n".join(lines), found.n_sentences, faults

    def _anew(self, told: list[Answer], lines: list[bytes], rows: list[list[Any]]) -> bytes:
        """The sentences without what is between them in the file."""
        if self._wanted.as_json:
            given: list[dict[str, Any]] = [{"tokens": _tokens(sentence)} for sentence in rows] or [{} for _ in told]
            records = ({**one, **record_of(answer)} for one, answer in zip(given, told, strict=True))
            return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
        texts = iter(line.removesuffix(b"\r").decode("utf-8") for line in lines)
        parts = []
        for answer in told:
            own = list(islice(texts, len(answer.labels)))
            parts.append(blocks_of(answer, self._placement, None if self._wanted.labels_only else own))
        return "".join(parts).encode()


def _tokens(sentence: list[Any]) -> list[Any]:
    """As JSON lines have them: a token of one column is a string."""
    return [row[0] if len(row) == 1 else list(row) for row in sentence]
