"""How every command behaves: its exit codes, its standard streams, what it says on standard error, and how it ends.

A command may be started with a standard stream closed, or on a full disk. If it needs that stream or disk, it ends with
one sentence and exit code 2, as it does for all bad input. If it does not need it, it works.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import UnsupportedOperation
from typing import Any

from dualfield._deferred import MissingExtraError
from dualfield.io.content import naming
from dualfield.memory import DoesNotFit

__all__ = ["BAD_INPUT", "INTERRUPTED", "NOT_CONVERGED", "conducted", "say"]

NOT_CONVERGED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes

# Errors caused by the input or the machine. Any other error is a bug of ours, and its traceback is shown.
_NOT_OURS = (MissingExtraError, ValueError, TypeError, OSError, LookupError, OverflowError, MemoryError, RecursionError)

# How a closed stream is opened instead. Using standard input or output then fails as it would on the closed stream;
# text for standard error is dropped.
_STREAMS = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))


def say(text: str) -> None:
    """A line on standard error, if that takes it."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _to_nowhere(sys.stderr)


def conducted(command: Callable[[], Any]) -> Any:
    """Run a command; bad input ends with one sentence and exit code 2."""
    _open_closed_streams()
    try:
        try:
            result = command()
        except SystemExit:
            _flush_output()
            raise
        _flush_output()
        return result
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = NOT_CONVERGED  # the reader of our output has gone; nothing is left to say to it
    except _NOT_OURS as error:
        say(f"Error: {_sentence(error)}")
        code = BAD_INPUT
    if _output_fails():
        _to_nowhere(sys.stdout)  # else Python tries again at its end, and ends with a code of its own
    sys.exit(code)


def _sentence(error: Exception) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "standard output" if _output_fails() else "reading or writing failed"
        return f"{error.filename or place}: {error.strerror}."
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; flatten it."
    if isinstance(error, MemoryError) and not isinstance(error, DoesNotFit):
        return f"memory has run out{f' ({text})' if text else ''}; give less data, or shorter sequences."
    if isinstance(error, OverflowError):
        return f"a number is out of range ({text}); give a smaller one."
    from dualfield.cli.wording import in_options

    return in_options(text)


def _flush_output() -> None:
    with naming("standard output"):
        sys.stdout.flush()


def _output_fails() -> bool:
    """Whether standard output takes nothing more."""
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"")
    except UnsupportedOperation:
        return False  # it is no file
    except (OSError, ValueError):
        return True
    return False


def _open_closed_streams() -> None:
    """Open a file in the place of each closed stream, for which Python has None.

    Otherwise the next file that is opened would get the number of the stream.
    """
    for number, (name, flags, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            _open_as(number, flags)
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False))


def _to_nowhere(stream: Any) -> None:
    with suppress(OSError, ValueError):  # it may have no number
        _open_as(stream.fileno(), os.O_WRONLY)


def _open_as(number: int, flags: int) -> None:
    descriptor = os.open(os.devnull, flags)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
