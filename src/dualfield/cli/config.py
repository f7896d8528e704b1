"""Options from a TOML file: its keys are those of the command line, which wins over it.

::

    features = "chunking"
    l2 = 0.5
    gazetteer = ["city=cities.txt"]
    quiet = true

Options may also stand in a section of their command, so that one file serves several::

    [train]
    l2 = 0.5

    [tag]
    probabilities = true
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from typing import Any

import typer

__all__ = ["read_config"]

_LONGEST = 1 << 14  # bytes; reading TOML may take time quadratic in them
_NOT_FROM_FILES = ("config", "help")


def read_config(context: typer.Context, path: str | None) -> str | None:
    """Make the values of the file the defaults of the command; refuse keys and values that it does not take."""
    if path is None or context.resilient_parsing:
        return path
    options = _options(context)
    defaults: dict[str, Any] = {}
    for key, value in _given(path, str(context.info_name)):
        name = key.replace("_", "-")
        if name not in options:
            near = get_close_matches(name, options, 1, 0.0)
            raise ValueError(
                f"{path}: {context.info_name} has no option {key!r}; the nearest that it has is {near[0]!r}."
            )
        option = options[name]
        _check(path, key, value, option)
        if option.name in defaults:
            raise ValueError(f"{path}: {key!r} stands twice, with - and with _; keep one.")
        defaults[option.name] = value
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def _given(path: str, command: str) -> list[tuple[str, Any]]:
    """The keys and values for a command: those of its section, and those of no section."""
    from dualfield.cli.app import COMMANDS

    found: list[tuple[str, Any]] = []
    for key, value in _content(path).items():
        if not isinstance(value, dict):
            found.append((key, value))
        elif key not in COMMANDS:
            names = f"[{'], ['.join(COMMANDS)}]"
            raise ValueError(f"{path}: there is no command {key!r}; a section is named after one, {names}.")
        elif key == command:
            found.extend(value.items())
    return found


def _options(context: typer.Context) -> dict[str, Any]:
    """The options of the command by their long names."""
    found = {}
    for parameter in context.command.params:
        long = [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]
        if parameter.param_type_name == "option" and long and long[0] not in _NOT_FROM_FILES:
            found[long[0]] = parameter
    return found


def _content(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            content = file.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            raise ValueError(f"{path} has more than {_LONGEST:,} bytes, which no file of options needs; shorten it.")
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML file: {error}.") from None


def _check(path: str, key: str, value: Any, option: Any) -> None:
    if getattr(option, "is_flag", False):
        if not isinstance(value, bool):
            raise ValueError(f"{path}: expected {key} to be true or false, found {value!r}.")
    elif option.multiple:
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise ValueError(f"{path}: expected {key} to be a list of strings, found {value!r}.")
    elif isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{path}: expected {key} to be a string or a number, found {value!r}.")
