"""Copies between arrays of any strides: reshape of what lies scattered, concat, slice_scatter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.core.dtypes import DType
from engine.core.shape_rules import normalize_axes
from engine.core.value import Array
from engine.execution.native.kernel import FLOATS, Kernel, real
from engine.execution.native.kernels.elementwise import UNARY_KERNELS, operands, unary
from engine.execution.native.lowering import Call, Work, lowers

zero = Kernel(unary, name="zero", parts={"apply": lambda _: real(0)})

SAME_SIZE: Mapping[int, DType] = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}
"""As what numbers of any kind are copied: their bits stay."""


def copied(x: Array, out: Array) -> list[Call] | None:
    """Return the calls that copy an array into another of its shape."""
    return _moved(UNARY_KERNELS["copy"], x, out)


def zeroed(out: Array) -> list[Call] | None:
    """Return the calls that set an array to 0."""
    return _moved(zero, out, out)


def _moved(code: Kernel, x: Array, out: Array) -> list[Call] | None:
    if not out.size:
        return []
    if x.dtype != out.dtype or x.itemsize not in SAME_SIZE or x.dtype.kind not in "fiu":
        return None
    x, out = _as_floats(x), _as_floats(out)
    words = operands(Work([x], [out], {}))
    return None if words is None else [Call(code, out.dtype, words)]


def _as_floats(x: Array) -> Array:
    """View numbers as floating ones of their size."""
    return x if x.dtype in FLOATS else x.view(SAME_SIZE[x.itemsize])


def _joined(*parts: list[Call] | None) -> list[Call] | None:
    """Return the calls one after another; None where one part has none."""
    calls: list[Call] = []
    for part in parts:
        if part is None:
            return None
        calls += part
    return calls


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
    return _joined(*parts)


@lowers("slice_scatter")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    axis, start, step = work.attrs["axis"] % x.ndim, work.attrs["start"], work.attrs["step"]
    stop = start + x.shape[axis] * step
    target = copied(x, _window(out, axis, slice(start, stop, step)))
    if step > 1:
        return _joined(zeroed(out), target)
    before, behind = (_window(out, axis, s) for s in (slice(start), slice(stop, None)))
    return _joined(zeroed(before), target, zeroed(behind))


def _window(out: Array, axis: int, places: slice) -> Array:
    window: Array = out[(slice(None),) * axis + (places,)]
    return window
