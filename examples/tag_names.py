"""Train a tagger of names, then ask how sure it is and why.

The package makes the sentences up, so that the example needs no data.

    pip install dualfield
    python examples/tag_names.py

It prints the certificate, names that it found in new sentences, and the reasons for the one that it doubts most.
"""

from __future__ import annotations

from dualfield import ChainCRF
from dualfield.calibration import choose_threshold, outcomes
from dualfield.datasets import travel_sentences
from dualfield.inspection import explain
from dualfield.metrics import chunks


def attributes(words: list[str], t: int) -> dict[str, str | bool]:
    """What the model sees of a word: itself, its end, its case, and its neighbours."""
    return {
        "word": words[t].lower(),
        "end": words[t][-3:],
        "capital": words[t][0].isupper(),
        "before": words[t - 1].lower() if t else "(begin)",
        "after": words[t + 1].lower() if t + 1 < len(words) else "(end)",
    }


def prepared(n: int, seed: int) -> tuple[list[list[str]], list, list]:
    """Words, attributes and tags of made-up sentences."""
    sentences = travel_sentences(n, seed)
    words = [[word for word, _ in sentence] for sentence in sentences]
    X = [[attributes(sentence, t) for t in range(len(sentence))] for sentence in words]
    return words, X, [[tag for _, tag in sentence] for sentence in sentences]


# 1. Train. The message says how far the model is from the best weights that there are, and that is proven.
_, X, y = prepared(400, seed=0)
crf = ChainCRF(l2=0.1, random_state=0).fit(X, y)
print(crf.solution_.message)

# 2. Tag sentences that the model has never seen. Each name comes with its exact probability.
words, X_new, y_new = prepared(300, seed=1)
found = [(number, name) for number, names in enumerate(crf.predict_entities(X_new)) for name in names]
doubtful = sorted(found, key=lambda one: one[1].probability)[:5]
print(f"\n{len(found)} names in {len(words)} new sentences: the first five, and the five that the model doubts most.")
for number, name in found[:5] + doubtful:
    sentence = words[number]
    marked = [*sentence[: name.start], f"[{' '.join(sentence[name.start : name.end])}]", *sentence[name.end :]]
    right = (name.start, name.end, name.type) in chunks(y_new[number])
    print(f"{name.probability:6.1%}  {name.type:8} {'right' if right else 'wrong'}  {' '.join(marked)}")

# 3. From which probability on are 98 of 100 names right?
print(f"\n{choose_threshold(outcomes(crf, X_new, y_new), precision=0.98)}")

# 4. Why did the model decide so where it doubts most? The contributions add up to the difference of two scores.
number, name = doubtful[0]
print(f"\n{' '.join(words[number])}")
print(explain(crf, X_new[number], name.start))
