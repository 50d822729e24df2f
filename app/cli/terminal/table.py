"""Tables of text: columns with a title, numbers to the right, no wider than the terminal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size

GAP = "  "
ELLIPSIS = "…"

Document = Mapping[str, Any]
"""An object of the HTTP interface, as decoded JSON."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Where the terminal is too narrow, a column is shortened to `shrinks_to` characters if that is set, and an
    `optional` one is left out.
    """

    title: str
    text: Callable[[Document], str]
    right: bool = False
    shrinks_to: int | None = None
    optional: bool = False


def table_lines(columns: Sequence[Column], rows: Iterable[Document], width: int | None) -> list[str]:
    """Return the lines of a table, its titles first; `width` is that of the terminal, None if there is none."""
    cells = [[column.title, *(printable(column.text(row)) for row in texts)] for column, texts in _each(columns, rows)]
    widths = [max(map(cell_len, column)) for column in cells]
    if width is not None:
        _fit(columns, widths, width)
    shown = [index for index, size in enumerate(widths) if size]
    return [
        GAP.join(_cell(cells[index][line], widths[index], columns[index].right) for index in shown).rstrip()
        for line in range(len(cells[0]))
    ]


def printable(text: str) -> str:
    """Return a text without characters that would control a terminal: each of them as its escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shorten(text: str, width: int) -> str:
    """Return a text that is at most so wide, with an ellipsis where something is missing."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + ELLIPSIS


def _each(columns: Sequence[Column], rows: Iterable[Document]) -> Iterable[tuple[Column, list[Document]]]:
    listed = list(rows)
    return ((column, listed) for column in columns)


def _fit(columns: Sequence[Column], widths: list[int], width: int) -> None:
    """Make columns narrower, then leave some out (width 0), the last ones first, until all of them fit."""
    for index, column in enumerate(columns):
        if column.shrinks_to is not None:
            widths[index] -= min(_excess(widths, width), max(0, widths[index] - column.shrinks_to))
    for index in reversed(range(len(columns))):
        if columns[index].optional and _excess(widths, width):
            widths[index] = 0


def _excess(widths: Sequence[int], width: int) -> int:
    shown = [size for size in widths if size]
    return max(0, sum(shown) + len(GAP) * (len(shown) - 1) - width)


def _cell(text: str, width: int, right: bool) -> str:
    text = shorten(text, width)
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding
