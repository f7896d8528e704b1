"""What ``dualfield tag`` writes of a sequence: its labels and, where asked for, how probable they and others are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dualfield.features import Encoded
    from dualfield.models.chain_model import ChainModel

__all__ = ["Answer", "Wanted", "answers", "blocks_of", "check_wanted", "endings_of", "record_of"]


class Wanted(NamedTuple):
    """What the user asks for beside labels, and how it is to be written."""

    probabilities: bool = False  # of each predicted label
    marginals: bool = False  # the probability of every label at every position
    nbest: int | None = None  # how many labellings, each with its probability
    labels_only: bool = False  # without what the file has
    as_json: bool = False  # a JSON object a sequence, whatever the file is

    @property
    def whole(self) -> bool:
        """Whether the lines of the file are written again, so that what cannot be read may be passed on."""
        return not self.labels_only and not self.as_json and self.nbest is None


class Answer(NamedTuple):
    """What a model says of a sequence; what was not asked for is None."""

    labels: list[Any]
    probabilities: list[float] | None
    marginals: list[dict[str, float]] | None
    nbest: list[tuple[list[Any], float]] | None


def check_wanted(wanted: Wanted, of_json: bool) -> None:
    """Refuse what has no place beside each other; ``of_json`` says that the file has JSON objects anyway."""
    if wanted.nbest is not None and wanted.nbest < 1:
        raise ValueError(f"--nbest must be a positive integer; got {wanted.nbest}.")
    if wanted.nbest is not None and (wanted.probabilities or wanted.marginals) and not (of_json or wanted.as_json):
        raise ValueError(
            "--nbest writes each labelling with the probability of the whole; probabilities of single labels beside it "
            "need --json."
        )


def answers(crf: ChainModel, X: Encoded, wanted: Wanted) -> list[Answer]:
    """What the model says of each sequence."""
    predicted = crf.predict(X)
    none: list[Any] = [None] * len(predicted)
    tables = crf.predict_marginals(X) if wanted.probabilities or wanted.marginals else none
    best = none if wanted.nbest is None else crf.predict_kbest(X, wanted.nbest)
    classes = crf.classes_.tolist()
    code_of = {label: code for code, label in enumerate(classes)}
    names = [str(label) for label in classes]
    found = []
    for labels, table, some in zip(predicted, tables, best, strict=True):
        rows = None if table is None else table.clip(0.0, 1.0).tolist()
        sure = every = None
        if rows is not None and wanted.probabilities:
            sure = [row[code_of[label]] for row, label in zip(rows, labels, strict=True)]
        if rows is not None and wanted.marginals:
            every = [dict(zip(names, row, strict=True)) for row in rows]
        found.append(Answer(labels, sure, every, some))
    return found


def endings_of(answer: Answer, separator: str) -> list[str]:
    """The columns of each position: its label, the probability of that, and every label with its probability."""
    columns = [[str(label)] for label in answer.labels]
    if answer.probabilities is not None:
        for column, probability in zip(columns, answer.probabilities, strict=True):
            column.append(f"{probability:.6f}")
    if answer.marginals is not None:
        for column, row in zip(columns, answer.marginals, strict=True):
            column.extend(f"{label}:{probability:.6f}" for label, probability in row.items())
    return [separator.join(column) for column in columns]


def blocks_of(answer: Answer, separator: str, lines: list[str] | None = None) -> str:
    """A sequence as lines with a blank one behind; of several labellings, each after a line ``# number probability``.

    ``lines`` are those of the file; None where labels stand alone.
    """
    if answer.nbest is None:
        return _block(endings_of(answer, separator), separator, lines)
    parts = []
    for number, (labels, probability) in enumerate(answer.nbest):
        parts.append(f"# {number} {min(probability, 1.0):.6f}\n" + _block(list(map(str, labels)), separator, lines))
    return "".join(parts)


def _block(endings: list[str], separator: str, lines: list[str] | None) -> str:
    shown = endings
    if lines is not None:
        shown = [f"{line}{separator}{ending}" for line, ending in zip(lines, endings, strict=True)]
    return "\n".join(shown) + "\n\n"


def record_of(answer: Answer) -> dict[str, Any]:
    """What a JSON object says of a sequence."""
    record: dict[str, Any] = {"predicted": answer.labels}
    if answer.probabilities is not None:
        record["probabilities"] = answer.probabilities
    if answer.marginals is not None:
        record["marginals"] = answer.marginals
    if answer.nbest is not None:
        record["nbest"] = [{"labels": labels, "probability": min(p, 1.0)} for labels, p in answer.nbest]
    return record
