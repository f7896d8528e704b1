"""What a person sees: progress, and a model on one page."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.reporting.page import check_report, report
    from dualfield.reporting.progress import ProgressBar

__all__ = [
    "ProgressBar",
    "check_report",
    "report",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "page": "check_report report",
        "progress": "ProgressBar",
    },
)
