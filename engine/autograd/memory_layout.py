"""Memory layout: column-major and row-major order of flat data. Results do not depend on it.

R and ggml keep matrices by columns, [features, batch]; in memory that is the same as NumPy's rows of
(batch, features). So data and whole models may be given in either layout.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.errors import AttributeValueError, ShapeError, nearest
from engine.core.value import Array, Shape, Value
from engine.ops.shape.shape import permute, reshape

Layout = Literal["row", "col"]
LAYOUTS = ("row", "col")


def check_layout(layout: str) -> None:
    """Raise AttributeValueError for an unknown layout."""
    if layout not in LAYOUTS:
        raise AttributeValueError(
            f"layout {str(layout)[:64]!r} is not one of {', '.join(LAYOUTS)}{nearest(str(layout), LAYOUTS)}"
        )


def fill_shape(data: Array, shape: Shape | None, layout: Layout) -> Array:
    """Fill `shape` with the numbers of flat `data`, the first index fastest under "col", the last under "row".

    Without a shape the data keeps its own, but a bare vector is a column [n, 1] under "col", as in R.
    """
    check_layout(layout)
    if shape is None:
        return data[:, None] if layout == "col" and data.ndim == 1 else data
    if data.ndim != 1:
        raise ShapeError(f"shape needs flat data: give one list of numbers, not data of shape {list(data.shape)}")
    free = [axis for axis, extent in enumerate(shape) if extent == -1]
    known = int(np.prod([extent for extent in shape if extent != -1]))
    if len(free) > 1 or any(e < -1 for e in shape) or (data.size % max(known, 1) if free else data.size != known):
        raise ShapeError(f"{data.size} numbers do not fill the shape {list(shape)}")
    return data.reshape(shape, order="F" if layout == "col" else "C")


def reshape_columns(x: Value, *, shape: Shape) -> Value:
    """The same elements in column-major order under another shape, as R's `dim<-`; one extent may be -1."""
    return reverse_axes(reshape(reverse_axes(x), shape=tuple(reversed(shape))))


def reverse_axes(x: Value) -> Value:
    """Return x with its axes reversed, which turns one layout into the other."""
    return permute(x, axes=tuple(reversed(range(x.ndim)))) if x.ndim > 1 else x
