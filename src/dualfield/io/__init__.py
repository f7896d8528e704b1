"""Files: column files, and writing whole or not at all."""

from dualfield.io.atomic import atomic_write, check_writable
from dualfield.io.columns import Sentence, read_columns, read_tokens, write_columns

__all__ = ["Sentence", "atomic_write", "check_writable", "read_columns", "read_tokens", "write_columns"]
