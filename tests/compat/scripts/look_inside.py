"""What has the model learnt?"""

from collections import Counter

from dualfield.compat.sklearn_crfsuite import CRF
from dualfield.datasets import travel_sentences

sentences = travel_sentences(150, seed=7)
X = [[{"w": word.lower(), "end": word[-3:]} for word, _ in s] for s in sentences]
y = [[tag for _, tag in s] for s in sentences]
crf = CRF(c1=0.2, c2=0.05, max_iterations=150, all_possible_transitions=True).fit(X, y)

transitions = Counter(crf.transition_features_)
for (a, b), weight in transitions.most_common(8):
    print(f"{a:10} {b:10} {weight:+.2f}")
for (a, b), weight in transitions.most_common()[-8:]:
    print(f"{a:10} {b:10} {weight:+.2f}")
for (attribute, label), weight in Counter(crf.state_features_).most_common(8):
    print(f"{label:10} {attribute:20} {weight:+.2f}")
assert transitions["B-DATE", "I-DATE"] > 0
assert set(crf.attributes_) == {attribute for attribute, _ in crf.state_features_}
assert crf.num_attributes_ == len(crf.attributes_) < len({f for x in X for p in x for f in (p["w"], p["end"])})
