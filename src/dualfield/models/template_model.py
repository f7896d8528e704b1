"""What the models of CRF++ and of Wapiti have in common: a template, and weights of the strings that it makes.

Both programs keep the lines of the template, the labels, and a table of strings. A string of a unigram line has a block
of K weights, one a label; of a bigram line K² weights, ``from · K + to``; of Wapiti's ``*`` lines both, one block after
the other. The blocks of all strings are one vector, of which only the weights that are not zero are kept here.

The two programs have no weights of bias, begin and end, but a line can stand for them: one without a cell makes the
same string everywhere, and one that asks for the token before the first makes a string that only first tokens have.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from dualfield.features.templates.rules import Cell, Rule
from dualfield.features.templates.template import Template
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.models.bigram_layout import BigramLayout
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.chain_model import ChainModel
from dualfield.models.recipe import FileLayout, Recipe, recipe_of
from dualfield.models.spec import ChainSpec
from dualfield.models.stored_model import imported_solution

__all__ = ["Damage", "Syntax", "TemplateModel", "chain_of", "template_model_of"]

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Model = TypeVar("Model", bound=ChainModel)
_SPEC = ChainSpec(
    state_features="observed", transitions="observed", bigram_features="observed", bias=False, begin=False, end=False
)


class Damage(Exception):
    """What is wrong with a file."""


class Syntax(NamedTuple):
    """A program, and how its template files are written."""

    program: str
    name: str  # "crfpp" or "wapiti", as templates have it
    unigram: str
    bigram: str

    def parse(self, lines: list[str]) -> Template:
        """The template of these lines."""
        text = "\n".join(lines)
        return Template.crfpp(text) if self.name == "crfpp" else Template.wapiti(text)


class TemplateModel(NamedTuple):
    """A model as CRF++ and Wapiti have it: strings, which blocks each has, and the weights that are not zero."""

    labels: list[str]
    lines: list[str]
    names: list[str]
    unigram: npt.NDArray[np.bool_]
    bigram: npt.NDArray[np.bool_]
    indices: Numbers  # increasing
    values: Floats

    @property
    def starts(self) -> Numbers:
        """Where the block of each string begins, and where the last ends."""
        k = len(self.labels)
        return np.concatenate(([0], np.cumsum(k * self.unigram + k * k * self.bigram))).astype(np.int64)


# --- from a model of ours ---


class Exportable(Protocol):
    """What is asked of a model; a ``ChainModel`` has it."""

    classes_: npt.NDArray[Any]
    weights_: Floats
    vocabulary_: Vocabulary | NumberedColumns
    bigram_vocabulary_: Vocabulary | NumberedColumns | None
    layout_: ChainLayout
    column_features_: dict[str, Any] | None

    def _check_fitted(self) -> None: ...


def template_model_of(model: Exportable, syntax: Syntax) -> tuple[TemplateModel, int]:
    """The model in the terms of a program, and how many columns its template sees; refuses what these do not have."""
    model._check_fitted()
    recipe = _recipe(model, syntax)
    template = recipe.template
    lines = [_line(rule) for rule in template.rules]
    if template.outside != syntax.name or _parsed(syntax, lines) != list(template.rules):
        raise ValueError(
            f"the template of the model is none of {syntax.program}'s, so it would make other attributes; train "
            f"the model with --template-syntax {syntax.name} and a template file."
        )
    if model.layout_.constraints is not None:
        raise ValueError(f"the model has constraints, which {syntax.program} does not have; train it without them.")
    if model.layout_.n_columns:
        raise ValueError(f"the model has dense columns, which {syntax.program} does not have; train it without them.")
    if not np.isfinite(model.weights_).all():
        raise ValueError("the model cannot be written: some weights are not finite; train it again.")
    labels = model.classes_.tolist()
    for label in labels:
        if not isinstance(label, str) or not label or len(label.split()) != 1 or label.split()[0] != label:
            raise ValueError(f"the label {label!r} is no label of column files: a string without white space.")
    k, parts = len(labels), model.layout_.split(model.weights_)
    blocks = _Blocks(k)
    assert isinstance(model.vocabulary_, Vocabulary)
    blocks.add_all(model.vocabulary_.names, parts["state"], pairs=False)
    plain = [str(rule) for rule in template.rules if rule.kind != "unigram" and not rule.cells]
    if "bigrams" in parts:
        assert isinstance(model.bigram_vocabulary_, Vocabulary)
        names, bigrams = model.bigram_vocabulary_.names, parts["bigrams"]
        bigrams = bigrams.reshape(len(names), k * k)
        _check_plain(plain, names, bigrams, parts["transitions"].ravel(), syntax)
        blocks.add_all(names, bigrams, pairs=True, but=plain)
    if parts["transitions"].any():
        lines += [] if plain else [syntax.bigram]
        blocks.add((plain or [syntax.bigram])[0], parts["transitions"].ravel(), pairs=True)
    for name, cell in (("bias", ""), ("begin", "=%x[-1,0]"), ("end", "=%x[1,0]")):
        if name in parts and parts[name].any():
            line = f"{syntax.unigram}!{name}{cell}"
            lines.append(line)
            blocks.add(syntax.parse([line]).strings([("",)])[0][0], parts[name], pairs=False)
    return blocks.model(labels, lines), len(recipe.columns)


def _recipe(model: Exportable, syntax: Syntax) -> Recipe:
    plain = model.column_features_
    if plain is None or set(plain) == {"attributes"}:
        raise ValueError(
            f"the model was trained on attributes that a program or a file gave, and {syntax.program} makes its own by "
            "a template; train it on a column file with a template, or export it to crfsuite."
        )
    recipe = recipe_of(plain)
    if recipe.hash_bits is not None or isinstance(model.vocabulary_, NumberedColumns):
        raise ValueError(
            f"the attributes of the model are hashed, and {syntax.program} needs their strings; train it without "
            "--hash-bits."
        )
    if recipe.label != recipe.width - 1:
        raise ValueError(
            f"the label of the model's files is column {recipe.label + 1} of {recipe.width}, and {syntax.program} "
            "takes the last; convert the files first (dualfield convert --label-column), and train on those."
        )
    return recipe


def _check_plain(plain: list[str], names: list[str], bigrams: Any, transitions: Floats, syntax: Syntax) -> None:
    """Refuse a string of bigrams that is also that of all pairs, if the two have different weights here."""
    for number, name in enumerate(names):
        if name not in plain:
            continue
        row = bigrams[[number]]
        if not np.array_equal((row.toarray() if hasattr(row, "toarray") else row).ravel(), transitions):
            raise ValueError(
                f"the bigram {name!r} is made by a line with a cell and by one without, and {syntax.program} has one "
                "weight for both; change one of the lines."
            )


def _parsed(syntax: Syntax, lines: list[str]) -> list[Rule] | None:
    try:
        return list(syntax.parse(lines).rules)
    except ValueError:
        return None


def _line(rule: Rule) -> str:
    """The rule as a line of a template file."""
    return "".join(piece if isinstance(piece, str) else _command(piece) for piece in rule.pieces)


def _command(cell: Cell) -> str:
    """A cell as a command: %x, or Wapiti's %t and %m; in upper case where the result is in lower case."""
    steps = list(cell.transforms)
    lowered = bool(steps) and steps[-1].operation == "lower"
    steps = steps[: len(steps) - lowered]
    place = f"{'@' if cell.absolute else ''}{cell.offset},{cell.column}"
    letter, regex = "x", ""
    if steps:
        letter, regex = steps[0].operation[0], f',"{steps[0].pattern}"'
    return f"%{letter.upper() if lowered else letter}[{place}{regex}]"


class _Blocks:
    """Blocks of weights by their strings, in the order in which the strings came."""

    def __init__(self, n_labels: int) -> None:
        self._k = n_labels
        self._numbers: dict[str, int] = {}
        self._found: dict[bool, list[tuple[Numbers, Numbers, Floats]]] = {False: [], True: []}

    def add_all(self, names: list[str], matrix: Any, *, pairs: bool, but: Collection[str] = ()) -> None:
        """A row of weights for each name; rows of zeros, and of some names, are left out."""
        rows, columns = matrix.nonzero()
        if but:
            kept = ~np.isin(rows, [number for number, name in enumerate(names) if name in but])
            rows, columns = rows[kept], columns[kept]
        values = np.asarray(matrix[rows, columns], dtype=np.float64).ravel()
        used, place = np.unique(rows, return_inverse=True)
        numbers = [self._number(names[row]) for row in used.tolist()]
        self._found[pairs].append((np.array(numbers, np.int64)[place], columns.astype(np.int64), values))

    def add(self, name: str, weights: Floats, *, pairs: bool) -> None:
        """The weights of one name."""
        columns = np.flatnonzero(weights)
        owner = np.full(len(columns), self._number(name), np.int64)
        self._found[pairs].append((owner, columns.astype(np.int64), weights[columns]))

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def model(self, labels: list[str], lines: list[str]) -> TemplateModel:
        """All of them as one vector."""
        empty = np.empty(0, np.int64)
        unigram, bigram = (
            np.isin(
                np.arange(len(self._numbers)), np.concatenate([empty, *(owner for owner, *_ in self._found[pairs])])
            )
            for pairs in (False, True)
        )
        model = TemplateModel(labels, lines, list(self._numbers), unigram, bigram, empty, np.empty(0))
        starts = model.starts[:-1]
        indices, values = [empty], [np.empty(0)]
        for pairs, found in self._found.items():
            for owner, column, weights in found:
                indices.append(starts[owner] + (self._k * unigram[owner] if pairs else 0) + column)
                values.append(weights)
        flat, weights = np.concatenate(indices), np.concatenate(values)
        kept, place = np.unique(flat, return_inverse=True)  # a string may be made by several lines
        summed = np.bincount(place, weights=weights, minlength=len(kept))
        return model._replace(indices=kept.astype(np.int64), values=summed.astype(np.float64))


# --- to a model of ours ---


def chain_of(model: TemplateModel, n_columns: int | None, syntax: Syntax, kind: type[Model], name: str) -> Model:
    """The chain with these weights, which reads column files of so many columns and a label.

    Without a number, files have the columns that the template sees.
    """
    k, labels = len(model.labels), np.array(model.labels)
    if k < 2 or len(set(model.labels)) != k:
        raise Damage(f"expected at least two labels, all different, found {model.labels!r:.80}")
    try:
        template = syntax.parse(model.lines)
        n_columns = max(template.n_columns, 1) if n_columns is None else n_columns
        template.check_columns(n_columns)
    except ValueError as error:
        raise Damage(f"its template cannot be used ({str(error).rstrip('.')})") from None
    if len(set(model.names)) != len(model.names):
        raise Damage("a string stands twice in its table")
    if not np.isfinite(model.values).all():
        raise Damage("a weight is not finite")
    starts, code_of = model.starts, np.argsort(np.argsort(labels))
    if len(model.indices) and not 0 <= model.indices.min() <= model.indices.max() < starts[-1]:
        raise Damage(f"a weight has the number {model.indices.max()}, and its strings have {starts[-1]}")
    owner = np.searchsorted(starts, model.indices, side="right") - 1
    within = model.indices - starts[owner]
    of_label = model.unigram[owner] & (within < k)
    before, after = np.divmod(within - k * model.unigram[owner], k)
    pair = code_of[np.where(of_label, 0, before)] * k + code_of[np.where(of_label, 0, after)]

    names, state = _numbered(model.names, owner[of_label])
    keys, state_weights = _in_order(state * k + code_of[within[of_label]], model.values[of_label])
    rows = np.searchsorted(keys, np.arange(len(names) + 1, dtype=np.int64) * k).astype(np.int64)
    plain = {str(rule) for rule in template.rules if rule.kind != "unigram" and not rule.cells}
    is_plain = np.array([string in plain for string in model.names], dtype=bool)
    always = ~of_label & is_plain[owner]
    transitions, transition_weights = _in_order(pair[always], model.values[always])
    bigrams, bigram_names, bigram_weights = None, None, np.empty(0)
    if template.bigrams:
        bigram_names, number = _numbered(model.names, owner[~of_label])
        flat, bigram_weights = _in_order(number * (k * k) + pair[~of_label], model.values[~of_label])
        bigrams = BigramLayout.of_keys(len(bigram_names), k, flat)

    crf = kind._of_spec(_SPEC, {"solver": "auto"})
    crf.classes_, crf.vocabulary_ = np.array(sorted(model.labels)), Vocabulary(names)
    crf.bigram_vocabulary_ = None if bigram_names is None else Vocabulary(bigram_names)
    layout_rows = rows, (keys % k).astype(np.int32)
    crf.layout_ = ChainLayout(
        len(names), k, transitions.astype(np.int32), layout_rows, False, False, False, None, bigrams
    )
    crf.weights_ = np.concatenate((state_weights, transition_weights, bigram_weights))
    recipe = Recipe(FileLayout(), n_columns + 1, n_columns, tuple(range(n_columns)), template.to_dict(), None)
    crf.column_features_ = recipe.to_dict()
    origin = f"the {syntax.program} model {os.path.basename(name)}"
    crf.solution_ = imported_solution(crf.weights_, origin, "it")
    return crf


def _numbered(names: list[str], owners: Numbers) -> tuple[list[str], Numbers]:
    """The names of those that own a weight, and their numbers for each weight."""
    used, place = np.unique(owners, return_inverse=True)
    return [names[owner] for owner in used.tolist()], place.astype(np.int64)


def _in_order(keys: Numbers, weights: Floats) -> tuple[Numbers, Floats]:
    """Increasing keys, the weights of the same key added up."""
    kept, place = np.unique(keys, return_inverse=True)
    return kept.astype(np.int64), np.bincount(place, weights=weights, minlength=len(kept)).astype(np.float64)
