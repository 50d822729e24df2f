"""Squares of gradients, for their norms, added up by the steps that make or read the gradient anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.core.value import Array
from engine.execution.native.callbacks import PythonCall
from engine.execution.native.kernels.optimizer_updates import adam, momentum, sgd
from engine.execution.native.kernels.reductions import square_sums
from engine.execution.native.kernels.row_sums import SQUARES, TABLE, add_by_index
from engine.execution.native.lowering import Argument, Call, address_of


def joined_squares(steps: Sequence[list[Call] | PythonCall]) -> list[list[Call] | PythonCall]:
    """Return what a thread runs in turn, with the squares of a gradient added up by another step.

    That is the step of the optimizer that follows: the gradient is then read once from where it is, mostly a cache that
    is not near, or memory. Those of a table are added up by the step that adds rows to it: most of them are 0.
    """
    joined: list[list[Call] | PythonCall] = []
    for step in steps:
        if _takes_squares(joined, step):
            continue
        found = _with_squares(joined[-1], step) if joined else None
        if found is None:
            joined.append(step)
        else:
            joined[-1] = found
    return joined


def _takes_squares(joined: list[list[Call] | PythonCall], step: list[Call] | PythonCall) -> bool:
    """Let the step that makes a table add up its squares; return whether there is one that can.

    It writes the sum before the steps between: none of them may use that memory.
    """
    if not (isinstance(step, list) and len(step) == 1 and step[0].kernel is square_sums):
        return False
    out, table = step[0].arguments[3:5]
    for place in reversed(range(len(joined))):
        earlier = joined[place]
        if not isinstance(earlier, list):
            return False
        if len(earlier) == 1 and earlier[0].kernel is add_by_index and _is_same(earlier[0].arguments[TABLE], table):
            words = list(earlier[0].arguments)
            words[SQUARES] = out
            joined[place] = [replace(earlier[0], arguments=tuple(words))]
            return True
        if any(_overlap(word, out) for call in earlier for word in call.arguments):
            return False
    return False


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
