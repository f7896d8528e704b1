"""Files of sequences: column files, attribute files of CRFsuite, JSON lines; and writing whole or not at all."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.io.atomic import atomic_write, check_writable
    from dualfield.io.attributes import read_attributes, read_weighted_attributes, write_attributes
    from dualfield.io.columns import Sentence, read_columns, read_tokens, write_columns
    from dualfield.io.json_lines import JsonSequences, read_json_lines, write_json_lines

__all__ = [
    "JsonSequences",
    "Sentence",
    "atomic_write",
    "check_writable",
    "read_attributes",
    "read_columns",
    "read_json_lines",
    "read_tokens",
    "read_weighted_attributes",
    "write_attributes",
    "write_columns",
    "write_json_lines",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "atomic": "atomic_write check_writable",
        "attributes": "read_attributes read_weighted_attributes write_attributes",
        "columns": "Sentence read_columns read_tokens write_columns",
        "json_lines": "JsonSequences read_json_lines write_json_lines",
    },
)
