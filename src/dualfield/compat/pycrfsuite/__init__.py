"""What ``pycrfsuite`` (python-crfsuite) offers: change the import and keep the program.

``import pycrfsuite`` becomes ``from dualfield.compat import pycrfsuite``. Tagging needs neither NumPy nor the solvers,
and starts in milliseconds; docs/guides/coming-from-crfsuite.md says what differs.
"""

from typing import Any

from dualfield.compat.pycrfsuite.parsed_dump import ParsedDump
from dualfield.compat.pycrfsuite.tagger import ItemSequence, Tagger

__all__ = ["CRFSUITE_VERSION", "ItemSequence", "ParsedDump", "Tagger"]

# The version of CRFsuite whose models and conventions are followed.
CRFSUITE_VERSION = "0.12.2"

# What training needs is imported when it is first asked for.
_OF_TRAINER = ("Trainer", "BaseTrainer")


def __getattr__(name: str) -> Any:
    if name not in _OF_TRAINER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.trainer"), name)
