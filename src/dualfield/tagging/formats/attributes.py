"""CRFsuite's attribute files: a label and its attributes a line.

Of such a file only labels are written, as CRFsuite does, so a sequence that cannot be read, or is too long, ends the
stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dualfield import io
from dualfield.tagging.chunks import too_long, whole_sentences
from dualfield.tagging.content import ATTRIBUTES, AttributeFile, TokenFile, shown
from dualfield.tagging.format import Format
from dualfield.tagging.stream import encoder, open_sink, open_source, put, utf8_pieces
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

        name, vocabulary, encode = shown(task.file), task.vocabulary, encoder(task.encoding)
        first_line, labelled = 1, 0
        with open_source(task.file) as source, open_sink(task.output) as sink:
            for chunk, over, _ in whole_sentences(utf8_pieces(name, source, task.encoding)):
                if over:
                    raise ValueError(f"{name}, line {first_line}: {too_long('a blank line')}")
                X, _, _ = parse_attributes(name, chunk, vocabulary, first_line)
                first_line += chunk.count(b"\n")
                if len(X) == 0:
                    continue
                text = "".join("\n".join(map(str, labels)) + "\n\n" for labels in task.crf.predict(X))
                put(sink, encode(text.encode()))
                labelled += len(X)
            if labelled == 0:
                raise ValueError(
                    f"{name} has no sequences; expected lines of a label and attributes with tabs between them."
                )
        return Counts(labelled, 0)


FORMAT = Attributes()
