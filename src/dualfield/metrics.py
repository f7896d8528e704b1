"""Scores of predicted label sequences: chunks, as the ``conlleval`` script counts them, and tokens.

A chunk is a run of tokens of one type. Its tags are a letter and a type: ``B-NP`` begins a chunk, ``I-NP``
continues one, ``E-NP`` ends one, ``S-NP`` is one alone, ``O`` is outside. The schemes IOB1, IOB2 and IOBES
differ in which of the letters they use, and one rule reads them all; ``M`` is read as ``I``, ``L`` (of BILOU) as
``E``, ``U`` and ``W`` as ``S``. Between two neighbouring tags a chunk starts at the second when

* the second is ``B`` or ``S``, or
* the first is ``O``, ``E`` or ``S``, or
* the types differ,

and the second is not ``O``. A chunk lasts until the next one starts, an ``O`` comes, or the sentence is
over. So every tag sequence has a reading, even one that breaks its scheme: ``I-NP`` after ``O`` starts a
chunk. A predicted chunk is correct if the true tags have a chunk of the same type on the same tokens.

Positions whose true label is None, unknown, are left out of every score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np

from dualfield.counted import counted
from dualfield.labels.tags import ROLES
from dualfield.labels.unknown_labels import only_known, with_unknown

__all__ = [
    "ChunkScores",
    "Score",
    "are_chunk_tags",
    "chunk_scores",
    "chunks",
    "classification_report",
    "entity_f1_scorer",
    "label_scores",
    "token_accuracy",
]

Labels = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Score:
    """Counts of chunks, and the three ratios made of them.

    Parameters
    ----------
    n_true : int
        Chunks in the true tags.
    n_predicted : int
        Chunks in the predicted tags.
    n_correct : int
        Chunks in both: same tokens, same type.

    Examples
    --------
    >>> score = Score(n_true=4, n_predicted=2, n_correct=1)
    >>> score.precision, score.recall, round(score.f1, 3)
    (0.5, 0.25, 0.333)
    """

    n_true: int
    n_predicted: int
    n_correct: int

    @property
    def precision(self) -> float:
        """Correct chunks among the predicted; 0 if there are none."""
        return self.n_correct / self.n_predicted if self.n_predicted else 0.0

    @property
    def recall(self) -> float:
        """Correct chunks among the true; 0 if there are none."""
        return self.n_correct / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2·correct / (true + predicted); 0 if there are no chunks."""
        total = self.n_true + self.n_predicted
        return 2 * self.n_correct / total if total else 0.0


@dataclass(frozen=True)
class ChunkScores(Score):
    """Scores over all chunks, by type, and over tokens. Printing it gives a table.

    Parameters
    ----------
    n_true, n_predicted, n_correct : int
        As in :class:`Score`, over all types.
    n_tokens : int
        Number of tokens.
    n_correct_tokens : int
        Tokens whose predicted tag is the true one.
    per_type : dict from str to Score
        Scores of every type that occurs, in alphabetical order.
    """

    n_tokens: int = 0
    n_correct_tokens: int = 0
    per_type: dict[str, Score] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Share of tokens with the right tag."""
        return self.n_correct_tokens / self.n_tokens if self.n_tokens else 0.0

    def __str__(self) -> str:
        width = max([len("all"), *map(len, self.per_type)])
        lines = [
            f"{counted(self.n_tokens, 'token')}, {self.accuracy:.2%} with the right tag",
            f"{counted(self.n_true, 'chunk')}, {self.n_predicted:,} predicted, {self.n_correct:,} correct",
            "",
            f"{'':{width}}  precision   recall       F1     true  predicted",
        ]
        rows: list[tuple[str, Score]] = [*self.per_type.items(), ("all", self)]
        for name, score in rows:
            lines.append(
                f"{name:{width}}  {score.precision:9.2%}  {score.recall:7.2%}  {score.f1:7.2%}"
                f"  {score.n_true:7,}  {score.n_predicted:9,}"
            )
        return "\n".join(lines)


def chunks(tags: Iterable[str]) -> list[tuple[int, int, str]]:
    """Read the chunks of one tag sequence.

    Parameters
    ----------
    tags : iterable of str
        ``O``, or ``B``, ``I``, ``E`` or ``S`` (or ``M``, ``L``, ``U``, ``W`` for the last three), a hyphen, and a type.

    Returns
    -------
    chunks : list of (begin, end, type)
        Tokens ``begin .. end - 1``, in order.

    Raises
    ------
    ValueError
        If a tag has another form, with its position.

    Examples
    --------
    >>> chunks(["B-NP", "I-NP", "O", "I-VP", "I-NP"])
    [(0, 2, 'NP'), (3, 4, 'VP'), (4, 5, 'NP')]
    """
    if not isinstance(tags, Iterable):
        raise ValueError(f"the tags are {tags!r:.40}; expected a list of chunk tags.")
    found: list[tuple[int, int, str]] = []
    begin, before, type_before = 0, "O", ""
    position = -1
    for position, tag in enumerate(tags):
        written, _, type_ = tag.partition("-") if isinstance(tag, str) else ("", "", "")
        letter = ROLES.get(written, "")
        if not letter or (letter == "O" and tag != "O"):
            raise ValueError(
                f"{tag!r:.60} at position {position} is not a chunk tag; expected 'O', or B, I, M, E, L, S, U or W "
                "with a type, as in 'B-NP'; score plain labels with token_accuracy."
            )
        starts = letter != "O" and (letter in "BS" or before in "OES" or type_ != type_before)
        if before != "O" and (starts or letter == "O"):
            found.append((begin, position, type_before))
        if starts:
            begin = position
        before, type_before = letter, type_
    if before != "O":
        found.append((begin, position + 1, type_before))
    return found


def are_chunk_tags(labels: Iterable[Any]) -> bool:
    """Tell whether all labels are chunk tags, and one of them is inside a chunk.

    Parameters
    ----------
    labels : iterable
        Distinct labels, as ``classes_`` of a model.

    Examples
    --------
    >>> are_chunk_tags(["B-NP", "I-NP", "O"]), are_chunk_tags(["NN", "VB"]), are_chunk_tags([0, 1])
    (True, False, False)
    """
    labels = list(labels)
    if not all(isinstance(label, str) for label in labels):
        return False
    parts = [label.partition("-") for label in labels]
    fit = all(
        label == "O" or (letter in ROLES and letter != "O" and type_)
        for label, (letter, _, type_) in zip(labels, parts, strict=True)
    )
    return fit and any(label != "O" for label in labels)


def chunk_scores(true: Labels, predicted: Labels) -> ChunkScores:
    """Score predicted chunks as ``conlleval`` does.

    Parameters
    ----------
    true, predicted : sequence of sequences of str
        Chunk tags of every sentence, in any of the schemes IOB1, IOB2, IOBES, BILOU and BMES.

    Returns
    -------
    scores : ChunkScores
        Counts, precision, recall and F1 over all chunks and by type, as fractions of 1.

    Raises
    ------
    ValueError
        If the two differ in shape, or a label is not a chunk tag; with the place.

    Examples
    --------
    >>> scores = chunk_scores([["B-NP", "I-NP", "O", "B-NP"]], [["B-NP", "I-NP", "O", "B-VP"]])
    >>> scores.precision, scores.recall, scores.f1
    (0.5, 0.5, 0.5)
    >>> print(scores)
    4 tokens, 75.00% with the right tag
    2 chunks, 2 predicted, 1 correct
    <BLANKLINE>
         precision   recall       F1     true  predicted
    NP     100.00%   50.00%   66.67%        2          1
    VP       0.00%    0.00%    0.00%        0          1
    all     50.00%   50.00%   50.00%        2          2
    """
    true, predicted = _known(true, predicted)
    in_true: Counter[str] = Counter()
    in_predicted: Counter[str] = Counter()
    in_both: Counter[str] = Counter()
    for number, (true_tags, predicted_tags) in enumerate(zip(true, predicted, strict=True)):
        expected = _chunks_of(true_tags, "true", number)
        found = _chunks_of(predicted_tags, "predicted", number)
        in_true.update(type_ for _, _, type_ in expected)
        in_predicted.update(type_ for _, _, type_ in found)
        in_both.update(type_ for _, _, type_ in expected & found)
    per_type = {
        type_: Score(in_true[type_], in_predicted[type_], in_both[type_])
        for type_ in sorted(in_true.keys() | in_predicted.keys())
    }
    return ChunkScores(
        n_true=in_true.total(),
        n_predicted=in_predicted.total(),
        n_correct=in_both.total(),
        n_tokens=sum(map(len, true)),
        n_correct_tokens=_n_right(true, predicted),
        per_type=per_type,
    )


def token_accuracy(true: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> float:
    """Share of tokens whose predicted label is the true one.

    Parameters
    ----------
    true, predicted : sequence of sequences of labels
        Of equal lengths; at least one label.

    Examples
    --------
    >>> token_accuracy([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.6666666666666666
    """
    true, predicted = _known(true, predicted)
    n_tokens = sum(map(len, true))
    if n_tokens == 0:
        raise ValueError("there are no labels to compare; expected at least one.")
    return _n_right(true, predicted) / n_tokens


def label_scores(true: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> dict[Any, Score]:
    """Score every label over tokens: of tags that are no chunks, such as parts of speech.

    Parameters
    ----------
    true, predicted : sequence of sequences of labels
        Of equal lengths.

    Returns
    -------
    scores : dict from label to Score
        Of every label that occurs, sorted; here the counts are of tokens.

    Examples
    --------
    >>> scores = label_scores([["NN", "VB", "NN"]], [["NN", "NN", "NN"]])
    >>> scores["NN"].recall, scores["VB"].recall
    (1.0, 0.0)
    """
    true, predicted = _known(true, predicted)
    in_true: Counter[Any] = Counter()
    in_predicted: Counter[Any] = Counter()
    in_both: Counter[Any] = Counter()
    for labels, guesses in zip(true, predicted, strict=True):
        in_true.update(labels)
        in_predicted.update(guesses)
        in_both.update(label for label, guess in zip(labels, guesses, strict=True) if _equal(label, guess))
    found = sorted(in_true.keys() | in_predicted.keys(), key=_numbers_first)
    return {label: Score(in_true[label], in_predicted[label], in_both[label]) for label in found}


Row = dict[str, float]


@overload
def classification_report(
    y_true: Sequence[Sequence[Any]],
    y_pred: Sequence[Sequence[Any]],
    output: Literal["text"] = ...,
    *,
    of: Literal["auto", "chunks", "labels"] = ...,
) -> str: ...


@overload
def classification_report(
    y_true: Sequence[Sequence[Any]],
    y_pred: Sequence[Sequence[Any]],
    output: Literal["dict"],
    *,
    of: Literal["auto", "chunks", "labels"] = ...,
) -> dict[str, Row]: ...


def classification_report(
    y_true: Sequence[Sequence[Any]],
    y_pred: Sequence[Sequence[Any]],
    output: Literal["text", "dict"] = "text",
    *,
    of: Literal["auto", "chunks", "labels"] = "auto",
) -> str | dict[str, Row]:
    """Precision, recall, F1 and support of each type of chunk, or of each label, and their averages.

    The micro average counts all chunks (or tokens) alike; of labels it is the accuracy. The macro average counts all
    types (or labels) that occur alike.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences of labels
        Of equal lengths.
    output : {"text", "dict"}
        A table to print, or a dict of dicts with scikit-learn's keys: "precision", "recall", "f1-score", "support".
    of : {"auto", "chunks", "labels"}
        "auto" scores chunks where all labels are chunk tags, and single labels otherwise.

    Examples
    --------
    >>> print(classification_report([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "O", "B-NP"]]))
               precision   recall       F1  support
    NP            50.00%  100.00%   66.67%        1
    VP             0.00%    0.00%    0.00%        1
    micro avg     50.00%   50.00%   50.00%        2
    macro avg     25.00%   50.00%   33.33%        2
    >>> classification_report([["NN", "VB"]], [["NN", "NN"]], output="dict")["NN"]
    {'precision': 0.5, 'recall': 1.0, 'f1-score': 0.6666666666666666, 'support': 1}
    """
    if output not in ("text", "dict"):
        raise ValueError(f"output must be 'text' or 'dict'; got {output!r}.")
    if of not in ("auto", "chunks", "labels"):
        raise ValueError(f"of must be 'auto', 'chunks' or 'labels'; got {of!r}.")
    scores: dict[Any, Score] = {} if of == "chunks" else label_scores(y_true, y_pred)
    if of == "chunks" or (of == "auto" and are_chunk_tags(scores)):
        scores = dict(chunk_scores(y_true, y_pred).per_type)
    rows: dict[str, Row] = {str(name): _row(score) for name, score in scores.items()}
    n_true, n_predicted, n_correct = (
        sum(getattr(score, count) for score in scores.values()) for count in ("n_true", "n_predicted", "n_correct")
    )
    macro = {key: sum(row[key] for row in rows.values()) / max(len(rows), 1) for key in _RATIOS}
    rows["micro avg"] = _row(Score(n_true, n_predicted, n_correct))
    rows["macro avg"] = {**macro, "support": n_true}
    if output == "dict":
        return rows
    width = max(map(len, rows))
    lines = [f"{'':{width}}  precision   recall       F1  support"]
    for name, row in rows.items():
        ratios = f"{row['precision']:9.2%}  {row['recall']:7.2%}  {row['f1-score']:7.2%}"
        lines.append(f"{name:{width}}  {ratios}  {row['support']:7,}")
    return "\n".join(lines)


def entity_f1_scorer(estimator: Any, X: Any, y: Any) -> float:
    """F1 over all chunks, for ``scoring=`` of ``GridSearchCV``, ``cross_val_score`` and the like.

    Parameters
    ----------
    estimator : fitted estimator
        Whose ``predict`` gives chunk tags. Labels that are its ``ignore_label``, or None, are left out.
    X, y : sequences and their chunk tags

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> X, y = [[["Ada"], ["met"]], [["met"], ["Bob"]]], [["B-PER", "O"], ["O", "B-PER"]]
    >>> entity_f1_scorer(ChainCRF(random_state=0).fit(X, y), X, y)
    1.0
    """
    last = getattr(estimator, "best_estimator_", estimator)  # of a search
    last = last.steps[-1][1] if hasattr(last, "steps") else last  # of a pipeline
    return chunk_scores(with_unknown(y, getattr(last, "ignore_label", None)), estimator.predict(X)).f1


_RATIOS = ("precision", "recall", "f1-score")


def _numbers_first(label: Any) -> tuple[bool, float, str]:
    number = isinstance(label, int | np.integer)
    return (not number, label if number else 0, str(label))


def _row(score: Score) -> Row:
    ratios = dict(zip(_RATIOS, (score.precision, score.recall, score.f1), strict=True))
    return {**ratios, "support": score.n_true}


def _chunks_of(tags: Sequence[str], which: str, number: int) -> set[tuple[int, int, str]]:
    try:
        return set(chunks(tags))
    except ValueError as error:
        raise ValueError(f"sequence {number} of the {which} labels: {error}") from None


def _known(true: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> tuple[list[Any], list[Any]]:
    """Both, found to be of equal shape, without the positions whose true label is None."""
    for which, sequences in (("true", true), ("predicted", predicted)):
        if not isinstance(sequences, Sized):
            raise ValueError(f"the {which} labels are {sequences!r:.40}; expected a list of label sequences.")
    if len(true) != len(predicted):
        raise ValueError(f"there are {len(true)} true and {len(predicted)} predicted sequences; expected as many.")
    for number, (one, other) in enumerate(zip(true, predicted, strict=True)):
        for which, labels in (("true", one), ("predicted", other)):
            if isinstance(labels, str) or not isinstance(labels, Sized) or getattr(labels, "ndim", 1) == 0:
                raise ValueError(
                    f"sequence {number} of the {which} labels is the single label {labels!r:.40}; "
                    "expected a list of label sequences; wrap one sequence as [labels]."
                )
        if len(one) != len(other):
            raise ValueError(
                f"sequence {number} has {len(one)} true and {len(other)} predicted labels; expected as many."
            )
    return only_known(true, predicted)


def _n_right(true: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> int:
    pairs = (pair for sequences in zip(true, predicted, strict=True) for pair in zip(*sequences, strict=True))
    return sum(_equal(label, guess) for label, guess in pairs)


def _equal(label: Any, guess: Any) -> bool:
    """Whether two labels are the same; what is no label, such as an array, equals nothing."""
    equal = label == guess
    return isinstance(equal, bool | np.bool_) and bool(equal)
