"""Products of bfloat16 with results of float32 by tile registers (AMX)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.execution.native.inline.half_tiles import PARTS, multiply_halves, pack_half_tile
from engine.execution.native.inline.register_tiles import has_tiles
from engine.execution.native.kernel import Kernel
from engine.execution.native.kernels.tile_product import PARTS_OF_ALL, tile_call, tile_product
from engine.execution.native.lowering import Argument, Call

DEPTH = 512
"""Depth of a block, of 2 bytes a number."""
LEAST = (8, 8, 16)
"""Fewest rows, columns and depth."""
SMALL = 10**5
"""Products of no more multiplications go by float32: nothing is packed for them."""


def _pack_tile(
    down: Any, paired: Any, target: Any, source: Any, step: Any, rows: Any, columns: Any, turned: Any
) -> Any:
    pack_half_tile(down, paired, target, source, step, rows, columns)
    return 0


def _multiply(left: Any, right: Any, steps: Any, target: Any, target_step: Any, resume: Any) -> None:
    multiply_halves(left, right, steps, target, target_step, resume)


def _accept(a: Any, left_largest: Any, right_largest: Any) -> None:
    """Do nothing: numbers that are multiplied as they are need no other way."""


half_product = Kernel(
    tile_product,
    (np.dtype(np.float32),),
    name="half_product",
    parts={
        "pack_tile": _pack_tile,
        "multiply_tiles": _multiply,
        "check": _accept,
        **PARTS_OF_ALL,
    },
)


def by_tiles(words: Sequence[Argument]) -> list[Call] | None:
    """Return the call for a product, given the words of `product`, if this machine has tile registers."""
    m, n, k = words[2:5]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    few = m * n * k <= SMALL or any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True))
    if few or k % 2 or not has_tiles():
        return None
    return [tile_call(half_product, words, 2, PARTS, DEPTH)]
