"""The command line: ``dualfield train | tag | eval | inspect | convert | demo``."""

from dualfield.cli.app import main

__all__ = ["main"]
