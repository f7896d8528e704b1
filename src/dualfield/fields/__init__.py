"""Training problems: data, structure and an l2 penalty."""

from dualfield.fields.base import Field
from dualfield.fields.chain import Chain
from dualfield.fields.chain_layout import ChainLayout
from dualfield.fields.multiclass import Multiclass

__all__ = ["Chain", "ChainLayout", "Field", "Multiclass"]
