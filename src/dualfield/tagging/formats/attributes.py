"""CRFsuite's attribute files: a label and its attributes a line.

Of such a file only labels are written, as CRFsuite does, so a sequence that cannot be read, or is too long, ends the
stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dualfield import io
from dualfield.tagging.chunks import whole_sentences
from dualfield.tagging.content import ATTRIBUTES, AttributeFile, TokenFile, shown
from dualfield.tagging.format import Format
from dualfield.tagging.stream import label_stream
from dualfield.tagging.task import Counts, Task

if TYPE_CHECKING:
    from dualfield.features import Vocabulary
    from dualfield.models.recipe import FileLayout

__all__ = ["FORMAT", "Attributes"]


class Attributes(Format):
    """Labels and attributes, tabs between them."""

    name: ClassVar[str] = "attributes"
    holds: ClassVar[frozenset[str]] = frozenset({ATTRIBUTES})

    def read(self, path: str, layout: FileLayout, encoding: str, vocabulary: Vocabulary | None = None) -> AttributeFile:
        return AttributeFile(path, *io.read_weighted_attributes(path, vocabulary=vocabulary, encoding=encoding))

    def write(self, content: TokenFile | AttributeFile, path: str) -> None:
        assert isinstance(content, AttributeFile)
        io.write_attributes(content.X, content.y, path, sample_weight=content.weights)

    def stream(self, task: Task) -> Counts:
        """The labels, one a line, a blank line after each sequence."""
        from dualfield.io.attributes import parse_attributes

        vocabulary = task.vocabulary

        def label(chunk: bytes, first_line: int) -> tuple[bytes, int, list[str]]:
            X, _, _ = parse_attributes(shown(task.file), chunk, vocabulary, first_line)
            sequences = task.crf.predict(X) if len(X) else []
            return "".join("\n".join(map(str, labels)) + "\n\n" for labels in sequences).encode(), len(X), []

        empty = "sequences; expected lines of a label and attributes with tabs between them"
        return label_stream(task._replace(strict=True), whole_sentences, "a blank line", label, empty)


FORMAT = Attributes()
