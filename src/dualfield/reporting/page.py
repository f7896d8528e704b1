"""``report``: a fitted chain on one page of HTML that needs nothing but a browser.

This file gathers what the page says; ``report.html.jinja`` beside it says how it looks. Jinja2 escapes every piece of
text, so labels and attributes are shown as they are, whatever they hold. The page loads nothing and runs no script.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualfield.calibration import Outcomes, Threshold, choose_threshold, outcomes, reliability
from dualfield.counted import counted
from dualfield.inspection import top_bigrams, top_weights, transitions
from dualfield.io import atomic_write, check_writable
from dualfield.metrics import ChunkScores, Score, are_chunk_tags, chunk_scores, token_accuracy
from dualfield.models.unwrapping import unwrapped
from dualfield.reporting.drawing import Series, line_chart, reliability_chart
from dualfield.reporting.scoring import (
    Confusion,
    Mistake,
    Scored,
    confusion,
    label_scores,
    mistakes,
    score_sequences,
)

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel
    from dualfield.solution import Solution

__all__ = ["check_report", "report"]

_TEMPLATE = Path(__file__).with_name("report.html.jinja")
_MOST_LABELS = 40  # with their own list of attributes
_MOST_BIGRAMS = 20
_MOST_PASSES = 60  # in the table of the history
_PRECISIONS = (0.9, 0.95, 0.99)


@dataclass(frozen=True)
class LabelWeights:
    """The attributes that speak most for a label, and most against it, with the length of their bars in %."""

    label: str
    rows: list[tuple[str, float, float]]


@dataclass(frozen=True)
class Scores:
    """What the model reaches on the sequences that were given."""

    n_sequences: int
    n_tokens: int
    n_unseen: int
    accuracy: float
    chunks: ChunkScores | None
    labels: dict[str, Score]
    confusion: Confusion
    reliability_chart: str
    calibration_note: str
    thresholds: list[tuple[float, Threshold]]
    of: str
    n_wrong: int
    mistakes: list[Mistake]


def report(
    crf: Any,
    X: Any = None,
    y: Any = None,
    path: str | os.PathLike[str] = "out.html",
    title: str = "Report of a chain CRF",
    *,
    words: Sequence[Sequence[str]] | None = None,
    note: str = "",
) -> None:
    """Write what there is to know of a fitted model as one self-contained HTML page.

    The page has the certificate in words and the way to it; the weights of transitions and the attributes that speak
    most for and against each label; and, where labelled sequences are given, scores by label and chunk, confusions,
    how far confidences can be trusted, and the most confident mistakes with the reasons for them.

    Parameters
    ----------
    crf : ChainCRF, or what holds one
        A fitted model, or a fitted ``ChainCRFCV``, ``GridSearchCV``, ``Pipeline`` or drop-in ``CRF`` around one. One
        that was loaded from a file has no history to draw.
    X, y : sequences and their labels, optional
        Scores are computed on these; take sequences that training has not seen.
    path : str or path
        Where to write.
    title : str
        Heading of the page.
    words : sequences of str, optional
        What to show for each position of X; by default its attribute that is called ``word``, ``w[0]`` or ``token``, or
        its number.
    note : str
        A sentence on what X and y are, shown with the scores.

    Raises
    ------
    ImportError
        If Jinja2 is not installed; the extra ``report`` brings it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dualfield import ChainCRF
    >>> from dualfield.reporting import report
    >>> X, y = [[["word=Ada"], ["word=met"], ["word=Bob"]]], [["B-PER", "O", "B-PER"]]
    >>> report(ChainCRF(random_state=0).fit(X, y), X, y, "report.html")
    >>> Path("report.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    check_report(path)
    crf, prepared = unwrapped(crf, "report")
    if (X is None) != (y is None):
        given, missing = ("X", "y") if y is None else ("y", "X")
        raise ValueError(
            f"report() was given {given} without {missing}; give both, or neither for a page without scores."
        )
    scored = None
    if X is not None:
        scored = score_sequences(crf, prepared(list(X) if isinstance(X, Iterator) else X), y, words)
    elif words is not None:
        raise ValueError("report() was given words without X and y to show them with.")
    page = (
        _environment()
        .from_string(_TEMPLATE.read_text(encoding="utf-8"))
        .render(
            title=title,
            version=_version(),
            solution=crf.solution_,
            certificate=_certificate(crf.solution_),
            charts=_convergence(crf.solution_),
            history=_history(crf.solution_),
            parameters=sorted((name, str(value)) for name, value in _parameters(crf).items()),
            n_attributes=len(crf.vocabulary_),
            n_bigrams=0 if crf.bigram_vocabulary_ is None else len(crf.bigram_vocabulary_),
            bigrams=top_bigrams(crf, _MOST_BIGRAMS).rows if crf.bigram_vocabulary_ is not None else (),
            n_labels=len(crf.classes_),
            n_weights=len(crf.weights_),
            n_nonzero=int(np.count_nonzero(crf.weights_)),
            transitions=_transitions(crf),
            weights=_weights(crf, scored),
            n_labels_left_out=max(0, len(crf.classes_) - _MOST_LABELS),
            scores=None if scored is None else _scores(crf, scored),
            note=note,
        )
    )
    with atomic_write(path) as file:
        file.write(page)


def check_report(path: str | os.PathLike[str]) -> None:
    """Refuse, before an hour of training, a report that could not be written."""
    _environment()
    check_writable(path)


def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ImportError("the report needs Jinja2, which is not installed: pip install 'dualfield[report]'.") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(counted=counted, number=_number, percent=_percent, signed=_signed)
    return environment


def _version() -> str:
    from dualfield.version import __version__

    return __version__


def _certificate(solution: Solution) -> dict[str, Any]:
    """The certificate in words: a headline, and what it means."""
    gap, relative = solution.duality_gap, solution.relative_gap
    if solution.certificate == "none" or not math.isfinite(gap):
        return {
            "proven": False,
            "headline": "Nothing is proven",
            "sentence": "",
            "message": solution.message,
            "objective": _number(solution.primal),
            "lower_bound": "–",
            "gap": "–",
        }
    lower, upper = _beside(solution.dual, gap), _beside(solution.primal, gap)
    sentence = (
        f"No weights whatsoever give an objective lower than {lower}, and this model's is {upper}: training longer, or "
        f"with another method, could lower it by {gap:.2g} at most."
    )
    return {
        "proven": True,
        "headline": f"Within {_percent(relative)} of the optimum",
        "sentence": sentence,
        "objective": upper,
        "lower_bound": lower,
        "gap": f"{gap:.2g}",
        "message": solution.message,
    }


def _beside(value: float, gap: float) -> str:
    """A value with enough digits to show a gap of this size."""
    digits = max(0, 1 - math.floor(math.log10(gap))) if gap > 0 else 6
    return f"{value:,.{min(digits, 12)}f}".replace("-", "−")


def _convergence(solution: Solution) -> list[dict[str, Any]]:
    """Charts of objective and gap against passes and seconds; SVG made by us, so safe as it is."""
    history = solution.history
    if not len(history.get("passes", ())):
        return []
    missing = np.full(len(history["passes"]), np.nan)
    primal, dual = history.get("primal", missing), history.get("dual", missing)
    estimate, confirmed = history.get("gap_estimate", missing), history.get("duality_gap", missing)
    upper = np.where(np.isfinite(primal), primal, dual + estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative, proven = estimate / np.abs(upper), confirmed / np.abs(primal)
    charts = []
    for column, unit in (("passes", "passes"), ("seconds", "seconds")):
        x = history[column]
        objective = [
            Series("objective", "first", _points(x, upper)),
            Series("confirmed", "first", _points(x, primal), marked=True, joined=False),
            Series("lower bound", "second dashed", _points(x, dual)),
        ]
        gap = [
            Series("gap", "first", _points(x, relative)),
            Series("confirmed", "first", _points(x, proven), marked=True, joined=False),
        ]
        for name, series, what in (
            ("Objective and lower bound", objective, "objective"),
            ("Relative duality gap", gap, "relative gap"),
        ):
            description = _description(f"{name} against {unit}", series, unit)
            svg = line_chart(series, unit, what, description)
            if svg:
                charts.append({"title": f"{name}, by {unit}", "svg": svg, "series": [s for s in series if _any(s)]})
    return charts


def _points(x: Any, y: Any) -> list[tuple[float, float]]:
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _any(series: Series) -> bool:
    return any(math.isfinite(y) and y > 0 for _, y in series.points)


def _description(what: str, series: list[Series], unit: str) -> str:
    """What a chart shows, in words for people who cannot see it."""
    parts = [f"{what}, logarithmic scale."]
    for one in series:
        seen = [(x, y) for x, y in one.points if math.isfinite(y) and y > 0]
        if seen:
            (x0, y0), (x1, y1) = seen[0], seen[-1]
            parts.append(f"{one.name.capitalize()}: {y0:.3g} at {x0:.3g} {unit}, {y1:.3g} at {x1:.3g}.")
    return " ".join(parts)


def _history(solution: Solution) -> dict[str, Any] | None:
    history = solution.history
    columns = [
        name for name in ("passes", "seconds", "primal", "dual", "gap_estimate", "duality_gap") if name in history
    ]
    if not columns or not len(history[columns[0]]):
        return None
    length = len(history[columns[0]])
    chosen = np.unique(np.linspace(0, length - 1, min(length, _MOST_PASSES)).astype(int)).tolist()
    return {
        "columns": [name.replace("_", " ") for name in columns],
        "rows": [[_number(float(history[name][k])) for name in columns] for k in chosen],
        "left_out": length - len(chosen),
    }


def _parameters(crf: ChainModel) -> dict[str, Any]:
    """The parameters of an estimator, or those that a plain model was trained with."""
    parameters: dict[str, Any] = getattr(crf, "get_params", crf._plain_parameters)()
    return parameters


def _transitions(crf: ChainModel) -> dict[str, Any]:
    table = transitions(crf)
    weights = [abs(weight) for row in table.rows for weight in row[1:] if weight is not None]
    return {"table": table, "largest": max(weights, default=0.0) or 1.0}


def _weights(crf: ChainModel, scored: Scored | None) -> list[LabelWeights]:
    """The lists of attributes, of the most frequent labels where there are very many."""
    labels = crf.classes_.tolist()
    chosen = list(range(len(labels)))
    if len(labels) > _MOST_LABELS:
        codes = np.empty(0, np.int32) if scored is None else scored.true_codes[scored.true_codes >= 0]
        counts = np.bincount(codes, minlength=len(labels))
        chosen = sorted(np.argsort(-counts, kind="stable")[:_MOST_LABELS].tolist())
    found: dict[Any, list[tuple[str, float]]] = {labels[k]: [] for k in chosen}
    for sign, n in (("positive", 8), ("negative", 4)):
        for label, attribute, weight in top_weights(crf, n, sign=sign).rows:  # type: ignore[arg-type]
            if label in found:
                found[label].append((attribute, weight))
    largest = max((abs(weight) for rows in found.values() for _, weight in rows), default=1.0)
    return [
        LabelWeights(str(label), [(name, weight, 100 * abs(weight) / largest) for name, weight in rows])
        for label, rows in found.items()
    ]


def _scores(crf: ChainModel, scored: Scored) -> Scores:
    tags = are_chunk_tags({*crf.classes_.tolist(), *(label for labels in scored.y for label in labels)})
    of = "entities" if tags else "tokens"
    held_out: Outcomes = outcomes(crf, scored.encoded, scored.y, of=of)  # type: ignore[arg-type]
    table = reliability(held_out)
    rows = [(mean, share, count) for _, _, count, mean, share in table.rows]
    description = f"{table.title}. " + " ".join(
        f"Confidence {mean:.2f}: {share:.0%} of {count} right." for mean, share, count in rows
    )
    return Scores(
        n_sequences=len(scored.y),
        n_tokens=len(scored.true_codes),
        n_unseen=int((scored.true_codes < 0).sum()),
        accuracy=token_accuracy(scored.y, scored.predicted),
        chunks=chunk_scores(scored.y, scored.predicted) if tags else None,
        labels=label_scores(crf, scored),
        confusion=confusion(crf, scored),
        reliability_chart=reliability_chart(rows, description),
        calibration_note=table.note,
        thresholds=[(precision, choose_threshold(held_out, precision)) for precision in _PRECISIONS],
        of=of,
        n_wrong=int((scored.true_codes != scored.found_codes).sum()),
        mistakes=mistakes(crf, scored),
    )


def _signed(value: float) -> str:
    """A weight, with its sign."""
    return f"{value:+.2f}".replace("-", "−")


def _number(value: float) -> str:
    """A number for people: whole ones with commas, others with enough digits."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    size = abs(value)
    text = f"{value:,.1f}" if size >= 1e4 else f"{value:.5g}" if size >= 1e-3 else f"{value:.2g}"
    return text.replace("-", "−")


def _percent(value: float) -> str:
    """A share in percent; small ones with two significant digits, and 100 only for all."""
    if not math.isfinite(value):
        return "–"
    percent = 100 * value
    if 99.95 <= percent < 100:
        return "> 99.9 %"
    if percent == 0 or percent >= 0.1:
        return f"{percent:.1f} %"
    if percent < 1e-6:
        return "a millionth of a percent"
    return f"{percent:.{1 - math.floor(math.log10(percent))}f} %"
