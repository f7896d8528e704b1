"""Watch the score on held-out sentences, and cut off rare features."""

from dualfield.compat import sklearn_crfsuite
from dualfield.datasets import travel_sentences


def prepare(n, seed):
    sentences = travel_sentences(n, seed=seed)
    return (
        [[{"w": word.lower(), "cap": word.istitle(), "tail": word[-2:]} for word, _ in s] for s in sentences],
        [[tag for _, tag in s] for s in sentences],
    )


X, y = prepare(150, 13)
X_dev, y_dev = prepare(50, 14)
sizes = {}
for min_freq in (0, 2, 5):
    crf = sklearn_crfsuite.CRF(c2=0.1, min_freq=min_freq, max_iterations=100)
    crf.fit(X, y, X_dev=X_dev, y_dev=y_dev)
    last = crf.training_log_.last_iteration
    sizes[min_freq] = len(crf.state_features_)
    print(min_freq, sizes[min_freq], last["num"], round(last["loss"], 1), last["avg_f1"], last["item_accuracy_float"])
    assert 0 < last["instance_accuracy_float"] <= last["item_accuracy_float"] <= 1
assert sizes[0] > sizes[2] > sizes[5]
