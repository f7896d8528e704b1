"""What a person sees: progress, tables, and a model on one page."""

from typing import TYPE_CHECKING, Any

from dualfield.reporting.progress import ProgressBar
from dualfield.reporting.table import Table

if TYPE_CHECKING:
    from dualfield.reporting.page import check_report, report

__all__ = ["ProgressBar", "Table", "check_report", "report"]


def __getattr__(name: str) -> Any:
    # The page draws on the whole package, which draws on the progress bar: it is imported when first asked for.
    if name in ("check_report", "report"):
        from dualfield.reporting import page

        return getattr(page, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
