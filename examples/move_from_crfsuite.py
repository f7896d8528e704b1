"""Move a project from python-crfsuite, in four steps, each of which can be the last.

    pip install dualfield python-crfsuite
    python examples/move_from_crfsuite.py [FOLDER]

It prints a table of both programs: the objective that they minimise, the seconds that they take and the tags that
they give. The models go into FOLDER, by default into the current one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

try:
    import pycrfsuite
except ModuleNotFoundError:
    sys.exit("This example compares with python-crfsuite, which is not installed: pip install python-crfsuite.")

from dualfield import ChainCRF
from dualfield.compat import pycrfsuite as drop_in
from dualfield.datasets import travel_sentences

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(parents=True, exist_ok=True)
C2 = 0.1


def features(words: list[str], t: int) -> dict[str, str | bool]:
    """The features of a word, as they may stand in a program for python-crfsuite."""
    return {
        "word": words[t].lower(),
        "suffix": words[t][-3:],
        "title": words[t].istitle(),
        "before": words[t - 1].lower() if t else "<s>",
        "after": words[t + 1].lower() if t + 1 < len(words) else "</s>",
    }


def prepared(n: int, seed: int) -> tuple[list, list]:
    """Features and tags of made-up sentences."""
    sentences = travel_sentences(n, seed)
    X = [[features([word for word, _ in sentence], t) for t in range(len(sentence))] for sentence in sentences]
    return X, [[tag for _, tag in sentence] for sentence in sentences]


X, y = prepared(1000, seed=0)
X_new, y_new = prepared(300, seed=1)
n_tokens = sum(map(len, y_new))


def right(tagged: list[list[str]]) -> str:
    """How many tags of the new sentences are right."""
    hits = sum(a == b for tags, truth in zip(tagged, y_new, strict=True) for a, b in zip(tags, truth, strict=True))
    return f"{hits / n_tokens:.2%}"


# Where the project stands: python-crfsuite trains, and its tagger reads the model.
theirs = folder / "theirs.crfsuite"
start = perf_counter()
trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.0, "c2": C2})
for xseq, yseq in zip(X, y, strict=True):
    trainer.append(xseq, yseq)
trainer.train(str(theirs))
rows = [("CRFsuite", trainer.logparser.last_iteration["loss"], perf_counter() - start)]
tagger = pycrfsuite.Tagger()
tagger.open(str(theirs))
tags = {"CRFsuite": [tagger.tag(xseq) for xseq in X_new]}

# Step 1. The old model, the old program, one import changed: dualfield's tagger reads CRFsuite's models.
with drop_in.Tagger().open(str(theirs)) as tagger:
    same = [tagger.tag(xseq) for xseq in X_new] == tags["CRFsuite"]
print(f"1. CRFsuite's model in dualfield's tagger: {'the same tags' if same else 'other tags'} in every sentence.")

# Step 2. The same for training. What it writes is a model that CRFsuite's own tagger can still read.
start = perf_counter()
trainer = drop_in.Trainer(verbose=False, params={"c1": 0.0, "c2": C2})
for xseq, yseq in zip(X, y, strict=True):
    trainer.append(xseq, yseq)
trainer.train(str(folder / "ours.crfsuite"))
rows.append(("drop-in trainer", trainer.logparser.last_iteration["loss"], perf_counter() - start))
tagger = pycrfsuite.Tagger()
tagger.open(str(folder / "ours.crfsuite"))
tags["drop-in trainer"] = [tagger.tag(xseq) for xseq in X_new]
print("2. The model of dualfield's trainer is open in CRFsuite's tagger.")

# Step 3. The estimator: the same X and y, scikit-learn's methods. These options say what CRFsuite's model is.
start = perf_counter()
crf = ChainCRF(
    l2=2 * C2, state_features="observed", transitions="observed", bias=False, begin=False, end=False, random_state=0
).fit(X, y)
rows.append(("ChainCRF", crf.solution_.primal, perf_counter() - start))
tags["ChainCRF"] = crf.predict(X_new)
print(f"3. {crf.solution_.message}")

# Step 4. A model file that any program can read, and the questions that CRFsuite does not answer.
crf.save(folder / "names.safetensors")
(first, p), (second, q) = crf.predict_kbest(X_new[:1], 2)[0]
print(f"4. The two best taggings of the first sentence have the probabilities {p:.3f} and {q:.3f}.")

print(f"\n{'trained by':18}{'objective':>10}{'seconds':>9}{'tags right':>12}{'as CRFsuite':>13}")
for name, objective, seconds in rows:
    agree = sum(a == b for a, b in zip(tags[name], tags["CRFsuite"], strict=True)) / len(X_new)
    print(f"{name:18}{objective:10.3f}{seconds:9.2f}{right(tags[name]):>12}{agree:>13.1%}")
