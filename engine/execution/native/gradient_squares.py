"""Squares of gradients, for their norms, added up by the step of the optimizer that reads the gradient anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.execution.native.callbacks import PythonCall
from engine.execution.native.kernels.optimizer_updates import adam, momentum, sgd
from engine.execution.native.kernels.reductions import square_sums
from engine.execution.native.lowering import Call, address_of


def joined_squares(steps: Sequence[list[Call] | PythonCall]) -> list[list[Call] | PythonCall]:
    """Return what a thread runs in turn, with the squares of a gradient added up by the step that follows.

    The gradient is then read once from where it is: mostly a cache that is not near, or memory.
    """
    joined: list[list[Call] | PythonCall] = []
    for step in steps:
        found = _with_squares(joined[-1], step) if joined else None
        if found is None:
            joined.append(step)
        else:
            joined[-1] = found
    return joined


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
