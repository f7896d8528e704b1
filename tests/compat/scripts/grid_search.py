"""The penalty by a grid, scored by whole sentences."""

from sklearn.model_selection import GridSearchCV

from dualfield.compat.sklearn_crfsuite import CRF, scorers
from dualfield.datasets import travel_sentences

sentences = travel_sentences(120, seed=3)
X = [[{"w": word.lower(), "shape": word.istitle(), "tail": word[-2:]} for word, _ in s] for s in sentences]
y = [[tag for _, tag in s] for s in sentences]

grid = GridSearchCV(CRF(c1=0), {"c2": [0.01, 0.1, 1.0, 10.0]}, scoring=scorers.sequence_accuracy, cv=3, n_jobs=1)
grid.fit(X, y)
for parameters, mean in zip(grid.cv_results_["params"], grid.cv_results_["mean_test_score"]):
    print(parameters, round(mean, 3))
assert grid.best_params_["c2"] < 10
assert grid.best_estimator_.get_params()["c2"] == grid.best_params_["c2"]
