"""CoNLL-U, the format of Universal Dependencies: ten columns, of which UPOS is the label unless another is named."""

from __future__ import annotations

from typing import ClassVar

from dualfield.tagging.content import AttributeFile, TokenFile
from dualfield.tagging.formats.columns import Columns

__all__ = ["FORMAT", "ConllU"]

_FORM, _UPOS = 1, 3  # columns


class ConllU(Columns):
    """Read and tagged as a column file; a word is its second column."""

    name: ClassVar[str] = "conllu"

    def _label(self, width: int) -> int:
        return _UPOS

    def check_label(self, label: int) -> None:
        if label == _FORM:
            raise ValueError("the label column cannot be 2, the words of CoNLL-U.")

    def preset_columns(self, width: int, label: int) -> list[int]:
        return [_FORM, *([_UPOS] if label != _UPOS else [])]

    def write(self, content: TokenFile | AttributeFile, path: str) -> None:
        raise ValueError("CoNLL-U is read, not written: it has columns that no other format has; convert to columns.")


FORMAT = ConllU()
