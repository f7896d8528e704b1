"""What ``dualfield tag`` writes of a sequence: its labels and, where asked for, how probable they and others are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dualfield.features import Encoded
    from dualfield.models.chain_model import ChainModel

__all__ = ["Answer", "Placement", "Wanted", "answers", "blocks_of", "check_wanted", "columns_of", "record_of"]


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


class Placement(NamedTuple):
    r"""Where the label of a line is written, and what else is said of it.

    Examples
    --------
    >>> Placement("", None).put("the\tDT", ["O"])
    'the\tDT\tO'
    >>> Placement(",", 1).put("the,?,x", ["DT"])
    'the,DT,x'
    """

    separator: str  # of columns; empty: any white space
    column: int | None  # that the label replaces; further ones are then named, in the last column. None: all are added

    def put(self, line: str, columns: list[str]) -> str:
        """The line with its label."""
        if self.column is None:
            separator = self.separator or _between_last_columns(line)
            return separator.join([line, *columns])
        fields = line.split(self.separator)
        fields[self.column] = columns[0]
        if columns[1:]:
            fields[-1] = "|".join([*([] if fields[-1] == "_" else [fields[-1]]), *columns[1:]])
        return self.separator.join(fields)

    def columns(self, answer: Answer) -> list[list[str]]:
        """What is written of each position: its label, the probability of that, and those of every label."""
        if self.column is None:
            return columns_of(answer)
        return columns_of(answer, "Probability={:.6f}", "P({})={:.6f}")


def _between_last_columns(line: str) -> str:
    """A tab where one separates the last two columns of a line, else a space."""
    blanks = " \t\v\f\r"
    last = max(line.rstrip(blanks).rfind(blank) for blank in blanks)
    before = line[: last + 1]
    return "\t" if before.strip(blanks) and "\t" in before[len(before.rstrip(blanks)) :] else " "


def columns_of(answer: Answer, probability: str = "{:.6f}", marginal: str = "{}:{:.6f}") -> list[list[str]]:
    """The columns of each position: its label, the probability of that, and every label with its probability."""
    columns = [[str(label)] for label in answer.labels]
    if answer.probabilities is not None:
        for column, number in zip(columns, answer.probabilities, strict=True):
            column.append(probability.format(number))
    if answer.marginals is not None:
        for column, row in zip(columns, answer.marginals, strict=True):
            column.extend(marginal.format(label, number) for label, number in row.items())
    return columns


def blocks_of(answer: Answer, placement: Placement, lines: list[str] | None = None) -> str:
    """A sequence as lines with a blank one behind; of several labellings, each after a line ``# number probability``.

    ``lines`` are those of the file; None where labels stand alone.
    """
    if answer.nbest is None:
        return _block(columns_of(answer) if lines is None else placement.columns(answer), placement, lines)
    parts = []
    for number, (labels, probability) in enumerate(answer.nbest):
        block = _block([[str(label)] for label in labels], placement, lines)
        parts.append(f"# {number} {min(probability, 1.0):.6f}\n" + block)
    return "".join(parts)


def _block(columns: list[list[str]], placement: Placement, lines: list[str] | None) -> str:
    if lines is None:
        shown = [(placement.separator or " ").join(some) for some in columns]
    else:
        shown = [placement.put(line, some) for line, some in zip(lines, columns, strict=True)]
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
