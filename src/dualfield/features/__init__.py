"""Attributes and labels as numbers: vocabularies, encoders, and feature presets for column files."""

from dualfield.features.encode import encode
from dualfield.features.encoded import Encoded
from dualfield.features.labels import encode_labels
from dualfield.features.presets import PRESETS, Preset, extract, extract_all
from dualfield.features.vocabulary import Columns, Vocabulary

__all__ = [
    "PRESETS",
    "Columns",
    "Encoded",
    "Preset",
    "Vocabulary",
    "encode",
    "encode_labels",
    "extract",
    "extract_all",
]
