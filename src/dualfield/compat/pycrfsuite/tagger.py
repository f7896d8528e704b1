"""python-crfsuite's ``Tagger`` over the tagger of single sequences.

``tag``, ``set``, ``marginal``, ``probability`` and ``labels`` are compiled, and so are the conventions for features.
This module opens files and shows what is in them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dualfield._tagger import ItemSequence, Model, TaggerError
from dualfield._tagger import Tagger as CompiledTagger
from dualfield.models.tagging_model import crfsuite_model, open_tagging_model

if TYPE_CHECKING:
    from typing import Self

    from dualfield.compat.pycrfsuite.parsed_dump import ParsedDump

__all__ = ["ItemSequence", "Tagger"]


class Tagger(CompiledTagger):
    """Labels sequences by a model of CRFsuite, or of :meth:`dualfield.ChainCRF.save`.

    A model never changes once it is open. Threads that call ``tag(xseq)`` of one tagger each get the labels of their
    own sequence. ``set``, ``marginal`` and ``probability`` speak of the sequence that was set last, by any thread:
    for these give each thread a tagger of its own. Taggers share a model by ``other.open_model(tagger.model)``.

    Examples
    --------
    >>> tagger = Tagger()
    >>> tagger.tag([{"word": "Paris"}])
    Traceback (most recent call last):
    dualfield._tagger.TaggerError: The tagger is not opened
    """

    __slots__ = ()

    def open(self, name: str | bytes | os.PathLike[Any], *, mapped: bool = False) -> Self:
        """Open a model file.

        Parameters
        ----------
        name : str, bytes or path
            The file.
        mapped : bool
            Map the file into memory instead of reading it: opening takes the same time whatever the size, and
            processes share the memory. The file must then not be changed in place; replacing it by renaming another
            is safe. The checksum that dualfield's files have is not compared.

        Returns
        -------
        Tagger
            This one, which a ``with`` statement closes.
        """
        self.open_model(open_tagging_model(name, mapped))
        return self

    def open_inmemory(self, value: bytes) -> Self:
        """Open a model that is in memory: the bytes of a file of CRFsuite."""
        if not isinstance(value, bytes):
            raise TypeError(f"open_inmemory() needs the bytes of a model file; got an object of type {type(value)}.")
        self.open_model(crfsuite_model(value, "model"))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def info(self) -> ParsedDump:
        """The parameters of the model, as dicts."""
        from dualfield.compat.pycrfsuite.parsed_dump import parsed_dump

        return parsed_dump(self._opened())

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the parameters of the model as text, as ``crfsuite dump`` does.

        Parameters
        ----------
        filename : str or path, optional
            Where to; by default to standard output.
        """
        text = self._opened().dump()
        if filename is not None:
            with open(filename, "wb") as file:
                file.write(text)
            return
        import sys

        sys.stdout.write(text.decode("utf-8", "replace"))
        sys.stdout.flush()

    def _opened(self) -> Model:
        if self.model is None:
            raise TaggerError("Tagger is closed")
        return self.model
