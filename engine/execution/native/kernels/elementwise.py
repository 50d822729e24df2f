"""Elementwise ops with broadcasting: loops over the axes that cannot be joined, vectorised along the last one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.value import Array
from engine.execution.native.inline.arithmetic import exp, rsqrt, sigmoid, tanh
from engine.execution.native.inline.pointers import frozen, view
from engine.execution.native.kernel import BITS, FLOATS, Kernel, itemsize, real
from engine.execution.native.kernels.half_types import half_kernel
from engine.execution.native.lowering import LOWERINGS, Argument, Call, Work, address_of, is_half, lowers, raw

AXES = 4
"""Maximum number of axes of the operands of kernels, after joining; the last is the inner loop."""

SHORT = 8
"""Extent of an axis that is too short for vector registers."""

OUT, FIRST, SECOND, THIRD = 4, 9, 14, 19
"""Where in a block an operand's words begin: its address, then its strides in bytes, 0 where it is repeated."""


def unary(a: Any) -> None:
    """Apply a function of one number."""
    # Words are read here: a result might lie over them, for all that LLVM knows, and each row would read them again.
    rows, n = a[2], a[3]
    out_step, x_step = a[OUT + 3], a[FIRST + 3]
    out_apart, x_apart = a[OUT + 4], a[FIRST + 4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            for _ in range(rows):
                if out_apart == itemsize and x_apart == itemsize:
                    xs, ys = view(x, n, real), view(out, n, real)
                    if x == out:  # a loop of its own: what may overlap is processed one by one
                        for e in range(ys.size):
                            ys[e] = apply(frozen(ys[e]))
                    else:
                        for e in range(xs.size):
                            ys[e] = apply(xs[e])
                elif out_apart == itemsize and x_apart == -itemsize:
                    xs, ys = view(x - (n - 1) * itemsize, n, real), view(out, n, real)
                    for e in range(xs.size):
                        ys[e] = apply(xs[xs.size - 1 - e])
                else:
                    for e in range(n):
                        view(out + e * out_apart, 1, real)[0] = apply(view(x + e * x_apart, 1, real)[0])
                out, x = out + out_step, x + x_step


def binary(a: Any) -> None:
    """Apply a function of two numbers."""
    rows, n = a[2], a[3]
    out_step, x_step, y_step = a[OUT + 3], a[FIRST + 3], a[SECOND + 3]
    out_apart, x_apart, y_apart = a[OUT + 4], a[FIRST + 4], a[SECOND + 4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            y = a[SECOND] + i * a[SECOND + 1] + j * a[SECOND + 2]
            for _ in range(rows):
                if out_apart == itemsize and x_apart == itemsize and y_apart == itemsize:
                    xs, ys, zs = view(x, n, real), view(y, n, real), view(out, n, real)
                    if x == out:  # loops of their own, as above
                        for e in range(zs.size):
                            zs[e] = apply(frozen(zs[e]), ys[e])
                    elif y == out:
                        for e in range(zs.size):
                            zs[e] = apply(xs[e], frozen(zs[e]))
                    else:
                        for e in range(zs.size):
                            zs[e] = apply(xs[e], ys[e])
                elif out_apart == itemsize and x_apart == itemsize and y_apart == 0:
                    xs, zs = view(x, n, real), view(out, n, real)
                    scalar = view(y, 1, real)[0]
                    if x == out:
                        for e in range(zs.size):
                            zs[e] = apply(frozen(zs[e]), scalar)
                    else:
                        for e in range(zs.size):
                            zs[e] = apply(xs[e], scalar)
                elif out_apart == itemsize and x_apart == 0 and y_apart == itemsize:
                    ys, zs = view(y, n, real), view(out, n, real)
                    scalar = view(x, 1, real)[0]
                    if y == out:
                        for e in range(zs.size):
                            zs[e] = apply(scalar, frozen(zs[e]))
                    else:
                        for e in range(zs.size):
                            zs[e] = apply(scalar, ys[e])
                else:
                    for e in range(n):
                        first, second = view(x + e * x_apart, 1, real)[0], view(y + e * y_apart, 1, real)[0]
                        view(out + e * out_apart, 1, real)[0] = apply(first, second)
                out, x, y = out + out_step, x + x_step, y + y_step


def apply(*_: Any) -> Any:
    """Stand for the function that a kernel applies."""
    raise NotImplementedError


def _maximum(x: Any, y: Any) -> Any:
    # A comparison with NaN is false: of two numbers the first that is NaN comes out.
    return x if x >= y or x != x else y


def _minimum(x: Any, y: Any) -> Any:
    return x if x <= y or x != x else y


OF_WHOLE = ("abs", "add", "copy", "maximum", "minimum", "mul", "neg", "square", "sub")
"""The ops whose kernels take whole numbers as well."""
WHOLE: tuple[DType, ...] = (np.dtype(np.int64), np.dtype(np.int32))

UNARY: Mapping[str, Callable[[Any], Any]] = {
    "abs": lambda x: abs(x),
    "copy": lambda x: x,
    "exp": lambda x: exp(x),
    "neg": lambda x: -x,
    "reciprocal": lambda x: real(1) / x,
    "relu": lambda x: real(0) if x <= real(0) else x,
    "rsqrt": lambda x: rsqrt(x),
    "sigmoid": lambda x: sigmoid(x),
    "silu": lambda x: x * sigmoid(x),
    "sqrt": lambda x: np.sqrt(x),
    "square": lambda x: x * x,
    "tanh": lambda x: tanh(x),
}

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "div": lambda x, y: x / y,
    "maximum": _maximum,
    "minimum": _minimum,
    "mul": lambda x, y: x * y,
    "relu_backward": lambda g, y: real(0) if y <= real(0) else g,
    "sigmoid_backward": lambda g, y: g * y * (real(1) - y),
    "sub": lambda x, y: x - y,
    "tanh_backward": lambda g, y: g * (real(1) - y * y),
}

UNARY_KERNELS = {op: Kernel(unary, name=op, parts={"apply": function}) for op, function in UNARY.items()}
BINARY_KERNELS = {op: Kernel(binary, name=op, parts={"apply": function}) for op, function in BINARY.items()}
WITH_ITSELF = {
    "add": Kernel(unary, name="double", parts={"apply": lambda x: x + x}),
    "mul": UNARY_KERNELS["square"],
}
"""Kernels of ops whose two operands are the same array."""
DTYPES = {op: (*FLOATS, *WHOLE) if op in OF_WHOLE else FLOATS for op in (*UNARY, *BINARY)}


def joined_axes(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]] | None:
    """Join neighbouring axes that all operands step through evenly; None when more than `AXES` are left.

    Args:
        shape: extents of the result.
        strides: of each operand, in bytes, 0 along axes where it is repeated.

    Returns:
        `AXES` extents, and `AXES` strides for each operand.
    """
    extents: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        if extents and all(s[-1] == own[axis] * extent for s, own in zip(steps, strides, strict=True)):
            extents[-1] *= extent
            for s, own in zip(steps, strides, strict=True):
                s[-1] = own[axis]
            continue
        extents.append(extent)
        for s, own in zip(steps, strides, strict=True):
            s.append(own[axis])
    if len(extents) > AXES:
        return None
    missing = AXES - len(extents)
    return [1] * missing + extents, [[0] * missing + s for s in steps]


def broadcast_strides(array: Array, shape: Sequence[int]) -> list[int]:
    """Return the strides with which an operand is traversed for a result of `shape`."""
    missing = len(shape) - array.ndim
    own = [0 if extent == 1 else step for extent, step in zip(array.shape, array.strides, strict=True)]
    return [0] * missing + own


def operands(work: Work) -> tuple[Argument, ...] | None:
    """Return the words of a block: extents, then address and strides of the output and of each input."""
    (out,) = work.outputs
    if not out.size:
        return None
    arrays = [out, *work.inputs]
    found = joined_axes(out.shape, [broadcast_strides(array, out.shape) for array in arrays])
    if found is None:
        return None
    extents, strides = found
    # A result of one element has no axis left; every kernel finds it contiguous then.
    words: list[Argument] = [*extents]
    for array, steps in zip(arrays, strides, strict=True):
        words += [array, *([0, 0, 0, array.itemsize] if out.size == 1 else steps)]
    return tuple(words)


def axis_of_neighbours(words: Sequence[Argument], place: int) -> int | None:
    """Return the axis along which the numbers of an operand are neighbours, if that is not the last one.

    None if it is, if there is none, or if one of both is short; `place` is where the words of the operand begin.
    """
    array, *steps = words[place : place + AXES + 1]
    assert isinstance(array, np.ndarray)
    if steps[-1] in (0, array.itemsize) or _is_short(words[AXES - 1]):
        return None
    axes = (axis for axis in range(AXES - 1) if steps[axis] == array.itemsize and not _is_short(words[axis]))
    return next(axes, None)


def is_across(call: Call) -> bool:
    """Tell whether a call goes through an operand across the axis along which its numbers are neighbours."""
    words = call.arguments
    return call.elementwise and any(
        isinstance(operand, np.ndarray) and axis_of_neighbours(words, place) is not None
        for place, operand in enumerate(words)
        if place >= FIRST and (place - FIRST) % (AXES + 1) == 0
    )


def _is_short(extent: Argument) -> bool:
    return isinstance(extent, int) and extent < SHORT


def elementwise_calls(
    work: Work, code: Kernel, dtypes: Sequence[DType] = FLOATS, numbers: Sequence[float] = (), *, alone: bool = False
) -> list[Call] | None:
    """Return the call of a kernel for a step whose operands all have one dtype, which is among these or a half type.

    `numbers` are what the kernel takes beside its operands.
    """
    dtype, found = work.outputs[0].dtype, code
    if any(array.dtype != dtype for array in work.inputs):
        return None
    if is_half(dtype):
        narrow = half_kernel(code, dtype.name)
        if narrow is None:
            return None
        dtype, found = BITS, narrow
        work = Work([raw(array) for array in work.inputs], [raw(array) for array in work.outputs], work.attrs)
    elif dtype not in dtypes:
        return None
    words = operands(work)
    return None if words is None else [Call(found, dtype, (*words, *numbers), elementwise=True, alone=alone)]


def elementwise(
    kernels: Mapping[str, Kernel], op: str, dtypes: Sequence[DType] = FLOATS
) -> Callable[[Work], list[Call] | None]:
    """Return the lowering of an op whose operands all have one dtype, which is among these or a half type."""
    return lambda work: elementwise_calls(work, kernels[op], dtypes)


for _op in UNARY:
    lowers(_op)(elementwise(UNARY_KERNELS, _op, DTYPES[_op]))
for _op in BINARY:
    lowers(_op)(elementwise(BINARY_KERNELS, _op, DTYPES[_op]))


def _with_itself(op: str) -> None:
    """Declare the lowering of an op that has a kernel for two operands that are the same array.

    In place, a loop that loads two operands would not be vectorised.
    """
    lowering, of_itself = LOWERINGS[op], elementwise(WITH_ITSELF, op, DTYPES[op])

    @lowers(op)
    def _(work: Work) -> Sequence[Call] | None:
        x, y = work.inputs
        is_one = address_of(x) == address_of(y) and (x.shape, x.strides) == (y.shape, y.strides)
        calls = of_itself(Work([x], work.outputs, {})) if is_one else None
        return lowering(work) if calls is None else calls


for _op in WITH_ITSELF:
    _with_itself(_op)
