"""Chains of elementwise calls, executed block by block: what one writes the next finds in the nearest cache."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.pointers import call, view
from engine.execution.native.kernel import kernel_of
from engine.execution.native.kernels.elementwise import AXES, OUT
from engine.execution.native.lowering import Argument, Call, address_of, word

BLOCK = 16384
"""Bytes of one operand that are processed at a time."""

INT64 = np.dtype(np.int64)
WORDS = AXES + 1
"""Words of an operand: its address and its strides."""

Space = tuple[int, int]
"""Rows and columns that a call goes through."""


@kernel_of(np.int64)
def chain(a: Any) -> None:
    """Run calls on some rows of their operands after the other.

    Words: rows; rows at a time; calls; then for each call: kernel, its block, the word that holds how much there is of
    a row and how much that is, and how many operands follow: the word of an address, the address of the first row, the
    bytes from row to row.
    """
    for start in range(0, a[0], a[1]):
        rows = min(a[1], a[0] - start)
        place = 3
        for _ in range(a[2]):
            block = view(a[place + 1], 64, np.int64)
            block[a[place + 2]] = rows * a[place + 3]
            operands = a[place + 4]
            for operand in range(operands):
                at = place + 5 + 3 * operand
                block[a[at]] = a[at + 1] + start * a[at + 2]
            call(a[place], a[place + 1])
            place += 5 + 3 * operands


class ChainBlocks:
    """The blocks of the calls of a chain, which live as long as it does."""

    def __init__(self) -> None:
        """Start without any."""
        self.blocks: list[Array] = []

    def joined(self, calls: Sequence[Call]) -> list[Call]:
        """Return the calls, with one in the place of neighbours that can go through their operands together."""
        chained: list[Call] = []
        run: list[Call] = []
        spaces: set[Space | None] = set()
        for each in calls:
            space = _extents(each.arguments) if each.elementwise and not each.alone else None
            if run and _rows(spaces | {space}) is None:
                chained += self._chain(run, spaces)
                run, spaces = [], set()
            run.append(each)
            spaces.add(space)
        return chained + self._chain(run, spaces)

    def _chain(self, run: list[Call], spaces: AbstractSet[Space | None]) -> list[Call]:
        """Return one call for a run over these spaces, unless its operands fit into a cache as they are."""
        found = _rows(spaces) if len(run) > 1 else None
        if found is None:
            return run
        rows, columns = found
        at_once = max(BLOCK // (columns * run[0].dtype.itemsize), 1)
        if at_once >= rows:
            return run
        words: list[Argument] = [rows, at_once, len(run)]
        for each in run:
            words += self._entry(each, rows, columns)
        return [Call(chain, INT64, tuple(words))]

    def _entry(self, each: Call, rows: int, columns: int) -> list[Argument]:
        """Return the words of a call in a chain."""
        flat = _extents(each.arguments) != (rows, columns)
        block = np.zeros(64, np.int64)
        block[: len(each.arguments)] = [word(argument, 0) for argument in each.arguments]
        self.blocks.append(block)
        operands: list[Argument] = []
        for at in range(OUT, len(each.arguments), WORDS):
            if not isinstance(each.arguments[at], np.ndarray):
                break  # numbers that a kernel takes behind its operands
            step = int(block[at + AXES]) * columns if flat else int(block[at + AXES - 1])
            operands += [at, each.arguments[at], step]
        extent = AXES - 1 if flat else AXES - 2
        words = (each.kernel.address(each.dtype), address_of(block), extent, columns if flat else 1)
        return [*words, len(operands) // 3, *operands]


def _rows(spaces: AbstractSet[Space | None]) -> Space | None:
    """Return the rows and columns by which calls over all of these can go row by row; None where there are none.

    A run that can has two different spaces at most: the time does not depend on its length.
    """
    found = [space for space in spaces if space is not None]
    if len(found) < len(spaces):
        return None
    rows, columns = max(found, default=(1, 1))
    if rows == 1:
        rows, columns = _cut(columns)
    fits = rows > 1 and all(space in ((rows, columns), (1, rows * columns)) for space in found)
    return (rows, columns) if fits else None


def _extents(arguments: Sequence[Argument]) -> Space | None:
    """Return rows and columns that a call goes through; None where it has more axes."""
    extents = [int(extent) for extent in arguments[:AXES] if isinstance(extent, int)]
    return (extents[2], extents[3]) if extents[0] * extents[1] == 1 else None


def _cut(elements: int) -> tuple[int, int]:
    """Return rows and columns for elements in one row: rows of a power of 2."""
    columns = 1024
    while columns > 1 and elements % columns:
        columns //= 2
    return elements // columns, columns
