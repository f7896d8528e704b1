"""Save a model with joblib and with pickle, and use it again."""

import pickle
from pathlib import Path

import joblib

from dualfield.compat.sklearn_crfsuite import CRF
from dualfield.datasets import travel_sentences

sentences = travel_sentences(60, seed=6)
X = [[{"w": word, "cap": word[0].isupper()} for word, _ in s] for s in sentences]
y = [[tag for _, tag in s] for s in sentences]
crf = CRF(algorithm="lbfgs", c1=0.05, c2=0.05, max_iterations=100).fit(X, y)
joblib.dump(crf, "model.joblib")
Path("model.pickle").write_bytes(pickle.dumps(crf))
for again in (joblib.load("model.joblib"), pickle.loads(Path("model.pickle").read_bytes())):
    assert list(again.predict(X)) == list(crf.predict(X))
    assert again.state_features_ == crf.state_features_
    assert again.get_params() == crf.get_params()
print(crf)
