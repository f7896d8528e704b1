"""A small table for a terminal, a notebook, pandas or JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from typing import Any
from unicodedata import combining, east_asian_width

__all__ = ["Table"]

Row = tuple[Any, ...]
_BETWEEN = "   "  # two columns


@dataclass(frozen=True, kw_only=True)
class Table:
    """Named columns, rows of text and numbers, a title and a note.

    Printing it gives aligned text, ``rich`` prints it with colours, a notebook shows it as HTML.

    Parameters
    ----------
    title : str
        What the rows are.
    columns : tuple of str
        Their names.
    rows : tuple of tuples
        Strings, numbers, or None where there is nothing to say.
    note : str
        A sentence below the table; may be empty.
    formats : mapping from column to format specification
        How numbers are shown, ``.3f`` by default for those that are not whole.

    Examples
    --------
    >>> table = Table(title="Weights", columns=("label", "weight"), rows=(("NOUN", 1.25), ("VERB", -0.5)))
    >>> print(table)
    Weights
    label   weight
    ──────────────
    NOUN     1.250
    VERB    -0.500
    >>> table.records()[0]
    {'label': 'NOUN', 'weight': 1.25}
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    formats: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def records(self) -> list[dict[str, Any]]:
        """One dict per row, ready for JSON."""
        return [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]

    def to_frame(self) -> Any:
        """The table as a ``pandas.DataFrame``; pandas is not among the package's own requirements."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_frame() needs pandas, which is not installed: pip install pandas.") from None
        return pandas.DataFrame(list(self.rows), columns=list(self.columns))

    def cell(self, column: str, value: Any) -> str:
        """How a value of a column is shown."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        if column in self.formats and not isinstance(value, str):
            return format(value, self.formats[column])
        return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)

    def __str__(self) -> str:
        # As wide as its content, so that nothing is cut where the output is a file.
        return self.within(None)

    def within(self, width: int | None) -> str:
        """The table as text of at most so many columns of a terminal.

        One that is wider is written in parts, one below the other, each with the first column and as many of the others
        as there is room for. A cell is never cut.

        Parameters
        ----------
        width : int or None
            None: as wide as its content.

        Examples
        --------
        >>> columns = ("from / to", "NOUN", "VERB")
        >>> table = Table(title="Weights", columns=columns, rows=(("NOUN", 0.5, 1.25), ("VERB", 0.75, -0.5)))
        >>> print(table.within(20))
        Weights
        from / to    NOUN
        ─────────────────
        NOUN        0.500
        VERB        0.750
        <BLANKLINE>
        from / to     VERB
        ──────────────────
        NOUN         1.250
        VERB        -0.500
        """
        rows = [[self.cell(*pair).splitlines() for pair in zip(self.columns, row, strict=True)] for row in self.rows]
        table = [[[name] for name in self.columns], *rows]
        widths = [max(_width(line) for cell in column for line in cell or [""]) for column in zip(*table, strict=True)]
        parts = []
        for chosen in _parts(widths, width):
            sizes, numeric = [widths[c] for c in chosen], [self._numeric[c] for c in chosen]
            head, *body = [_aligned([row[c] for c in chosen], sizes, numeric) for row in table]
            rule = "─" * (sum(sizes) + len(_BETWEEN) * (len(sizes) - 1))
            parts.append([*head, rule, *(line for row in body for line in row)])
        text = "\n\n".join("\n".join(line.rstrip() for line in lines) for lines in parts)
        return "\n".join([self.title, text, *self.note.splitlines()])

    def __rich__(self) -> Any:
        from rich.box import Box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        head_rule = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")  # a line below the head, and nothing else
        # Text objects, not strings: what stands in brackets in an attribute is no markup.
        table = RichTable(box=head_rule, show_edge=False, pad_edge=False, header_style="bold")
        for name, numeric in zip(self.columns, self._numeric, strict=True):
            table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(self.cell(name, value)) for name, value in zip(self.columns, row, strict=True)))
        parts: list[Any] = [Text(self.title, style="bold"), table]
        return Group(*parts, *([Text(self.note)] if self.note else []))

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "".join(
            "<tr>"
            + "".join(
                f'<td style="text-align:{"right" if numeric else "left"}">{escape(self.cell(name, value))}</td>'
                for name, numeric, value in zip(self.columns, self._numeric, row, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        caption = f"<caption>{escape(self.title)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    @property
    def _numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        columns = [[value for value in column if value is not None] for column in zip(*self.rows, strict=True)]
        found = [bool(values) and all(isinstance(value, int | float) for value in values) for values in columns]
        return found or [False] * len(self.columns)


def _parts(widths: list[int], most: int | None) -> list[list[int]]:
    """The columns of each part of a table: the first, and as many others as fit."""
    if most is None or len(widths) < 2:
        return [list(range(len(widths)))]
    parts: list[list[int]] = []
    room = 0
    for column in range(1, len(widths)):
        needed = len(_BETWEEN) + widths[column]
        if not parts or needed > room:
            parts.append([0])
            room = most - widths[0]
        parts[-1].append(column)
        room -= needed
    return parts


def _width(line: str) -> int:
    """Columns of a terminal: East Asian characters take two, accents that are put on others none."""
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in line)


def _aligned(row: list[list[str]], widths: list[int], numeric: list[bool]) -> list[str]:
    """The lines of a row, of which a cell may have several."""
    lines = []
    for parts in zip_longest(*row, fillvalue=""):
        cells = []
        for part, width, right in zip(parts, widths, numeric, strict=True):
            blank = " " * (width - _width(part))
            cells.append(blank + part if right else part + blank)
        lines.append(_BETWEEN.join(cells))
    return lines or [""]


def _plain(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
