"""Running a command as a user would."""

from tests.cli.conftest import binary_command, command

__all__ = ["binary_command", "command"]
