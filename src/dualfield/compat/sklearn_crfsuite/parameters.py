"""sklearn-crfsuite's parameters by CRFsuite's names."""

from __future__ import annotations

from typing import Any

from dualfield.compat.crfsuite.parameters import ALGORITHMS, Asked, asked

__all__ = ["asked_by", "given_to"]

# Where the names differ by more than a dot.
_NAMES = {
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
    "type": "pa_type",
}


def asked_by(crf: Any) -> Asked:
    """What a ``CRF`` asks for, or a refusal of its algorithm or of a parameter that is not the algorithm's own."""
    algorithm = "lbfgs" if crf.algorithm is None else crf.algorithm
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be 'lbfgs', 'l2sgd', 'ap', 'pa' or 'arow'; got {algorithm!r}.")
    takes = ALGORITHMS[algorithm]
    for name in sorted(
        {_name_of(name) for others in ALGORITHMS.values() for name in others} - set(map(_name_of, takes))
    ):
        value = getattr(crf, name)
        if value is not None:
            listed = ", ".join(_name_of(own) for own in takes if not own.startswith("feature."))
            raise ValueError(f"{name}={value!r} is no parameter of algorithm={algorithm!r}, which takes {listed}.")
    if crf.trainer_cls is not None:
        _check_trainer(crf.trainer_cls)
    return asked(algorithm, {name: getattr(crf, _name_of(name)) for name in takes}, _name_of)


def given_to(crf: Any) -> dict[str, Any]:
    """The parameters that a ``CRF`` was given, by the names that its trainer takes."""
    values = {name: getattr(crf, _name_of(name)) for name in ALGORITHMS[crf.algorithm or "lbfgs"]}
    return {name: value for name, value in values.items() if value is not None}


def _check_trainer(given: Any) -> None:
    from dualfield.compat.pycrfsuite import BaseTrainer

    if not (isinstance(given, type) and issubclass(given, BaseTrainer)):
        raise ValueError(
            f"trainer_cls is {given!r}; expected a subclass of dualfield.compat.pycrfsuite.Trainer: derive it from "
            "that class in place of pycrfsuite.Trainer."
        )


def _name_of(name: str) -> str:
    return _NAMES.get(name, name.replace(".", "_"))
