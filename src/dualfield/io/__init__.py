"""Files of sequences: column files, attribute files of CRFsuite, JSON lines; and writing whole or not at all."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.io.atomic import atomic_write as atomic_write
    from dualfield.io.atomic import check_writable as check_writable
    from dualfield.io.attributes import read_attributes as read_attributes
    from dualfield.io.attributes import read_weighted_attributes as read_weighted_attributes
    from dualfield.io.attributes import write_attributes as write_attributes
    from dualfield.io.columns import Sentence as Sentence
    from dualfield.io.columns import read_columns as read_columns
    from dualfield.io.columns import read_tokens as read_tokens
    from dualfield.io.columns import write_columns as write_columns
    from dualfield.io.json_lines import JsonSequences as JsonSequences
    from dualfield.io.json_lines import read_json_lines as read_json_lines
    from dualfield.io.json_lines import write_json_lines as write_json_lines

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
