"""The command line: ``dualfield train | tag | eval | inspect | demo``."""

from dualfield.cli.app import main

__all__ = ["main"]
