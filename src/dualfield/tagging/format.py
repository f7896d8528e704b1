"""What a file format is: its name, what its files hold, and how they are read, written and labelled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from dualfield.models.recipe import FileLayout
from dualfield.tagging.answers import Wanted
from dualfield.tagging.chunks import Chunk
from dualfield.tagging.content import AttributeFile, TokenFile
from dualfield.tagging.task import Counts, Task

if TYPE_CHECKING:
    from dualfield.features import Vocabulary
    from dualfield.io.content import Progress

__all__ = ["Format"]


class Format(ABC):
    """A format of files. A new one says how files are read and written; the rest may stay as it is here.

    Attributes
    ----------
    name : str
        What ``--format`` calls it.
    holds : frozenset of str
        Of "tokens" and "attributes": what its files may hold.
    unlabelled : str
        What to say of a file without labels where they are needed; it follows the name of the file.
    in_pieces : bool
        Whether files can be read in pieces, by :meth:`cut` and :meth:`parse`; otherwise they are read whole.
    tells : bool
        Whether :meth:`read` takes ``progress``, a function of the bytes read and of all.
    sequence_end : str
        What ends a sequence, in messages.
    """

    name: ClassVar[str]
    holds: ClassVar[frozenset[str]]
    unlabelled: ClassVar[str] = "has no labels, which training needs."
    in_pieces: ClassVar[bool] = False
    tells: ClassVar[bool] = False
    sequence_end: ClassVar[str] = "a blank line"

    @abstractmethod
    def read(
        self, path: str, layout: FileLayout, encoding: str, vocabulary: Vocabulary | None = None
    ) -> TokenFile | AttributeFile:
        """Read a whole file; of attributes, those that ``vocabulary`` has, if it is given."""

    def read_telling(
        self,
        progress: Progress | None,
        path: str,
        layout: FileLayout,
        encoding: str,
        vocabulary: Vocabulary | None = None,
    ) -> TokenFile | AttributeFile:
        """The same; of a format that ``tells``, ``progress`` hears how many bytes have been read, and of how many."""
        options: dict[str, Any] = {"progress": progress} if self.tells else {}
        return self.read(path, layout, encoding, vocabulary, **options)

    def cut(self, pieces: Iterator[bytes]) -> Iterator[Chunk]:
        """The same bytes, cut only between sequences: see :mod:`dualfield.tagging.chunks`."""
        raise NotImplementedError(f"format {self.name} does not say how to cut files.")

    def parse(self, path: str, text: bytes, layout: FileLayout, first_line: int) -> TokenFile | AttributeFile | None:
        """Some whole sequences of a file, as UTF-8, the first on line ``first_line``; None: there are none."""
        raise NotImplementedError(f"format {self.name} does not say how to read pieces of files.")

    @abstractmethod
    def write(self, content: TokenFile | AttributeFile, path: str) -> None:
        """Write a file, ``"-"`` for standard output; ``content`` is of a kind that the format holds."""

    def stream(self, task: Task) -> Counts:
        """Label a file, which is read whole and written again with the labels that the model gives."""
        if task.wanted != Wanted():
            raise ValueError(f"format {self.name} has a place for labels alone; tag a file of columns or JSON lines.")
        content = self.read(task.file, task.layout, task.encoding, task.vocabulary)
        predicted = task.crf.predict(task.attributes(content))
        self.write(content.labelled(predicted), task.output)
        return Counts(len(predicted), 0)

    def check(self, layout: FileLayout, docstart: str | None = None) -> None:
        """Refuse options that the format has no place for."""
        for name, value in (("separator", layout.separator), ("comment", layout.comment), ("docstart", docstart)):
            if value is not None:
                raise ValueError(f"--{name} is for column files; leave it out with --format {self.name}.")

    def check_label(self, label: int) -> None:  # noqa: B027 - most formats take any
        """Refuse a column that cannot be the label."""

    def preset_columns(self, width: int, label: int) -> list[int]:
        """The columns of which a feature preset makes attributes: the word, and what else there is."""
        return [column for column in range(width) if column != label]
