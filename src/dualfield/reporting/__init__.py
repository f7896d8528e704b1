"""What a person sees of a run."""

from dualfield.reporting.progress import ProgressBar

__all__ = ["ProgressBar"]
