"""Column files: a token a line, a blank line between sentences, the label as the last column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from dualfield import io
from dualfield.io.column_layout import column_layout
from dualfield.models.recipe import FileLayout, Recipe
from dualfield.tagging.answers import Wanted
from dualfield.tagging.chunks import Chunk, whole_sentences
from dualfield.tagging.content import TOKENS, AttributeFile, TokenFile, shown
from dualfield.tagging.format import Format
from dualfield.tagging.stream import label_stream
from dualfield.tagging.stream_parts import InParts, Tagger
from dualfield.tagging.task import Counts, Task
from dualfield.threads import thread_count

if TYPE_CHECKING:
    from dualfield.io.content import Progress

__all__ = ["FORMAT", "Columns"]


class Columns(Format):
    """Lines of columns, each again with its label as a further column."""

    name: ClassVar[str] = "columns"
    holds: ClassVar[frozenset[str]] = frozenset({TOKENS})
    unlabelled: ClassVar[str] = "has one column; training needs a word and, in the last column, its label."
    in_pieces: ClassVar[bool] = True
    tells: ClassVar[bool] = True

    def check(self, layout: FileLayout, docstart: str | None = None) -> None:
        column_layout(*layout)

    def read(
        self,
        path: str,
        layout: FileLayout,
        encoding: str,
        vocabulary: object = None,
        progress: Progress | None = None,
    ) -> TokenFile:
        options: dict[str, Any] = {**layout._asdict(), "progress": progress}
        tokens = io.read_tokens(path, encoding=encoding, **options)
        return TokenFile(path, tokens, self._label(tokens.n_columns))

    def cut(self, pieces: Iterator[bytes]) -> Iterator[Chunk]:
        return whole_sentences(pieces)

    def parse(self, path: str, text: bytes, layout: FileLayout, first_line: int) -> TokenFile | None:
        from dualfield.io.columns import parse_tokens

        tokens = parse_tokens(shown(path), text, first_line, **layout._asdict())
        return None if tokens is None else TokenFile(path, tokens, self._label(tokens.n_columns))

    def _label(self, width: int) -> int | None:
        return width - 1 if width > 1 else None

    def write(self, content: TokenFile | AttributeFile, path: str) -> None:
        assert isinstance(content, TokenFile)
        if content.weights is not None:
            raise ValueError(f"the sequences of {content.path} have weights, for which a column file has no place.")
        tokens, label = content.tokens, content.label
        last = [] if label is None else [label]
        others = [column for column in range(tokens.n_columns) if column != label]
        io.write_columns(tokens.with_columns([*others, *last]).rows(), path, separator="\t")

    def stream(self, task: Task) -> Counts:
        """Without NumPy, unless the model has bigrams or dense columns, is another program's, or more is wanted."""
        recipe, contents = task.source, task.contents
        assert isinstance(recipe, Recipe)
        tagger: Tagger
        beyond_core = contents is None or contents.bigrams is not None or task.embeddings is not None
        if contents is None or beyond_core or task.wanted != Wanted():
            from dualfield.tagging.model_tagger import ModelTagger

            tagger = ModelTagger(task.crf, recipe, task.layout, task.strict, task.wanted, task.embeddings)
        else:
            from dualfield.tagging.column_tagger import column_tagger

            tagger = column_tagger(contents, recipe, task.layout, task.strict)
            if task.jobs > 1:
                tagger = InParts(tagger, min(task.jobs, thread_count(-1)))

        raw = " If the file is raw text, add --tokenize." if recipe.reads_words else ""

        def label(chunk: bytes, first_line: int) -> tuple[bytes, int, list[str]]:
            try:
                text, n_sentences, faults = tagger.tag(chunk, first_line)
            except ValueError as error:
                more = raw if re.match(r"line 1: expected .*\bcolumn", str(error)) else ""
                raise ValueError(f"{shown(task.file)}, {error}{more}") from None
            return text, n_sentences, [f"{shown(task.file)}, line {line}: {message}" for line, message in faults]

        empty = "sentences; expected one token a line and a blank line between sentences"
        hint = f"; the model was trained on {recipe.expected_columns()}" + (raw and f".{raw}".removesuffix("."))
        return label_stream(task, whole_sentences, "a blank line", label, empty, hint)


FORMAT = Columns()
