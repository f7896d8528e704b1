"""A model as a temporary file of CRFsuite's, for programs that open ``crf.modelfile.name``."""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress

from dualfield.models import ChainModel

__all__ = ["ModelFile"]


class ModelFile:
    """The file of a model; it is written when its name is asked for, and deleted with this object."""

    def __init__(self, model: ChainModel | None) -> None:
        self._model, self._name = model, ""

    @property
    def name(self) -> str | None:
        """Where the file is; None where there is no model yet."""
        if self._model is None:
            return None
        if not self._name:
            descriptor, name = tempfile.mkstemp(".crfsuite", "model")
            os.close(descriptor)
            weakref.finalize(self, _remove, name)
            self._model.export(name, "crfsuite")
            self._name = name
        return self._name


def _remove(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)
