"""A file to label, the model that labels it, and how the user wants it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dualfield.models.recipe import FileLayout, Recipe

if TYPE_CHECKING:
    from dualfield.features import Encoded, Vocabulary
    from dualfield.models.chain_contents import ChainContents
    from dualfield.models.chain_model import ChainModel
    from dualfield.tagging.format import AttributeFile, TokenFile
    from dualfield.tagging.source import Given

__all__ = ["Counts", "Task"]


class Counts(NamedTuple):
    """How many sentences were labelled, and how many passed on without labels."""

    labelled: int
    passed_on: int


class Task:
    """What a format needs to label a file.

    Parameters
    ----------
    file, output : str
        Paths, ``"-"`` for the standard streams.
    model : str
        Path of the model.
    contents : ChainContents or None
        What the model file has, read without NumPy; None for a model of CRFsuite.
    source : Recipe or Given
        How the model reads files.
    layout : FileLayout
        Of the file.
    encoding : str
        Of the file, and of what is written.
    strict : bool
        Whether a sentence that cannot be read ends the work.
    jobs : int
        How many threads there are.
    report : callable
        Takes a line for the user.
    """

    def __init__(
        self,
        file: str,
        output: str,
        model: str,
        contents: ChainContents | None,
        source: Recipe | Given,
        layout: FileLayout,
        encoding: str,
        strict: bool,
        jobs: int,
        report: Callable[[str], None],
    ) -> None:
        self.file, self.output, self.model, self.contents = file, output, model, contents
        self.source, self.layout, self.encoding = source, layout, encoding
        self.strict, self.jobs, self.report = strict, jobs, report

    @cached_property
    def crf(self) -> ChainModel:
        """The model as the estimators have it, which takes NumPy."""
        if self.contents is None:
            from dualfield.tagging.source import load_model

            crf = load_model(self.model)
        else:
            from dualfield.models.chain_model import ChainModel

            crf = ChainModel._of_chain(self.contents)
        crf.n_jobs = self.jobs
        return crf

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The attributes that the model knows, where files have attributes; None where a recipe makes them."""
        from dualfield.tagging.source import names_of

        return None if isinstance(self.source, Recipe) else names_of(self.crf)

    def attributes(self, content: TokenFile | AttributeFile) -> Encoded:
        """What the model sees of a file."""
        from dualfield.tagging.reading import attributes_in, tokens_in

        if not isinstance(self.source, Recipe):
            return attributes_in(content).X
        tokens, widths = tokens_in(content), self.source.widths
        if tokens.n_columns not in widths:
            raise ValueError(f"{content.path} has {tokens.n_columns} columns; expected {widths[0]}, those of training.")
        return self.source.attributes(tokens, self.crf)
