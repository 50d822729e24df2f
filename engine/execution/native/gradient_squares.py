"""Squares of gradients, for their norms, added up by the steps that make or read the gradient anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from engine.core.value import Array
from engine.execution.native.callbacks import PythonCall
from engine.execution.native.kernels.optimizer_updates import adam, momentum, sgd
from engine.execution.native.kernels.reductions import square_sums
from engine.execution.native.kernels.row_sums import SQUARES, TABLE, add_by_index
from engine.execution.native.lowering import Argument, Call, address_of

STEPS_BETWEEN = 32
"""A step adds up squares for none that comes more steps later: each of them is looked through."""


def joined_squares(steps: Sequence[list[Call] | PythonCall]) -> list[list[Call] | PythonCall]:
    """Return what a thread runs in turn, with the squares of a gradient added up by another step.

    That is the step of the optimizer that follows: the gradient is then read once from where it is, mostly a cache that
    is not near, or memory. Those of a table are added up by the step that adds rows to it: most of them are 0.
    """
    joined: list[list[Call] | PythonCall] = []
    tables: dict[int | None, int] = {}
    for step in steps:
        if _takes_squares(joined, tables, step):
            continue
        found = _with_squares(joined[-1], step) if joined else None
        if found is not None:
            joined[-1] = found
            continue
        if isinstance(step, list) and len(step) == 1 and step[0].kernel is add_by_index:
            tables[_address(step[0].arguments[TABLE])] = len(joined)
        joined.append(step)
    return joined


def _takes_squares(
    joined: list[list[Call] | PythonCall], tables: Mapping[int | None, int], step: list[Call] | PythonCall
) -> bool:
    """Let the step that makes a table add up its squares, if there is one that can; return whether it does.

    `tables` has the places of the last steps that add rows to tables, by the addresses of these. The step writes the
    sum before all steps behind it: none of them may use that memory, nor change the table in place.
    """
    if not (isinstance(step, list) and len(step) == 1 and step[0].kernel is square_sums):
        return False
    out, table = step[0].arguments[3:5]
    place = tables.get(_address(table))
    if place is None or len(joined) - place > STEPS_BETWEEN:
        return False
    adding, between = joined[place], joined[place + 1 :]
    assert isinstance(adding, list)
    words = list(adding[0].arguments)
    if not _is_same(words[TABLE], table) or any(_uses(later, out) or _uses(later, table) for later in between):
        return False
    words[SQUARES] = out
    joined[place] = [replace(adding[0], arguments=tuple(words))]
    return True


def _uses(step: list[Call] | PythonCall, memory: Argument) -> bool:
    """Return whether a step may read or write an array; one of Python may do so with any."""
    return not isinstance(step, list) or any(_overlap(word, memory) for call in step for word in call.arguments)


def _address(argument: Argument) -> int | None:
    """Return where an array lies; None of what is no array."""
    return address_of(argument) if isinstance(argument, np.ndarray) else None


def _is_same(first: Argument, second: Argument) -> bool:
    """Return whether two arguments are the same array."""
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)):
        return False
    return _layout(first) == _layout(second)


def _layout(array: Array) -> tuple[object, ...]:
    return address_of(array), array.shape, array.strides


def _overlap(first: Argument, second: Argument) -> bool:
    arrays = isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
    return arrays and np.may_share_memory(first, second)


def _with_squares(first: list[Call] | PythonCall, second: list[Call] | PythonCall) -> list[Call] | None:
    """Return the step of an optimizer that does what is done before it too; None if it cannot."""
    if not (isinstance(first, list) and isinstance(second, list) and len(first) == len(second) == 1):
        return None
    (summing,), (stepping,) = first, second
    if summing.kernel is not square_sums or stepping.kernel not in (adam, sgd, momentum):
        return None
    gradient, out = summing.arguments[4], summing.arguments[3]
    read = stepping.arguments[1]
    assert isinstance(gradient, np.ndarray)
    assert isinstance(read, np.ndarray)
    if address_of(gradient) != address_of(read) or gradient.size != read.size:
        return None
    return [replace(stepping, arguments=(*stepping.arguments[:-1], out))]
