"""Products of float32 by tile registers (AMX): each number is the sum of three bfloat16, its parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.execution.native.inline.matrix_tiles import transpose
from engine.execution.native.inline.products import gemm
from engine.execution.native.inline.register_tiles import BLOCK, EDGE, has_tiles
from engine.execution.native.inline.split_tiles import LARGEST, PARTS, multiply_split, split_tile
from engine.execution.native.kernel import Kernel, real
from engine.execution.native.kernels.blocked_product import SMALL
from engine.execution.native.kernels.tile_product import PARTS_OF_ALL, tile_call, tile_product
from engine.execution.native.lowering import Argument, Call

DEPTH = 256
"""Depth of a block, of 6 bytes a number."""
LEAST = (64, 64, 32)
"""Fewest rows, columns and depth; packing takes as long as multiplying where there are fewer."""
LEAST_REUSE = 48
"""Fewest multiplications by a packed number, on average."""
LARGEST_WASTE = 1.25
"""Largest ratio of what whole tiles compute to what there is."""


def _pack_tile(
    down: Any, paired: Any, target: Any, source: Any, step: Any, rows: Any, columns: Any, turned: Any
) -> Any:
    """Pack the parts of a tile, its transpose if rows of the operand are columns of the tile."""
    if down == paired:
        return split_tile(paired, target, source, step, rows, columns)
    if paired:
        transpose(turned, 64, source, step, rows, columns, real(0))
        return split_tile(1, target, turned, 64, columns, rows)
    transpose(turned, 128, source, step, min(rows, EDGE), columns, real(0))
    if rows > EDGE:
        transpose(turned + 64, 128, source + EDGE * step, step, rows - EDGE, columns, real(0))
    return split_tile(0, target, turned, 128, columns, rows)


def _multiply(left: Any, right: Any, steps: Any, target: Any, target_step: Any, resume: Any) -> None:
    multiply_split(left, right, steps, target, target_step, resume)


def _may_overflow(left: Any, right: Any, depth: Any) -> Any:
    """Return whether a sum of products may be infinite, or of parts that are, by the bits of the largest magnitudes."""
    if left > LARGEST or right > LARGEST:
        return True
    # A number with the exponent e, which counts from -127, is less than 2**(e - 126).
    power = (left >> 23) + (right >> 23) - 252
    while depth > 0:
        power += 1
        depth >>= 1
    return power > 127


def _multiply_plainly(a: Any, left_largest: Any, right_largest: Any) -> None:
    """Multiply by BLAS what may overflow: parts of large numbers may be infinite with either sign, which makes NaN."""
    ta, tb, rows, columns, depth = a[0], a[1], a[2], a[3], a[4]
    left, left_step, right, right_step, target, step, turned = a[5], a[6], a[7], a[8], a[9], a[10], a[11]
    if _may_overflow(left_largest, right_largest, depth):
        if turned:
            gemm(
                tb == 0, ta == 0, columns, rows, depth, real(1), right, right_step // 4, left, left_step // 4, real(0),
                target, step // 4,
            )  # fmt: skip
        else:
            gemm(
                ta, tb, rows, columns, depth, real(1), left, left_step // 4, right, right_step // 4, real(0), target,
                step // 4,
            )  # fmt: skip


split_product = Kernel(
    tile_product,
    (np.dtype(np.float32),),
    name="split_product",
    parts={
        "pack_tile": _pack_tile,
        "multiply_tiles": _multiply,
        "_may_overflow": _may_overflow,
        "check": _multiply_plainly,
        **PARTS_OF_ALL,
    },
)


def by_parts(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if this machine has tile registers and it is worth it."""
    m, n, k = words[2:5]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    whole = math.prod(-(-extent // BLOCK) * BLOCK for extent in (m, n, k))
    few = any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True)) or m * n * k <= SMALL
    few = few or m * n < LEAST_REUSE * (m + n)
    if dtype != np.float32 or few or whole > LARGEST_WASTE * m * n * k or not has_tiles():
        return None
    return [tile_call(split_product, words, 4, PARTS, DEPTH)]
