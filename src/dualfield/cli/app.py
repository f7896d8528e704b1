"""The command line. Results go to standard output, everything else to standard error.

Exit codes: 0 all is well, 1 training did not converge and ``--strict-convergence`` was given (or the reader of our
output has gone), 2 bad input, or memory, disk or a stream that is missing, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

from dualfield.cli.conduct import say
from dualfield.cli.wording import in_options
from dualfield.version import __version__

__all__ = ["COMMANDS", "command_line", "run"]

# In which module each command is, and as what.
COMMANDS = {
    "encode": ("encode", "encode"),
    "train": ("train", "train"),
    "tag": ("tag", "tag"),
    "eval": ("evaluate", "evaluate"),
    "inspect": ("inspect_model", "inspect"),
    "convert": ("convert", "convert"),
    "demo": ("demo", "demo"),
}

_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def command_line(names: Iterable[str] = tuple(COMMANDS)) -> typer.Typer:
    """The commands of these names; no other is imported."""
    app = typer.Typer(
        help="Conditional random fields, trained to a certificate.",
        epilog="Exit codes: 0 all is well, 1 not converged with --strict-convergence, 2 bad input, 130 interrupted.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_version)
    for name in names:
        module, function = COMMANDS[name]
        app.command(name)(getattr(import_module(f"dualfield.cli.{module}"), function))
    return app


def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def run() -> Any:
    """Run the command that the arguments name."""
    _name_shell()
    first = sys.argv[1:2]
    wanted = first if first and first[0] in COMMANDS else [] if first == ["--version"] else COMMANDS
    with warnings.catch_warnings():
        warnings.showwarning = _say_warning
        return command_line(wanted)(prog_name="dualfield")


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one sentence, without the line of the package that it comes from."""
    say(f"Warning: {in_options(str(message))}")


def _name_shell() -> None:
    """Tell Typer which shell's completion script to print, where ``--show-completion`` names one."""
    if len(sys.argv) == 3 and sys.argv[1] == "--show-completion":
        shell = sys.argv[2]
        if shell not in _SHELLS:
            raise ValueError(f"there is no completion for the shell {shell!r}; expected one of {', '.join(_SHELLS)}.")
        os.environ["_DUALFIELD_COMPLETE"] = f"source_{shell}"
