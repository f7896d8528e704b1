"""What a file holds: *tokens*, of which a template makes attributes, or the *attributes* themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dualfield.features import Encoded, Tokens
    from dualfield.labels import EncodedLabels

__all__ = ["ATTRIBUTES", "TOKENS", "AttributeFile", "TokenFile", "attributes_in", "shown", "tokens_in"]

TOKENS, ATTRIBUTES = "tokens", "attributes"


class TokenFile(NamedTuple):
    """The tokens of a file, which of their columns is the label (None: the file has none), and sentence weights."""

    path: str
    tokens: Tokens
    label: int | None
    weights: npt.NDArray[np.float64] | None = None

    @property
    def holds(self) -> str:
        """What it holds: tokens."""
        return TOKENS

    def labelled(self, labels: list[list[str]]) -> TokenFile:
        """The same tokens with these labels as a further column."""
        from dualfield.features import Tokens

        pairs = zip(self.tokens.rows(), labels, strict=True)
        rows = [[(*row, str(label)) for row, label in zip(*pair, strict=True)] for pair in pairs]
        return self._replace(tokens=Tokens.from_rows(rows), label=self.tokens.n_columns)


class AttributeFile(NamedTuple):
    """The attributes of a file, its labels, and the weights of its sequences."""

    path: str
    X: Encoded
    y: EncodedLabels
    weights: npt.NDArray[np.float64] | None = None

    @property
    def holds(self) -> str:
        """What it holds: attributes."""
        return ATTRIBUTES

    def labelled(self, labels: list[list[str]]) -> AttributeFile:
        """The same attributes with these labels."""
        from dualfield.labels import EncodedLabels

        return self._replace(y=EncodedLabels.from_lists([list(map(str, sequence)) for sequence in labels]))


def tokens_in(content: TokenFile | AttributeFile) -> Tokens:
    """The tokens of a file; raises ValueError if it has attributes."""
    if isinstance(content, AttributeFile):
        raise ValueError(f"{shown(content.path)} has attributes, but the model makes its own of tokens.")
    return content.tokens


def attributes_in(content: TokenFile | AttributeFile) -> AttributeFile:
    """A file of attributes; raises ValueError if it has tokens."""
    if isinstance(content, TokenFile):
        raise ValueError(f"{shown(content.path)} has tokens, but the model was trained on attributes; make them first.")
    return content


def shown(path: str) -> str:
    """What messages call the file."""
    return "standard input" if path == "-" else path
