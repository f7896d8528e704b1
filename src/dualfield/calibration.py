"""How far confidences can be trusted, measured on held-out sequences, and which to keep for a wanted precision.

A confidence is the model's own probability that an answer is right: of an entity, of a token's label, of a whole
labelling. Three steps::

    held_out = outcomes(crf, X_held_out, y_held_out)        # confidences, and which answers were right
    print(reliability(held_out))                            # is 0.9 right nine times in ten?
    threshold = choose_threshold(held_out, precision=0.98)  # from which confidence on?

Use sequences that training has not seen: on its own training data every model is overconfident.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from dualfield.given_numbers import check_integer
from dualfield.labels import encode_labels
from dualfield.labels.unknown_labels import filled, with_unknown
from dualfield.metrics import chunks
from dualfield.models.unwrapping import unwrapped
from dualfield.table import Table

__all__ = ["Outcomes", "Threshold", "choose_threshold", "outcomes", "reliability"]

Answers = Literal["entities", "tokens", "sequences"]
_LEVEL = 0.95  # of the lower bound on precision


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Answers on held-out data: how confident, and whether right.

    Parameters
    ----------
    confidence : array of float, shape (n,)
        The probability that the model gave each of its answers.
    correct : array of bool, shape (n,)
        Whether it was right.
    n_true : int
        How many right answers there were to find.
    of : str
        What was answered: "entities", "tokens" or "sequences".
    """

    confidence: npt.NDArray[np.float64]
    correct: npt.NDArray[np.bool_]
    n_true: int
    of: str = "answers"

    def __post_init__(self) -> None:
        confidence, correct = np.asarray(self.confidence, dtype=np.float64), np.asarray(self.correct, dtype=bool)
        if confidence.ndim != 1 or confidence.shape != correct.shape:
            raise ValueError(
                f"confidence and correct must be one-dimensional and of equal length; got shapes {confidence.shape} "
                f"and {correct.shape}."
            )
        bad = np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))
        if bad.size:
            raise ValueError(f"confidence {bad[0]} is {confidence[bad[0]]}; expected a probability.")
        if self.n_true < int(correct.sum()):
            raise ValueError(f"n_true is {self.n_true}, but {int(correct.sum())} answers are correct.")
        object.__setattr__(self, "confidence", confidence)
        object.__setattr__(self, "correct", correct)

    def __len__(self) -> int:
        return len(self.confidence)


@dataclass(frozen=True)
class Threshold:
    """From which confidence on answers are kept, and what that gave on the held-out data.

    Parameters
    ----------
    reached : bool
        Whether the wanted precision can be reached.
    value : float
        Keep answers with at least this confidence. Where the precision is not reached, the threshold of the highest
        precision that enough answers support; NaN where there are too few altogether.
    precision, recall : float
        Right answers among those kept, and among all there were to find.
    lower_bound : float
        The precision is at least this with 95 % confidence (Clopper and Pearson's one-sided interval for the answers
        kept). The threshold was chosen on the same answers, so the bound is a little optimistic.
    n_kept, n_correct, n_true : int
        The counts that the ratios are made of.
    message : str
        All of it in a sentence or two.
    """

    reached: bool
    value: float
    precision: float
    recall: float
    lower_bound: float
    n_kept: int
    n_correct: int
    n_true: int
    message: str

    def __str__(self) -> str:
        return self.message


def outcomes(crf: Any, X: Any, y: Any, of: Answers = "entities", *, type: str | None = None) -> Outcomes:
    """What a model answers on labelled sequences, with which confidence, and what of it is right.

    Parameters
    ----------
    crf : ChainCRF, or what holds one
        A fitted model, or a fitted ``ChainCRFCV``, ``GridSearchCV``, ``Pipeline`` or drop-in ``CRF`` around one.
    X, y : sequences and their true labels
        Held out from training. Positions whose label is None, or the model's ``ignore_label``, are left out; of whole
        sequences, those that have such a position.
    of : {"entities", "tokens", "sequences"}
        Entities as ``predict_entities`` gives them; the labels of ``predict`` with their marginals; or whole
        labellings with ``p(ŷ | x)``.
    type : str, optional
        Entities of this type only.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> X, y = [[["Ada"], ["met"], ["Bob"]]], [["B-PER", "O", "B-PER"]]
    >>> held_out = outcomes(ChainCRF(random_state=0).fit(X, y), X, y)
    >>> len(held_out), held_out.correct.tolist(), held_out.n_true
    (2, [True, True], 2)
    """
    if of not in get_args(Answers):
        raise ValueError(f"of must be 'entities', 'tokens' or 'sequences'; got {of!r}.")
    if type is not None and of != "entities":
        raise ValueError(f"type={type!r} chooses among entities, but of={of!r}.")
    crf, prepared = unwrapped(crf, "outcomes")
    encoded = crf.encode(prepared(X))
    y = with_unknown(y, getattr(crf, "ignore_label", None))
    y = (
        [labels.tolist() if isinstance(labels, np.ndarray) else labels for labels in y]
        if isinstance(y, Iterable)
        else y
    )
    shown, known = filled(y, crf.classes_[0].item())
    _, codes = encode_labels(shown, encoded.lengths, crf.classes_)
    if known is None:
        known = np.ones(len(codes), dtype=bool)
    y = [list(labels) for labels in y]
    if of == "entities":
        return _entities(crf.predict_entities(encoded), y, type)
    if of == "sequences":
        whole = np.logical_and.reduceat(known, encoded.offsets[:-1])
        right = [predicted == labels for predicted, labels in zip(crf.predict(encoded), y, strict=True)]
        return Outcomes(crf.predict_confidence(encoded)[whole], np.array(right)[whole], int(whole.sum()), of)
    marginals = np.concatenate(crf.predict_marginals(encoded))
    code_of = {label: code for code, label in enumerate(crf.classes_.tolist())}
    found = np.array([code_of[label] for label in chain.from_iterable(crf.predict(encoded))])
    confidence = np.minimum(marginals[np.arange(len(found)), found], 1.0)
    return Outcomes(confidence[known], (found == codes)[known], int(known.sum()), of)


def _entities(predicted: Sequence[Sequence[Any]], y: list[list[str]], type_: str | None) -> Outcomes:
    confidence: list[float] = []
    correct: list[bool] = []
    n_true = 0
    for number, (entities, labels) in enumerate(zip(predicted, y, strict=True)):
        known = [label is not None for label in labels]
        rank = [0, *accumulate(known)]  # positions that are known before each one
        try:
            truth = {chunk for chunk in chunks(compress(labels, known)) if type_ in (None, chunk[2])}
        except ValueError as error:
            raise ValueError(f"sequence {number} of y: {error}") from None
        n_true += len(truth)
        for begin, end, kind, sure in entities:
            if type_ in (None, kind) and rank[begin] < rank[end]:
                confidence.append(sure)
                correct.append((rank[begin], rank[end], kind) in truth)
    return Outcomes(np.array(confidence), np.array(correct, dtype=bool), n_true, f"{type_ or ''} entities".strip())


def choose_threshold(held_out: Outcomes, precision: float, min_support: int = 20) -> Threshold:
    """The lowest confidence threshold, so the largest recall, that reaches a precision on held-out answers.

    Parameters
    ----------
    held_out : Outcomes
        What :func:`outcomes` gave.
    precision : float
        The wanted share of right answers among those kept, above 0 and at most 1.
    min_support : int
        A threshold must keep at least so many answers to count: three right ones of three prove little.

    Returns
    -------
    Threshold
        With ``reached`` False, and a message that says how far one gets, where no threshold gives the precision.

    Examples
    --------
    >>> import numpy as np
    >>> held_out = Outcomes(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, False, True]), n_true=5)
    >>> threshold = choose_threshold(held_out, precision=1.0, min_support=2)
    >>> threshold.value, threshold.recall
    (0.8, 0.4)
    >>> print(threshold)
    Keep answers with confidence 0.8 or more: 2 of 4 are kept, 2 of them right, precision 100.0 % (at least 22.4 % with
    95 % confidence), recall 40.0 % of 5.
    """
    if isinstance(precision, bool) or not isinstance(precision, int | float | np.number) or not 0 < precision <= 1:
        raise ValueError(f"precision must be a number above 0, at most 1; got {precision!r}.")
    if isinstance(min_support, bool) or not isinstance(min_support, int | np.integer) or min_support < 1:
        raise ValueError(f"min_support must be a positive integer; got {min_support!r}.")
    order = np.argsort(-held_out.confidence, kind="stable")
    confidence, right = held_out.confidence[order], np.cumsum(held_out.correct[order])
    kept = np.arange(1, len(order) + 1)
    # Equal confidences are kept or dropped together: only the last of them is a cut.
    cut = np.append(confidence[1:] != confidence[:-1], True)[: len(order)] & (kept >= min_support)
    places = np.flatnonzero(cut)
    if places.size == 0:
        message = (
            f"No threshold: of {held_out.of} there are {len(order)}, and min_support={min_support} must be kept; give "
            "more held-out sequences or lower min_support."
        )
        nan = float("nan")
        return Threshold(False, nan, nan, nan, nan, 0, 0, held_out.n_true, message)
    ratios = right[places] / kept[places]
    good = np.flatnonzero(ratios >= precision)
    best = good[-1] if good.size else len(ratios) - 1 - int(np.argmax(ratios[::-1]))
    return _threshold(held_out, places[best], confidence, right, bool(good.size), float(precision), int(min_support))


def _threshold(
    held_out: Outcomes, place: int, confidence: Any, right: Any, reached: bool, wanted: float, min_support: int
) -> Threshold:
    n_kept, n_correct, n_true = int(place) + 1, int(right[place]), held_out.n_true
    precision, recall = n_correct / n_kept, n_correct / n_true if n_true else 0.0
    lower = float(betaincinv(n_correct, n_kept - n_correct + 1, 1 - _LEVEL)) if n_correct else 0.0
    value = float(confidence[place])
    # Rounded down, so that the printed threshold keeps every answer that the exact one keeps.
    shown = f"{np.floor(value * 1e5) / 1e5:g}"
    kept = (
        f"{n_kept:,} of {len(held_out):,} are kept, {n_correct:,} of them right, precision {100 * precision:.1f} % (at "
        f"least {100 * lower:.1f} % with 95 % confidence), recall {100 * recall:.1f} % of {n_true:,}."
    )
    if reached:
        message = f"Keep {held_out.of} with confidence {shown} or more: {kept}"
    else:
        message = (
            f"A precision of {100 * wanted:g} % cannot be reached with {min_support} {held_out.of} or more. The best "
            f"is confidence {shown} or more: {kept}"
        )
    return Threshold(reached, value, precision, recall, lower, n_kept, n_correct, n_true, message)


def reliability(held_out: Outcomes, bins: int = 10) -> Table:
    """Held-out answers by confidence: the share that was right beside the mean confidence.

    Parameters
    ----------
    held_out : Outcomes
        What :func:`outcomes` gave.
    bins : int
        Into how many equal parts the range from 0 to 1 is cut.

    Returns
    -------
    Table
        A row for each part with answers; the note gives the *expected calibration error*, the mean over answers of
        ``|share right − mean confidence|`` of their part.

    Examples
    --------
    >>> import numpy as np
    >>> held_out = Outcomes(np.array([0.95, 0.85, 0.85, 0.2]), np.array([True, True, False, False]), n_true=3)
    >>> [row[2:] for row in reliability(held_out, bins=2).rows]
    [(1, 0.2, 0.0), (3, 0.8833333333333333, 0.6666666666666666)]
    """
    bins = check_integer("bins", bins, 1, "a positive integer", most=2**20 - 1)
    place = np.minimum((held_out.confidence * bins).astype(int), bins - 1)
    rows, error = [], 0.0
    for part in range(bins):
        inside = place == part
        count = int(inside.sum())
        if count == 0:
            continue
        mean, share = float(held_out.confidence[inside].mean()), float(held_out.correct[inside].mean())
        rows.append((part / bins, (part + 1) / bins, count, mean, share))
        error += count * abs(mean - share) / len(held_out)
    note = f"Expected calibration error {error:.3f} over {len(held_out):,} {held_out.of}." if rows else "No answers."
    return Table(
        title=f"Reliability of the confidence of {held_out.of}",
        columns=("from", "to", "answers", "mean confidence", "share right"),
        rows=tuple(rows),
        note=note,
        formats={"from": ".2f", "to": ".2f"},
    )
