"""Named entities in travel sentences: train with both penalties, report, then search for better penalties."""

import scipy.stats
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV

from dualfield.compat import sklearn_crfsuite
from dualfield.compat.sklearn_crfsuite import metrics
from dualfield.datasets import travel_sentences


def describe(sentence, i):
    word = sentence[i][0]
    features = {
        "bias": 1.0,
        "lower": word.lower(),
        "suffix": word[-3:],
        "capital": word.istitle(),
        "digits": word.isdigit(),
    }
    if i > 0:
        features["before"] = {"lower": sentence[i - 1][0].lower(), "capital": sentence[i - 1][0].istitle()}
    else:
        features["first"] = True
    if i + 1 < len(sentence):
        features["after"] = {"lower": sentence[i + 1][0].lower()}
    else:
        features["last"] = True
    return features


def prepare(sentences):
    X = [[describe(sentence, i) for i in range(len(sentence))] for sentence in sentences]
    return X, [[tag for _, tag in sentence] for sentence in sentences]


X_train, y_train = prepare(travel_sentences(150, seed=1))
X_test, y_test = prepare(travel_sentences(60, seed=2))

crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
crf.fit(X_train, y_train)
labels = list(crf.classes_)
labels.remove("O")
y_pred = crf.predict(X_test)
f1 = metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels)
print(metrics.flat_classification_report(y_test, y_pred, labels=sorted(labels), digits=3))
assert f1 > 0.8

search = RandomizedSearchCV(
    sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=60, all_possible_transitions=True),
    {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)},
    cv=3,
    n_iter=4,
    random_state=0,
    scoring=make_scorer(metrics.flat_f1_score, average="weighted", labels=labels),
)
search.fit(X_train, y_train)
print("best:", search.best_params_, search.best_score_)
print("model size:", search.best_estimator_.size_)
assert search.best_estimator_.score(X_test, y_test) > 0.9
