"""Which words is the model least sure about?"""

from dualfield.compat import sklearn_crfsuite
from dualfield.datasets import travel_sentences


def attributes(sentence):
    words = ["<s>", *(word for word, _ in sentence), "</s>"]
    return [{"word": w, "left": a, "right": b, "len": len(w) / 10} for a, w, b in zip(words, words[1:], words[2:])]


train, test = travel_sentences(100, seed=4), travel_sentences(30, seed=5)
crf = sklearn_crfsuite.CRF(c2=0.1, max_iterations=200)
crf.fit([attributes(s) for s in train], [[tag for _, tag in s] for s in train])

doubts = []
for sentence, marginals in zip(test, crf.predict_marginals([attributes(s) for s in test])):
    for (word, _), distribution in zip(sentence, marginals):
        assert abs(sum(distribution.values()) - 1) < 1e-6
        assert set(distribution) == set(crf.classes_)
        label = max(distribution, key=distribution.get)
        doubts.append((distribution[label], word, label))
for p, word, label in sorted(doubts)[:10]:
    print(f"{p:.2f} {word:15} {label}")
one = attributes(test[0])
assert len(crf.predict_single(one)) == len(crf.predict_marginals_single(one)) == len(one)
