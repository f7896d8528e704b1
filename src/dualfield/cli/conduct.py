"""How every command behaves: its exit codes, what it says on standard error, and how it ends on bad input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["BAD_INPUT", "INTERRUPTED", "NOT_CONVERGED", "conducted", "say"]

NOT_CONVERGED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes


def say(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr, flush=True)


def conducted(command: Callable[[], Any]) -> Any:
    """Run a command; bad input ends with one sentence and exit code 2."""
    try:
        return command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_CONVERGED
    except (ValueError, TypeError, OSError, LookupError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            text = f"{error.filename}: {error.strerror}."
        say(f"Error: {text}")
        sys.exit(BAD_INPUT)
