"""Named entities in Dutch news (CoNLL-2002), the folder with the data in the environment."""

import gzip
import os
from collections import Counter
from pathlib import Path

from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV

from dualfield.compat import sklearn_crfsuite
from dualfield.compat.sklearn_crfsuite import metrics, scorers

FOLDER = Path(os.environ["DUALFIELD_DATA"]) / "conll2002"


def read(name, most):
    text = gzip.open(FOLDER / f"{name}.gz", "rt", encoding="utf-8").read()
    sentences = [[tuple(line.split()) for line in block.splitlines()] for block in text.strip().split("\n\n")]
    return [[row for row in sentence if row[0] != "-DOCSTART-"] for sentence in sentences[:most]]


def token(sentence, i):
    word, tag = sentence[i][:2]
    features = {
        "bias": 1.0,
        "lower": word.lower(),
        "ends3": word[-3:],
        "ends2": word[-2:],
        "upper": word.isupper(),
        "title": word.istitle(),
        "digit": word.isdigit(),
        "tag": tag,
    }
    for step in (-1, 1):
        if 0 <= i + step < len(sentence):
            near, its_tag = sentence[i + step][:2]
            features.update({f"{step}:lower": near.lower(), f"{step}:title": near.istitle(), f"{step}:tag": its_tag})
    if i == 0:
        features["begin"] = True
    if i == len(sentence) - 1:
        features["end"] = True
    return features


def prepare(sentences):
    return (
        [[token(sentence, i) for i in range(len(sentence))] for sentence in sentences],
        [[row[2] for row in sentence] for sentence in sentences],
    )


X_train, y_train = prepare(read("ned.train", 1500))
X_test, y_test = prepare(read("ned.testa", 500))
crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
crf.fit(X_train, y_train)
labels = sorted((label for label in crf.classes_ if label != "O"), key=lambda label: (label[1:], label[0]))
y_pred = crf.predict(X_test)
print(metrics.flat_classification_report(y_test, y_pred, labels=labels, digits=3, zero_division=0))
for (one, other), weight in Counter(crf.transition_features_).most_common(5):
    print(f"{one:6} -> {other:7} {weight:.3f}")
for (attribute, label), weight in Counter(crf.state_features_).most_common(5):
    print(f"{weight:.3f} {label:8} {attribute}")
assert metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels, zero_division=0) > 0.4
assert scorers.flat_accuracy(crf, X_test, y_test) > 0.9

search = RandomizedSearchCV(
    sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=30, all_possible_transitions=True),
    {"c1": [0.05, 0.1, 0.5], "c2": [0.01, 0.1, 0.5]},
    cv=2,
    n_iter=2,
    random_state=0,
    scoring=make_scorer(metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0),
)
search.fit(X_train[:300], y_train[:300])
print(search.best_params_)
