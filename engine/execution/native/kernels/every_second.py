"""Copies from every second number of a row to neighbours, or back, by vector registers: parts of pairs, as of trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.vectors import copy_every_second, copy_to_every_second, vector_bytes
from engine.execution.native.kernel import itemsize, kernel, real
from engine.execution.native.kernels.elementwise import AXES, FIRST, OUT, operands
from engine.execution.native.lowering import Argument, Call, Work

SHORTEST = 16
"""Numbers of a row below which vectors gain nothing."""


@kernel
def copy_pairwise(a: Any) -> None:
    """Copy rows; words as of `unary`. The numbers of one side are neighbours, those of the other 2 apart."""
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            for _ in range(a[2]):
                if a[OUT + AXES] == itemsize:
                    copy_every_second(out, x, a[3], real(0))
                else:
                    copy_to_every_second(out, x, a[3], real(0))
                out, x = out + a[OUT + 3], x + a[FIRST + 3]


def pairwise_copy(x: Array, out: Array) -> list[Call] | None:
    """Return the call that copies float32 or float64 of which one side has numbers that are 2 apart, else None."""
    words = operands(Work([x], [out], {}))
    if words is None or not _is_long(words[AXES - 1]):
        return None
    steps, size = {words[OUT + AXES], words[FIRST + AXES]}, x.itemsize
    spread = words[OUT + AXES] != size
    if steps != {size, 2 * size} or (spread and vector_bytes() != 64):
        return None
    return [Call(copy_pairwise, x.dtype, words)]


def reads_pairs(call: Call) -> bool:
    """Tell whether an elementwise call reads every second number of an operand of float32 or float64."""
    words = call.arguments
    return call.elementwise and any(
        isinstance(x, np.ndarray) and x.dtype in copy_pairwise.dtypes and words[place + AXES] == 2 * x.itemsize
        for place, x in enumerate(words)
        if place >= FIRST and (place - FIRST) % (AXES + 1) == 0 and _is_long(words[AXES - 1])
    )


def _is_long(extent: Argument) -> bool:
    return isinstance(extent, int) and extent >= SHORTEST
