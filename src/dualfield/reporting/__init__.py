"""Output for people: progress bars, and a report of a model on one page."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.reporting.page import check_report as check_report
    from dualfield.reporting.page import report as report
    from dualfield.reporting.progress import ProgressBar as ProgressBar

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
