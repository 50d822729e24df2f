"""What kernels do with rows of contiguous numbers: maxima, sums, exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.kernel import inline, inline_exact

PIECE = 2048
"""Numbers that are added up in their own dtype, in as many lanes as the registers have; pieces are in float64."""
LANES = 16
"""Rows of this multiple in length have no rest that would be processed number by number."""


@intrinsic
def larger(typing_context: Any, x: Any, y: Any) -> Any:
    """Return the larger of two numbers of one dtype; NaN if either is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # A comparison would do, but loops of those are not vectorised as long as NaN is a number like others.
        kind = arguments[0].type
        name = "llvm.maximum.f32" if kind == ir.FloatType() else "llvm.maximum.f64"
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(kind, [kind] * 2), name
        )
        return builder.call(function, arguments)

    return x(x, x), generate


@inline
def largest(x: Any) -> Any:
    """Return the largest of a row, NaN if there is one; -inf of none."""
    top = x.dtype.type(-np.inf)
    for i in range(x.size):
        top = larger(top, x[i])
    return top


# Reordered, as sums in kernels may be, top + log would round to a unit in the last place of the largest number.
@inline_exact
def log_probability(x: Any, top: Any, log: Any) -> Any:
    """Return (x - top) - log: log_softmax of x, from the largest of its row and the logarithm of the sum beyond it."""
    return (x - top) - log


@inline_exact
def log_loss(x: Any, top: Any, log: Any) -> Any:
    """Return the negative of `log_probability`."""
    return log - (x - top)


@inline
def total(x: Any) -> Any:
    """Return the sum of a row as a float64."""
    result = 0.0
    for start in range(0, x.size, PIECE):
        piece = x[start : start + PIECE]
        part = x.dtype.type(0)
        for i in range(piece.size):
            part += piece[i]
        result += np.float64(part)
    return result


@inline
def dot(x: Any, y: Any) -> Any:
    """Return the sum of the products of two rows of one length as a float64."""
    result = 0.0
    for start in range(0, x.size, PIECE):
        first, second = x[start : start + PIECE], y[start : start + PIECE]
        part = x.dtype.type(0)
        for i in range(first.size):
            part += first[i] * second[i]
        result += np.float64(part)
    return result


@inline
def exponentials(out: Any, x: Any, top: Any) -> Any:
    """Set a row beside x to exp(x - top); return its sum as a float64."""
    result = 0.0
    for start in range(0, x.size, PIECE):
        piece, made = x[start : start + PIECE], out[start : start + PIECE]
        part = x.dtype.type(0)
        for i in range(piece.size):
            e = exp(piece[i] - top)
            made[i] = e
            part += e
        result += np.float64(part)
    return result


@inline
def exponentials_in_place(x: Any, top: Any) -> Any:
    """Set a row to exp(x - top); return its sum as a float64. Rows that may overlap are not vectorised."""
    result = 0.0
    for start in range(0, x.size, PIECE):
        piece = x[start : start + PIECE]
        part = x.dtype.type(0)
        for i in range(piece.size):
            e = exp(piece[i] - top)
            piece[i] = e
            part += e
        result += np.float64(part)
    return result


@inline
def fill(x: Any, value: Any) -> None:
    """Set every number of a row."""
    for i in range(x.size):
        x[i] = value
