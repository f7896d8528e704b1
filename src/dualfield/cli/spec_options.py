"""The options of ``train`` that say what the model is: one for each field of :class:`~dualfield.models.ChainSpec`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from dualfield.labels import Constraints
from dualfield.models.spec import ChainSpec

__all__ = ["with_spec_options"]


def with_spec_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in the place of its parameter ``spec``."""
    signature = inspect.signature(command, eval_str=True)
    options = {name: _option(name, hint) for name, hint in _hints().items()}

    @wraps(command)
    def with_options(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in options}
        plain = {name: value.value if isinstance(value, Enum) else value for name, value in chosen.items()}
        command(spec=ChainSpec(**plain), **given)

    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters.extend(options.values() if parameter.name == "spec" else [parameter])
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


def _hints() -> dict[str, Any]:
    """The types of the fields, each annotated with its words."""
    return get_type_hints(ChainSpec, localns={"Constraints": Constraints}, include_extras=True)


def _option(name: str, hint: Any) -> inspect.Parameter:
    """The option of a field: words to choose among become an enumeration, which is how typer checks them."""
    kind, words = get_args(hint)
    default = ChainSpec._field_defaults[name]
    parts = [kind, *get_args(kind)]
    choices = next((get_args(part) for part in parts if get_origin(part) is Literal), None)
    if choices is not None:
        words_of: Any = Enum(name, {choice: choice for choice in choices}, type=str)  # type: ignore[misc]
        kind, default = (words_of | None, None) if default is None else (words_of, words_of(default))
    where = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, where, default=default, annotation=Annotated[kind, typer.Option(help=words)])
