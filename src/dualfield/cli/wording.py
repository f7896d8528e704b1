"""Turns parameters of Python in a message, such as ``max_passes=3``, into options: ``--max-passes 3``."""

from __future__ import annotations

import re

__all__ = ["in_options"]

_SAME = ("max_passes", "tol", "l1", "l2", "min_count", "hash_bits", "solver", "constraints", "standardize")
_FLAGS = ("bias", "begin", "end")
_PAIRS = ("state_features", "transitions", "bigram_features")
_OPTIONS = {
    **{name: "--" + name.replace("_", "-") for name in (*_SAME, *_FLAGS, *_PAIRS)},
    "n_jobs": "--jobs",
    "device": "--device",
    "random_state": "--seed",
}
# Parameters of solvers that only Python can set.
_IN_PYTHON = ("memory", "eta", "meta", "rho", "inner_passes", "step", "schedule")

_QUOTED = r"'[^']*'(?:(?:,| or) '[^']*')*"
_GIVEN = re.compile(rf"(?<![\w'\"(.-])({'|'.join(_OPTIONS)})=({_QUOTED}|[-+\w]+(?:\.\d+)?(?:e-?\d+)?)")
# Named without a value, where it cannot be part of a formula or a word of English.
_NAMED = re.compile(
    r"(?P<before>\b(?:raise|lower|or|by) )(?P<name>max_passes|tol|l1|l2|min_count|n_jobs)\b(?!=)"
    r"|(?P<leave>\bleave )(?P<left>n_jobs|device)(?= out\b)"
    r"|^(?P<first>max_passes|tol|l1|l2|min_count|hash_bits)(?= must be )"
)
_UNKNOWN = re.compile(
    rf"\b(?:{'|'.join(_IN_PYTHON)})=(?:{_QUOTED}|[\w.]+)|\b(?<=raise |lower )(?:{'|'.join(_IN_PYTHON)})"
    rf"(?: or (?:{'|'.join(_IN_PYTHON)}))?\b"
)


def in_options(text: str) -> str:
    """The sentence with options of the command line for parameters of Python; of others it says that they are.

    Examples
    --------
    >>> in_options("SAG stopped at max_passes=3 before tol=0.001; raise max_passes or tol.")
    'SAG stopped at --max-passes 3 before --tol 0.001; raise --max-passes or --tol.'
    >>> in_options("use solver='auto' or 'oeg', bias=False; or lower eta")
    'use --solver auto or oeg, --no-bias; or lower eta (in Python)'
    """
    text = _NAMED.sub(_named, text)
    if text.startswith("--"):
        text = text.replace(", or None", "", 1)  # what Python's None says, leaving the option out says here
    text = _UNKNOWN.sub(r"\g<0> (in Python)", text)
    return _GIVEN.sub(_option, text)


def _named(found: re.Match[str]) -> str:
    return (found["before"] or found["leave"] or "") + _OPTIONS[found["name"] or found["left"] or found["first"]]


def _option(found: re.Match[str]) -> str:
    name, value = found.groups()
    if value in ("True", "False"):
        return f"--{'' if value == 'True' else 'no-'}{name}"
    return f"{_OPTIONS[name]} {value.replace(chr(39), '')}"
