"""What a person sees: progress, tables, the report of a model as one page."""

from dualfield.reporting.progress import ProgressBar
from dualfield.reporting.table import Table

__all__ = ["ProgressBar", "Table"]
