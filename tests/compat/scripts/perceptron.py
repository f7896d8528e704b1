"""The averaged perceptron: fast, and no probabilities needed."""

from dualfield.compat import sklearn_crfsuite
from dualfield.datasets import travel_sentences


def prepare(n, seed):
    sentences = travel_sentences(n, seed=seed)
    X = [[["w=" + word, "c=" + word[0], "e=" + word[-2:]] for word, _ in s] for s in sentences]
    return X, [[tag for _, tag in s] for s in sentences]


crf = sklearn_crfsuite.CRF(algorithm="ap", max_iterations=20, all_possible_transitions=True)
crf.fit(*prepare(200, 9))
accuracy = crf.score(*prepare(80, 10))
print("accuracy", accuracy)
assert accuracy > 0.9
