"""The chain inside what a user holds: a search over parameters, a pipeline, or another program's interface.

Functions that look at the weights of a chain take any of these. What holds no chain is refused in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dualfield.models.chain_model import ChainModel

__all__ = ["Unwrapped", "chain_inside", "unwrapped"]

_WEIGHTS = ("node_weights_", "edge_weights_", "bias_", "coef_", "intercept_")


class Unwrapped(NamedTuple):
    """A fitted chain, and how X becomes what the chain takes."""

    crf: ChainModel
    prepared: Callable[[Any], Any]


def chain_inside(model: Any, asker: str) -> ChainModel:
    """The fitted chain that a model is or holds, or a refusal; ``asker`` is the function that wants it."""
    return unwrapped(model, asker).crf


def unwrapped(model: Any, asker: str) -> Unwrapped:
    """The fitted chain that a model is or holds, with the steps before it, or a refusal.

    A ``GridSearchCV`` holds its best model, and a ``Pipeline`` has it as its last step. Estimators of this package that
    hold a chain say so by a method ``_chain_inside``.
    """
    if isinstance(model, ChainModel):
        model._check_fitted()
        return Unwrapped(model, lambda X: X)
    name = type(model).__name__
    if isinstance(model, type):
        raise TypeError(f"{asker}() needs a fitted model; got the class {model.__name__}: make one and fit it first.")
    if hasattr(model, "_chain_inside"):
        return unwrapped(model._chain_inside(), asker)
    if hasattr(model, "cv_results_") and not hasattr(model, "best_estimator_"):
        raise TypeError(f"{asker}() needs a fitted model, and a {name} with refit=False keeps none; set refit=True.")
    if hasattr(model, "estimator") and hasattr(model, "refit"):
        _check_fitted(model)
        return unwrapped(model.best_estimator_, asker)
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        inner = unwrapped(steps[-1][1], asker)
        return Unwrapped(inner.crf, lambda X: inner.prepared(X if len(steps) == 1 else model[:-1].transform(X)))
    known = [weights for weights in _WEIGHTS if hasattr(type(model), weights) or hasattr(model, weights)]
    where = f"; its weights are in {', '.join(known)}" if known else ""
    raise TypeError(
        f"{asker}() looks inside linear chains: a fitted ChainCRF, or a search, a pipeline or a drop-in CRF that holds "
        f"one; got {_article(name)}{where}."
    )


def _check_fitted(model: Any) -> None:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"
