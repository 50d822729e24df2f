"""Divides a block of CSV records into cells, all at once by NumPy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_QUOTE, _LINE_END = ord('"'), ord("\n")


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells in row-major order: the k-th one is `texts[offsets[k]:offsets[k + 1]]`, without its quotes."""

    texts: bytes
    offsets: NDArray[np.int32]


def split_cells(data: bytes, mark: int, width: int, rows: int) -> Cells | None:
    """Divide `rows` records of `width` cells, on as many lines that each end with a line feed.

    `mark` is the byte between cells. None if a record has another width or spans lines, or quotes are irregular.
    """
    characters = np.frombuffer(data, np.uint8)
    borders = (characters == mark) | (characters == _LINE_END)
    if b'"' in data:
        return _split_quoted(data, np.flatnonzero(borders | (characters == _QUOTE)), mark, width, rows)
    ends = np.flatnonzero(borders)
    if not _are_records(characters, ends, width, rows):
        return None
    return Cells(data.translate(None, bytes((mark, _LINE_END))), _offsets(ends, np.arange(len(ends))))


def _split_quoted(data: bytes, places: NDArray[np.int64], mark: int, width: int, rows: int) -> Cells | None:
    """Divide records some cells of which are in quotes; borders and quotes are at `places`."""
    characters = np.frombuffer(data, np.uint8)
    quotes = characters[places] == _QUOTE
    inside = np.cumsum(quotes, dtype=np.uint8) & 1 == 1  # the lowest bit is that of the whole count
    if inside[-1] or not _are_regular(places, quotes, inside):
        return None
    borders = np.flatnonzero(~(quotes | inside))
    ends = places[borders]
    if not _are_records(characters, ends, width, rows):
        return None
    # Two quotes within a cell stand for one, the second. Behind a quote that closes a cell there is a border.
    doubled = quotes & inside
    doubled[1:] &= quotes[:-1] & (places[1:] == places[:-1] + 1)
    doubled[0] = False
    kept = doubled | (inside & ~quotes)
    if not kept.any():
        return Cells(data.translate(None, bytes((mark, _LINE_END, _QUOTE))), _offsets(ends, borders))
    texts = np.delete(characters, places[~kept]).tobytes()
    return Cells(texts, _offsets(ends, borders - np.cumsum(kept)[borders]))


def _are_regular(places: NDArray[np.int64], quotes: NDArray[np.bool_], inside: NDArray[np.bool_]) -> bool:
    """Return whether quotes stand around whole cells, and inside of them only twice (RFC 4180)."""
    # Borders and quotes that another one follows at once. A quote may also begin the block; a line feed ends it.
    follows = places[1:] == places[:-1] + 1
    first = places[0] == 0 or not (quotes[0] and inside[0])
    return bool(first and (follows | ~(quotes & inside)[1:]).all() and (follows | ~(quotes & ~inside)[:-1]).all())


def _are_records(characters: NDArray[np.uint8], ends: NDArray[np.int64], width: int, rows: int) -> bool:
    """Return whether the cells that end at `ends` are `rows` records of `width` cells, each ended by a line feed."""
    return len(ends) == width * rows and bool((characters[ends[width - 1 :: width]] == _LINE_END).all())


def _offsets(ends: NDArray[np.int64], dropped: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the offsets of cells after `dropped` characters in total before the end of each one were removed."""
    offsets = np.zeros(len(ends) + 1, np.int32)
    np.subtract(ends, dropped, out=offsets[1:], casting="unsafe")
    return offsets
