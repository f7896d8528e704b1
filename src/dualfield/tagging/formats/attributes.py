"""CRFsuite's attribute files: a label and its attributes a line.

Of such a file only labels are written, as CRFsuite does, so a sequence that cannot be read, or is too long, ends the
stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from dualfield import io
from dualfield.tagging.answers import Placement, answers, blocks_of, record_of
from dualfield.tagging.chunks import Chunk, whole_sentences
from dualfield.tagging.content import ATTRIBUTES, AttributeFile, TokenFile, shown
from dualfield.tagging.format import Format
from dualfield.tagging.stream import label_stream
from dualfield.tagging.task import Counts, Task

if TYPE_CHECKING:
    from dualfield.features import Vocabulary
    from dualfield.io.content import Progress
    from dualfield.models.recipe import FileLayout

__all__ = ["FORMAT", "Attributes"]


class Attributes(Format):
    """Labels and attributes, tabs between them."""

    name: ClassVar[str] = "attributes"
    holds: ClassVar[frozenset[str]] = frozenset({ATTRIBUTES})
    in_pieces: ClassVar[bool] = True
    tells: ClassVar[bool] = True

    def read(
        self,
        path: str,
        layout: FileLayout,
        encoding: str,
        vocabulary: Vocabulary | None = None,
        progress: Progress | None = None,
    ) -> AttributeFile:
        options: dict[str, Any] = {"vocabulary": vocabulary, "encoding": encoding, "progress": progress}
        return AttributeFile(path, *io.read_weighted_attributes(path, **options))

    def cut(self, pieces: Iterator[bytes]) -> Iterator[Chunk]:
        return whole_sentences(pieces)

    def parse(self, path: str, text: bytes, layout: FileLayout, first_line: int) -> AttributeFile | None:
        from dualfield.io.attributes import parse_attributes

        X, y, weights = parse_attributes(shown(path), text, None, first_line)
        return AttributeFile(path, X, y, weights) if len(X) else None

    def write(self, content: TokenFile | AttributeFile, path: str) -> None:
        assert isinstance(content, AttributeFile)
        io.write_attributes(content.X, content.y, path, sample_weight=content.weights)

    def stream(self, task: Task) -> Counts:
        """The labels, one a line, a blank line after each sequence; what else is asked for behind them, after a tab."""
        from dualfield.io.attributes import parse_attributes

        vocabulary = task.vocabulary

        def label(chunk: bytes, first_line: int) -> tuple[bytes, int, list[str]]:
            X, _, _ = parse_attributes(shown(task.file), chunk, vocabulary, first_line)
            found = answers(task.crf, task.with_embeddings(X), task.wanted) if len(X) else []
            if task.wanted.as_json:
                text = "".join(json.dumps(record_of(answer), ensure_ascii=False) + "\n" for answer in found)
            else:
                text = "".join(blocks_of(answer, Placement("\t", None)) for answer in found)
            return text.encode(), len(X), []

        empty = "sequences; expected lines of a label and attributes with tabs between them"
        return label_stream(task._replace(strict=True), whole_sentences, "a blank line", label, empty)


FORMAT = Attributes()
