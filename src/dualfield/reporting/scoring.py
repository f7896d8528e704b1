"""What the report counts on labelled sequences: scores by label, confusions, the most confident mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dualfield.features import Encoded, Vocabulary
from dualfield.inspection import explain
from dualfield.labels import encode_labels
from dualfield.labels.unknown_labels import with_unknown
from dualfield.metrics import Score

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel

__all__ = ["Confusion", "Mistake", "Scored", "confusion", "label_scores", "mistakes", "score_sequences", "words_of"]

_WORD_KEYS = ("w[0]", "word", "w", "token", "form", "text", "word.lower", "word.lower()")
_MOST_LABELS = 30
_WINDOW = 7
_REASONS = 4


@dataclass(frozen=True)
class Scored:
    """Labelled sequences and what the model says of them; codes are -1 for labels that the model does not have."""

    encoded: Encoded
    y: list[list[Any]]
    predicted: list[list[Any]]
    true_codes: npt.NDArray[np.int32]
    found_codes: npt.NDArray[np.int32]
    marginals: npt.NDArray[np.float64]
    words: list[list[str]]


@dataclass(frozen=True)
class Confusion:
    """How often a true label (row) was given which label (column); ``omitted`` labels have no row and column."""

    labels: list[str]
    counts: list[list[int]]
    omitted: int


@dataclass(frozen=True)
class Token:
    """A word of the context of a mistake: whether it is the mistake, or another wrong one."""

    word: str
    true: str
    predicted: str
    here: bool
    wrong: bool


@dataclass(frozen=True)
class Mistake:
    """A wrong label, how sure the model was of it, and why."""

    sequence: int
    position: int
    tokens: list[Token]
    predicted: str
    true: str
    probability: float
    probability_of_truth: float | None
    reasons: list[tuple[str, float]]
    cut_before: bool
    cut_after: bool


def score_sequences(crf: ChainModel, X: Any, y: Any, words: Sequence[Sequence[str]] | None) -> Scored:
    """Encode, check and predict."""
    encoded = crf.encode(X)
    y = [list(labels) for labels in with_unknown(y, getattr(crf, "ignore_label", None))]  # unknown ones are refused
    _, true_codes = encode_labels(y, encoded.lengths, crf.classes_)
    shown = words_of(X, encoded) if words is None else _checked_words(words, encoded)
    predicted = crf.predict(encoded)
    code_of = {label: code for code, label in enumerate(crf.classes_.tolist())}
    found_codes = np.array([code_of[label] for labels in predicted for label in labels], dtype=np.int32)
    marginals = np.concatenate(crf.predict_marginals(encoded))
    return Scored(encoded, y, predicted, true_codes, found_codes, marginals, shown)


def label_scores(crf: ChainModel, scored: Scored) -> dict[str, Score]:
    """Precision, recall and F1 of each label over tokens."""
    labels = len(crf.classes_)
    right = scored.true_codes == scored.found_codes
    n_true = np.bincount(scored.true_codes[scored.true_codes >= 0], minlength=labels)
    n_found = np.bincount(scored.found_codes, minlength=labels)
    n_right = np.bincount(scored.found_codes[right], minlength=labels)
    return {
        str(label): Score(int(n_true[k]), int(n_found[k]), int(n_right[k]))
        for k, label in enumerate(crf.classes_.tolist())
    }


def confusion(crf: ChainModel, scored: Scored) -> Confusion:
    """The table of true and predicted labels; of very many labels, those with the most errors."""
    labels = len(crf.classes_)
    known = scored.true_codes >= 0
    flat = scored.true_codes[known].astype(np.int64) * labels + scored.found_codes[known]
    counts = np.bincount(flat, minlength=labels * labels).reshape(labels, labels)
    chosen = np.arange(labels)
    if labels > _MOST_LABELS:
        errors = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
        chosen = np.sort(np.argsort(-errors, kind="stable")[:_MOST_LABELS])
    names = [str(crf.classes_[k].item()) for k in chosen]
    return Confusion(names, counts[np.ix_(chosen, chosen)].tolist(), labels - len(chosen))


def mistakes(crf: ChainModel, scored: Scored, n: int = 12) -> list[Mistake]:
    """The wrong labels of largest marginal, at most one of a sequence, with the reasons for them."""
    positions = np.arange(len(scored.found_codes))
    sure = scored.marginals[positions, scored.found_codes]
    wrong = np.flatnonzero(scored.found_codes != scored.true_codes)
    order = wrong[np.argsort(-sure[wrong], kind="stable")]
    owner = np.searchsorted(scored.encoded.offsets, order, side="right") - 1
    _, first = np.unique(owner, return_index=True)
    return [_mistake(crf, scored, int(owner[k]), int(order[k])) for k in np.sort(first)[:n]]


def _mistake(crf: ChainModel, scored: Scored, sequence: int, place: int) -> Mistake:
    offset, end = (int(k) for k in scored.encoded.offsets[sequence : sequence + 2])
    t = place - offset
    truth, found = scored.y[sequence], scored.predicted[sequence]
    true_code, found_code = int(scored.true_codes[place]), int(scored.found_codes[place])
    why = explain(crf, scored.encoded[sequence], t, found[t], truth[t] if true_code >= 0 else None)
    speaking_for = [row for row in why.rows if row[-1] > 0][:_REASONS]
    reasons = [(row[0] if row[1] == t else f"{row[0]} at {row[1]}", float(row[-1])) for row in speaking_for]
    first, last = max(0, t - _WINDOW), min(end - offset, t + _WINDOW + 1)
    tokens = [
        Token(scored.words[sequence][s], str(truth[s]), str(found[s]), s == t, truth[s] != found[s])
        for s in range(first, last)
    ]
    return Mistake(
        sequence=sequence,
        position=t,
        tokens=tokens,
        predicted=str(found[t]),
        true=str(truth[t]),
        probability=float(scored.marginals[place, found_code]),
        probability_of_truth=float(scored.marginals[place, true_code]) if true_code >= 0 else None,
        reasons=reasons,
        cut_before=first > 0,
        cut_after=last < end - offset,
    )


def words_of(X: Any, encoded: Encoded) -> list[list[str]]:
    """What to show for each position: the attribute that is called word, w[0], token or the like, or its number."""
    if not isinstance(X, Encoded):
        sequences = list(X)
        if all(isinstance(x, list | tuple) for x in sequences):
            return [[_word(position, t) for t, position in enumerate(x)] for x in sequences]
    vocabulary = encoded.vocabulary
    names = vocabulary.names if isinstance(vocabulary, Vocabulary) else None
    words = []
    for a, b in pairwise(encoded.offsets.tolist()):
        rows = [encoded.indices[encoded.indptr[p] : encoded.indptr[p + 1]].tolist() for p in range(a, b)]
        words.append([_word([names[k] for k in row] if names else [], t) for t, row in enumerate(rows)])
    return words


def _word(position: Any, t: int) -> str:
    if isinstance(position, Mapping):
        for key in _WORD_KEYS:
            if isinstance(position.get(key), str):
                return str(position[key])
        position = position.keys()
    for attribute in position:
        for key in _WORD_KEYS:
            if len(attribute) > len(key) + 1 and attribute.startswith((f"{key}=", f"{key}:")):
                return attribute[len(key) + 1 :]
    return f"#{t}"


def _checked_words(words: Sequence[Sequence[str]], encoded: Encoded) -> list[list[str]]:
    lengths = encoded.lengths.tolist()
    if len(words) != len(lengths):
        raise ValueError(f"words has {len(words)} sequences but X has {len(lengths)}; give one word per position.")
    for number, (sequence, length) in enumerate(zip(words, lengths, strict=True)):
        if len(sequence) != length:
            raise ValueError(f"sequence {number} of words has {len(sequence)} words but {length} positions in X.")
    return [[str(word) for word in sequence] for sequence in words]
