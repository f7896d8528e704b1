"""Bigram attributes in the numbers of a model."""

from __future__ import annotations

from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import NumberedColumns, Vocabulary

__all__ = ["known_bigrams"]


def known_bigrams(encoded: Encoded, vocabulary: Vocabulary | NumberedColumns | None) -> Encoded:
    """The sequences with those bigrams that a model knows; ``vocabulary`` is None where it has none at all.

    Raises
    ------
    ValueError
        If sequences have bigrams and the model does not, or the other way round: then something was forgotten.
    """
    if encoded.bigrams is None and vocabulary is None:
        return encoded
    if vocabulary is None:
        raise ValueError(
            "X has bigram attributes, which the model was trained without; leave them out, as X.with_bigrams(None) "
            "does."
        )
    if encoded.bigrams is None:
        raise ValueError(
            f"the model has weights for {len(vocabulary):,} bigram attributes, and X has none; encode X by the "
            "template of training, or give them as crf.encode(X, bigrams=...)."
        )
    translated = encoded.bigrams.translate(vocabulary)
    return encoded if translated is encoded.bigrams else encoded.with_bigrams(translated)
