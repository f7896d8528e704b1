"""Train on data that need not fit into memory: chunks go to the disk, and training reads one part at a time.

Chunks come from a generator here; in your program they come from files or a database. What is in memory is one
chunk while the folder is written, and one partition while the model is trained.

    pip install dualfield
    python examples/larger_than_memory.py [FOLDER]

It prints the partitions and how the proven gap shrinks from pass to pass. The data go into FOLDER/travel-partitions,
by default below the current folder, and the model into FOLDER/travel.safetensors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.features import extract_all
from dualfield.partitions import open_partitions, write_partitions

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(parents=True, exist_ok=True)
data_folder = folder / "travel-partitions"
if data_folder.exists():
    sys.exit(f"{data_folder} exists already; remove it, or give another FOLDER.")


def prepared(n: int, seed: int) -> tuple[list, list]:
    """Attributes and tags of made-up sentences."""
    sentences = travel_sentences(n, seed)
    X = extract_all("ner", [[(word,) for word, _ in sentence] for sentence in sentences])
    return X, [[tag for _, tag in sentence] for sentence in sentences]


def chunks() -> Iterator[tuple[list, list]]:
    """Twelve chunks; each is made when the one before it has been written."""
    for seed in range(12):
        yield prepared(250, seed)


# 1. To the disk. Attributes of all chunks are counted and numbered there.
write_partitions(chunks(), data_folder, positions=6000, min_count=2)
data = open_partitions(data_folder)
size = sum(file.stat().st_size for file in data_folder.rglob("*") if file.is_file())
print(data)
print(f"{size / 1e6:.1f} MB on the disk; one partition, about {size / 1e6 / len(data):.1f} MB, is in memory at a time.")

# 2. Train. The folder stands where X and y would.
crf = ChainCRF(random_state=0).fit(data)
history = crf.solution_.history
print("\nThe proven gap, relative to the objective, after the passes that computed it:")
for number, gap, objective in zip(history["passes"], history["duality_gap"], history["primal"], strict=True):
    if not math.isnan(gap):
        bar = "#" * max(1, round(20 * (4 + math.log10(gap / objective))))
        print(f"  pass {number:3.0f}  {gap / objective:8.5f}  {bar}")
print(crf.solution_.message)

# 3. The model is one like any other.
crf.save(folder / "travel.safetensors")
X_new, y_new = prepared(300, seed=100)
print(f"\ntags right on 300 new sentences: {ChainCRF.load(folder / 'travel.safetensors').score(X_new, y_new):.2%}")
