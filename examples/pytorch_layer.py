"""A CRF as the last layer of a network in PyTorch, beside the same network without it.

The network is trained twice on the same made-up sentences: once with a softmax that decides about each word by itself,
once with the CRF, which decides about the sentence. Names of several words gain from that.

    pip install "dualfield[torch]"
    python examples/pytorch_layer.py

It prints the losses, the F1 of whole names of both, and a sentence with the probabilities of its tags.
"""

from __future__ import annotations

import sys
from zlib import crc32

try:
    import torch
except ModuleNotFoundError:
    sys.exit('This example needs PyTorch, which is not installed: pip install "dualfield[torch]".')
from torch import Tensor, nn

from dualfield.datasets import travel_sentences
from dualfield.datasets.travel import ENTITY_TYPES
from dualfield.metrics import chunk_scores
from dualfield.torch import CRF

TAGS = ["O", *(f"{prefix}-{kind}" for kind in ENTITY_TYPES for prefix in "BI")]
EPOCHS, BATCH, BUCKETS = 4, 16, 4096
IGNORED = -100  # the tag of positions behind the end of a sentence
Sentences = list[list[tuple[str, str]]]


def seen(word: str) -> list[int]:
    """What the network sees of a word, as numbers: the word, its ends, and whether it begins with a capital letter."""
    parts = (f"word {word.lower()}", f"begin {word[:2]}", f"end {word[-3:]}", f"title {word.istitle()}")
    return [crc32(part.encode()) % BUCKETS for part in parts]


def batch(sentences: Sentences) -> tuple[Tensor, Tensor]:
    """Numbers of shape (sentences, words, 4) and tags of shape (sentences, words), padded behind the ends."""
    longest = max(map(len, sentences))
    words = torch.zeros(len(sentences), longest, 4, dtype=torch.long)
    tags = torch.full((len(sentences), longest), IGNORED)
    for row, sentence in enumerate(sentences):
        words[row, : len(sentence)] = torch.tensor([seen(word) for word, _ in sentence])
        tags[row, : len(sentence)] = torch.tensor([TAGS.index(tag) for _, tag in sentence])
    return words, tags


class Tagger(nn.Module):
    """Embeddings, a recurrent network in both directions, a score for each tag; and a CRF or none."""

    def __init__(self, with_crf: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(BUCKETS, 32)
        self.recurrent = nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.scores = nn.Linear(64, len(TAGS))
        # The constraints leave out sequences that are no names, such as I-CITY after O.
        crf = CRF(len(TAGS), batch_first=True, ignore_index=IGNORED, labels=TAGS, constraints="bio")
        self.crf = crf if with_crf else None

    def forward(self, words: Tensor) -> Tensor:
        """A score for each word and tag."""
        return self.scores(self.recurrent(self.embedding(words).sum(2))[0])

    def loss(self, words: Tensor, tags: Tensor) -> Tensor:
        """The negative log-likelihood of the tags, for each word."""
        if self.crf is None:
            return nn.functional.cross_entropy(self(words).flatten(0, 1), tags.flatten(), ignore_index=IGNORED)
        return -self.crf(self(words), tags, reduction="token_mean")

    def tag(self, words: Tensor, known: Tensor) -> list[list[str]]:
        """The best tags of each sentence."""
        if self.crf is None:
            best = self(words).argmax(2)
            return [[TAGS[k] for k in row[mask]] for row, mask in zip(best, known, strict=True)]
        return [[TAGS[k] for k in row] for row in self.crf.decode(self(words), known)]


def trained(sentences: Sentences, with_crf: bool) -> Tagger:
    """A network after a few epochs; the losses are printed."""
    torch.manual_seed(0)
    tagger = Tagger(with_crf)
    optimiser = torch.optim.Adam(tagger.parameters(), lr=0.01)
    batches = [batch(sentences[start : start + BATCH]) for start in range(0, len(sentences), BATCH)]
    losses = []
    for _ in range(EPOCHS):
        total = 0.0
        for words, tags in batches:
            optimiser.zero_grad()
            loss = tagger.loss(words, tags)
            loss.backward()
            optimiser.step()
            total += loss.item() / len(batches)
        losses.append(f"{total:.3f}")
    print(f"{'with' if with_crf else 'without'} the CRF, loss of each epoch: {', '.join(losses)}")
    return tagger


torch.set_num_threads(1)  # the tensors are small
new = travel_sentences(300, seed=1)
words, tags = batch(new)
known = tags != IGNORED
truth = [[tag for _, tag in sentence] for sentence in new]
f1 = {}
for with_crf in (False, True):
    tagger = trained(travel_sentences(300, seed=0), with_crf)
    with torch.no_grad():
        f1[with_crf] = chunk_scores(truth, tagger.tag(words, known)).f1
print(f"\nF1 of whole names on {len(new)} new sentences: {f1[False]:.3f} without the CRF, {f1[True]:.3f} with it")

with torch.no_grad():
    probabilities = tagger.crf.marginals(tagger(words), known)[0]
print("\nThe first of them, with the probability of each tag that the CRF chose:")
for (word, tag), row in zip(new[0], probabilities, strict=False):
    best = int(row.argmax())
    print(f"  {word:14}{TAGS[best]:12}{row[best]:7.1%}   {'right' if TAGS[best] == tag else 'wrong: ' + tag}")
