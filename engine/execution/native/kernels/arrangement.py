"""Copies between arrays of any strides: reshape of what lies scattered, concat, slice_scatter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.core.dtypes import DType
from engine.core.shape_rules import normalize_axes
from engine.core.value import Array
from engine.execution.native.kernel import FLOATS, Kernel, real
from engine.execution.native.kernels.elementwise import UNARY_KERNELS, is_across, operands, unary
from engine.execution.native.kernels.every_second import pairwise_copy, reads_pairs
from engine.execution.native.kernels.transposing import transposing
from engine.execution.native.lowering import LOWERINGS, Call, Work, lowers

COPY = UNARY_KERNELS["copy"]
NARROW: tuple[DType, ...] = (np.dtype(np.uint8), np.dtype(np.uint16))

zero = Kernel(unary, (*FLOATS, *NARROW), name="zero", parts={"apply": lambda _: real(0)})
narrow_copy = Kernel(unary, NARROW, name="narrow_copy", parts={"apply": lambda x: x})

SAME_SIZE: Mapping[int, DType] = {1: NARROW[0], 2: NARROW[1], 4: FLOATS[0], 8: FLOATS[1]}
"""As what numbers of any kind, truth values too, are copied: their bits stay."""
UNROLLED = 32
"""An axis of at most this many elements takes a call for each."""
KINDS = "fiubV"
"""Kinds of dtypes that are copied; bfloat16 is of kind V to NumPy."""


def copied(x: Array, out: Array) -> list[Call] | None:
    """Return the calls that copy an array into another of its shape."""
    return _moved(COPY if x.itemsize > 2 else narrow_copy, x, out)


def zeroed(out: Array) -> list[Call] | None:
    """Return the calls that set an array to 0."""
    return _moved(zero, out, out)


def _moved(code: Kernel, x: Array, out: Array) -> list[Call] | None:
    if not out.size:
        return []
    if x.dtype != out.dtype or x.itemsize not in SAME_SIZE or x.dtype.kind not in KINDS:
        return None
    x, out = _in_rows(np.broadcast_to(as_bits(x), out.shape), as_bits(out))
    if code is COPY and (calls := transposing(x, out) or pairwise_copy(x, out)):
        return calls
    words = operands(Work([x], [out], {}))
    if words is not None:
        return [Call(code, out.dtype, words)]
    # Too many axes that cannot be joined: the shortest one is unrolled.
    extent, axis = min((extent, axis) for axis, extent in enumerate(out.shape) if extent > 1)
    if extent > UNROLLED:
        return None
    parts = [(_window(x, axis, slice(i, i + 1)), _window(out, axis, slice(i, i + 1))) for i in range(extent)]
    return joined_calls(*(_moved(code, *part) for part in parts))


def as_bits(x: Array) -> Array:
    """View numbers as those of their size that kernels copy."""
    return x if x.dtype in FLOATS else x.view(SAME_SIZE[x.itemsize])


def _in_rows(x: Array, out: Array) -> tuple[Array, Array]:
    """Return both arrays with their axes in the order in which the second is written from address to address."""
    axes = sorted(range(out.ndim), key=lambda axis: -abs(out.strides[axis]))
    return x.transpose(axes), out.transpose(axes)


def joined_calls(*parts: list[Call] | None) -> list[Call] | None:
    """Return the calls one after another; None where one part has none."""
    calls: list[Call] = []
    for part in parts:
        if part is None:
            return None
        calls += part
    return calls


copied_numbers = LOWERINGS["copy"]


@lowers("copy")
def _(work: Work) -> list[Call] | None:
    calls = copied_numbers(work)  # these may be part of a chain
    if calls is None or any(is_across(call) or reads_pairs(call) for call in calls):
        return copied(work.inputs[0], work.outputs[0])
    return list(calls)


@lowers("reshape")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    return copied(x, out.reshape(x.shape)) if out.flags.c_contiguous else None


@lowers("flip")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    # Of an array without axes NumPy's flip makes a number.
    return copied(np.flip(x, axis=normalize_axes(work.attrs["axis"], x.ndim)) if x.ndim else x, out)


@lowers("concat")
def _(work: Work) -> list[Call] | None:
    (out,) = work.outputs
    axis, start = work.attrs["axis"] % out.ndim, 0
    parts = []
    for x in work.inputs:
        if x.ndim == out.ndim and x.size:
            parts.append(copied(x, _window(out, axis, slice(start, start + x.shape[axis]))))
            start += x.shape[axis]
    return joined_calls(*parts)


@lowers("slice_scatter")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    axis, start, step = work.attrs["axis"] % x.ndim, work.attrs["start"], work.attrs["step"]
    stop = start + x.shape[axis] * step
    target = copied(x, _window(out, axis, slice(start, stop, step)))
    if step > 1:
        return joined_calls(zeroed(out), target)
    before, behind = (_window(out, axis, s) for s in (slice(start), slice(stop, None)))
    return joined_calls(zeroed(before), target, zeroed(behind))


def _window(out: Array, axis: int, places: slice) -> Array:
    window: Array = out[(slice(None),) * axis + (places,)]
    return window
