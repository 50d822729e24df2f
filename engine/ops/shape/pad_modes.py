"""Kernels of the modes of pad that repeat elements of the array."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.errors import ShapeError
from engine.core.value import Array, Shape

Border = Literal["constant", "reflect", "replicate", "circular"]
Pairs = tuple[tuple[int, int], ...]

NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def check_border(shape: Shape, widths: Pairs, mode: Border) -> None:
    """Raise an error for widths that need more elements than an axis has."""
    most = {"reflect": "extent - 1", "circular": "extent", "replicate": "none of an empty axis"}
    for axis, (extent, pair) in enumerate(zip(shape, widths, strict=True)):
        room = {"reflect": extent - 1, "circular": extent, "replicate": 0 if extent == 0 else max(pair)}
        if mode != "constant" and max(pair) > max(room[mode], 0):
            raise ShapeError(
                f"pad: {list(pair)} around axis {axis} of extent {extent} is too wide for mode {mode!r}; "
                f"at most {most[mode]}"
            )


def surround(x: Array, widths: Pairs, mode: Border, out: Array | None) -> Array:
    """Return x with borders made of its own elements."""
    padded: Array = np.pad(x, widths, mode=NUMPY_MODES[mode])  # type: ignore[call-overload]
    if out is None:
        return padded
    np.copyto(out, padded)
    return out
