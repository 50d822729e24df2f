"""Comparisons and logic: elementwise with broadcasting, results are bool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import INT64, DType
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import FLOATS, Kernel, real
from engine.execution.native.kernels.elementwise import FIRST, OUT, SECOND, apply, operands
from engine.execution.native.kernels.half_types import half_kernel
from engine.execution.native.lowering import Call, Work, is_half, lowers, raw

BYTE = np.dtype(np.uint8)
"""What bool is in kernels: 0 or 1."""
COMPARABLE: tuple[DType, ...] = (*FLOATS, INT64, np.dtype(np.int32), BYTE)


def test(a: Any) -> None:
    """Apply a function of one number that is true or false; words as of `unary`."""
    rows, n = a[2], a[3]
    out_step, x_step, out_apart, x_apart = a[OUT + 3], a[FIRST + 3], a[OUT + 4], a[FIRST + 4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            for _ in range(rows):
                xs, ys = view(x, n, real), view(out, n, np.uint8)
                if out_apart == 1 and x_apart == xs.itemsize:
                    for e in range(ys.size):
                        ys[e] = np.uint8(apply(xs[e]))
                else:
                    for e in range(n):
                        found = np.uint8(apply(view(x + e * x_apart, 1, real)[0]))
                        view(out + e * out_apart, 1, np.uint8)[0] = found
                out, x = out + out_step, x + x_step


def compare(a: Any) -> None:
    """Apply a function of two numbers that is true or false; words as of `binary`."""
    rows, n = a[2], a[3]
    out_step, x_step, y_step = a[OUT + 3], a[FIRST + 3], a[SECOND + 3]
    out_apart, x_apart, y_apart = a[OUT + 4], a[FIRST + 4], a[SECOND + 4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            y = a[SECOND] + i * a[SECOND + 1] + j * a[SECOND + 2]
            for _ in range(rows):
                xs, ys, zs = view(x, n, real), view(y, n, real), view(out, n, np.uint8)
                if out_apart == 1 and x_apart == xs.itemsize and y_apart == ys.itemsize:
                    for e in range(zs.size):
                        zs[e] = np.uint8(apply(xs[e], ys[e]))
                elif out_apart == 1 and x_apart == xs.itemsize and y_apart == 0:
                    scalar = ys[0]
                    for e in range(zs.size):
                        zs[e] = np.uint8(apply(xs[e], scalar))
                elif out_apart == 1 and x_apart == 0 and y_apart == ys.itemsize:
                    scalar = xs[0]
                    for e in range(zs.size):
                        zs[e] = np.uint8(apply(scalar, ys[e]))
                else:
                    for e in range(n):
                        first, second = view(x + e * x_apart, 1, real)[0], view(y + e * y_apart, 1, real)[0]
                        view(out + e * out_apart, 1, np.uint8)[0] = np.uint8(apply(first, second))
                out, x, y = out + out_step, x + x_step, y + y_step


COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": lambda x, y: x == y,
    "ge": lambda x, y: x >= y,
    "gt": lambda x, y: x > y,
    "le": lambda x, y: x <= y,
    "logical_and": lambda x, y: (x != real(0)) & (y != real(0)),
    "logical_or": lambda x, y: (x != real(0)) | (y != real(0)),
    "logical_xor": lambda x, y: (x != real(0)) != (y != real(0)),
    "lt": lambda x, y: x < y,
    "ne": lambda x, y: x != y,
}

TESTS: Mapping[str, Callable[[Any], Any]] = {
    "isfinite": lambda x: abs(x) < real(np.inf),
    "isinf": lambda x: abs(x) == real(np.inf),
    "isnan": lambda x: x != x,
    "isneginf": lambda x: x == real(-np.inf),
    "isposinf": lambda x: x == real(np.inf),
    "logical_not": lambda x: x == real(0),
    "signbit": lambda x: np.copysign(np.float64(1), np.float64(x)) < 0,
}
OF_FLOATS = ("isfinite", "isinf", "isnan", "isneginf", "isposinf")

COMPARING = {op: Kernel(compare, name=op, parts={"apply": function}) for op, function in COMPARISONS.items()}
TESTING = {op: Kernel(test, name=op, parts={"apply": function}) for op, function in TESTS.items()}


def deciding(op: str) -> Callable[[Work], list[Call] | None]:
    """Return the lowering of an op whose operands have one dtype, and whose result is bool."""
    code = COMPARING[op] if op in COMPARING else TESTING[op]
    dtypes = FLOATS if op in OF_FLOATS else COMPARABLE

    def lower(work: Work) -> list[Call] | None:
        dtype, found = work.inputs[0].dtype, code
        if any(x.dtype != dtype for x in work.inputs):
            return None
        if is_half(dtype):
            narrow = half_kernel(code, dtype.name, decides=True)
            assert narrow is not None, "its loop applies a function"
            found = narrow
        elif raw(work.inputs[0]).dtype not in dtypes:
            return None
        inputs = [raw(x) for x in work.inputs]
        words = operands(Work(inputs, [raw(x) for x in work.outputs], work.attrs))
        return None if words is None else [Call(found, inputs[0].dtype, words, elementwise=True)]

    return lower


for _op in (*COMPARISONS, *TESTS):
    lowers(_op)(deciding(_op))
