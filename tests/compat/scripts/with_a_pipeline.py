"""Features inside a pipeline, so that the whole of it can be tuned and saved."""

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from dualfield.compat.sklearn_crfsuite import CRF, scorers
from dualfield.datasets import travel_sentences


class Windows(TransformerMixin, BaseEstimator):
    def __init__(self, width=1):
        self.width = width

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [[self.window(words, i) for i in range(len(words))] for words in X]

    def window(self, words, i):
        near = range(max(0, i - self.width), min(len(words), i + self.width + 1))
        return {f"{k - i}": words[k].lower() for k in near} | {"title": words[i].istitle()}


sentences = travel_sentences(100, seed=12)
X, y = [[word for word, _ in s] for s in sentences], [[tag for _, tag in s] for s in sentences]
pipeline = Pipeline([("windows", Windows()), ("crf", CRF(c1=0.05, c2=0.05, max_iterations=60))])
search = GridSearchCV(pipeline, {"windows__width": [0, 1], "crf__c2": [0.05, 0.5]}, scoring=scorers.flat_accuracy, cv=2)
search.fit(X, y)
print(search.best_params_, search.best_score_)
assert search.best_params_["windows__width"] == 1
