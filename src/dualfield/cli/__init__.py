"""The command line: ``dualfield train | tag | eval | inspect | convert | demo``."""

from __future__ import annotations

import sys
from typing import Any

from dualfield._deferred import explained
from dualfield.cli.conduct import conducted

__all__ = ["main"]


def main() -> Any:
    """Run the command line; bad input ends with one sentence and exit code 2."""
    return conducted(_run)


def _run() -> Any:
    from dualfield.cli.plain import plain_tag

    plain = plain_tag(sys.argv[1:])
    if plain is not None:
        from dualfield.cli.conduct import say
        from dualfield.tagging.tag_file import tag_file

        tag_file(*plain, report=say)
        sys.exit(0)
    try:
        from dualfield.cli.app import run
    except ModuleNotFoundError as error:
        raise explained(error, "this command") from error
    return run()
