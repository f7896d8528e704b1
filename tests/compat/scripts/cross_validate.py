"""Scores and predictions by cross-validation."""

import numpy as np
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

from dualfield.compat.sklearn_crfsuite import CRF, metrics
from dualfield.datasets import travel_sentences

sentences = travel_sentences(90, seed=8)
X = [[{"w": word, "t": word.istitle(), "n": word.isdigit()} for word, _ in s] for s in sentences]
y = [[tag for _, tag in s] for s in sentences]
crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=80)
f1 = make_scorer(metrics.flat_f1_score, average="macro", zero_division=0)
scores = cross_val_score(crf, X, y, cv=KFold(3, shuffle=True, random_state=0), scoring=f1)
print("F1:", np.mean(scores))
assert np.all(scores > 0.3)
folded = cross_val_predict(crf, X, y, cv=3)
print("accuracy:", metrics.flat_accuracy_score(y, folded))
assert metrics.sequence_accuracy_score(y, folded) <= metrics.flat_accuracy_score(y, folded)
assert clone(crf).get_params() == crf.get_params()
print(metrics.flat_precision_score(y, folded, average="micro"), metrics.flat_recall_score(y, folded, average="micro"))
print(metrics.flat_fbeta_score(y, folded, beta=0.5, average="weighted"))
