"""A bar for the reading of large files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dualfield.reporting.progress import CountBar

__all__ = ["reading_shown"]

_MANY = 4 << 20  # bytes; a file of fewer is read before anybody looks at a bar


@contextmanager
def reading_shown(shown: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    r"""What the ``progress`` of a reader may be: a bar for a large file, with the time that is left by the bytes.

    Examples
    --------
    >>> import io
    >>> from dualfield.io import read_tokens
    >>> with reading_shown() as progress:
    ...     tokens = read_tokens(io.StringIO("the DT\ncat NN\n"), progress=progress)
    """
    if not shown:
        yield None
        return
    with ExitStack() as stack:
        bars: list[CountBar] = []

        def progress(done: int, total: int) -> None:
            if total < _MANY:
                return
            if not bars:
                from dualfield.reporting.progress import CountBar  # rich, which takes a while to import

                bars.append(stack.enter_context(CountBar(total, "reading: byte")))
            bars[0].show(done)

        yield progress
        for bar in bars:
            bar.show_end()
