"""Recipes: how column files become attributes, as plain data in a model.

``column_features_`` of a model, and ``column_features`` of its file, are one of three things:

- None: X was given by a program, and no file can be read.
- ``{"attributes": FORMAT}``: files of this format hold the attributes themselves.
- :meth:`Recipe.to_dict`: how files are laid out, which column is the label, and which template makes the attributes.

Training writes the recipe; ``tag`` and ``eval`` follow it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dualfield.features.templates.compiled import compile_template
from dualfield.given_numbers import check_integer
from dualfield.io.column_layout import column_layout

if TYPE_CHECKING:
    from dualfield.features import Encoded, NumberedColumns, Template, Tokens, Vocabulary

__all__ = ["FileLayout", "Given", "Recipe", "Vocabularies", "checked_column_features", "recipe_of"]

_MOST_COLUMNS = 2**31 - 1
_MOST_HASH_BITS = 30


class Vocabularies(Protocol):
    """A model, as far as a recipe knows it."""

    vocabulary_: Vocabulary | NumberedColumns
    bigram_vocabulary_: Vocabulary | NumberedColumns | None
    n_jobs: int | None


class FileLayout(NamedTuple):
    """The format of a file and, of a column file, what :func:`~dualfield.io.read_tokens` has to know."""

    format: str = "columns"
    separator: str | None = None
    comment: str | None = None
    docstart: str = "drop"

    def but_for(
        self, separator: str | None, comment: str | None, docstart: str | None, format: str | None = None
    ) -> FileLayout:
        """The same layout, except for what is given; of another format, nothing of the old one holds."""
        if format is not None and format != self.format:
            return FileLayout(format, separator, comment, docstart or "drop")
        given = {"separator": separator, "comment": comment, "docstart": docstart}
        return self._replace(**{name: value for name, value in given.items() if value is not None})


class Recipe:
    """How a column file becomes attributes.

    Parameters
    ----------
    layout : FileLayout
        Of the training file, and by default of others.
    width : int
        Columns of the training file, the label included.
    label : int
        Which of them is the label.
    columns : tuple of int
        The columns that the template sees.
    plain_template : dict
        What makes the attributes, as plain data.
    hash_bits : int or None
        Whether attributes are hashed, and to how many bits.
    """

    def __init__(
        self,
        layout: FileLayout,
        width: int,
        label: int,
        columns: tuple[int, ...],
        plain_template: dict[str, Any],
        hash_bits: int | None,
    ) -> None:
        self.layout, self.width, self.label, self.columns = layout, width, label, columns
        self.plain_template, self.hash_bits = plain_template, hash_bits
        self.compiled = compile_template(plain_template)  # refuses what is none

    @cached_property
    def template(self) -> Template:
        """What makes the attributes."""
        from dualfield.features.templates.template import Template

        return Template.from_dict(self.plain_template)

    @cached_property
    def seen(self) -> tuple[int, ...]:
        """The columns that the template sees, up to the last that it reads."""
        return self.columns[: max(self._read, default=0) + 1]

    @property
    def _read(self) -> set[int]:
        """Which of ``columns`` the rules refer to."""
        pieces = (piece for rule in self.plain_template["rules"] for piece in rule["pieces"])
        return {piece["column"] for piece in pieces if not isinstance(piece, str)}

    @property
    def widths(self) -> tuple[int, int]:
        """The fewest and the most columns of a file to tag: what the template does not read may be missing."""
        return max(self.seen, default=0) + 1, self.width

    def expected_columns(self) -> str:
        """How many columns a file to tag has, in words."""
        fewest, most = self.widths
        return f"{most} column{'' if most == 1 else 's'}" + (f", or at least {fewest}" if fewest < most else "")

    def reading(self, layout: FileLayout) -> dict[str, Any]:
        """The options by which the core reads a file to tag."""
        options = column_layout(*layout)
        if not options["conllu"]:
            options["fewest"], options["most"] = self.widths
        return options

    def written_column(self, layout: FileLayout) -> int | None:
        """The column that predicted labels are written into: that of the label in CoNLL-U; else a further one, None."""
        return self.label if layout.format == "conllu" else None

    def of_format(self, format: str) -> Recipe:
        """The recipe for files of a format: beyond CoNLL-U, tokens have the columns that the template reads, no more.

        Examples
        --------
        >>> from dualfield.features import Template
        >>> template = Template.crfpp("U:%x[0,0]").to_dict()
        >>> recipe = Recipe(FileLayout("conllu"), 10, 3, (1,), template, None)
        >>> recipe.of_format("columns").widths, recipe.of_format("conllu").widths
        ((1, 2), (2, 10))
        """
        if self.layout.format != "conllu" or format == "conllu":
            return self
        return self._of_columns_read(format)

    @property
    def reads_words(self) -> bool:
        """Whether words alone are enough, as raw text has them: no more than one column is read."""
        return len({self.columns[index] for index in self._read}) <= 1

    def of_words(self) -> Recipe:
        """The recipe for tokens that are words and nothing else, as raw text has them.

        Raises
        ------
        ValueError
            Where the template reads more than one column.

        Examples
        --------
        >>> from dualfield.features import Template
        >>> recipe = Recipe(FileLayout(), 3, 2, (0, 1), Template.crfpp("U:%x[0,0]").to_dict(), None)
        >>> recipe.of_words().widths
        (1, 2)
        """
        read = sorted({self.columns[index] + 1 for index in self._read})
        if len(read) > 1:
            listed = f"{', '.join(map(str, read[:-1]))} and {read[-1]}"
            raise ValueError(
                f"the model's features read columns {listed} of its files, and raw text has words alone; tag a file "
                "that has these columns."
            )
        return self._of_columns_read("columns")

    def _of_columns_read(self, format: str) -> Recipe:
        """The recipe for files that have the columns that the template reads, and a label."""
        kept = sorted({self.columns[index] for index in self._read})
        columns = tuple(kept.index(column) if column in kept else 0 for column in self.columns)
        template, n_kept = self.plain_template, max(len(kept), 1)
        return Recipe(FileLayout(format), n_kept + 1, n_kept, columns, template, self.hash_bits)

    def attributes(self, tokens: Tokens, model: Vocabularies) -> Encoded:
        """The attributes that the model knows."""
        seen = tokens.with_columns(self.seen)
        return self.template.encode(
            seen,
            model.vocabulary_,
            hash_bits=self.hash_bits,
            bigram_vocabulary=model.bigram_vocabulary_,
            n_jobs=model.n_jobs,
        )

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {
            "layout": self.layout._asdict(),
            "width": self.width,
            "label": self.label,
            "columns": list(self.columns),
            "template": self.plain_template,
            "hash_bits": self.hash_bits,
        }


class Given(NamedTuple):
    """The file has the attributes, in a format that holds them."""

    format: str

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for the model file."""
        return {"attributes": self.format}


def recipe_of(plain: object) -> Recipe:
    """What the model remembers, from its plain data."""
    if not isinstance(plain, dict):
        raise ValueError(
            "the model was not trained on a column file, so it does not know how to read one; if the file has "
            "attributes, give --format attributes or jsonl."
        )
    try:
        width, label, *columns = map(_number, (plain["width"], plain["label"], *plain["columns"]))
        if not all(0 <= column < width for column in (label, *columns)):
            raise ValueError(f"it has {width} columns, but refers to {(label, *columns)}")
        layout = FileLayout(**plain["layout"])
        for name, value in layout._asdict().items():
            if not (isinstance(value, str) or (value is None and name in ("separator", "comment"))):
                raise ValueError(f"expected a layout of text, found {name}={value!r}")
        hash_bits = None if plain["hash_bits"] is None else _number(plain["hash_bits"])
        return Recipe(layout, width, label, tuple(columns), plain["template"], hash_bits)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"what the model says of column files is damaged: {str(error).rstrip('.')}; train it anew."
        ) from error


def _number(plain: object) -> int:
    """A number of a model file: JSON may hold Infinity and fractions in its place."""
    return check_integer("a number of columns or of bits", plain, 0, "an integer, not negative")


def checked_column_features(plain: Any, bigrams: bool) -> Recipe | None:
    """The recipe of a model file, or None where there is none; ``bigrams``: whether the model has weights for them.

    Raises
    ------
    ValueError
        Where no file can be read by it.
    """
    if plain is None or (isinstance(plain, dict) and set(plain) == {"attributes"}):
        if plain is not None and type(plain["attributes"]) is not str:
            raise ValueError(f"its files would have the format {plain['attributes']!r}")
        return None
    recipe = recipe_of(plain)
    _check(recipe, bigrams)
    return recipe


def _check(recipe: Recipe, bigrams: bool) -> None:
    """Refuse a recipe with which no file can be read."""
    column_layout("columns", *recipe.layout[1:])  # whether there is such a format is known where files are read
    "".join(text or "" for text in recipe.layout).encode()
    fewest = recipe.width - (recipe.label == recipe.width - 1)  # a label that is last may be missing
    if fewest < 1 or recipe.width > _MOST_COLUMNS:
        raise ValueError(f"its files would have {recipe.width} columns")
    if any(column >= fewest for column in recipe.columns):
        raise ValueError(f"its template sees the columns {recipe.columns}, of {fewest} that every line has")
    if recipe.hash_bits is not None and not 1 <= recipe.hash_bits <= _MOST_HASH_BITS:
        raise ValueError(f"expected hash_bits from 1 to {_MOST_HASH_BITS}, found {recipe.hash_bits}")
    for rule in recipe.plain_template["rules"]:
        cells = [piece for piece in rule["pieces"] if not isinstance(piece, str)]
        if any(cell["column"] >= len(recipe.columns) for cell in cells):
            raise ValueError("its template refers to a column that it does not see")
        if cells and rule["kind"] != "unigram" and not bigrams:
            raise ValueError("its template makes bigrams, which it has no weights for")
