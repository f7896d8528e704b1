"""Scorers for ``cross_val_score``, ``GridSearchCV`` and the like."""

from __future__ import annotations

from sklearn.metrics import make_scorer

from dualfield.compat.sklearn_crfsuite import metrics

__all__ = ["flat_accuracy", "sequence_accuracy"]

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
