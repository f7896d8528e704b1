"""The command line. Results go to standard output, everything else to standard error.

Exit codes: 0 all is well, 1 training did not converge and ``--strict-convergence`` was given (or the reader of our
output has gone), 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

import dualfield
from dualfield.cli import demo as demonstration
from dualfield.cli.convert import convert
from dualfield.cli.inspect_model import inspect
from dualfield.cli.options import BAD_INPUT, say
from dualfield.cli.tag import evaluate, tag
from dualfield.cli.train import train

__all__ = ["app", "main"]

_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")

app = typer.Typer(
    help="Conditional random fields, trained to a certificate.",
    epilog="Exit codes: 0 all is well, 1 not converged with --strict-convergence, 2 bad input, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(train)
app.command()(tag)
app.command("eval")(evaluate)
app.command()(inspect)
app.command()(convert)


@app.command()
def demo(
    sentences: Annotated[int, typer.Option(help="How many sentences to train on.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the sentences and of the sampling.")] = 0,
    report: Annotated[str, typer.Option(metavar="HTML", help="Where to write the report.")] = "dualfield-demo.html",
) -> None:
    """Train on sentences made by the package, show the certificate, tag some that are new, and write a report.

    Example: dualfield demo --sentences 500
    """
    demonstration.run(sentences, seed, report)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        print(dualfield.__version__)
        raise typer.Exit


def main() -> Any:
    """Run the command line; bad input ends with one sentence and exit code 2."""
    try:
        _name_shell()
        return app(prog_name="dualfield")
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, OSError, LookupError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            text = f"{error.filename}: {error.strerror}."
        say(f"Error: {text}")
        sys.exit(BAD_INPUT)


def _name_shell() -> None:
    """Typer finds the shell out by itself; with a name after the option, its variable says which script to print."""
    if len(sys.argv) == 3 and sys.argv[1] == "--show-completion":
        shell = sys.argv[2]
        if shell not in _SHELLS:
            raise ValueError(f"there is no completion for the shell {shell!r}; expected one of {', '.join(_SHELLS)}.")
        os.environ["_DUALFIELD_COMPLETE"] = f"source_{shell}"
