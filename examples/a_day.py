"""A first day with the package: from a table of words to a tagger of raw text, in seconds.

The table has a row for each word. Here the package makes it up; yours comes from ``pandas.read_csv``.

    pip install "dualfield[all]" pandas
    python examples/a_day.py [FOLDER]

It prints what it finds on the way, and writes ``report.html`` and ``travel.safetensors`` into FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas
from sklearn.model_selection import cross_val_score

from dualfield import ChainCRF, ChainCRFCV
from dualfield.calibration import choose_threshold, outcomes
from dualfield.datasets import travel_sentences
from dualfield.features import encode_frame
from dualfield.metrics import classification_report, entity_f1_scorer
from dualfield.reporting import report
from dualfield.tagging import entities_in_text

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(parents=True, exist_ok=True)

# 1. The data: words, the sentences they stand in, and the tags that somebody gave them.
table = pandas.DataFrame(
    {"sentence": number, "word": word, "tag": tag}
    for number, sentence in enumerate(travel_sentences(620, seed=0))
    for word, tag in sentence
)
print(table.head(9).to_string(index=False))

# 2. Features: a preset looks at each word, its shape, its ends and its neighbours. (Without features="ner", every
#    column of the table is one, so your own are columns of your own.)
X, y = encode_frame(table, group="sentence", label="tag", features="ner")
words = table.groupby("sentence")["word"].apply(list).tolist()
train, held_out, test = slice(0, 120), slice(120, 420), slice(420, 620)

# 3. How good would it be? F1 of whole entities on sentences that the model has not seen, three times.
f1 = cross_val_score(ChainCRF(random_state=0), X[train], y[train], cv=3, scoring=entity_f1_scorer)
print(f"\nF1 of entities as it comes: {f1.mean():.3f} (between {f1.min():.3f} and {f1.max():.3f})")

# 4. Which penalties are best? All pairs of them; each model begins where the one before it ended. (A best one at an end
#    of its list says: try further. Here the gain has become small.)
search = ChainCRFCV(l1s=[0.0, 0.1, 0.3], l2s=[1.0, 0.1, 0.01, 0.001], cv=3, scoring="f1", random_state=0)
search.fit(X[train], y[train])
grid = pandas.DataFrame(search.scores_.mean(axis=0), index=search.l1s, columns=search.l2s)
print(f"\nF1 by l1 (rows) and l2 (columns); best are l1 = {search.l1_:g} and l2 = {search.l2_:g}:")
print(grid.to_string(float_format="{:.3f}".format))
crf = search.best_estimator_
print(crf.solution_.message)

# 5. On which entities does it fail?
print()
print(classification_report(y[test], crf.predict(X[test])))

# 6. How sure must it be, so that 95 of 100 entities are right? Decided on sentences kept for that.
threshold = choose_threshold(outcomes(crf, X[held_out], y[held_out]), precision=0.95)
print(f"\n{threshold}")

# 7. All of it on one page: the certificate, scores, confusions, mistakes with the reasons for them, weights.
report(crf, X[test], y[test], folder / "report.html", "Names in travel sentences", words=words[test])

# 8. The model goes into a file. Whoever opens it labels raw text, and keeps what it is sure of.
crf.save(folder / "travel.safetensors")
tagger = ChainCRF.load(folder / "travel.safetensors")
text = (
    "Tell Grace that Jordan is lovely in May. "
    "Delta flies from Paris to Rome on Friday for $300, and Mr. Olsson waits there."
)
found = entities_in_text(tagger, text, features="ner")
print("\n" + text)
for entity in found:
    sure = "" if entity.probability >= threshold.value else "   (not sure enough)"
    print(f"{entity.start:5}-{entity.end:<5}{entity.text:12}{entity.type:10}{entity.probability:.0%}{sure}")
print(f"\nNow open {folder / 'report.html'} in a browser.")
