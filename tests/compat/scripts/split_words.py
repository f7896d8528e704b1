"""Where does a word begin? Letters without spaces, each described by its neighbours."""

from dualfield.compat.sklearn_crfsuite import CRF, metrics
from dualfield.datasets import travel_sentences


def letters(sentence):
    words = [word.lower() for word, _ in sentence]
    text, starts = "".join(words), ["B" if k == 0 else "I" for word in words for k in range(len(word))]
    padded = f"__{text}__"
    return [
        {"1": padded[i], "12": padded[i : i + 2], "012": padded[i - 1 : i + 2], "23": padded[i + 1 : i + 3], "b": 1.0}
        for i in range(2, len(text) + 2)
    ], starts


pairs = [letters(sentence) for sentence in travel_sentences(120, seed=15)]
X, y = [x for x, _ in pairs], [starts for _, starts in pairs]
crf = CRF(algorithm="lbfgs", c1=0.0, c2=0.05, all_possible_states=True, all_possible_transitions=True)
crf.fit(X[:90], y[:90])
found = crf.predict(X[90:])
print(metrics.flat_classification_report(y[90:], found))
print(metrics.sequence_accuracy_score(y[90:], found))
assert metrics.flat_f1_score(y[90:], found, pos_label="B") > 0.7
