"""Products of bfloat16 with results of float32, on machines that multiply two pairs in one instruction.

They are those of float32 on words of two neighbours along the depth, which is even: half as many, in half the time.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.execution.native.inline.blocks import VECTORS
from engine.execution.native.inline.vectors import multiplies_pairs, vector_bytes
from engine.execution.native.kernel import PAIRS
from engine.execution.native.kernels.blocked_product import DEPTH, block_extents, blocked_call
from engine.execution.native.kernels.packed_product import LEAST, PANEL_BYTES, packed_call
from engine.execution.native.lowering import Argument, Call, Scratch

HALF, WORD = 2, PAIRS.itemsize
"""Bytes of a number, and of two of them or one of the result."""
SMALL = 10**5
"""Products of no more multiplications go by float32: nothing is packed for them."""


def by_pairs(words: Sequence[Argument]) -> list[Call] | None:
    """Return the call for a product, given the words of `product`, if this machine has the instruction."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    few = m * n * k <= SMALL or any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True))
    if not multiplies_pairs() or few or k % 2 or (ta and tb):
        return None
    if tb:
        return _transposed((m, a, lda), (n, b, ldb), k // 2, c, ldc)
    # A row of words along the depth is made of two rows; where the depth is contiguous, words are there.
    steps = (a, lda * HALF * (2 if ta else 1), b, ldb * HALF * 2, c, ldc * WORD)
    return [_blocks((ta, m, n, k // 2), steps)]


def _blocks(extents: tuple[Argument, int, int, int], steps: tuple[Argument, ...]) -> Call:
    """Return the call of `blocked_product`."""
    _, m, n, depth = extents
    register, lanes = vector_bytes(), vector_bytes() // WORD
    at_once = -(-depth // -(-depth // DEPTH))
    rows, columns = block_extents(m, n, lanes)
    left, right = (-(-extent // lanes) * register * at_once for extent in (rows, columns))
    blocks = (rows, columns, at_once, Scratch(), Scratch(left), register, HALF)
    return blocked_call(PAIRS, extents, steps, blocks, left + right)


def _transposed(
    left: tuple[int, Argument, int], right: tuple[int, Argument, int], depth: int, c: Argument, ldc: int
) -> list[Call] | None:
    """Return the call of `packed_product`: of rows, address and leading dimension of the operands."""
    turned = left[0] < right[0]
    if depth * VECTORS * vector_bytes() > PANEL_BYTES:
        return None
    (rows, read, apart), (columns, packed, step) = (right, left) if turned else (left, right)
    found = (rows, columns, depth, read, apart * HALF, packed, step * HALF, c, ldc * WORD, turned)
    return [packed_call(found, PAIRS, 1)]
