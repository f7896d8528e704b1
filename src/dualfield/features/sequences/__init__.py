"""Sequences: attributes and arrays of positions, encoded."""
