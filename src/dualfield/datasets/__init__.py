"""Data to learn from: generated sentences for the demo."""

from dualfield.datasets.travel import travel_sentences

__all__ = ["travel_sentences"]
