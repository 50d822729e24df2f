"""Choices between numbers by a condition, elementwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import BOOL
from engine.execution.native.inline.pointers import frozen, view
from engine.execution.native.kernel import inline, itemsize, kernel_of, real
from engine.execution.native.kernels.elementwise import FIRST, OUT, SECOND, THIRD, operands
from engine.execution.native.lowering import Call, Work, lowers, raw


@kernel_of(np.float32, np.float64, np.int64, np.uint16)
def choose(a: Any) -> None:
    """Words as of an elementwise kernel of three operands, the first of them bools; half types are moved as bits."""
    n = a[3]
    for i in range(a[0]):
        for j in range(a[1]):
            for k in range(a[2]):
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + k * a[OUT + 3]
                condition = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2] + k * a[FIRST + 3]
                x = a[SECOND] + i * a[SECOND + 1] + j * a[SECOND + 2] + k * a[SECOND + 3]
                y = a[THIRD] + i * a[THIRD + 1] + j * a[THIRD + 2] + k * a[THIRD + 3]
                cs, zs = view(condition, n, np.uint8), view(out, n, real)
                rows = a[OUT + 4] == itemsize and a[FIRST + 4] == 1
                if a[FIRST + 4] == 0:
                    taken, step = (x, a[SECOND + 4]) if cs[0] else (y, a[THIRD + 4])
                    copy_evenly(out, a[OUT + 4], taken, step, n, itemsize, real)
                    continue
                if rows and a[SECOND + 4] == itemsize and a[THIRD + 4] == itemsize:
                    xs, ys = view(x, n, real), view(y, n, real)
                    # Loops of their own, as of two operands; both numbers are read, so that no loop branches.
                    if x == out:
                        for e in range(zs.size):
                            first, second = frozen(zs[e]), ys[e]
                            zs[e] = first if cs[e] else second
                    elif y == out:
                        for e in range(zs.size):
                            first, second = xs[e], frozen(zs[e])
                            zs[e] = first if cs[e] else second
                    else:
                        for e in range(zs.size):
                            first, second = xs[e], ys[e]
                            zs[e] = first if cs[e] else second
                elif rows and a[SECOND + 4] == itemsize and a[THIRD + 4] == 0:
                    xs, other = view(x, n, real), view(y, 1, real)[0]
                    if x == out:
                        for e in range(zs.size):
                            first = frozen(zs[e])
                            zs[e] = first if cs[e] else other
                    else:
                        for e in range(zs.size):
                            first = xs[e]
                            zs[e] = first if cs[e] else other
                elif rows and a[SECOND + 4] == 0 and a[THIRD + 4] == itemsize:
                    chosen, ys = view(x, 1, real)[0], view(y, n, real)
                    if y == out:
                        for e in range(zs.size):
                            second = frozen(zs[e])
                            zs[e] = chosen if cs[e] else second
                    else:
                        for e in range(zs.size):
                            second = ys[e]
                            zs[e] = chosen if cs[e] else second
                elif rows and a[SECOND + 4] == 0 and a[THIRD + 4] == 0:
                    chosen, other = view(x, 1, real)[0], view(y, 1, real)[0]
                    for e in range(zs.size):
                        zs[e] = chosen if cs[e] else other
                else:
                    for e in range(n):
                        first, second = view(x + e * a[SECOND + 4], 1, real)[0], view(y + e * a[THIRD + 4], 1, real)[0]
                        taken = view(condition + e * a[FIRST + 4], 1, np.uint8)[0]
                        view(out + e * a[OUT + 4], 1, real)[0] = first if taken else second


@inline
def copy_evenly(target: Any, apart: Any, source: Any, step: Any, count: Any, itemsize: Any, real: Any) -> None:
    """Copy numbers that lie `step` bytes apart, or one number where that is 0, to places `apart` bytes apart."""
    numbers = view(target, count, real)
    if apart == itemsize and step == 0:
        number = view(source, 1, real)[0]
        for e in range(numbers.size):
            numbers[e] = number
    elif apart == itemsize and step == itemsize:
        others = view(source, count, real)
        for e in range(numbers.size if target != source else 0):
            numbers[e] = others[e]
    else:
        for e in range(count):
            view(target + e * apart, 1, real)[0] = view(source + e * step, 1, real)[0]


@lowers("where")
def _(work: Work) -> list[Call] | None:
    condition, *others = work.inputs
    dtype = work.outputs[0].dtype
    out = raw(work.outputs[0])
    if out.dtype not in choose.dtypes or condition.dtype != BOOL or any(x.dtype != dtype for x in others):
        return None
    words = operands(Work([condition, *map(raw, others)], [out], work.attrs))
    return None if words is None else [Call(choose, out.dtype, words, elementwise=True)]
