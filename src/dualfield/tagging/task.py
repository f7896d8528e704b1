"""A file to label, the model that labels it, and how the user wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from dualfield import features
from dualfield.models.recipe import FileLayout, Given, Recipe
from dualfield.tagging.answers import Wanted
from dualfield.tagging.content import AttributeFile, TokenFile, attributes_in, tokens_in
from dualfield.tagging.embeddings import Embeddings

if TYPE_CHECKING:
    from dualfield.features import Encoded, Vocabulary
    from dualfield.models.chain_contents import ChainContents
    from dualfield.models.chain_model import ChainModel

__all__ = ["Counts", "Task", "names_of"]


class Counts(NamedTuple):
    """How many sentences were labelled, and how many passed on without labels."""

    labelled: int
    passed_on: int


class Task(NamedTuple):
    """What a format needs to label a file."""

    file: str  # "-" for standard input
    output: str  # "-" for standard output
    encoding: str  # of both
    layout: FileLayout
    strict: bool  # whether a sentence that cannot be read ends the work
    jobs: int
    report: Callable[[str], None]  # tells the user a line
    source: Recipe | Given  # how the model reads files
    contents: ChainContents | None  # the model file, read without NumPy; None for a model of CRFsuite
    load: Callable[[], ChainModel]
    wanted: Wanted = Wanted()  # what the user asks for beside labels
    embeddings: Embeddings | None = None  # rows of numbers for the tokens of the file

    @property
    def crf(self) -> ChainModel:
        """The model as the estimators have it, which takes NumPy."""
        return self.load()

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The attributes that the model knows, where files have attributes; None where a recipe makes them."""
        return None if isinstance(self.source, Recipe) else names_of(self.crf)

    def attributes(self, content: TokenFile | AttributeFile) -> Encoded:
        """What the model sees of a file, or of its next part."""
        return self.with_embeddings(self._attributes(content))

    def with_embeddings(self, X: Encoded) -> Encoded:
        """The next sequences of the file with their rows of embeddings, where there are some."""
        return X if self.embeddings is None else self.embeddings.beside(X)

    def _attributes(self, content: TokenFile | AttributeFile) -> Encoded:
        if not isinstance(self.source, Recipe):
            return attributes_in(content).X
        tokens, widths = tokens_in(content), self.source.widths
        if not widths[0] <= tokens.n_columns <= widths[1]:
            expected = self.source.expected_columns()
            some = f"{tokens.n_columns} column{'' if tokens.n_columns == 1 else 's'}"
            raise ValueError(f"{content.path} has {some}; the model was trained on {expected}.")
        return self.source.attributes(tokens, self.crf)


def names_of(crf: ChainModel) -> Vocabulary:
    """The names of the model's attributes."""
    if not isinstance(crf.vocabulary_, features.Vocabulary):
        raise ValueError("the model was trained on arrays, so it does not know attributes by name.")
    return crf.vocabulary_
