"""A chain's training problem handed to CRFsuite so that both programs minimise the same function.

CRFsuite knows weights of (attribute, label) pairs and of (label, label) pairs, and no others; its penalty is ``c2
‖w‖²``, so ``c2 = l2/2``. A bias, begin or end weight is what it calls the weight of an attribute that is found at every
position, at the first or at the last. A chain with all pairs needs ``feature.possible_states`` and
``feature.possible_transitions``: then both have the same features, the same weights and the same objective, and share
no line of code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from dualfield import fields
from dualfield.models import read_crfsuite_model

__all__ = ["Trained", "as_sequences", "objective_of_model", "train_crfsuite"]

BIAS, BEGIN, END = "bias", "begin", "end"
Items = list[dict[str, float]]


@dataclass(frozen=True)
class Trained:
    """What CRFsuite says of its run, and our objective at the weights in its model file."""

    loss: float
    iterations: int
    features: int
    objective: float
    gradient_norm: float
    reason: str


def as_sequences(field: fields.Chain) -> Iterator[tuple[Items, list[str]]]:
    """Each sequence as CRFsuite's attributes with values, and its labels."""
    X, layout = field.encoded, field.layout
    names = _names(layout.n_attributes)
    values = np.ones(len(X.indices)) if X.values is None else X.values
    labels = field.classes[field.codes].astype(str).tolist()
    for first, end in pairwise(X.offsets.tolist()):
        items = []
        for start, stop in pairwise(X.indptr[first : end + 1].tolist()):
            entries = zip(X.indices[start:stop].tolist(), values[start:stop].tolist(), strict=True)
            items.append({names[number]: value for number, value in entries})
        for name, places in ((BIAS, items), (BEGIN, items[:1]), (END, items[-1:])):
            for item in places if getattr(layout, name) else []:
                item[name] = 1.0
        yield items, labels[first:end]


def _names(n_attributes: int) -> list[str]:
    return [f"a{number}" for number in range(n_attributes)]


def train_crfsuite(field: fields.Chain, tol: float = 1e-9, max_iterations: int = 3000) -> Trained:
    """CRFsuite's L-BFGS, until ten iterations gain less than ``tol`` (relative)."""
    import pycrfsuite

    if field.layout.rows is not None:
        raise ValueError("the chain has weights for observed pairs only; expected one with all pairs.")
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": field.l2 / 2,
            "epsilon": 1e-9,  # ‖gradient‖ / ‖weights‖ at which it stops too
            "delta": tol,
            "num_memories": 20,
            "max_iterations": max_iterations,
            "feature.possible_states": True,
            "feature.possible_transitions": True,
        }
    )
    for items, labels in as_sequences(field):
        trainer.append(items, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        trainer.train(str(path))
        objective, norm = objective_of_model(path, field)
    log = trainer.logparser
    return Trained(
        loss=float(log.iterations[-1]["loss"]),
        iterations=int(log.iterations[-1]["num"]),
        features=int(log.featgen_num_features or 0),
        objective=objective,
        gradient_norm=norm,
        reason=_reason("".join(log.log)),
    )


def _reason(log: str) -> str:
    """Why it stopped, in its own words."""
    lines = [line for line in log.splitlines() if line.startswith("L-BFGS")]
    return lines[-1] if lines else "no reason given"


def objective_of_model(path: Path, field: fields.Chain) -> tuple[float, float]:
    """Our objective and the norm of its gradient at the weights of a model file; CRFsuite leaves out zero weights."""
    model = read_crfsuite_model(path)
    if not np.array_equal(model.classes_, field.classes):
        raise ValueError(f"the model's labels are {model.classes_.tolist()}; expected {field.classes.tolist()}.")
    parts = model.layout_.split(model.weights_)
    row_of = {name: number for number, name in enumerate(model.vocabulary_.names)}
    state = parts["state"].toarray()

    def rows(names: list[str]) -> np.ndarray:
        found = np.zeros((len(names), len(field.classes)))
        for place, name in enumerate(names):
            if name in row_of:
                found[place] = state[row_of[name]]
        return found.ravel()

    layout = field.layout
    extra = [name for name in (BIAS, BEGIN, END) if getattr(layout, name)]
    weights = np.concatenate([rows(_names(layout.n_attributes)), parts["transitions"].ravel(), rows(extra)])
    objective, gradient = field.gradient(weights)
    return objective, float(np.linalg.norm(gradient))
