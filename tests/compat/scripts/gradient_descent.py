"""Stochastic gradient descent reaches about what L-BFGS does."""

from dualfield.compat.sklearn_crfsuite import CRF
from dualfield.datasets import travel_sentences

sentences = travel_sentences(120, seed=11)
X = [[{"w": word, "e": word[-2:]} for word, _ in s] for s in sentences]
y = [[tag for _, tag in s] for s in sentences]
sgd = CRF(algorithm="l2sgd", c2=0.5, max_iterations=60).fit(X, y)
lbfgs = CRF(algorithm="lbfgs", c2=0.5).fit(X, y)
ours, theirs = sgd.training_log_.last_iteration["loss"], lbfgs.training_log_.last_iteration["loss"]
print(ours, theirs)
assert ours < 1.05 * theirs
assert abs(sgd.score(X, y) - lbfgs.score(X, y)) < 0.02
