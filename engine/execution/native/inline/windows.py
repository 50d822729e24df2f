"""Sliding windows inside kernels, for pooling: combined first along planes and rows of the image, then along columns.

In between lies a wide copy: where windows are s columns apart, its rows hold WIDTH s columns, so that the windows of
all rows lie s apart from one another and one loop goes through them. All functions read the words of a block that
begins with the geometry below.
"""

from __future__ import annotations

from typing import Any

from engine.execution.native.kernel import linked

IMAGES = 0
"""Word: how many channels there are, over all images."""
EXTENT, COUNT, KERNEL, STRIDE, BEFORE, DILATION = 1, 4, 7, 10, 13, 16
"""Three words each, for planes, rows and columns: of the image; windows; elements of a window; from window to window;
padding before the image; between the elements of a window."""
WIDTH = 19
"""Windows from row to row of a copy, junk at the ends of rows included."""
GEOMETRY = 20
"""How many words the geometry has."""


@linked
def copied_columns(a: Any) -> Any:
    """Return how many columns of the image a copy's row holds, behind the padding."""
    return min(a[EXTENT + 2], a[WIDTH] * a[STRIDE + 2] - a[BEFORE + 2])


@linked
def row_met(a: Any, plane: Any, row: Any, i: Any, j: Any) -> Any:
    """Return which row of a channel the element (i, j) of the windows in a row meets; -1 outside the image."""
    z = plane * a[STRIDE] + i * a[DILATION] - a[BEFORE]
    y = row * a[STRIDE + 1] + j * a[DILATION + 1] - a[BEFORE + 1]
    if z < 0 or z >= a[EXTENT] or y < 0 or y >= a[EXTENT + 1]:
        return -1
    return z * a[EXTENT + 1] + y


@linked
def clipped(a: Any, axis: Any, position: Any, padding: Any) -> Any:
    """Return how many elements of a window lie in the image and so much padding on both sides, along one axis."""
    first = position * a[STRIDE + axis] - a[BEFORE + axis]
    last = min(first + a[KERNEL + axis], a[EXTENT + axis] + padding)
    return last - max(first, -padding)
