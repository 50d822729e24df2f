"""Products over axes, and of all elements but each, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.shape_rules import normalize_axes
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import itemsize, kernel, real
from engine.execution.native.kernels.reduced_axes import blocks
from engine.execution.native.lowering import Call, Work, alike, lowers


@kernel
def products_over(a: Any) -> None:
    """Words: extents before, along and behind the reduced axes; x; out."""
    extent, behind = a[1], a[2]
    for lot in range(a[0]):
        out = view(a[4] + lot * behind * itemsize, behind, real)
        x = view(a[3] + lot * extent * behind * itemsize, extent * behind, real)
        for e in range(behind):
            total = 1.0
            for r in range(extent):
                total *= np.float64(x[r * behind + e])
            out[e] = real(total)


@kernel
def products_of_others(a: Any) -> None:
    """Words: extents before, along and behind the axes; x; out, of the same shape.

    The product of those before an element waits in its result until that of those behind is there.
    """
    extent, behind = a[1], a[2]
    for lot in range(a[0]):
        start = lot * extent * behind * itemsize
        x, out = view(a[3] + start, extent * behind, real), view(a[4] + start, extent * behind, real)
        for e in range(behind):
            total = 1.0
            for r in range(extent):
                out[r * behind + e] = real(total)
                total *= np.float64(x[r * behind + e])
            total = 1.0
            for r in range(extent - 1, -1, -1):
                out[r * behind + e] = real(np.float64(out[r * behind + e]) * total)
                total *= np.float64(x[r * behind + e])


@lowers("prod")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    found = blocks(x, out, normalize_axes(work.attrs["axis"], x.ndim)) if out.dtype == x.dtype else None
    return None if found is None else [Call(products_over, x.dtype, (*found, x, out))]


@lowers("product_of_others")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    found = blocks(x, out, normalize_axes(work.attrs["axis"], x.ndim)) if alike(x, out) else None
    return None if found is None else [Call(products_of_others, x.dtype, (*found, x, out))]
