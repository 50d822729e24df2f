"""Changing the element type, and cutting the history."""

from __future__ import annotations

import numpy as np

from engine.dtypes import DType, is_float
from engine.infer import same
from engine.registry import primitive
from engine.samples import sample
from engine.value import Array, Spec, Value


def _cast(x: Value, *, dtype: DType) -> Spec:
    return Spec(x.shape, dtype)


@primitive(infer=_cast, samples=[sample((2, 3), dtype="float64")], aliases=("astype", "to"))
def cast(x: Array, *, dtype: DType, out: Array | None = None) -> Array:
    """x as another dtype; floats become integers towards zero. The gradient is cast back."""
    if out is None:
        return x.astype(dtype)
    np.copyto(out, x, casting="unsafe")
    return out


@cast.vjp
def _(g: Value, y: Value, x: Value) -> Value | None:
    return cast(g, dtype=x.dtype) if is_float(x.dtype) else None


@primitive(infer=same, samples=[sample((2, 3))], view=True, differentiable=False, aliases=("detach",))
def stop_gradient(x: Array) -> Array:
    """x itself, through which no gradient flows."""
    return x


@primitive(infer=same, samples=[sample((2, 3))], aliases=("clone", "cont", "dup", "contiguous"))
def copy(x: Array, *, out: Array | None = None) -> Array:
    """A copy of x in memory of its own."""
    if out is None:
        return x.copy()
    np.copyto(out, x)
    return out


@copy.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g
